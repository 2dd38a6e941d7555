// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the cycles of each process go.
//!
//! A cycle belongs to the oldest instruction of its hart: to the next one that commits. Its address tells what the hart
//! does:
//!
//! - in the kernel: `Kernel`, and `Idle` at its wfi;
//! - below the MPI library, or in the C library for the program: `Compute`;
//! - in functions that move bytes, called by the library: `Copying`;
//! - in the library otherwise: `Matching`, which is all of its protocol.
//!
//! The linker places the objects of a program first, then those that it takes from the library, then the C library. So
//! the library's code is one range of addresses, from its first global function to its last. What lies after it is
//! code of its caller: it counts as the library's if the library called it. A jump from the library to the start of a
//! function is a call, and one into the middle of a function is a return to the program.
//!
//! The library executes `pause` at the end of each round of its loops in which nothing arrived and nothing could be
//! sent. So what a hart did in the library since the last `pause`, copy or entry was `Waiting`. The round in which a
//! message is found is `Matching`.

use std::collections::BTreeSet;
use std::ops::Range;

use mb_processor::chip::ChipObserver;
use mb_processor::functional::STRETCH;

use super::symbols::{Symbols, waits_of_kernel};
use super::timeline::{Shown, Timeline};

/// The activity of a hart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// The program itself.
    Compute,
    /// The MPI library, without the following two.
    Matching,
    /// Bytes moved by the core for the MPI library.
    Copying,
    /// Rounds of the library's loops that found nothing.
    Waiting,
    /// Supervisor mode.
    Kernel,
    /// No process: the kernel waits for an interrupt.
    Idle,
}

impl Activity {
    /// All of them, in the order of [`Cycles`].
    pub const ALL: [Self; 6] = [Self::Compute, Self::Matching, Self::Copying, Self::Waiting, Self::Kernel, Self::Idle];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Matching => "matching",
            Self::Copying => "copying",
            Self::Waiting => "waiting",
            Self::Kernel => "kernel",
            Self::Idle => "idle",
        }
    }
}

/// Cycles by [`Activity`].
pub type Cycles = [u64; Activity::ALL.len()];

/// The code of a program.
#[derive(Clone, Debug)]
struct CodeMap {
    library: Range<u64>,
    copies: Vec<Range<u64>>,
    waits: Vec<u64>,
    symbols: Symbols,
    /// Where the parts of the code begin, in order, and whether the part is plain; see [`part`](Self::part).
    parts: Vec<(u64, bool)>,
}

impl CodeMap {
    fn new(symbols: &Symbols) -> Self {
        let (library, copies, waits) = (symbols.library.clone(), symbols.copies(), symbols.waits.clone());
        let edges = [0, library.start, library.end, KERNEL_HALF];
        let after = waits.iter().map(|wait| wait + 2);
        let of_copies = copies.iter().flat_map(|range| [range.start, range.end]);
        let starts: BTreeSet<_> =
            edges.into_iter().chain(waits.iter().copied()).chain(after).chain(of_copies).collect();
        let mut map = Self { library, copies, waits, symbols: symbols.clone(), parts: Vec::new() };
        map.parts =
            starts.into_iter().map(|start| (start, !map.waits.contains(&start) && !map.copies_at(start))).collect();
        map
    }

    /// The addresses around `pc` that are all inside or all outside of the library, without waits and functions that
    /// move bytes; none if it is one of these.
    fn part(&self, pc: u64) -> Range<u64> {
        let after = self.parts.partition_point(|&(start, _)| start <= pc);
        match self.parts[after.saturating_sub(1)..] {
            [(start, true), (end, _), ..] if start <= pc => start..end,
            _ => 0..0,
        }
    }

    fn copies_at(&self, pc: u64) -> bool {
        self.copies.iter().any(|range| range.contains(&pc))
    }
}

#[derive(Clone, Debug, Default)]
struct HartAccount {
    /// Cycle of the last commit.
    last: u64,
    /// The process that has the hart, by its number minus 1, and its program.
    process: Option<(usize, usize)>,
    /// In the library, or in code that it called.
    in_library: bool,
    /// Where the library was entered.
    entry: u64,
    /// The last instruction was in the library's own code.
    was_in_library: bool,
    /// Cycles in the library since the last `pause`, copy or entry, and the instructions committed in them.
    round: u64,
    committed: u64,
    /// Every instruction in this part of the code adds to the same counts as the one before it: to the round in the
    /// library, or to `compute`.
    part: Range<u64>,
    /// Cycles of [`Activity::Compute`] that are not yet added to those of the process.
    compute: u64,
    /// Instructions of rounds that were [`Activity::Waiting`].
    waiting: u64,
    /// Instructions since the last wait.
    busy: u64,
    stretches: u64,
    user: u64,
    kernel: u64,
    /// Cycles without a process.
    none: Cycles,
}

