// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Helpers of the benchmarks.

use std::path::Path;

use mb_processor::{Memory, Program, Service, Syscall, SyscallHandler, SyscallResult};

/// A handler that accepts every call.
pub(crate) struct Mute;

impl SyscallHandler for Mute {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        if call.service == Service::Exit { SyscallResult::Exit(call.arguments[0]) } else { SyscallResult::Value(0) }
    }
}

/// A guest program; its name includes the instruction set.
pub(crate) fn program(name: &str) -> Program {
    // The benchmark of another crate uses this file too.
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let file =
        folders.map(|folder| folder.join(format!("processor/firmware/elf/{name}.elf"))).find(|path| path.exists());
    Program::load(&std::fs::read(file.expect("a committed file")).expect("a readable file")).expect("a program")
}
