// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What RV64 tells of its instructions is what they depend on.

use super::*;
use crate::dependences::{self, Registers, Subject};

impl Subject for Rv64 {
    fn with(word: u32, registers: &Registers) -> Self {
        let mut thread = Self::new(Arc::new(Text::new(&(0..2), |_| decode::decode(word, 0))), 0);
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
fn rv64_tells_the_registers_that_it_reads_and_writes() {
    let table = include_str!("../../tests/processor/rv64.txt");
    dependences::check::<Rv64>(table, 32, [0x0ffc, 0x01ff_8f80]);
}
