// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instruction sets and the loader, against the manuals and against other implementations.

mod decoders;
mod directed;
mod elf;
mod emulator;
mod loading;
mod lockstep;
mod random;
mod sharing;

use mb_processor::{Hart, Memory, Ppc32, Rv64, Service, Syscall, SyscallHandler, SyscallResult};

/// A handler with the results of Linux for programs that only write and exit.
#[derive(Default)]
struct LinuxCalls {
    cycle: u64,
    written: Vec<u8>,
}

impl SyscallHandler for LinuxCalls {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        match call.service {
            Service::Exit => SyscallResult::Exit(call.arguments[0]),
            Service::Write => {
                let bytes = memory.get(call.arguments[1], call.arguments[2] as usize).expect("bytes inside memory");
                self.written.extend(bytes);
                SyscallResult::Value(call.arguments[2])
            }
            // ENOSYS: no such system call.
            _ => SyscallResult::Value(-38_i64 as u64),
        }
    }
}

/// The architectural state of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    pc: u64,
    /// General registers; for PPC32 also LR, CTR, XER and CR, for RV64 floating-point registers and fcsr.
    registers: Vec<u64>,
}

/// A thread whose state can be read.
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
        let general = (0..32).map(|index| self.register(index));
        let float = (0..32).map(|index| self.float_register(index));
        let status = self.float_status();
        let status = u64::from(status.rounding.bits()) << 5 | u64::from(status.flags);
        State { pc: self.pc(), registers: general.chain(float).chain([status]).collect() }
    }
}
