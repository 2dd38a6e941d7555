// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The activity of cores and devices over time, in the Trace Event Format, which the Perfetto viewer opens.
//!
//! Process 0 has a thread for each core: user, MPI (with the call), kernel, idle. Process 1 has a thread for each
//! device: `match` where a send was posted, and `copy` at the receiver from the match to the last line, with an arrow
//! from one to the other; `refused` where a reservation was refused. A unit of time is a microsecond there; a cycle is
//! a nanosecond.

use std::fmt::Write as _;

use super::messages::Messages;
use super::symbols::Symbols;

/// Most intervals of cores; later ones are left out.
const MOST: usize = 4_000_000;

/// The activity of a hart, as a timeline shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// The program.
    Compute,
    /// The MPI library, and what it calls: the program, and the address at which it was entered.
    Library {
        /// The program.
        program: u16,
        /// The address.
        call: u64,
    },
    /// Supervisor mode.
    Kernel,
    /// No process.
    Idle,
}

/// An interval of a core.
#[derive(Clone, Copy, Debug)]
struct Interval {
    core: u32,
    shown: Shown,
    begin: u64,
    end: u64,
}

/// Intervals of cores.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    /// By core: what it does, and since when.
    current: Vec<Option<(Shown, u64)>>,
    intervals: Vec<Interval>,
}

impl Timeline {
    /// A core does this since a cycle.
    #[inline]
    pub(super) fn core(&mut self, core: usize, since: u64, shown: Shown) {
        if self.current.len() <= core {
            self.current.resize(core + 1, None);
        }
        let current = &mut self.current[core];
        match current {
            Some((before, _)) if *before == shown => return,
            Some((before, begin)) if *begin < since && self.intervals.len() < MOST => {
                self.intervals.push(Interval { core: core as u32, shown: *before, begin: *begin, end: since });
            }
            _ => {}
        }
        *current = Some((shown, since));
    }

    /// The core continues without time: its interval ends.
    pub(super) fn stop(&mut self, cycle: u64) {
        for (core, current) in self.current.iter_mut().enumerate() {
            if let Some((shown, begin)) = current.take()
                && begin < cycle
            {
                self.intervals.push(Interval { core: core as u32, shown, begin, end: cycle });
            }
        }
    }

    /// The file; `programs` name the calls.
    pub(super) fn write(&self, cores: usize, programs: &[Symbols], messages: &Messages) -> String {
        let mut out = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        let mut put = |text: std::fmt::Arguments<'_>| {
            // Writing to a string does not fail.
            let _ = out.write_fmt(text);
            out.push_str(",\n");
        };
        for (number, what) in [(0, "cores"), (1, "MOPEDs")] {
            put(format_args!(r#"{{"ph":"M","pid":{number},"name":"process_name","args":{{"name":"{what}"}}}}"#));
            for core in 0..cores {
                put(format_args!(
                    r#"{{"ph":"M","pid":{number},"tid":{core},"name":"thread_name","args":{{"name":"{}{core}"}}}}"#,
                    if number == 0 { "core " } else { "MOPED " }
                ));
            }
        }
        for Interval { core, shown, begin, end } in &self.intervals {
            let name = match shown {
                Shown::Compute => "user",
                Shown::Library { program, call } => {
                    programs.get(usize::from(*program)).and_then(|symbols| symbols.call(*call)).unwrap_or("MPI")
                }
                Shown::Kernel => "kernel",
                Shown::Idle => "idle",
            };
            put(format_args!(
                r#"{{"ph":"X","pid":0,"tid":{core},"name":"{name}","ts":{},"dur":{}}}"#,
                Micro(*begin),
                Micro(end - begin)
            ));
        }
        for (number, record) in messages.records().iter().enumerate() {
            let (from, to, matched, completed) = (record.from, record.to, record.matched, record.completed);
            let ranks = format!("{} to {}, tag {}, {} bytes", record.sender, record.receiver, record.tag, record.bytes);
            let program = record.program;
            for (node, name, begin, length) in
                [(from, "match", matched, 1), (to, "copy", matched, (completed - matched).max(1))]
            {
                put(format_args!(
                    r#"{{"ph":"X","pid":1,"tid":{node},"name":"{name}","ts":{},"dur":{},"args":{{"ranks":"{ranks}","program":{program}}}}}"#,
                    Micro(begin),
                    Micro(length)
                ));
            }
            put(format_args!(
                r#"{{"ph":"s","pid":1,"tid":{from},"id":{number},"name":"message","cat":"message","ts":{}}}"#,
                Micro(matched)
            ));
            put(format_args!(
                r#"{{"ph":"f","bp":"e","pid":1,"tid":{to},"id":{number},"name":"message","cat":"message","ts":{}}}"#,
                Micro(completed.max(matched + 1) - 1)
            ));
        }
        for (cycle, node) in messages.refusals() {
            put(format_args!(r#"{{"ph":"i","s":"t","pid":1,"tid":{node},"name":"refused","ts":{}}}"#, Micro(*cycle)));
        }
        // The last event has no comma.
        out.truncate(out.len() - 2);
        out.push_str("\n]}\n");
        out
    }
}

/// Cycles as microseconds, at one nanosecond each.
struct Micro(u64);

impl std::fmt::Display for Micro {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}
