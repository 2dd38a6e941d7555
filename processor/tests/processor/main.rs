// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instruction sets and their programs, against the manuals and against other implementations.

mod decoders;
mod directed;
mod elf;
mod emulator;
mod loading;
mod lockstep;
mod random;
mod sharing;

use mb_processor::{Answer, Call, Hart, Host, Memory, Ppc32, Rv64, Service};

/// What Linux would do with the calls of a program that only writes and exits.
#[derive(Default)]
struct Bare {
    cycle: u64,
    written: Vec<u8>,
}

impl Host for Bare {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer {
        match call.service {
            Service::Exit => Answer::Exit(call.arguments[0]),
            Service::Write => {
                let bytes = memory.get(call.arguments[1], call.arguments[2] as usize).expect("the bytes are there");
                self.written.extend(bytes);
                Answer::Value(call.arguments[2])
            }
            // No such system call.
            _ => Answer::Value(-38_i64 as u64),
        }
    }
}

/// What the registers hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    pc: u64,
    /// General registers, then LR, CTR, XER and CR of PPC.
    registers: Vec<u64>,
}

/// A thread whose state can be looked at.
trait Visible: Hart {
    fn state(&self) -> State;
}

impl Visible for Ppc32 {
    fn state(&self) -> State {
        let special = [self.lr(), self.ctr(), self.xer(), self.cr()];
        let registers = (0..32).map(|index| self.register(index)).chain(special).map(u64::from).collect();
        State { pc: self.pc(), registers }
    }
}

impl Visible for Rv64 {
    fn state(&self) -> State {
        State { pc: self.pc(), registers: (0..32).map(|index| self.register(index)).collect() }
    }
}
