// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of [`StaticInstruction`](super::StaticInstruction) against execution: an instruction
//! depends exactly on its declared sources, and changes only its declared destinations.
//!
//! The tests do not depend on single instructions. They take the words of the tables in
//! `tests/isa`, also with other registers, and random states.

use mb_core::random::Random;

use super::{BranchKind, Hart, InstructionClass, RegisterNumber, Step};
use crate::memory::{Fault, Memory};
use crate::syscall::{Syscall, SyscallHandler, SyscallResult};

/// The values of registers, by their [`RegisterNumber`] numbers.
pub(super) type Registers = [u64; RegisterNumber::LIMIT];

/// A thread whose registers can be read and set by their [`RegisterNumber`] numbers.
pub(super) trait Subject: Hart {
    /// A thread at address 0 of a program that consists of `word`.
    fn with(word: u32, registers: &Registers) -> Self;
    fn registers(&self) -> Registers;
    /// Limits a value to the register's width.
    fn fit(register: usize, value: u64) -> u64;
}

/// A handler that is never called.
pub(super) struct NoSyscalls;

impl SyscallHandler for NoSyscalls {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        unreachable!("{call:?}: instructions of class System are not tested")
    }
}

/// Enough for the sum of two addresses and most offsets. Other offsets fault, and a fault depends
/// on registers too.
const BYTES: usize = 0x1000;

/// A random value: small as often as large, so that equal values, zeros and signs occur.
fn value(random: &mut Random) -> u64 {
    let value = random.next();
    match random.next() >> 62 {
        0 | 1 => value >> 62,
        2 => (value >> 62).wrapping_neg(),
        _ => value,
    }
}

/// A random multiple of eight in the middle of memory.
fn address(random: &mut Random) -> u64 {
    0x400 + (random.next() >> 58) * 8
}

/// The result of one step.
type StepResult = (Result<Step, Fault>, Registers, Memory);

fn run<S: Subject>(word: u32, registers: &Registers, memory: &Memory) -> StepResult {
    let mut memory = memory.clone();
    let mut hart = S::with(word, registers);
    let step = hart.step(&mut memory, &mut NoSyscalls);
    (step, hart.registers(), memory)
}

/// Changes each register in turn, and asserts that one outside of the sources has no influence.
/// Returns the registers that had one.
fn influence<S: Subject>(word: u32, count: usize, random: &mut Random) -> Vec<RegisterNumber> {
    let instruction = S::with(word, &[0; RegisterNumber::LIMIT]).instruction_at(0).expect("a decoded instruction");
    let mut registers = [0; RegisterNumber::LIMIT];
    let draw = |register: usize, random: &mut Random| {
        // The last source of a store is its data, which can have any value.
        let sources = if instruction.class == InstructionClass::Load {
            &instruction.sources[..]
        } else {
            &instruction.sources[..2]
        };
        let is_address = instruction.access > 0 && sources.iter().any(|source| usize::from(source.0) == register);
        S::fit(register, if is_address { address(random) } else { value(random) })
    };
    for (register, value) in registers.iter_mut().enumerate().take(count) {
        *value = draw(register, random);
    }
    let mut memory = Memory::new(0, BYTES);
    let bytes: Vec<u8> = (0..BYTES).map(|_| random.next() as u8).collect();
    memory.write(0, &bytes).expect("equal lengths");
    // A store-conditional has an effect only with a reservation.
    if let (Ok(Step::Retired(retired)), ..) = run::<S>(word, &registers, &memory)
        && instruction.class == InstructionClass::Atomic
    {
        memory.reserve(0, retired.address);
    }
    let (step, after, memory_after) = run::<S>(word, &registers, &memory);
    // A fault changes nothing.
    let done = step.is_ok();
    let written = |register| done && instruction.destinations.iter().any(|one| usize::from(one.0) == register);
    for register in 0..count {
        assert!(
            after[register] == registers[register] || written(register),
            "{word:#010x} changed register {register}"
        );
    }
    let mut influential = Vec::new();
    for register in 0..count {
        let mut others = registers;
        others[register] = draw(register, random);
        // The register keeps its own value unless the instruction writes it.
        let mut expected = after;
        if !written(register) {
            expected[register] = others[register];
        }
        let same = run::<S>(word, &others, &memory) == (step, expected, memory_after.clone());
        if !same {
            let declared = instruction.sources.iter().any(|source| usize::from(source.0) == register);
            assert!(declared, "{word:#010x} depends on register {register}, expected only {:?}", instruction.sources);
            influential.push(RegisterNumber(register as u8));
        }
    }
    influential
}

/// Checks the words of a table, with `count` registers. `fields` are the register fields of an
/// instruction of two bytes and of one of four bytes.
pub(super) fn check<S: Subject>(table: &str, count: usize, fields: [u32; 2]) {
    let mut random = Random::of(1, &[]);
    let mut checked = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let Some(encoding) = line.split_whitespace().next() else { continue };
        let word = u32::from_str_radix(encoding, 16).expect("a hexadecimal number");
        let instruction = |word| {
            S::with(word, &[0; RegisterNumber::LIMIT])
                .instruction_at(0)
                .filter(|instruction| instruction.class != InstructionClass::System)
        };
        let Some(described) = instruction(word) else { continue };
        // No register influences a hint.
        let effects = described.access > 0
            || described.branch != BranchKind::None
            || described.destinations[0] != RegisterNumber::NONE;
        let sources = if effects { &described.sources[..] } else { &[] };
        let mut silent: Vec<RegisterNumber> =
            sources.iter().copied().filter(|source| *source != RegisterNumber::NONE).collect();
        for _ in 0..200 {
            let influential = influence::<S>(word, count, &mut random);
            silent.retain(|register| !influential.contains(register));
            if silent.is_empty() {
                break;
            }
        }
        assert_eq!(silent, [], "{line}: declared sources without influence");
        let bits = fields[usize::from(encoding.len() == 8)];
        for _ in 0..6 {
            let other = word & !bits | random.next() as u32 & bits;
            if instruction(other).is_some() {
                influence::<S>(other, count, &mut random);
            }
        }
        checked += 1;
    }
    assert!(checked > 120, "only {checked} lines");
}
