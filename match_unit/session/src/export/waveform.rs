// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waveforms in VCD, for `GTKWave` and Surfer.

use std::collections::BTreeMap;
use std::fmt::Debug;

use mb_asm::MatchProgram;
use mb_asm::word::Register;
use mb_core::{Clock, Cycles};
use mb_unit::list_manager::StallCause;
use mb_unit::match_processor::{IssueEvent, Observer};
use mb_unit::unit::{FifoTag, MatchUnit, OutputWord, WRITE_STAGE};
use vcd::{IdCode, TimescaleUnit, Value, VarType, Writer};

use super::places;

/// Signals before the registers: name and width.
const SIGNALS: [(&str, u32); 11] = [
    ("issue", 1),
    ("pc", 10),
    ("stall", 3),
    ("in_pop", 1),
    ("in_tag", 2),
    ("in_data", 64),
    ("out_valid", 1),
    ("out_last", 1),
    ("out_data", 64),
    ("taken", 1),
    ("p", 16),
];

/// Index of each signal in [`SIGNALS`]. Registers a1 to a15, then t1 to t15, start at [`REGISTERS`]; the predicates
/// that have names follow.
const ISSUE: usize = 0;
const PC: usize = 1;
const STALL: usize = 2;
const IN_POP: usize = 3;
const IN_TAG: usize = 4;
const IN_DATA: usize = 5;
const OUT_VALID: usize = 6;
const OUT_LAST: usize = 7;
const OUT_DATA: usize = 8;
const TAKEN: usize = 9;
const PREDICATES: usize = 10;
const REGISTERS: usize = 11;
/// Registers of a file that can be written.
const WRITABLE: usize = 15;

/// A signal of the file and its last value.
struct Signal {
    code: IdCode,
    width: u32,
    value: Option<u64>,
}

/// Waveforms: program counter, stall, both FIFO ports, branches, predicates and registers, one time step per cycle. The
/// scope `program` has the registers and predicates again under their names in the program, and the label and distance
/// of the word, `place`, as text (an extension of the format that `GTKWave` and Surfer read).
pub struct Vcd {
    clock: Clock,
    writer: Writer<Vec<u8>>,
    signals: Vec<Signal>,
    /// Numbers of the predicates whose signals follow the registers.
    predicates: Vec<usize>,
    /// The place of each word, its signal, and the word whose place it shows.
    places: Vec<String>,
    place: IdCode,
    shown: Option<usize>,
    /// Sent words that have not reached the output FIFO, with the cycle in which they do.
    leaving: Vec<(u64, OutputWord)>,
    /// The current cycle, and the last one whose time was written.
    now: Option<u64>,
    written: Option<u64>,
    end: u64,
}

impl Vcd {
    /// Waveforms of a unit that runs `program` at `clock`; times are in picoseconds.
    ///
    /// # Panics
    /// Never: writing to memory cannot fail.
    #[must_use]
    pub fn new(program: &MatchProgram, clock: Clock) -> Self {
        let mut writer = Writer::new(Vec::new());
        let Declared { signals, predicates, place } = declare(&mut writer, program);
        Self {
            clock,
            writer,
            signals,
            predicates,
            places: places(program),
            place,
            shown: None,
            leaving: Vec::new(),
            now: None,
            written: None,
            end: 0,
        }
    }

    /// The text written since the last call.
    ///
    /// # Panics
    /// Never: the file is ASCII.
    pub fn take(&mut self) -> String {
        String::from_utf8(std::mem::take(self.writer.writer())).expect("the file is ASCII")
    }

    /// The remaining text of the file.
    #[must_use]
    pub fn finish(mut self) -> String {
        if self.now.is_some() {
            self.advance_without_issue(self.end + 2);
            self.now = Some(self.end + 1);
            self.write_time();
        }
        self.take()
    }

    /// Writes the time of the current cycle, once.
    fn write_time(&mut self) {
        if self.written != self.now
            && let Some(cycle) = self.now
        {
            written(self.writer.timestamp(self.clock.span(Cycles(cycle)).0));
            self.written = self.now;
        }
    }

    fn set(&mut self, index: usize, value: u64) {
        if self.signals[index].value == Some(value) {
            return;
        }
        self.write_time();
        let signal = &mut self.signals[index];
        signal.value = Some(value);
        let result = match signal.width {
            1 => self.writer.change_scalar(signal.code, value == 1),
            _ => self.writer.change_vector(signal.code, significant_bits(value)),
        };
        written(result);
    }

    /// Shows the place of the word at `address`.
    fn show_place(&mut self, address: usize) {
        if self.shown != Some(address) {
            self.write_time();
            self.shown = Some(address);
            written(self.writer.change_string(self.place, &self.places[address]));
        }
    }

    /// Sets the output port for the current cycle.
    fn set_output(&mut self) {
        let cycle = self.now;
        let sent = self.leaving.iter().position(|(at, _)| Some(*at) == cycle).map(|index| self.leaving.remove(index).1);
        self.set(OUT_VALID, u64::from(sent.is_some()));
        if let Some(sent) = sent {
            self.set(OUT_LAST, u64::from(sent.last));
            self.set(OUT_DATA, sent.word);
        }
    }

