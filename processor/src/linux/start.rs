// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a program before its first instruction.

use mb_core::random::Random;

use super::space::{PAGE, Space};
use crate::{LoadError, Memory, Program};

/// Bytes of the stack.
pub(super) const STACK_BYTES: u64 = 8 << 20;
/// Number of the process.
pub(super) const PROCESS: u64 = 1000;
/// Number of the user and of the group.
pub(super) const USER: u64 = 1000;

/// A program cannot start.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartError {
    /// It is for another instruction set.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Program, arguments and stack need more memory.
    #[error("found a memory of {found} bytes; expected at least {least} for this program and its stack; give it more")]
    Memory {
        /// Bytes given.
        found: u64,
        /// Bytes needed.
        least: u64,
    },
}

/// Memory with the program and its stack, the space between them, and the stack pointer.
pub(super) fn memory(
    program: &Program,
    arguments: &[Vec<u8>],
    environment: &[Vec<u8>],
    bytes: u64,
    random: &mut Random,
) -> Result<(Memory, Space, u64), StartError> {
    let mut memory = program.memory(0);
    let range = memory.range();
    let strings: usize = arguments.iter().chain(environment).map(|text| text.len() + 9).sum();
    let least = range.end - range.start + STACK_BYTES + strings as u64 + 16 * PAGE;
    if bytes < least {
        return Err(StartError::Memory { found: bytes, least });
    }
    let end = (range.start + bytes) & !(PAGE - 1);
    memory.grow((end - range.end) as usize);
    let space = Space::new(range.start, range.end, end - STACK_BYTES - strings as u64 / PAGE * PAGE - PAGE);

    // From the top: strings, 16 random bytes, and the vector.
    let mut at = end - 16;
    let mut place = |memory: &mut Memory, bytes: &[u8]| {
        at -= bytes.len() as u64;
        memory.write(at, bytes).expect("the stack is memory");
        at
    };
    let text = |text: &Vec<u8>| [&text[..], &[0]].concat();
    let arguments: Vec<u64> = arguments.iter().map(|argument| place(&mut memory, &text(argument))).collect();
    let environment: Vec<u64> = environment.iter().map(|variable| place(&mut memory, &text(variable))).collect();
    let seed: Vec<u8> = (0..16).map(|_| random.next() as u8).collect();
    let seed = place(&mut memory, &seed);
    let mut words = vec![arguments.len() as u64];
    words.extend(&arguments);
    words.push(0);
    words.extend(&environment);
    words.push(0);
    for (kind, value) in auxiliary(program, seed, arguments.first().copied().unwrap_or(0)) {
        words.extend([kind, value]);
    }
    let stack = (at - 8 * words.len() as u64) & !15;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(stack, &bytes).expect("the stack is memory");
    Ok((memory, space, stack))
}

/// The auxiliary vector (`include/uapi/linux/auxvec.h`).
fn auxiliary(program: &Program, seed: u64, name: u64) -> Vec<(u64, u64)> {
    // A bit for each letter of the extensions.
    let extensions = b"IMAFDC".iter().map(|letter| 1 << (letter - b'A')).sum();
    let mut vector = Vec::new();
    if let Some((address, bytes, count)) = program.headers() {
        vector.extend([(3, address), (4, bytes), (5, count)]);
    }
    vector.extend([
        (6, PAGE),
        (7, 0),
        (8, 0),
        (9, program.entry()),
        (11, USER),
        (12, USER),
        (13, USER),
        (14, USER),
        (16, extensions),
        (17, 100),
        (23, 0),
        (25, seed),
        (31, name),
        (0, 0),
    ]);
    vector
}

/// The result of uname: six fields of 65 bytes.
pub(super) fn system_name() -> Vec<u8> {
    let fields = ["Linux", "matchbench", "5.15.0", "#1", "riscv64", ""];
    let field = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(65, 0);
        bytes
    };
    fields.iter().flat_map(|text| field(text)).collect()
}
