// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel (`moped/kernel`) on harts without timing: processes, memory, files, scheduling, faults.

mod chips;
mod compiled;
mod costs;
mod device;
mod faults;
mod files;
mod glibc;
mod processes;

use mb_moped::kernel::{Boot, KernelHost, MemoryFiles, UserProgram};
use mb_processor::functional::{ExecutedCounts, Functional, FunctionalParameters, HartStop, SystemDevice};
use mb_processor::system::NoDevice;

/// The program of `moped/kernel/tests/user.c`.
const USER: &[u8] = include_bytes!("../../elf/kernel_user.rv64.elf");

/// More time than any test needs.
const LONG: u64 = 2_000_000_000;

/// A run of programs on the kernel.
struct KernelRun {
    boot: Boot,
    quantum: u32,
}

/// What a run left.
struct KernelOutcome {
    stop: HartStop,
    host: KernelHost<MemoryFiles>,
    counts: Vec<ExecutedCounts>,
    time: u64,
}

impl KernelOutcome {
    fn output(&self) -> String {
        String::from_utf8(self.host.files().output().to_vec()).expect("text")
    }
}

/// `ranks` processes of the test program with these arguments, from `first_core` on.
fn user<'a>(arguments: &'a [&'a str], ranks: u32, first_core: u32) -> UserProgram<'a> {
    UserProgram { file: USER, ranks, first_core, arguments, environment: &[] }
}

impl KernelRun {
    fn on(harts: u32) -> Self {
        Self { boot: Boot { harts, slice: 10_000, ..Boot::default() }, quantum: 17 }
    }

    fn run(&self, programs: &[UserProgram<'_>]) -> KernelOutcome {
        self.run_with(NoDevice, programs).0
    }

    fn run_with<D: SystemDevice>(&self, device: D, programs: &[UserProgram<'_>]) -> (KernelOutcome, D) {
        let (memory, states) = self.boot.start(programs).expect("a machine");
        let parameters = FunctionalParameters { quantum: self.quantum };
        let mut machine = Functional::new(memory, device, &states, 0, parameters);
        let mut host = KernelHost::new(MemoryFiles::new(b"input"), 1);
        let stop = machine.run(&mut host, LONG);
        let counts = (0..states.len()).map(|hart| machine.counts(hart)).collect();
        let time = machine.time();
        (KernelOutcome { stop, host, counts, time }, machine.into_parts().1)
    }

    /// Runs programs that must all end with status 0 and without a message of the kernel.
    fn succeeds(&self, programs: &[UserProgram<'_>]) -> KernelOutcome {
        let outcome = self.run(programs);
        assert_eq!((outcome.stop, outcome.host.messages()), (HartStop::Exited(0), String::new()));
        let ranks: u32 = programs.iter().map(|program| program.ranks).sum();
        assert_eq!(outcome.host.ended().len(), ranks as usize);
        outcome
    }
}
