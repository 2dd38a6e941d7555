// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of a context: its instructions in flight and its register map.

use super::code::{Decoded, Kind};
use super::config::{ChipConfig, IssueOrder};
use super::fetch::Fetch;
use super::in_flight::{InFlight, Times, bit};
use super::interface::Passage;
use super::pages::Across;
use super::registers::Physical;
use super::returns::ReturnStack;
use super::setting::Setting;
use super::statistics::HartStatistics;
use crate::isa::rv64::supervisor::{Exception, Privilege, Supervisor};
use crate::isa::{Extension, FloatStatus};

/// Most instructions in flight of a context: those of the largest reorder buffer and fetch queue.
const RING: usize = 2 * ChipConfig::MAX_ENTRIES;

/// Why rename stopped at an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Full {
    Nothing,
    Queue,
    Registers,
    Window,
}

/// A context.
///
/// Instructions have consecutive numbers: `head..renamed` are between rename and commit,
/// `renamed..tail` between fetch and rename. The masks have a bit for each renamed instruction, at
/// its number modulo 64.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) entries: [InFlight; RING],
    pub(super) times: Box<[Times; RING]>,
    pub(super) head: u64,
    pub(super) renamed: u64,
    pub(super) tail: u64,
    pub(super) map: [Physical; 64],
    /// Instructions in the instruction queue.
    /// Not used with in-order issue.
    pub(super) queued: u64,
    /// With in-order issue, the next instruction to be issued: the oldest in the queue. Otherwise the
    /// highest number.
    pub(super) next_issue: u64,
    /// Instructions whose first, second or third operand is not ready.
    pub(super) waiting: [u64; 3],
    /// Instructions whose result is ready. Not used with in-order issue.
    pub(super) done: u64,
    /// With in-order issue, the cycle in which an instruction ends, in its place; the highest number
    /// where that is not known, and where there is no instruction.
    pub(super) ends: [u64; RING],
    /// Stores and atomics.
    pub(super) stores: u64,
    /// Instructions that issue without their second operand: stores.
    pub(super) late_data: u64,
    /// Issued loads. Not used by narrow cores that issue in order, as `performed`.
    pub(super) loads: u64,
    /// Loads that have their value.
    pub(super) performed: u64,
    /// Issued accesses whose address is not translated yet.
    pub(super) untranslated: u64,
    /// Loads that have an address and have not been sent to memory.
    pub(super) unsent: u64,
    /// Requests that memory has not completed.
    pub(super) pending: u64,
    /// Issued instructions that execute when they are the oldest.
    pub(super) serial: u64,
    /// Fences, atomics and accesses across two pages that are not done: no later load is sent.
    pub(super) barriers: u64,
    /// The last access across two pages.
    pub(super) across: Across,
    /// Issued branches whose prediction was wrong.
    pub(super) mispredicted: u64,
    /// The last load that was sent to a device; it was the oldest instruction, and is never squashed.
    pub(super) device_load: u64,
    /// Instructions in the load/store queue.
    pub(super) accesses: usize,
    pub(super) full: Full,
    pub(super) fetch: Fetch,
    pub(super) returns: ReturnStack,
    pub(super) history: u64,
    /// Floating-point exceptions of committed instructions, and the rounding mode.
    pub(super) float_status: FloatStatus,
    /// Instructions that the hart had committed before the first of this context, as the program counts.
    pub(super) retired_before: u64,
    /// Privilege mode and registers of a context that has them.
    pub(super) supervisor: Option<Supervisor>,
    /// When the context entered supervisor mode.
    pub(super) entered: u64,
    /// Of a blocking core: instructions that were executed at once, from issue to commit. They have no numbers.
    pub(super) at_once: u64,
    /// Of a blocking core: the cycle up to which it has executed instructions.
    pub(super) ahead: u64,
    /// Of a blocking core: the next instruction is decoded in the next entry.
    pub(super) held: bool,
    /// Executes nothing.
    pub(super) halted: bool,
    /// The oldest instruction is a wait or a call that waits.
    pub(super) waits: bool,
    /// Counts that follow from the numbers of instructions are added at the end of each run.
    pub(super) statistics: HartStatistics,
}

