// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A naive model of the out-of-order core. Every cycle examines every instruction; an operand is
//! available when the latest earlier writer of its register in program order has ended. Predictor
//! and caches are those of the real core.

use mb_core::Cycles;
use mb_processor::hierarchy::{AccessKind, Hierarchy, Reply};
use mb_processor::out_of_order::{Disambiguation, OutOfOrderConfig, UnitConfig};
use mb_processor::predictor::{Prediction, PredictionOutcome, Predictor};
use mb_processor::{BranchKind, FloatLatencies, InstructionClass, RegisterNumber, Retired};

use crate::script::CoreConfig;

/// Never.
const NOT: u64 = u64::MAX;

/// Cycles of one instruction: fetched, dispatched, issued, accessed, written, committed.
pub(crate) type Times = [u64; 6];

#[derive(Clone, Copy)]
struct Progress {
    retired: Retired,
    prediction: Option<Prediction>,
    fetched: u64,
    dispatched: u64,
    issued: u64,
    ended: u64,
    accessed: u64,
    access_ended: u64,
    committed: u64,
}

impl Progress {
    fn class(&self) -> InstructionClass {
        self.retired.instruction.class
    }

    fn is_access(&self) -> bool {
        matches!(self.class(), InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic)
    }

    fn is_float(&self) -> bool {
        FloatLatencies::SIM_OUTORDER.of(self.class()).is_some()
    }

    fn outcome(&self) -> PredictionOutcome {
        self.prediction.map_or(PredictionOutcome::Correct, |prediction| prediction.outcome)
    }

    /// Whether all operations ended before `now`.
    fn is_complete(&self, now: u64) -> bool {
        self.ended < now && (!self.is_access() || self.access_ended < now)
    }

    fn in_rob(&self, now: u64) -> bool {
        self.dispatched <= now && self.committed == NOT
    }

    /// Whether an operation belongs to the first issue group.
    fn high_priority(&self, access: bool) -> bool {
        access
            || matches!(self.class(), InstructionClass::Multiply | InstructionClass::Divide)
            || self.is_float() && self.class() != InstructionClass::FloatMove
            || self.retired.instruction.branch != BranchKind::None
    }

    fn bytes(&self) -> std::ops::Range<u64> {
        self.retired.address..self.retired.address + u64::from(self.retired.instruction.access)
    }
}

pub(crate) struct Naive {
    config: OutOfOrderConfig,
    hierarchy: Hierarchy,
    predictor: Predictor,
    all: Vec<Progress>,
    /// Units by kind: integer, multiply, divide, address; the cycle from which each is free.
    units: [Vec<u64>; 5],
    resume: u64,
    block: u64,
    now: u64,
}

impl Naive {
    pub(crate) fn new((core, caches): &CoreConfig, instructions: &[Retired]) -> Self {
        let counts = [core.integer, core.multiply, core.divide, core.address].map(|unit| unit.count);
        let [integer, multiply, divide, address] = counts.map(|count| vec![0; count as usize]);
        let units = [integer, multiply, divide, address, vec![0; core.float.count as usize]];
        let progress = |&retired: &Retired| Progress {
            retired,
            prediction: None,
            fetched: NOT,
            dispatched: NOT,
            issued: NOT,
            ended: NOT,
            accessed: NOT,
            access_ended: NOT,
            committed: NOT,
        };
        Self {
            config: *core,
            hierarchy: Hierarchy::new(caches).unwrap(),
            predictor: Predictor::new(core.predictor).unwrap(),
            all: instructions.iter().map(progress).collect(),
            units,
            resume: 0,
            block: NOT,
            now: 0,
        }
    }

    pub(crate) fn run(mut self) -> Vec<Times> {
        while self.all.iter().any(|one| one.committed == NOT) {
            self.commit();
            for one in &self.all {
                if one.ended == self.now && one.outcome() == PredictionOutcome::Mispredicted {
                    self.resume = self.now + self.config.mispredicted.0;
                }
            }
            self.issue();
            self.dispatch();
            self.fetch();
            self.now += 1;
            assert!(self.now < 1_000_000, "stuck");
        }
        let times = |one: &Progress| {
            let accessed = if one.is_access() { one.accessed } else { one.issued };
            let written = if one.is_access() { one.access_ended } else { one.ended };
            [one.fetched, one.dispatched, one.issued, accessed, written, one.committed]
        };
        self.all.iter().map(times).collect()
    }

    /// Indices of the instructions in the ROB.
    fn rob(&self) -> Vec<usize> {
        (0..self.all.len()).filter(|&index| self.all[index].in_rob(self.now)).collect()
    }