/// Divides the cycles of all harts among what they do.
#[derive(Clone, Debug)]
pub(super) struct Account {
    harts: Vec<HartAccount>,
    /// By process: program and cycles.
    processes: Vec<(usize, Cycles)>,
    programs: Vec<CodeMap>,
    kernel_waits: Vec<u64>,
    kernel_idle: Vec<u64>,
    pub(super) timeline: Option<Timeline>,
}

/// The kernel's addresses of physical memory begin here.
const KERNEL_HALF: u64 = 0xffff_ffc0_0000_0000;

impl Account {
    pub(super) fn new(harts: usize, symbols: &[Symbols], processes: &[(u32, u32)]) -> Self {
        let (kernel_waits, kernel_idle) = waits_of_kernel();
        Self {
            harts: vec![HartAccount::default(); harts],
            processes: processes.iter().map(|&(program, _)| (program as usize, Cycles::default())).collect(),
            programs: symbols.iter().map(CodeMap::new).collect(),
            kernel_waits,
            kernel_idle,
            timeline: None,
        }
    }

    /// A hart continues in this cycle, with the process of this address-space identifier.
    pub(super) fn start(&mut self, hart: usize, cycle: u64, asid: u16) {
        self.harts[hart].last = cycle;
        self.address_space(hart, asid);
    }

    /// Adds the cycles up to `cycle` to the instruction that each hart is about to commit, which is at `pc(hart)`.
    pub(super) fn account_until(&mut self, cycle: u64, pc: impl Fn(usize) -> u64) {
        for hart in 0..self.harts.len() {
            self.spend(hart, pc(hart), cycle, false);
            self.end_round(hart, Activity::Matching);
            self.take_back(hart, cycle);
        }
    }

    /// Takes back the cycles from `cycle` on, which a core that is ahead of the chip has spent already. They are spent
    /// again by its next instruction, and may then belong to another activity.
    fn take_back(&mut self, hart: usize, cycle: u64) {
        let state = &mut self.harts[hart];
        let mut early = state.last.saturating_sub(cycle);
        state.last -= early;
        let process = state.process.map(|(process, _)| &mut self.processes[process].1);
        let counts = process.into_iter().flatten().chain(&mut state.none);
        for count in counts {
            let part = early.min(*count);
            *count -= part;
            early -= part;
        }
    }

    /// The device was accessed by a hart: it waits for something, or will be refused.
    pub(super) fn touches_device(&mut self, hart: usize) {
        self.harts[hart].busy = 0;
    }

    /// How often a hart executed [`STRETCH`] instructions without a wait.
    pub(super) fn stretches(&self, hart: usize) -> u64 {
        self.harts[hart].stretches
    }

    /// Instructions of a hart in user mode and in the kernel.
    pub(super) fn instructions(&self, hart: usize) -> (u64, u64) {
        (self.harts[hart].user, self.harts[hart].kernel)
    }

    /// Instructions of a hart in rounds of the library's loops that found nothing.
    pub(super) fn waiting_instructions(&self, hart: usize) -> u64 {
        self.harts[hart].waiting
    }

    /// Cycles of each process.
    pub(super) fn cycles(&self) -> Vec<Cycles> {
        self.processes.iter().map(|(_, cycles)| *cycles).collect()
    }

    /// Cycles of harts without a process.
    pub(super) fn unused(&self) -> Cycles {
        let mut sum = Cycles::default();
        for hart in &self.harts {
            for (total, cycles) in sum.iter_mut().zip(hart.none) {
                *total += cycles;
            }
        }
        sum
    }

    fn add(&mut self, hart: usize, activity: Activity, cycles: u64) {
        let state = &mut self.harts[hart];
        let counts = match state.process {
            Some((process, _)) if activity != Activity::Idle => &mut self.processes[process].1,
            _ => &mut state.none,
        };
        counts[activity as usize] += cycles;
    }

    fn end_round(&mut self, hart: usize, activity: Activity) {
        let state = &mut self.harts[hart];
        let (round, committed) = (std::mem::take(&mut state.round), std::mem::take(&mut state.committed));
        if activity == Activity::Waiting {
            state.waiting += committed;
        }
        if round > 0 {
            self.add(hart, activity, round);
        }
    }

    /// As [`spend`](Self::spend), for an instruction that commits and is in the part of the code of the one before it.
    /// False: it may not be.
    #[inline]
    fn spend_in_part(&mut self, hart: usize, pc: u64, cycle: u64) -> bool {
        let state = &mut self.harts[hart];
        if !state.part.contains(&pc) || state.busy + 1 >= STRETCH {
            return false;
        }
        let spent = cycle.saturating_sub(state.last);
        state.last = state.last.max(cycle);
        state.busy += 1;
        state.user += 1;
        if state.in_library {
            state.round += spent;
            state.committed += 1;
        } else {
            state.compute += spent;
        }
        true
    }

