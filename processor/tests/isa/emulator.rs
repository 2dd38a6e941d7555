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
    parse: fn(&str, &mut State, &mut Lines) -> bool,
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
        let (mut state, mut lines, mut line) = (State::default(), Lines::default(), String::new());
        while output.read_line(&mut line).expect("qemu prints text") > 0 {
            if (self.parse)(&line, &mut state, &mut lines) && !show(&state) {
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

/// The lines of the latest state with their registers. Most are the same after an instruction, and not parsed again.
#[derive(Default)]
struct Lines(Vec<(String, Vec<u64>)>);

impl Lines {
    /// The registers of the line that shows those from `first` on; `words` are their values.
    fn registers<'a>(&mut self, first: usize, line: &str, words: impl Iterator<Item = &'a str>) -> &[u64] {
        let index = first / 4;
        if index >= self.0.len() {
            self.0.resize_with(index + 1, Default::default);
        }
        let (latest, registers) = &mut self.0[index];
        if latest != line {
            line.clone_into(latest);
            registers.clear();
            registers.extend(words.map(hex));
        }
        registers
    }
}

/// Format: `NIP a LR b CTR c XER d ...`, lines `GPR00 a b c d`, and a last line `CR a ...`.
fn parse_ppc(line: &str, state: &mut State, lines: &mut Lines) -> bool {
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
            let registers = lines.registers(place, line, words);
            state.registers.splice(place..place, registers.iter().copied());
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
fn parse_riscv(line: &str, state: &mut State, lines: &mut Lines) -> bool {
    let mut words = line.split_ascii_whitespace();
    match words.next() {
        Some("pc") => {
            state.pc = hex(words.next().unwrap_or(""));
            state.registers.clear();
        }
        Some(name) if name.starts_with(['x', 'f']) && name.contains('/') => {
            let registers = lines.registers(state.registers.len(), line, words.step_by(2));
            state.registers.extend_from_slice(registers);
            return state.registers.len() == 64;
        }
        _ => {}
    }
    false
}
