// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Observation of the machine between two steps: states, counts, regions, records and messages.

use crate::kernel::{Ended, KernelHost};
use mb_processor::chip;
use mb_processor::functional::{ExecutedCounts, HartState};
use mb_processor::linux::Files;
use mb_processor::system::MemorySystem;

use super::messages::Messages;
use super::progress::Waiting;
use super::results::MeasuredRegion;
use super::timeline::Timeline;
use super::timing::TimingParameters;
use super::watch;
use super::{Execution, Machine, add};
use crate::{Moped, MopedCounters};

impl<F: Files> Machine<F> {
    /// The regions with time so far, in order; the last one, if it has not ended, ends at the current cycle.
    #[must_use]
    pub fn regions(&self) -> Vec<MeasuredRegion> {
        let mut regions = self.regions.clone();
        if let (Execution::Timed(timed), Some(begin)) = (&self.execution, &self.begun) {
            let end = timed.snapshot(&mut self.account.clone());
            regions.push(MeasuredRegion { kind: self.kind, begin: begin.clone(), end });
        }
        regions
    }

    /// The messages that the devices moved with time.
    #[must_use]
    pub fn moved(&self) -> &Messages {
        match &self.execution {
            Execution::Timed(timed) => timed.memory.messages(),
            _ => &self.messages,
        }
    }

    /// Records what cores do from here on, for [`timeline`](Self::timeline).
    pub fn record_timeline(&mut self) {
        self.account.timeline = Some(Timeline::default());
    }

    /// The activity of cores and devices with time, in the Trace Event Format that the Perfetto viewer opens; nothing
    /// without [`record_timeline`](Self::record_timeline). A cycle is shown as a nanosecond.
    #[must_use]
    pub fn timeline(&self) -> Option<String> {
        let mut timeline = self.account.timeline.clone()?;
        timeline.stop(self.time());
        Some(timeline.write(self.harts(), &self.symbols, self.moved()))
    }

    /// Records the pipelines in these cycles, for [`diagram`](Self::diagram).
    pub fn record_diagram(&mut self, cycles: std::ops::Range<u64>) {
        let name: fn(&chip::Passage) -> String = chip::hart_and_pc;
        let diagram = Some((cycles.end, chip::ChipKanata::new(cycles, name)));
        match &mut self.execution {
            Execution::Timed(timed) => timed.diagram = diagram,
            _ => self.diagram = diagram,
        }
    }

    /// Takes the diagram of the pipelines in the Kanata format.
    pub fn diagram(&mut self) -> Option<String> {
        let diagram = match &mut self.execution {
            Execution::Timed(timed) => timed.diagram.take(),
            _ => self.diagram.take(),
        };
        let mut text = String::new();
        diagram?.1.finish(&mut text).ok()?;
        Some(text)
    }

    /// Whether the machine executes with time.
    #[must_use]
    pub fn has_time(&self) -> bool {
        matches!(self.execution, Execution::Timed(_))
    }

    /// Program and rank of each process, in the order of the kernel's process numbers.
    #[must_use]
    pub fn processes(&self) -> &[(u32, u32)] {
        &self.processes
    }

    /// The parameters of cores, caches and switch.
    #[must_use]
    pub fn timing(&self) -> &TimingParameters {
        &self.timing
    }

    /// The state of a hart after its last committed instruction.
    pub(super) fn state(&self, hart: usize) -> HartState {
        match &self.execution {
            Execution::Functional(functional) => *functional.state(hart),
            Execution::Timed(timed) => timed.state(hart),
            Execution::Moving => HartState::new(0, 0, 0),
        }
    }

    /// Whether a hart waits for an interrupt.
    pub(super) fn is_waiting(&self, hart: usize) -> bool {
        match &self.execution {
            Execution::Functional(functional) => functional.state(hart).waits,
            Execution::Timed(timed) => timed.chip.is_waiting(hart),
            Execution::Moving => false,
        }
    }

    pub(super) fn stretches(&self, hart: usize) -> u64 {
        self.counts(hart).stretches + self.account.stretches(hart)
    }