    fn commit(&mut self) {
        for index in self.rob().into_iter().take(self.config.commit_width as usize) {
            let one = self.all[index];
            if !one.is_complete(self.now) {
                return;
            }
            let instruction = one.retired.instruction;
            if one.class() == InstructionClass::Store {
                let (address, bytes) = (one.retired.address, u64::from(instruction.access));
                if let Reply::Retry(_) = self.hierarchy.access(0, AccessKind::Store, address, bytes, Cycles(self.now)) {
                    return;
                }
            }
            if let Some(prediction) = one.prediction {
                self.predictor.learn(&one.retired, prediction);
            }
            self.all[index].committed = self.now;
        }
    }

    /// Whether source number `place` of instruction `index` is available.
    fn is_available(&self, index: usize, place: usize) -> bool {
        let source = self.all[index].retired.instruction.sources[place];
        if source == RegisterNumber::NONE {
            return true;
        }
        for one in self.all[..index].iter().rev() {
            let Some(place) = one.retired.instruction.destinations.iter().position(|&register| register == source)
            else {
                continue;
            };
            let from_memory =
                one.class() == InstructionClass::Atomic || (one.class() == InstructionClass::Load && place == 0);
            return if from_memory { one.access_ended <= self.now } else { one.ended <= self.now };
        }
        true
    }

    fn is_ready(&self, index: usize) -> bool {
        let with_data = matches!(self.all[index].class(), InstructionClass::Store | InstructionClass::Atomic);
        self.all[index].issued == NOT && (0..if with_data { 2 } else { 3 }).all(|place| self.is_available(index, place))
    }

    /// Whether the access of instruction `index` can begin (`Some`), and if so, whether it is
    /// forwarded.
    fn may_access(&self, index: usize) -> Option<bool> {
        let one = &self.all[index];
        if one.accessed != NOT || one.ended > self.now {
            return None;
        }
        let earlier: Vec<usize> = self.rob().into_iter().filter(|&other| other < index).collect();
        match one.class() {
            InstructionClass::Store => return self.is_available(index, 2).then_some(false),
            InstructionClass::Atomic => return (self.is_available(index, 2) && earlier.is_empty()).then_some(false),
            _ => {}
        }
        for &other in &earlier {
            let store = &self.all[other];
            let unknown = store.class() == InstructionClass::Store
                && store.ended > self.now
                && self.config.disambiguation == Disambiguation::AllAddresses;
            if unknown || (store.class() == InstructionClass::Atomic && store.access_ended > self.now) {
                return None;
            }
        }
        let (begin, end) = (one.bytes().start, one.bytes().end);
        let overlapping = earlier.into_iter().rev().find(|&other| {
            let bytes = self.all[other].bytes();
            matches!(self.all[other].class(), InstructionClass::Store | InstructionClass::Atomic)
                && bytes.start < end
                && begin < bytes.end
        });
        let Some(other) = overlapping else { return Some(false) };
        let store = &self.all[other];
        if store.class() == InstructionClass::Atomic {
            return Some(false);
        }
        let covered = store.bytes().start <= begin && end <= store.bytes().end;
        (covered && store.ended <= self.now && self.is_available(other, 2)).then_some(true)
    }

    fn issue(&mut self) {
        let mut ready = Vec::new();
        for index in self.rob() {
            if self.all[index].dispatched == self.now {
                continue;
            }
            if self.is_ready(index) {
                ready.push((!self.all[index].high_priority(false), index, false, false));
            }
            if self.all[index].is_access()
                && let Some(forwarded) = self.may_access(index)
            {
                ready.push((!self.all[index].high_priority(true), index, true, forwarded));
            }
        }
        ready.sort_unstable();
        let mut left = self.config.issue_width;
        for (_, index, access, forwarded) in ready {
            if left > 0 && self.begin(index, access, forwarded) {
                left -= 1;
            }
        }
    }

