// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of chips: closed formulas for every cost, programs against functional execution, and every
//! stage of random programs against a naive chip.

mod announced;
mod assembler;
mod blocking;
mod caches;
mod devices;
mod diagram;
#[expect(dead_code, reason = "another test uses the other functions")]
#[path = "../isa/elf.rs"]
mod elf;
mod formulas;
mod generate;
mod litmus;
mod naive;
mod programs;
mod random;
mod run;
mod threads;

use mb_processor::chip::CallHandler;
use mb_processor::system::MemorySystem;
use mb_processor::{Service, Syscall, SyscallResult};

/// A handler that records what is written.
#[derive(Default)]
pub(crate) struct Console {
    pub(crate) written: Vec<u8>,
}

impl CallHandler for Console {
    fn call<M: MemorySystem>(&mut self, _: u64, call: Syscall, memory: &mut M) -> SyscallResult {
        match call.service {
            Service::Exit => SyscallResult::Exit(call.arguments[0]),
            Service::Write => {
                let [_, address, bytes, ..] = call.arguments;
                self.written.extend_from_slice(memory.bytes(address, bytes as usize).unwrap());
                SyscallResult::Value(bytes)
            }
            _ => SyscallResult::Value(0),
        }
    }
}
