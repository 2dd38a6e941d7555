// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole machine without time: kernel and device, MPI programs, what ends a run.

mod ends;
mod kernel;
mod messages;
mod mpi;
mod timed;

use mb_moped::kernel::{MemoryFiles, UserProgram};
use mb_moped::machine::{Machine, MachineParameters, RunEnd};
use mb_moped::{MopedCounters, presets};

/// The program of `moped/kernel/tests/moped.c`.
const USER: &[u8] = include_bytes!("../../elf/kernel_moped.rv64.elf");

/// A small machine with devices that have tables of `descriptors`.
fn small(harts: u32, descriptors: usize) -> MachineParameters {
    let moped = mb_moped::MopedParameters { descriptors, ..presets::parameters("optcopy") };
    let (memory, patience) = (64 << 20, 2_000_000);
    MachineParameters {
        harts,
        memory,
        patience,
        quantum: 17,
        slice: 50_000,
        moped: Some(moped),
        ..MachineParameters::default()
    }
}

/// A program with these arguments.
fn program<'a>(file: &'a [u8], ranks: u32, arguments: &'a [&'a str], environment: &'a [&'a str]) -> UserProgram<'a> {
    UserProgram { file, ranks, first_core: 0, arguments, environment }
}

fn run(parameters: &MachineParameters, programs: &[UserProgram<'_>]) -> (RunEnd, Machine<MemoryFiles>) {
    let mut machine = Machine::new(parameters, programs, MemoryFiles::new(b"")).expect("a machine");
    (machine.run(), machine)
}

/// A count of all devices.
fn total(machine: &mut Machine<MemoryFiles>, count: impl Fn(MopedCounters) -> u64) -> u64 {
    (0..machine.harts()).map(|node| count(machine.device(node))).sum()
}

fn output(machine: &Machine<MemoryFiles>) -> String {
    String::from_utf8_lossy(machine.host().files().output()).into_owned()
}
