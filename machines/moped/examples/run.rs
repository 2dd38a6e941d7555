// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs static RISC-V MPI programs on the machine without time.
//!
//! ```text
//! run [--ranks N] [--harts N] [--transport shm|moped] [--preset NAME] [--descriptors N] [--memory MIB]
//!     [--patience N] [--limit N] [--quantum N] [--frequency HZ] [--env NAME=VALUE]...
//!     [--report FILE] PROGRAM [ARGUMENTS]...
//! ```
//!
//! Programs read and write the files of the working directory's host. The exit status is that of the programs, 1 for
//! a deadlock and 2 for bad arguments.

#![expect(clippy::print_stderr, clippy::disallowed_methods, reason = "a command, not a model")]

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use mb_guest::kernel::UserProgram;
use mb_moped::machine::{End, MachineParameters};
use mb_moped::{Machine, presets};

#[path = "../../../workbench/py/src/cpu/files.rs"]
mod files;

use files::HostFiles;

struct Options {
    parameters: MachineParameters,
    ranks: u32,
    environment: Vec<String>,
    /// File to which the counts are appended; without it they go to standard error.
    report: Option<String>,
    words: Vec<String>,
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let (mut transport, mut preset, mut descriptors) = ("shm".to_owned(), "optcopy".to_owned(), None);
    let mut parameters = MachineParameters::default();
    let (mut ranks, mut harts, mut environment) = (16, None, Vec::new());
    let (mut rest, mut report) = (Vec::new(), None);
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            rest.push(word);
            rest.extend(words.by_ref());
            break;
        }
        let value = words.next().ok_or_else(|| format!("{word}: no value found, expected one after it"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word}: {value} found, expected a number"));
        let small =
            || u32::try_from(number()?).map_err(|_| format!("{word}: {value} found, expected a smaller number"));
        match word.as_str() {
            "--ranks" | "-n" | "-np" => ranks = small()?,
            "--harts" => harts = Some(small()?),
            "--transport" => transport = value,
            "--preset" => preset = value,
            "--descriptors" => descriptors = Some(small()? as usize),
            "--memory" => parameters.memory = number()? << 20,
            "--patience" => parameters.patience = number()?,
            "--limit" => parameters.limit = number()?,
            "--quantum" => parameters.quantum = small()?,
            "--frequency" => parameters.frequency = number()?,
            "--env" => environment.push(value),
            "--report" => report = Some(value),
            _ => return Err(format!("{word}: unknown option")),
        }
    }
    if rest.is_empty() {
        return Err("no program found, expected the file of one".to_owned());
    }
    parameters.harts = harts.unwrap_or(ranks.clamp(1, 64));
    if transport == "moped" {
        let known: Vec<_> = presets::PAPER.iter().chain(&presets::LITERAL).collect();
        if !known.iter().any(|name| ***name == *preset) {
            return Err(format!("--preset: {preset} found, expected one of {known:?}"));
        }
        let mut moped = presets::parameters(&preset);
        moped.descriptors = descriptors.unwrap_or(moped.descriptors);
        if !(1..=256).contains(&moped.descriptors) {
            return Err(format!("--descriptors: {} found, expected 1 to 256", moped.descriptors));
        }
        parameters.moped = Some(moped);
    } else if transport != "shm" {
        return Err(format!("--transport: {transport} found, expected shm or moped"));
    }
    environment.push(format!("MB_MPI_TRANSPORT={transport}"));
    Ok(Options { parameters, ranks, environment, report, words: rest })
}

fn main() -> ExitCode {
    match run() {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            eprintln!("run: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<u8, String> {
    let Options { parameters, ranks, environment, report, words } = options(std::env::args().skip(1))?;
    let file = std::fs::read(&words[0]).map_err(|error| format!("{}: {error}", words[0]))?;
    let arguments: Vec<_> = words.iter().map(String::as_str).collect();
    let environment: Vec<_> = environment.iter().map(String::as_str).collect();
    let program = UserProgram { file: &file, ranks, first_core: 0, arguments: &arguments, environment: &environment };
    let mut machine = Machine::new(&parameters, &[program], HostFiles::default()).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let end = machine.run();
    let seconds = start.elapsed().as_secs_f64();
    eprint!("{}", machine.messages());
    let counts = counts(&mut machine, parameters.moped.is_some(), seconds);
    match report {
        Some(path) => {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
            file.and_then(|mut file| file.write_all(counts.as_bytes())).map_err(|error| format!("{path}: {error}"))?;
        }
        None => eprint!("{counts}"),
    }
    let failed: Vec<_> = machine.ended().iter().filter(|ended| ended.status != 0).collect();
    for ended in &failed {
        eprintln!("program {} rank {}: status {}", ended.program, ended.rank, ended.status);
    }
    let (what, waiting) = match end {
        End::Exited(status) => return Ok(status as u8),
        End::Deadlock(waiting) => ("deadlock: every process waits", waiting),
        End::Limit(waiting) => ("the limit of time is reached", waiting),
        End::TrapLoop { hart, handler } => {
            return Err(format!("core {hart} takes traps without end at {handler:#x}"));
        }
    };
    eprintln!("{what}");
    for place in waiting {
        eprintln!("  {place}");
    }
    Ok(1)
}

/// Instructions, speed and what the devices did.
fn counts(machine: &mut Machine<HostFiles>, has_device: bool, seconds: f64) -> String {
    let counts: Vec<_> = (0..machine.harts()).map(|hart| machine.counts(hart)).collect();
    let user: u64 = counts.iter().map(|counts| counts.user).sum();
    let kernel: u64 = counts.iter().map(|counts| counts.supervisor).sum();
    let mut text = format!(
        "instructions: {user} user, {kernel} kernel; {seconds:.2} s, {:.1} MIPS; time {}\n",
        (user + kernel) as f64 / seconds / 1e6,
        machine.time()
    );
    if has_device {
        let all: Vec<_> = (0..machine.harts()).map(|node| machine.device(node)).collect();
        let sum = |pick: fn(&mb_moped::Counters) -> u64| all.iter().map(pick).sum::<u64>();
        text.push_str(&format!(
            "moped: {} reserved, {} refused, {} rejected, {} revoked, {} matched, {} completed, {} lines, {} walks, {} \
             page faults, {} moved accesses, {} misuses, {} bad lines\n",
            sum(|c| c.reserved),
            sum(|c| c.refused),
            sum(|c| c.rejected),
            sum(|c| c.revoked),
            sum(|c| c.matched),
            sum(|c| c.completed),
            sum(|c| c.copies),
            sum(|c| c.walks),
            sum(|c| c.faults),
            sum(|c| c.moved_accesses),
            sum(|c| c.misuses),
            machine.refused_lines().len(),
        ));
    }
    text
}