impl Context {
    pub(super) fn new(config: &ChipConfig, pc: u64, map: [Physical; 64]) -> Self {
        let entry = InFlight {
            decoded: Decoded::outside(config, 0),
            pc: 0,
            next: 0,
            fetched: 0,
            age: 0,
            address: 0,
            accessed: 0,
            undo: 0,
            forwarded: 0,
            counter: 0,
            tag: 0,
            physical: 0,
            previous: 0,
            sources: [0; 3],
            width: 0,
            extension: Extension::Zero,
            flags: 0,
            taken: false,
            fails: false,
            trap: None,
        };
        Self {
            entries: [entry; RING],
            times: Box::new([Times::default(); RING]),
            head: 0,
            renamed: 0,
            tail: 0,
            map,
            queued: 0,
            next_issue: if config.order == IssueOrder::OutOfOrder { u64::MAX } else { 0 },
            waiting: [0; 3],
            done: 0,
            ends: [u64::MAX; RING],
            stores: 0,
            late_data: 0,
            loads: 0,
            performed: 0,
            untranslated: 0,
            unsent: 0,
            pending: 0,
            serial: 0,
            barriers: 0,
            across: Across::default(),
            mispredicted: 0,
            device_load: u64::MAX,
            accesses: 0,
            full: Full::Nothing,
            fetch: Fetch {
                pc,
                from: 0,
                pending: false,
                stopped: false,
                block: Fetch::NO_BLOCK,
                recent: [const { None }; Fetch::RECENT],
                place: 0,
                half: None,
                misfetch: None,
                outside: (Exception::FetchAccess, 0),
                recovers: false,
                translates: None,
            },
            returns: ReturnStack::new(config.predictor.return_stack),
            history: 0,
            float_status: FloatStatus::default(),
            retired_before: 0,
            supervisor: None,
            entered: 0,
            at_once: 0,
            ahead: 0,
            held: false,
            halted: false,
            waits: false,
            statistics: HartStatistics::default(),
        }
    }

    #[inline]
    pub(super) const fn slot(number: u64) -> usize {
        number as usize % RING
    }

    #[inline]
    pub(super) fn entry(&self, number: u64) -> &InFlight {
        &self.entries[Self::slot(number)]
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, number: u64) -> &mut InFlight {
        let slot = Self::slot(number);
        &mut self.entries[slot]
    }

    #[inline]
    pub(super) fn times_mut(&mut self, number: u64) -> &mut Times {
        let slot = Self::slot(number);
        &mut self.times[slot]
    }

    /// The mask in the order of age: bit 0 belongs to the oldest instruction.
    #[inline]
    pub(super) const fn by_age(&self, mask: u64) -> u64 {
        mask.rotate_right(self.head as u32 & 63)
    }

    /// The bits of the instructions before `number`.
    #[inline]
    pub(super) const fn before(&self, number: u64) -> u64 {
        let count = (number - self.head) as u32;
        let mask = if count < 64 { (1_u64 << count) - 1 } else { u64::MAX };
        mask.rotate_left(self.head as u32 & 63)
    }

    /// As [`before`](Self::before), for an instruction that is renamed.
    #[inline]
    pub(super) const fn before_in_flight(&self, number: u64) -> u64 {
        ((1_u64 << ((number - self.head) & 63)) - 1).rotate_left(self.head as u32 & 63)
    }

    /// The number of the oldest instruction in a mask that is not empty.
    #[inline]
    pub(super) const fn oldest(&self, mask: u64) -> u64 {
        self.head + self.by_age(mask).trailing_zeros() as u64
    }

    /// The number of the youngest instruction in a mask that is not empty.
    #[inline]
    pub(super) const fn youngest(&self, mask: u64) -> u64 {
        self.head + 63 - self.by_age(mask).leading_zeros() as u64
    }

    /// Instructions that can be issued.
    #[inline]
    pub(super) const fn ready(&self) -> u64 {
        self.queued & !self.waiting[0] & !(self.waiting[1] & !self.late_data) & !self.waiting[2]
    }

    /// Whether a renamed instruction is in the instruction queue.
    #[inline]
    pub(super) const fn is_queued(&self, number: u64) -> bool {
        number >= self.next_issue || self.queued & bit(number) != 0
    }

    /// Instructions in the instruction queue.
    #[inline]
    pub(super) fn queue_length<S: Setting>(&self) -> u64 {
        if S::IN_ORDER { self.renamed - self.next_issue } else { self.queued.count_ones().into() }
    }

    /// Whether an instruction has ended before cycle `now`, of which the results are not yet written back.
    #[inline]
    pub(super) fn has_ended<S: Setting>(&self, number: u64, now: u64) -> bool {
        if S::IN_ORDER { self.ends[Self::slot(number)] < now } else { self.done & bit(number) != 0 }
    }

    /// Whether a load has been issued that does not end up to cycle `now`.
    pub(super) fn has_unfinished_load<S: Setting>(&self, now: u64) -> bool {
        if S::IN_ORDER {
            let issued = self.head..self.next_issue;
            let mut unfinished = issued.filter(|&number| self.ends[Self::slot(number)] > now);
            unfinished.any(|number| self.entry(number).decoded.kind == Kind::Load)
        } else {
            self.loads & !self.done != 0
        }
    }