    fn begin(&mut self, index: usize, access: bool, forwarded: bool) -> bool {
        let now = self.now;
        let retired = self.all[index].retired;
        if access {
            let bytes = u64::from(retired.instruction.access);
            let reply = match retired.instruction.class {
                InstructionClass::Store => Reply::Ready(Cycles(now)),
                InstructionClass::Load if forwarded => self.hierarchy.use_port(0, AccessKind::Load, Cycles(now)),
                InstructionClass::Load => {
                    self.hierarchy.access(0, AccessKind::Load, retired.address, bytes, Cycles(now))
                }
                _ => self.hierarchy.access(0, AccessKind::Atomic, retired.address, bytes, Cycles(now)),
            };
            let Reply::Ready(at) = reply else { return false };
            self.all[index].accessed = now;
            self.all[index].access_ended = at.0;
            return true;
        }
        let (kind, shared, unit) = match retired.instruction.class {
            InstructionClass::Integer => (0, 0, self.config.integer),
            InstructionClass::Multiply => (1, 1, self.config.multiply),
            InstructionClass::Divide => (2, 1, self.config.divide),
            InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic => (3, 0, self.config.address),
            InstructionClass::Fence | InstructionClass::System => {
                self.all[index].issued = now;
                self.all[index].ended = now + 1;
                return true;
            }
            class => {
                let FloatLatencies { simple, convert, add, multiply, fused, divide, square_root } =
                    self.config.float.latencies;
                let (latency, interval) = match class {
                    InstructionClass::FloatMove => (simple, 1),
                    InstructionClass::FloatConvert => (convert, 1),
                    InstructionClass::FloatAdd => (add, 1),
                    InstructionClass::FloatMultiply => (multiply, 1),
                    InstructionClass::FloatFused => (fused, 1),
                    InstructionClass::FloatDivide => (divide, divide),
                    _ => (square_root, square_root),
                };
                (4, 4, UnitConfig { count: 0, latency: Cycles(latency), interval: Cycles(interval) })
            }
        };
        let kind = if self.units[kind].is_empty() { shared } else { kind };
        let Some(free) = self.units[kind].iter_mut().find(|free| **free <= now) else { return false };
        *free = now + unit.interval.0;
        self.all[index].issued = now;
        self.all[index].ended = now + unit.latency.0;
        true
    }

    fn dispatch(&mut self) {
        for _ in 0..self.config.decode_width {
            let Some(index) = self.all.iter().position(|one| one.dispatched == NOT) else { return };
            let one = self.all[index];
            if one.fetched == NOT || one.fetched + self.config.front_end.0 > self.now {
                return;
            }
            let rob = self.rob();
            let accesses = rob.iter().filter(|&&other| self.all[other].is_access()).count();
            let alone = matches!(one.class(), InstructionClass::Fence | InstructionClass::System);
            if (alone && !rob.is_empty())
                || rob.iter().any(|&other| self.all[other].class() == InstructionClass::Fence)
                || rob.len() >= self.config.rob
                || accesses >= self.config.lsq
            {
                return;
            }
            self.all[index].dispatched = self.now;
            if one.outcome() == PredictionOutcome::Misfetched {
                self.resume = self.now + self.config.misfetched.0;
            }
            if one.class() == InstructionClass::System {
                return;
            }
        }
    }

    fn fetch(&mut self) {
        for _ in 0..self.config.fetch_width {
            let Some(index) = self.all.iter().position(|one| one.fetched == NOT) else { return };
            // What the previous instruction blocks.
            if let Some(before) = index.checked_sub(1).map(|before| self.all[before]) {
                let redirect = match before.outcome() {
                    PredictionOutcome::Correct => {
                        before.class() == InstructionClass::System && before.dispatched == NOT
                    }
                    PredictionOutcome::Misfetched => before.dispatched == NOT,
                    PredictionOutcome::Mispredicted => before.ended > self.now,
                };
                let flow = before.retired.instruction.branch != BranchKind::None && before.retired.taken;
                if redirect || (flow && before.fetched == self.now) {
                    return;
                }
            }
            let queued = self.all.iter().filter(|one| one.fetched != NOT && one.dispatched == NOT).count();
            if self.resume > self.now || queued >= self.config.fetch_queue {
                return;
            }
            let retired = self.all[index].retired;
            if !self.reach(retired.pc, u64::from(retired.instruction.bytes)) {
                return;
            }
            self.all[index].fetched = self.now;
            if retired.instruction.branch != BranchKind::None {
                self.all[index].prediction = Some(self.predictor.predict(&retired));
            }
        }
    }

    fn reach(&mut self, pc: u64, bytes: u64) -> bool {
        let size = self.config.fetch_block;
        let (first, last) = (pc / size, (pc + bytes - 1) / size);
        if first == last && self.block == last {
            return true;
        }
        for block in [first, last] {
            if self.block == block {
                continue;
            }
            match self.hierarchy.access(0, AccessKind::Fetch, block * size, size, Cycles(self.now)) {
                Reply::Ready(at) => {
                    self.block = block;
                    if at.0 > self.now + self.config.front_end.0 {
                        self.resume = at.0;
                        return false;
                    }
                }
                Reply::Retry(at) => {
                    self.resume = at.0;
                    return false;
                }
            }
        }
        true
    }
}
