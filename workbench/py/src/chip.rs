// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MPI programs on a chip with MOPED, as Python sees them.

use std::sync::{Arc, Mutex};

use mb_guest::kernel::UserProgram;
use mb_moped::machine::{End, MachineParameters};
use mb_moped::{Counters, Machine, presets};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::bad_input;
use crate::host_files::HostFiles;

/// A counter with its name.
type Count = (&'static str, fn(&Counters) -> u64);

/// What is shown of the devices.
const COUNTS: [Count; 13] = [
    ("reserved", |counters| counters.reserved),
    ("refused", |counters| counters.refused),
    ("rejected", |counters| counters.rejected),
    ("revoked", |counters| counters.revoked),
    ("matched", |counters| counters.matched),
    ("completed", |counters| counters.completed),
    ("copied_lines", |counters| counters.copies),
    ("written_lines", |counters| counters.writes),
    ("walks", |counters| counters.walks),
    ("page_faults", |counters| counters.faults),
    ("retries", |counters| counters.retries),
    ("forwarded_accesses", |counters| counters.moved_accesses),
    ("misuses", |counters| counters.misuses),
];

/// The names of the designs of MOPED, those of the paper first.
#[pyfunction]
pub(crate) fn chip_designs() -> Vec<&'static str> {
    presets::PAPER.into_iter().chain(presets::LITERAL).collect()
}

/// Runs a program without time. `design` is that of MOPED; without it, programs have no ports. Returns how the run
/// ended, what the kernel said, where processes wait, and counts.
#[pyfunction]
#[pyo3(signature = (file, *, arguments, environment, ranks, cores, memory, frequency, patience, limit=None, design=None, descriptors=None))]
#[expect(clippy::too_many_arguments, reason = "one for each option of the command")]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn run_on_chip<'py>(
    py: Python<'py>,
    file: &[u8],
    arguments: Vec<String>,
    environment: Vec<String>,
    ranks: u32,
    cores: u32,
    memory: u64,
    frequency: u64,
    patience: u64,
    limit: Option<u64>,
    design: Option<&str>,
    descriptors: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let moped = match design {
        Some(name) if chip_designs().contains(&name) => {
            let mut moped = presets::parameters(name);
            moped.descriptors = descriptors.unwrap_or(moped.descriptors);
            if !(1..=256).contains(&moped.descriptors) {
                return Err(bad_input(format!("descriptors: found {}, expected 1 to 256", moped.descriptors)));
            }
            Some(moped)
        }
        Some(name) => {
            let known = chip_designs().join(", ");
            return Err(bad_input(format!("design `{name}`: unknown; expected one of: {known}")));
        }
        None => None,
    };
    let limit = limit.unwrap_or(u64::MAX);
    let defaults = MachineParameters::default();
    let parameters = MachineParameters { harts: cores, memory, frequency, patience, limit, moped, ..defaults };
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let environment: Vec<_> = environment.iter().map(String::as_str).collect();
    let program = UserProgram { file, ranks, first_core: 0, arguments: &arguments, environment: &environment };
    let machine = Machine::new(&parameters, &[program], HostFiles::new(false)).map_err(bad_input)?;
    // Shared with the thread that runs while Python's lock is released.
    let machine = Arc::new(Mutex::new(machine));
    let end = loop {
        let shared = Arc::clone(&machine);
        if let Some(end) = py.detach(move || shared.lock().expect("no other thread has it").step()) {
            break end;
        }
        py.check_signals()?;
    };
    let mut machine = machine.lock().expect("no other thread has it");
    let (word, status, waiting) = match end {
        End::Exited(status) => ("exited", Some(status), Vec::new()),
        End::Deadlock(waiting) => ("deadlock", None, waiting),
        End::Limit(waiting) => ("limit", None, waiting),
        End::TrapLoop { .. } => ("trap_loop", None, machine.waiting()),
        End::Fault(_) => ("fault", None, machine.waiting()),
    };
    let counts: Vec<_> = (0..machine.harts()).map(|hart| machine.counts(hart)).collect();
    let devices: Vec<_> = (0..machine.harts()).map(|node| machine.device(node)).collect();
    let dict = PyDict::new(py);
    dict.set_item("end", word)?;
    dict.set_item("status", status)?;
    dict.set_item("waiting", waiting.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    dict.set_item("messages", machine.messages())?;
    let ended: Vec<_> = machine.ended().iter().map(|ended| (ended.rank, ended.status)).collect();
    dict.set_item("ranks", ended)?;
    dict.set_item("time", machine.time())?;
    dict.set_item("user_instructions", counts.iter().map(|counts| counts.user).sum::<u64>())?;
    dict.set_item("kernel_instructions", counts.iter().map(|counts| counts.supervisor).sum::<u64>())?;
    let sums = COUNTS.map(|(name, count)| (name, devices.iter().map(count).sum::<u64>()));
    dict.set_item("moped", parameters.moped.is_some().then(|| sums.to_vec()))?;
    Ok(dict)
}