    pub(super) fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        match &self.execution {
            Execution::Functional(functional) => functional.memory().get(address, length),
            Execution::Timed(timed) => timed.memory.bytes(address, length),
            Execution::Moving => None,
        }
    }

    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address, 8)?.first_chunk().map(|word| u64::from_le_bytes(*word))
    }

    /// Where the processes are that hold a hart.
    #[must_use]
    pub fn waiting(&self) -> Vec<Waiting> {
        watch::waiting(self)
    }

    /// The processes that ended, in order of time.
    #[must_use]
    pub fn ended(&self) -> &[Ended] {
        self.host.host.ended()
    }

    /// Files, console and markers.
    #[must_use]
    pub fn host(&self) -> &KernelHost<F> {
        &self.host.host
    }

    /// The output of the kernel, with the function of each address `pc`, and the call of MPI in which it is.
    #[must_use]
    pub fn messages(&self) -> String {
        let mut text = String::new();
        let mut places = self.host.host.places().iter().peekable();
        for line in self.host.host.messages().lines() {
            text.push_str(line);
            let number = |word: &str, radix| {
                let rest = line.split_once(word)?.1.trim_start_matches("0x");
                let end = rest.find(|letter: char| !letter.is_digit(radix)).unwrap_or(rest.len());
                u64::from_str_radix(&rest[..end], radix).ok()
            };
            let program = number("program ", 10).and_then(|program| self.symbols.get(usize::try_from(program).ok()?));
            if let (Some(symbols), Some(pc)) = (program, number("pc ", 16)) {
                if let Some(name) = symbols.name(pc) {
                    text.push_str(" in ");
                    text.push_str(&name);
                }
                let place = number("core ", 10)
                    .and_then(|hart| places.next_if(|place| place.hart as u64 == hart && place.pc == pc));
                let addresses = || place.into_iter().flat_map(|place| place.stack.iter().copied());
                // The library says which call it is. A call that left by a jump has no return address, and the stack
                // may have that of an earlier one.
                let said = line.split(": ").nth(2).filter(|word| word.starts_with("MPI_") && !word.contains(' '));
                let found = symbols.innermost_call(pc, addresses());
                let found = match said {
                    Some(call) if found.as_ref().is_none_or(|(name, _)| *name != call) => {
                        Some((call, symbols.place_before_library(addresses())))
                    }
                    _ => found,
                };
                if let Some((call, caller)) = found {
                    text.push_str(", called from ");
                    text.push_str(call);
                    if let Some(caller) = caller {
                        text.push_str(" in ");
                        text.push_str(&caller);
                    }
                }
            }
            text.push('\n');
        }
        text
    }

    /// The counts of a hart without time.
    #[must_use]
    pub fn counts(&self, hart: usize) -> ExecutedCounts {
        let mut counts = self.earlier[hart];
        if let Execution::Functional(functional) = &self.execution {
            add(&mut counts, functional.counts(hart));
        }
        counts
    }

    /// Instructions of a hart with time: in user mode, and in the kernel.
    #[must_use]
    pub fn timed_instructions(&self, hart: usize) -> (u64, u64) {
        self.account.instructions(hart)
    }

    /// Instructions of a hart with time in rounds of the MPI library's loops that found nothing.
    #[must_use]
    pub fn waiting_instructions(&self, hart: usize) -> u64 {
        self.account.waiting_instructions(hart)
    }

    /// Number of harts.
    #[must_use]
    pub fn harts(&self) -> usize {
        self.earlier.len()
    }

    /// The time: the longest way of a hart, with its waits.
    #[must_use]
    pub fn time(&self) -> u64 {
        match &self.execution {
            Execution::Functional(functional) => functional.time(),
            Execution::Timed(timed) => timed.chip.now(),
            Execution::Moving => 0,
        }
    }

    fn moped(&mut self) -> &Moped {
        match &mut self.execution {
            Execution::Functional(functional) => functional.device().moped(),
            Execution::Timed(timed) => timed.memory.moped(),
            Execution::Moving => unreachable!("a change of execution is complete"),
        }
    }

    /// The activity of the device of a node.
    pub fn device(&mut self, node: usize) -> MopedCounters {
        self.moped().counters(node)
    }

    /// Descriptors in the table of a node.
    pub fn descriptors(&mut self, node: usize) -> usize {
        self.moped().used(node)
    }

    /// Physical addresses of lines that the device copied and that are not memory, since the last change of execution.
    pub fn refused_lines(&mut self) -> &[u64] {
        match &mut self.execution {
            Execution::Functional(functional) => functional.device().refused(),
            Execution::Timed(timed) => timed.memory.refused(),
            Execution::Moving => &[],
        }
    }
}
