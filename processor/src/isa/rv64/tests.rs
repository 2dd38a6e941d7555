// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The declared registers of RV64 instructions against execution.

use super::*;
use crate::isa::dependences::{self, Registers, Subject};

impl Subject for Rv64 {
    fn with(word: u32, registers: &Registers) -> Self {
        let mut thread = Self::new(Arc::new(DecodedText::new(&(0..2), |_| decode::decode(word, 0))), 0);
        thread.registers[1..32].copy_from_slice(&registers[1..32]);
        thread
    }

    fn registers(&self) -> Registers {
        std::array::from_fn(|index| if index < 32 { self.registers[index] } else { 0 })
    }

    fn fit(register: usize, value: u64) -> u64 {
        if register == 0 { 0 } else { value }
    }
}

#[test]
fn rv64_instructions_declare_the_registers_that_they_read_and_write() {
    let table = include_str!("../../../tests/isa/rv64.txt");
    dependences::check::<Rv64>(table, 32, [0x0ffc, 0x01ff_8f80]);
}