    /// Notes an instruction that is renamed and does more than compute, branch or load.
    #[inline(never)]
    pub(super) const fn note_effect(&mut self, kind: Kind, own: u64) {
        if matches!(kind, Kind::Store | Kind::Atomic) {
            self.stores |= own;
            self.accesses += 1;
        }
        if matches!(kind, Kind::Store) {
            self.late_data |= own;
        }
        if matches!(kind, Kind::Atomic | Kind::Fence) {
            self.barriers |= own;
        }
    }

    /// The age of the next instruction to be renamed, or the highest number if there is none.
    #[inline]
    pub(super) fn next_to_rename(&self, config: &ChipConfig, now: u64) -> u64 {
        if self.can_rename(config, now) { self.entry(self.renamed).age } else { u64::MAX }
    }

    /// Whether the next instruction has passed the front end.
    #[inline]
    pub(super) fn can_rename(&self, config: &ChipConfig, now: u64) -> bool {
        self.renamed < self.tail && self.entry(self.renamed).fetched + config.front_end <= now
    }

    /// Whether the context can fetch, apart from the time.
    #[inline]
    pub(super) fn can_fetch<S: Setting>(&self, config: &ChipConfig) -> bool {
        // Without a jump for each condition.
        !(self.halted | self.fetch.stopped | self.fetch.pending)
            && (S::NARROW || self.fetch.translates.is_none())
            && self.tail - self.renamed < config.fetch_queue as u64
            && (S::NARROW || !S::IN_ORDER || !config.is_blocking() || self.head == self.tail)
    }

    /// The passage of an instruction.
    pub(super) fn passage(&self, number: u64, hart: usize, now: u64) -> Passage {
        let slot = Self::slot(number);
        let (entry, times) = (&self.entries[slot], &self.times[slot]);
        let is_renamed = number < self.renamed;
        let is_issued = is_renamed && !self.is_queued(number);
        let is_done = is_renamed && (self.done & bit(number) != 0 || self.ends[slot] <= now);
        let accesses = is_issued && !matches!(entry.decoded.kind, Kind::Integer | Kind::Branch);
        let (address, accessed) = if accesses { (entry.address, entry.accessed) } else { (0, 0) };
        Passage {
            hart,
            pc: entry.pc,
            instruction: entry.decoded.operation.instruction(),
            address,
            mispredicted: is_issued && self.mispredicted & bit(number) != 0,
            fetched: entry.fetched,
            renamed: if is_renamed { times.renamed } else { 0 },
            issued: if is_issued { times.issued } else { 0 },
            accessed,
            written: if is_done { times.written } else { 0 },
            left: now,
        }
    }

    /// Instructions committed, as the program reads it.
    pub(super) const fn retired(&self) -> u64 {
        self.retired_before + self.head + self.at_once
    }

    /// Counts instructions by their numbers: every instruction that was fetched has been committed or squashed,
    /// or is in flight.
    pub(super) fn count_instructions<S: Setting>(&mut self) {
        let issued = self.renamed - self.queue_length::<S>();
        let statistics = &mut self.statistics;
        statistics.committed = self.head + self.at_once;
        statistics.fetched = self.tail + statistics.squashed + self.at_once;
        statistics.used = issued + statistics.used_squashed + self.at_once;
    }

    /// Notes for supervisor mode that an instruction commits: whether it wrote a floating-point
    /// register, and whether it is privileged. An sret has already left supervisor mode.
    #[inline]
    pub(super) fn note_mode(&mut self, floats: bool, privileged: bool) {
        let Some(supervisor) = &mut self.supervisor else { return };
        if floats {
            supervisor.touch_float();
        }
        self.statistics.supervisor += u64::from(privileged || supervisor.privilege() == Privilege::Supervisor);
    }

    /// Whether the oldest instruction has had an effect beyond its context: an atomic, an access to a
    /// device, a write to a register, a call.
    pub(super) fn has_uncommitted_effect(&self) -> bool {
        let entry = self.entry(self.head);
        let is_issued = self.head < self.renamed && !self.is_queued(self.head);
        if !is_issued || matches!(entry.decoded.kind, Kind::Integer | Kind::Branch) {
            return false;
        }
        // This holds until it commits, even after it has its value and is no longer a barrier.
        let plain_load = entry.decoded.kind == Kind::Load && self.device_load != self.head;
        entry.accessed != 0 && !plain_load
    }

    /// The register map as the oldest instruction in flight reads it.
    pub(super) fn committed_map(&self) -> [Physical; 64] {
        let mut map = self.map;
        for number in (self.head..self.renamed).rev() {
            let entry = self.entry(number);
            if entry.decoded.destination != 0 {
                map[usize::from(entry.decoded.destination)] = entry.previous;
            }
        }
        map
    }

    /// Address of the oldest instruction in flight, or of the next to be fetched.
    pub(super) fn pc(&self) -> u64 {
        if self.head == self.tail { self.fetch.pc } else { self.entry(self.head).pc }
    }
}
