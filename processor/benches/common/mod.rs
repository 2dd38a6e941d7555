// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the benchmarks of processors share.

use std::path::Path;

use mb_processor::{Answer, Call, Host, Memory, Program, Service};

/// A host that lets every call pass.
pub(crate) struct Mute;

impl Host for Mute {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Call, _: &mut Memory) -> Answer {
        if call.service == Service::Exit { Answer::Exit(call.arguments[0]) } else { Answer::Value(0) }
    }
}

/// A guest program; its name has the instruction set in it.
pub(crate) fn program(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../guest/elf/{name}.elf"));
    Program::load(&std::fs::read(path).expect("it is committed")).expect("a program")
}