    /// Advances over cycles without an issue, up to `until`; only the output port can change.
    fn advance_without_issue(&mut self, until: u64) {
        let Some(last) = self.now else { return };
        let mut cycles: Vec<u64> = self.leaving.iter().flat_map(|(at, _)| [*at, at + 1]).collect();
        cycles.push(last + 1);
        cycles.sort_unstable();
        cycles.dedup();
        for cycle in cycles.into_iter().filter(|cycle| (last + 1..until).contains(cycle)) {
            self.now = Some(cycle);
            self.set(ISSUE, 0);
            self.set(IN_POP, 0);
            self.set(TAKEN, 0);
            self.set_output();
        }
    }
}

/// The value of a write to memory, which cannot fail.
fn written<T, E: Debug>(result: Result<T, E>) -> T {
    result.expect("writing to memory cannot fail")
}

/// The signals of a file.
struct Declared {
    signals: Vec<Signal>,
    predicates: Vec<usize>,
    place: IdCode,
}

/// Writes the declarations of the file.
fn declare(writer: &mut Writer<Vec<u8>>, program: &MatchProgram) -> Declared {
    let causes = StallCause::ALL.into_iter().enumerate();
    let stalls: Vec<String> = causes.map(|(number, cause)| format!("{}={}", number + 1, cause.as_str())).collect();
    let comment = format!("stall: {}; in_tag: 0=header 1=item 2=end", stalls.join(" "));
    written(writer.comment(&comment));
    written(writer.timescale(1, TimescaleUnit::PS));
    written(writer.add_module("match_unit"));
    let named = SIGNALS.iter().map(|(name, width)| ((*name).to_owned(), *width));
    let registers = |file: char| (1..=WRITABLE).map(move |number| (format!("{file}{number}"), 64));
    let mut signals: Vec<Signal> = named
        .chain(registers('a'))
        .chain(registers('t'))
        .map(|(name, width)| Signal { code: written(writer.add_wire(width, &name)), width, value: None })
        .collect();
    written(writer.add_module("program"));
    let place = written(writer.add_var(VarType::String, 1, "place", None));
    // By predicate, since one may have several names.
    let mut predicates: BTreeMap<usize, IdCode> = BTreeMap::new();
    for (name, register) in &program.registers {
        let index = match register {
            Register::Alu(reg) => reg.index().checked_sub(1),
            Register::Ternary(reg) => reg.index().checked_sub(1).map(|number| WRITABLE + number),
            Register::Predicate(reg) => {
                let number = reg.index();
                if let Some(&code) = predicates.get(&number) {
                    written(writer.var_def(VarType::Wire, 1, code, name, None));
                } else {
                    predicates.insert(number, written(writer.add_wire(1, name)));
                }
                continue;
            }
        };
        // Number 0 of a file is a constant.
        if let Some(index) = index {
            written(writer.var_def(VarType::Wire, 64, signals[REGISTERS + index].code, name, None));
        }
    }
    signals.extend(predicates.values().map(|&code| Signal { code, width: 1, value: None }));
    written(writer.upscope());
    written(writer.upscope());
    written(writer.enddefinitions());
    Declared { signals, predicates: predicates.into_keys().collect(), place }
}

/// The bits of `value` without leading zeros, highest first; at least one.
fn significant_bits(value: u64) -> impl Iterator<Item = Value> {
    let count = (u64::BITS - value.leading_zeros()).max(1);
    (0..count).rev().map(move |bit| Value::from(value >> bit & 1 == 1))
}

impl Observer for Vcd {
    fn issued(&mut self, event: &IssueEvent, unit: &MatchUnit) {
        if let Some((cycles, cause)) = event.stall {
            let first = event.cycle - cycles;
            self.advance_without_issue(first + 1);
            self.now = Some(self.now.map_or(first, |now| now.max(first)));
            self.set(STALL, cause as u64 + 1);
        }
        self.advance_without_issue(event.cycle);
        self.now = Some(event.cycle);
        self.set(ISSUE, 1);
        self.set(PC, u64::from(event.issued.at));
        self.set(STALL, 0);
        self.set(IN_POP, u64::from(event.took.is_some()));
        if let Some(popped) = event.took {
            let tag = match popped.tag {
                FifoTag::Header => 0,
                FifoTag::Item => 1,
                FifoTag::End => 2,
            };
            self.set(IN_TAG, tag);
            self.set(IN_DATA, popped.word);
        }
        self.set_output();
        self.set(TAKEN, u64::from(event.issued.taken));
        let state = unit.state();
        self.set(PREDICATES, u64::from(state.predicates));
        for (index, value) in state.alu[1..].iter().chain(&state.ternary[1..]).enumerate() {
            self.set(REGISTERS + index, *value);
        }
        for index in 0..self.predicates.len() {
            let bit = state.predicates >> self.predicates[index] & 1;
            self.set(REGISTERS + 2 * WRITABLE + index, u64::from(bit));
        }
        self.show_place(usize::from(event.issued.at));
        if let Some(sent) = event.issued.sent {
            self.leaving.push((event.cycle + WRITE_STAGE, sent));
        }
        self.end = event.cycle + WRITE_STAGE;
    }
}
