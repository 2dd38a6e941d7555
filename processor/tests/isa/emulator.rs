// SPDX-License-Identifier: Apache-2.0 OR MIT
//! qemu-user, run one instruction at a time.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::State;

/// An emulator that prints all registers before each instruction.
pub(crate) struct Emulator {
    command: &'static str,
    model: &'static str,
    /// What is printed: floating-point registers only where there are some.
    shown: &'static str,
    /// Parses one line into a state; returns whether it is the last line of the state.
    parse: fn(&str, &mut State) -> bool,
}

/// A model with half-word multiplications.
pub(crate) const PPC32: Emulator =
    Emulator { command: "qemu-ppc", model: "440epb", shown: "cpu,nochain", parse: parse_ppc };
pub(crate) const RV64: Emulator =
    Emulator { command: "qemu-riscv64", model: "rv64", shown: "cpu,fpu,nochain", parse: parse_riscv };

impl Emulator {
    /// Whether the emulator is installed; prints a message if not.
    pub(crate) fn is_installed(&self) -> bool {
        let found = Command::new(self.command).arg("--version").stdout(Stdio::null()).status();
        if let Err(error) = &found {
            // Not through `eprintln`, which the test harness would capture.
            let printed = writeln!(std::io::stderr(), "SKIPPED: {}: {error} (see `setup.sh guest`)", self.command);
            printed.expect("standard error is open");
        }
        found.is_ok()
    }

    /// The option for single instructions, which was renamed in version 8.1.
    fn single(&self) -> &'static str {
        let help = Command::new(self.command).arg("--help").output().expect("an installed emulator");
        let new = String::from_utf8_lossy(&help.stdout).contains("one-insn-per-tb");
        if new { "-one-insn-per-tb" } else { "-singlestep" }
    }

    /// Runs the program at `path` and passes each state to `show`, until the end or until `show`
    /// returns false.
    pub(crate) fn run(&self, path: &Path, mut show: impl FnMut(&State) -> bool) {
        let mut child = Command::new(self.command)
            .args(["-cpu", self.model, self.single(), "-d", self.shown])
            // To a file that it opens, qemu writes whole lines, and to its standard error each number on its own.
            .args(["-D", "/dev/stderr"])
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("an installed emulator");
        let mut output = BufReader::with_capacity(1 << 16, child.stderr.take().expect("a piped stream"));
        let (mut state, mut line) = (State::default(), String::new());
        while output.read_line(&mut line).expect("qemu prints text") > 0 {
            if (self.parse)(&line, &mut state) && !show(&state) {
                break;
            }
            line.clear();
        }
        // The child may have ended already.
        child.kill().ok();
        child.wait().expect("a child of this process");
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("qemu printed `{text}`; expected a number"))
}

/// Format: `NIP a LR b CTR c XER d ...`, lines `GPR00 a b c d`, and a last line `CR a ...`.
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

/// Format: `pc a`, lines `x0/zero a x1/ra b x2/sp c x3/gp d`, and the same for `f0/ft0`.
fn parse_riscv(line: &str, state: &mut State) -> bool {
    let mut words = line.split_ascii_whitespace();
    match words.next() {
        Some("pc") => {
            state.pc = hex(words.next().unwrap_or(""));
            state.registers.clear();
        }
        Some(name) if name.starts_with(['x', 'f']) && name.contains('/') => {
            state.registers.extend(words.step_by(2).map(hex));
            return state.registers.len() == 64;
        }
        _ => {}
    }
    false
}
