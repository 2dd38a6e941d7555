// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The declared registers of PPC32 instructions against execution.

use super::*;
use crate::isa::dependences::{self, Registers, Subject};

/// The general registers, the condition fields, LR, CTR and the carry.
const REGISTERS: usize = 43;

impl Subject for Ppc32 {
    fn with(word: u32, registers: &Registers) -> Self {
        let mut thread = Self::new(Arc::new(DecodedText::new(&(0..4), |_| decode::decode(word, 0))), 0);
        for (index, value) in registers.iter().enumerate().take(REGISTERS) {
            let value = *value as u32;
            match index {
                0..32 => thread.registers[index] = value,
                32..40 => thread.set_field(index as u8 - 32, value),
                40 => thread.lr = value,
                41 => thread.ctr = value,
                _ => thread.carry = value == 1,
            }
        }
        thread
    }

    fn registers(&self) -> Registers {
        std::array::from_fn(|index| match index {
            0..32 => self.registers[index].into(),
            32..40 => (self.cr >> (28 - 4 * (index - 32)) & 0xf).into(),
            40 => self.lr.into(),
            41 => self.ctr.into(),
            42 => self.carry.into(),
            _ => 0,
        })
    }

    fn fit(register: usize, value: u64) -> u64 {
        match register {
            32..40 => value & 0xf,
            42 => value & 1,
            _ => value & 0xffff_ffff,
        }
    }
}

#[test]
fn ppc32_instructions_declare_the_registers_that_they_read_and_write() {
    let table = include_str!("../../../tests/isa/ppc32.txt");
    dependences::check::<Ppc32>(table, REGISTERS, [0, 0x03ff_f800]);
}
