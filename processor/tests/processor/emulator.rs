// SPDX-License-Identifier: Apache-2.0 OR MIT
//! qemu's user mode, one instruction at a time.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::State;

/// A command that prints registers before each instruction.
pub(crate) struct Emulator {
    command: &'static str,
    model: &'static str,
    /// Takes in one line; true if it is the last one of a state.
    parse: fn(&str, &mut State) -> bool,
}

/// A processor that has multiplications of halves.
pub(crate) const PPC32: Emulator = Emulator { command: "qemu-ppc", model: "440epb", parse: parse_ppc };
pub(crate) const RV64: Emulator = Emulator { command: "qemu-riscv64", model: "rv64", parse: parse_riscv };

impl Emulator {
    /// Whether it can be used here; says so if not.
    pub(crate) fn is_here(&self) -> bool {
        let found = Command::new(self.command).arg("--version").stdout(Stdio::null()).status();
        if let Err(error) = &found {
            // Straight to the terminal, or the test harness would keep it.
            let told = writeln!(std::io::stderr(), "SKIPPED: {}: {error} (see `setup.sh guest`)", self.command);
            told.expect("somebody listens");
        }
        found.is_ok()
    }

    /// The option for one instruction at a time, which had another name before version 8.1.
    fn single(&self) -> &'static str {
        let help = Command::new(self.command).arg("--help").output().expect("it was there before");
        let new = String::from_utf8_lossy(&help.stdout).contains("one-insn-per-tb");
        if new { "-one-insn-per-tb" } else { "-singlestep" }
    }

    /// Runs the program at `path` and shows each state, until there is no more or `show` has enough.
    pub(crate) fn run(&self, path: &Path, mut show: impl FnMut(&State) -> bool) {
        let mut child = Command::new(self.command)
            .args(["-cpu", self.model, self.single(), "-d", "cpu,nochain"])
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it was there before");
        let mut output = BufReader::with_capacity(1 << 16, child.stderr.take().expect("it is piped"));
        let (mut state, mut line) = (State::default(), String::new());
        while output.read_line(&mut line).expect("qemu prints text") > 0 {
            if (self.parse)(&line, &mut state) && !show(&state) {
                break;
            }
            line.clear();
        }
        // It may have ended by itself.
        child.kill().ok();
        child.wait().expect("it is our child");
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("qemu printed `{text}` for a number"))
}

/// `NIP a LR b CTR c XER d ...`, lines `GPR00 a b c d`, and at last `CR a ...`.
fn parse_ppc(line: &str, state: &mut State) -> bool {
    let mut words = line.split_ascii_whitespace();
    match words.next() {
        Some("NIP") => {
            let numbers: Vec<u64> = words.step_by(2).take(4).map(hex).collect();
            state.pc = numbers[0];
            state.registers.clear();
            state.registers.extend(&numbers[1..]);
        }
        Some(name) if name.starts_with("GPR") => {
            let place = state.registers.len() - 3;
            state.registers.splice(place..place, words.map(hex));
        }
        Some("CR") => {
            state.registers.extend(words.next().map(hex));
            return true;
        }
        _ => {}
    }
    false
}

/// `pc a`, and lines `x0/zero a x1/ra b x2/sp c x3/gp d`.
fn parse_riscv(line: &str, state: &mut State) -> bool {
    let mut words = line.split_ascii_whitespace();
    match words.next() {
        Some("pc") => {
            state.pc = hex(words.next().unwrap_or(""));
            state.registers.clear();
        }
        Some(name) if name.starts_with('x') && name.contains('/') => {
            state.registers.extend(words.step_by(2).map(hex));
            return state.registers.len() == 32;
        }
        _ => {}
    }
    false
}