    /// Ends the part of the code in which a hart was.
    fn end_part(&mut self, hart: usize) {
        self.harts[hart].part = 0..0;
        let compute = std::mem::take(&mut self.harts[hart].compute);
        if compute > 0 {
            self.add(hart, Activity::Compute, compute);
        }
    }

    /// The cycles up to `cycle` belong to the instruction at `pc`, which commits or is the oldest.
    fn spend(&mut self, hart: usize, pc: u64, cycle: u64, commits: bool) {
        self.end_part(hart);
        let state = &mut self.harts[hart];
        let spent = cycle.saturating_sub(state.last);
        // A core may be some cycles ahead of the chip.
        state.last = state.last.max(cycle);
        if commits {
            state.busy += 1;
            if state.busy >= STRETCH {
                state.busy = 0;
                state.stretches += 1;
            }
        }
        let program = state.process.map(|(_, program)| program);
        let is_kernel = pc >> 63 != 0 || program.is_none();
        if is_kernel {
            state.kernel += u64::from(commits);
            let physical = pc & (!KERNEL_HALF);
            if commits && self.kernel_waits.contains(&physical) {
                self.harts[hart].busy = 0;
            }
            if spent > 0 {
                let idle = self.kernel_idle.contains(&physical);
                self.add(hart, if idle { Activity::Idle } else { Activity::Kernel }, spent);
            }
            return;
        }
        state.user += u64::from(commits);
        let Some(code) = program.and_then(|program| self.programs.get(program)) else { return };
        if code.library.contains(&pc) {
            if !std::mem::replace(&mut state.in_library, true) {
                state.entry = pc;
            }
            state.was_in_library = true;
            let pauses = commits && code.waits.contains(&pc);
            if pauses {
                state.busy = 0;
            }
            if spent > 0 && code.copies_at(pc) {
                self.end_round(hart, Activity::Matching);
                self.add(hart, Activity::Copying, spent);
                return;
            }
            state.round += spent;
            state.committed += u64::from(commits);
            state.part = code.part(pc);
            if pauses {
                self.end_round(hart, Activity::Waiting);
            }
            return;
        }
        let left = std::mem::take(&mut state.was_in_library);
        if pc < code.library.start || left && !code.symbols.begins(pc) {
            state.in_library = false;
        }
        if commits && code.waits.contains(&pc) {
            state.busy = 0;
        }
        if state.in_library {
            if spent > 0 && code.copies_at(pc) {
                self.end_round(hart, Activity::Matching);
                self.add(hart, Activity::Copying, spent);
            } else {
                state.round += spent;
                state.committed += u64::from(commits);
                state.part = code.part(pc);
            }
            return;
        }
        state.part = code.part(pc);
        if state.round > 0 || state.committed > 0 {
            self.end_round(hart, Activity::Matching);
        }
        if spent > 0 {
            self.add(hart, Activity::Compute, spent);
        }
    }

    /// The activity of a hart at an address, for the timeline.
    fn shown(&self, hart: usize, pc: u64) -> Shown {
        let state = &self.harts[hart];
        if pc >> 63 != 0 || state.process.is_none() {
            let idle = self.kernel_idle.contains(&(pc & !KERNEL_HALF));
            return if idle { Shown::Idle } else { Shown::Kernel };
        }
        match state.process {
            Some((_, program)) if state.in_library => Shown::Library { program: program as u16, call: state.entry },
            _ => Shown::Compute,
        }
    }
}

impl ChipObserver for Account {
    const RECORDS_PASSAGES: bool = false;

    fn committed(&mut self, _: &mb_processor::chip::Passage, _: u64) {}

    #[inline]
    fn retired(&mut self, hart: usize, pc: u64, cycle: u64) {
        let from = self.harts[hart].last;
        if !self.spend_in_part(hart, pc, cycle) {
            self.spend(hart, pc, cycle, true);
        }
        if self.timeline.is_some() {
            let shown = self.shown(hart, pc);
            if let Some(timeline) = &mut self.timeline {
                timeline.core(hart, from, shown);
            }
        }
    }

    fn address_space(&mut self, hart: usize, asid: u16) {
        self.end_part(hart);
        self.end_round(hart, Activity::Matching);
        let process = usize::from(asid).checked_sub(1);
        let state = &mut self.harts[hart];
        state.process = process.and_then(|process| Some((process, self.processes.get(process)?.0)));
        state.in_library = false;
        state.was_in_library = false;
    }
}
