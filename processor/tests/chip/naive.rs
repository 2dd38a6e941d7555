// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A naive chip, written after the rules in the documentation of `chip` and not after its code: each
//! hart is a list of everything that it fetched and did not squash, and every question is answered
//! by a search of that list. It has no renaming, no masks, no undo and no events.
//!
//! Its memory answers after a fixed latency. Instructions are fetched without a cache.

mod access;
mod front_end;

use std::collections::BTreeMap;

use mb_processor::chip::{ChipConfig, IssueOrder};
use mb_processor::rv64::{AtomicKind, Effect, Extension, FloatStatus, Operation, Rounding, extend};
use mb_processor::{BranchKind, InstructionClass, Memory};

/// A rule that a naive chip with a planted fault breaks: a comparison with it has to fail.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Fault {
    /// A squash leaves the history and the return stack as they are.
    PastStays,
    /// A load takes its value from a store that does not cover it.
    PartOfAStore,
    /// A load that was executed before an older one to the same address stays.
    LoadsOutOfOrder,
    /// A redirected fetch begins a cycle early.
    EarlyRedirect,
    /// A store leaves the reservations of other harts.
    ReservationStays,
    /// A set of targets does not know which is the oldest.
    TargetsUnordered,
    /// One register too many can be renamed.
    RegisterTooMany,
    /// One access too many can be in flight.
    AccessTooMany,
    /// The exceptions of the last instruction only.
    FlagsForgotten,
    /// The fetch queue is compared without the instructions that wait for issue.
    IcountOfFetch,
    /// An instruction that crosses blocks is fetched at once.
    CrossingAtOnce,
}

impl Fault {
    pub(crate) const ALL: [Self; 11] = [
        Self::PastStays,
        Self::PartOfAStore,
        Self::LoadsOutOfOrder,
        Self::EarlyRedirect,
        Self::ReservationStays,
        Self::TargetsUnordered,
        Self::RegisterTooMany,
        Self::AccessTooMany,
        Self::FlagsForgotten,
        Self::IcountOfFetch,
        Self::CrossingAtOnce,
    ];
}

/// What an instruction is, as far as the rules distinguish.
#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Plain,
    Branch,
    Load,
    Store,
    Atomic,
    /// A fence or an access to a CSR: executes when it is the oldest.
    Alone,
    /// An access that writes a CSR other than fflags: as above, and ends fetch until it commits.
    CsrWrite,
    /// A system call: as above, and ends fetch. The only call is exit.
    Call,
    Illegal,
}

/// What a prediction reads and changes: a copy for each instruction replaces every undo.
#[derive(Clone, PartialEq, Debug, Default)]
struct Past {
    history: u64,
    /// The newest address is the last one.
    returns: Vec<u64>,
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
struct Instruction {
    pc: u64,
    operation: Operation,
    what: What,
    /// The order of fetch in the core.
    age: u64,
    predicted: u64,
    counter: usize,
    before: Past,
    after: Past,
    fetched: u64,
    renamed: Option<u64>,
    issued: Option<u64>,
    accessed: Option<u64>,
    /// The cycle in which it ends, when that is known.
    end: Option<u64>,
    committed: Option<u64>,
    value: u64,
    address: u64,
    width: u64,
    next: u64,
    taken: bool,
    /// A load or an atomic that waits for memory.
    sent: bool,
    /// A load that has its value.
    bound: bool,
    /// Floating-point exceptions.
    flags: u8,
    /// The age of the store that gave a load its value.
    store: Option<u64>,
}

impl Instruction {
    fn ended(&self, now: u64) -> bool {
        self.end.is_some_and(|end| end <= now)
    }

    fn overlaps(&self, other: &Self) -> bool {
        (0..self.width).any(|k| (0..other.width).any(|l| self.address + k == other.address + l))
    }

    fn accesses(&self) -> bool {
        matches!(self.what, What::Load | What::Store | What::Atomic)
    }

    fn is_return(&self) -> bool {
        self.operation.instruction().branch == BranchKind::Return
    }
}

/// Cycles from the issue of an instruction to its end, if it does not access memory or execute alone.
pub(crate) fn latency_of(config: &ChipConfig, operation: &Operation) -> u64 {
    let latencies = &config.latencies;
    let evaluate = |operand| operation.evaluate(0, [operand; 3], Rounding::NearestEven);
    match (evaluate(0), operation.instruction().class) {
        (Effect::Branch { .. }, _) => latencies.branch,
        (Effect::Store { .. }, _) => latencies.store,
        // The product of words has 32 bits, that of double words more.
        (_, InstructionClass::Multiply) if evaluate(1 << 20) == Effect::Value(0) => latencies.multiply_word,
        (_, InstructionClass::Multiply) => latencies.multiply,
        (_, InstructionClass::Divide) => latencies.divide,
        (_, InstructionClass::FloatMove) => config.float.simple,
        (_, InstructionClass::FloatConvert) => config.float.convert,
        (_, InstructionClass::FloatAdd) => config.float.add,
        (_, InstructionClass::FloatMultiply) => config.float.multiply,
        (_, InstructionClass::FloatFused) => config.float.fused,
        (_, InstructionClass::FloatDivide) => config.float.divide,
        (_, InstructionClass::FloatSquareRoot) => config.float.square_root,
        _ => latencies.integer,
    }
}

/// The cycles of an instruction: fetch, rename, issue, access, end, commit.
pub(crate) type Stages = [u64; 6];

/// Registers by their numbers.
struct Registers([u64; 64]);

impl Default for Registers {
    fn default() -> Self {
        Self([0; 64])
    }
}

#[derive(Default)]
struct Hart {
    list: Vec<Instruction>,
    /// The number of committed instructions at the beginning of the list.
    committed: usize,
    /// General and floating-point registers.
    registers: Registers,
    float_status: FloatStatus,
    pc: u64,
    past: Past,
    /// No fetch before this cycle.
    from: u64,
    /// The last instruction fetched ends fetch.
    stopped: bool,
    block: Option<u64>,
    /// The first half of the instruction at `pc` has been fetched.
    half: bool,
    misfetch: Option<(u64, u64, u64)>,
    halted: bool,
    reservation: Option<u64>,
    squashed: u64,
}

impl Hart {
    /// The place of the last instruction before `place` that writes a register.
    fn producer(&self, place: usize, register: u8) -> Option<usize> {
        if register == 0 {
            return None;
        }
        (0..place).rev().find(|&other| self.list[other].operation.destination() == register)
    }

    fn operand(&self, place: usize, which: usize) -> u64 {
        let register = self.list[place].operation.sources()[which];
        match self.producer(place, register) {
            Some(other) => self.list[other].value,
            None if register == 0 => 0,
            None => self.registers.0[usize::from(register)],
        }
    }

    fn ready(&self, place: usize, which: usize, now: u64) -> bool {
        let register = self.list[place].operation.sources()[which];
        self.producer(place, register).is_none_or(|other| self.list[other].ended(now))
    }

    fn renamed(&self) -> usize {
        self.list.iter().take_while(|instruction| instruction.renamed.is_some()).count()
    }

    fn queued(&self) -> usize {
        self.list.iter().filter(|instruction| instruction.renamed.is_some() && instruction.issued.is_none()).count()
    }

    /// Removes the instructions from a place on.
    fn squash(&mut self, place: usize) {
        if let Some(first) = self.list.get(place) {
            self.past = first.before.clone();
            if self.misfetch.is_some_and(|(age, ..)| age >= first.age) {
                self.misfetch = None;
            }
        }
        self.squashed += (self.list.len() - place) as u64;
        self.list.truncate(place);
    }

    fn redirect(&mut self, pc: u64, from: u64) {
        (self.pc, self.from, self.stopped, self.half, self.misfetch) = (pc, from, false, false, None);
    }
}

#[derive(Default)]
struct Core {
    harts: Vec<Hart>,
    age: u64,
    counters: BTreeMap<u64, u8>,
    /// The targets of each set, the newest first.
    targets: BTreeMap<u64, Vec<(u64, u64)>>,
}

/// A request that memory performs later: cycle, core, hart of the core, age of the instruction.
type Request = (u64, usize, usize, u64);

pub(crate) struct Naive {
    config: ChipConfig,
    latency: u64,
    memory: Memory,
    cores: Vec<Core>,
    requests: Vec<Request>,
    pub(crate) now: u64,
    fault: Option<Fault>,
}

impl Naive {
    pub(crate) fn new(config: &ChipConfig, memory: Memory, entry: u64, latency: u64) -> Self {
        let hart = |number: usize| {
            let mut hart = Hart { pc: entry, ..Hart::default() };
            (hart.registers.0[10], hart.registers.0[11]) = (number as u64, config.harts() as u64);
            hart
        };
        let core = |core: usize| Core {
            harts: (0..config.contexts).map(|context| hart(core * config.contexts + context)).collect(),
            ..Core::default()
        };
        let cores = (0..config.cores).map(core).collect();
        Self { config: *config, latency, memory, cores, requests: Vec::new(), now: 0, fault: None }
    }

    /// The same chip, with a planted fault.
    pub(crate) fn with(self, fault: Option<Fault>) -> Self {
        Self { fault, ..self }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Runs until every hart has ended.
    pub(crate) fn run(&mut self) {
        while self.cores.iter().any(|core| core.harts.iter().any(|hart| !hart.halted)) {
            let completed = self.perform();
            for turn in 0..self.config.cores {
                let core = (self.now as usize + turn) % self.config.cores;
                for &(_, _, hart, age) in completed.iter().filter(|request| request.1 == core) {
                    self.complete(core, hart, age);
                }
                self.commit(core);
                self.write_back(core);
                self.issue(core);
                self.access(core);
                self.rename(core);
                self.fetch(core);
            }
            self.now += 1;
            assert!(self.now < 1_000_000, "the naive chip does not end");
        }
    }

    /// The stages of the committed instructions of a hart, with their addresses.
    pub(crate) fn stages(&self, core: usize, hart: usize) -> Vec<(u64, Stages)> {
        let hart = &self.cores[core].harts[hart];
        let stages = hart.list[..hart.committed].iter().map(|instruction| {
            let at = |cycle: Option<u64>| cycle.unwrap_or(0);
            let stages = [
                instruction.fetched,
                at(instruction.renamed),
                at(instruction.issued),
                at(instruction.accessed),
                at(instruction.end),
                at(instruction.committed),
            ];
            (instruction.pc, stages)
        });
        stages.collect()
    }

    pub(crate) fn register(&self, core: usize, hart: usize, register: u8) -> u64 {
        let hart = &self.cores[core].harts[hart];
        match hart.producer(hart.committed, register) {
            Some(place) => hart.list[place].value,
            None => hart.registers.0[usize::from(register)],
        }
    }

    pub(crate) fn float_status(&self, core: usize, hart: usize) -> FloatStatus {
        self.cores[core].harts[hart].float_status
    }

    pub(crate) fn squashed(&self, core: usize, hart: usize) -> u64 {
        self.cores[core].harts[hart].squashed
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    fn load(&self, address: u64, width: u64) -> u64 {
        let bytes = self.memory.get(address, width as usize).expect("an address in memory");
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    /// Writes memory, and ends the reservations of other harts.
    fn store(&mut self, core: usize, hart: usize, address: u64, width: u64, value: u64) {
        self.memory.write(address, &value.to_le_bytes()[..width as usize]).expect("an address in memory");
        if self.has(Fault::ReservationStays) {
            return;
        }
        for (other_core, state) in self.cores.iter_mut().enumerate() {
            for (other, state) in state.harts.iter_mut().enumerate() {
                let lines = address / 64..=(address + width - 1) / 64;
                if (other_core, other) != (core, hart) && state.reservation.is_some_and(|line| lines.contains(&line)) {
                    state.reservation = None;
                }
            }
        }
    }

    /// Performs the access of a load or an atomic, if the instruction is still there.
    fn access_memory(&mut self, core: usize, hart: usize, instruction: &Instruction, operand: u64) -> u64 {
        let (address, width) = (instruction.address, instruction.width);
        let Effect::Atomic { kind, .. } = instruction.operation.evaluate(0, [0; 3], Rounding::NearestEven) else {
            return self.load(address, width);
        };
        let old = self.load(address, width);
        let line = Some(address / 64);
        match kind {
            AtomicKind::LoadReserved => self.cores[core].harts[hart].reservation = line,
            AtomicKind::StoreConditional => {
                if self.cores[core].harts[hart].reservation.take() != line {
                    return 1;
                }
                self.store(core, hart, address, width, operand);
                return 0;
            }
            kind => {
                let new = kind.combine(extend(old, width as u8, true), operand);
                self.store(core, hart, address, width, new);
            }
        }
        old
    }

    fn place(&self, core: usize, hart: usize, age: u64) -> Option<usize> {
        self.cores[core].harts[hart].list.iter().position(|instruction| instruction.age == age)
    }

    /// Memory performs what is due. A squashed load has no effect.
    fn perform(&mut self) -> Vec<Request> {
        let (due, rest) = std::mem::take(&mut self.requests).into_iter().partition(|request| request.0 == self.now);
        self.requests = rest;
        for &(_, core, hart, age) in &due {
            if let Some(place) = self.place(core, hart, age) {
                let instruction = self.cores[core].harts[hart].list[place].clone();
                let operand = self.operand_of_atomic(core, hart, place);
                let value = self.access_memory(core, hart, &instruction, operand);
                self.cores[core].harts[hart].list[place].value = value;
            }
        }
        due
    }

    fn operand_of_atomic(&self, core: usize, hart: usize, place: usize) -> u64 {
        let hart = &self.cores[core].harts[hart];
        let operand = hart.operand(place, 1);
        if hart.list[place].width == 4 { operand as i32 as u64 } else { operand }
    }

    fn complete(&mut self, core: usize, hart: usize, age: u64) {
        if let Some(place) = self.place(core, hart, age) {
            let value = self.cores[core].harts[hart].list[place].value;
            self.bind(core, hart, place, value);
        }
    }

    /// A load or an atomic has its value.
    fn bind(&mut self, core: usize, index: usize, place: usize, value: u64) {
        let (now, config) = (self.now, self.config);
        let (kept, early) = (self.has(Fault::LoadsOutOfOrder), self.has(Fault::EarlyRedirect));
        let hart = &mut self.cores[core].harts[index];
        let instruction = &mut hart.list[place];
        let (latency, extension) = match instruction.operation.evaluate(0, [0; 3], Rounding::NearestEven) {
            Effect::Load { extension, .. } => (config.latencies.load, extension),
            _ => (config.latencies.synchronisation, Extension::Sign),
        };
        instruction.value = extension.extend(value, instruction.width as u8);
        instruction.end = Some(now.max(instruction.accessed.expect("it was sent") + latency));
        (instruction.bound, instruction.sent) = (true, false);
        if instruction.what != What::Load || kept {
            return;
        }
        let older = instruction.clone();
        let wrong = (place + 1..hart.list.len()).find(|&other| {
            let load = &hart.list[other];
            load.what == What::Load
                && (load.bound || load.sent)
                && load.overlaps(&older)
                && load.store.is_none_or(|store| store < older.age)
        });
        if let Some(other) = wrong {
            let pc = hart.list[other].pc;
            hart.squash(other);
            hart.redirect(pc, now + config.redirect - u64::from(early));
        }
    }

    fn turns(&self) -> Vec<usize> {
        (0..self.config.contexts).map(|turn| (self.now as usize + turn) % self.config.contexts).collect()
    }

    fn commit(&mut self, core: usize) {
        let now = self.now;
        let forgets = self.has(Fault::FlagsForgotten);
        let mut left = self.config.commit_width;
        for index in self.turns() {
            while left > 0 {
                let hart = &self.cores[core].harts[index];
                let place = hart.committed;
                let Some(instruction) = hart.list.get(place).cloned() else { break };
                let data = instruction.what != What::Store || hart.ready(place, 1, now - 1);
                if now == 0 || !instruction.ended(now - 1) || !data {
                    break;
                }
                assert!(instruction.what != What::Illegal, "an illegal instruction commits");
                if instruction.what == What::Store {
                    let value = hart.operand(place, 1);
                    self.store(core, index, instruction.address, instruction.width, value);
                }
                if instruction.what == What::Branch {
                    self.learn(core, &instruction);
                }
                let hart = &mut self.cores[core].harts[index];
                hart.list[place].committed = Some(now);
                hart.float_status.flags = instruction.flags | if forgets { 0 } else { hart.float_status.flags };
                if instruction.what == What::CsrWrite {
                    (hart.stopped, hart.from) = (false, now);
                }
                hart.committed += 1;
                left -= 1;
            }
        }
    }

    fn learn(&mut self, core: usize, branch: &Instruction) {
        let predictor = self.config.predictor;
        let unordered = self.has(Fault::TargetsUnordered);
        let core = &mut self.cores[core];
        if branch.operation.instruction().branch == BranchKind::Conditional {
            let counter = core.counters.entry(branch.counter as u64).or_insert(1);
            *counter = if branch.taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        }
        let by_stack = branch.is_return() && predictor.return_stack > 0;
        if branch.taken && !by_stack && predictor.target_sets > 0 {
            let set = core.targets.entry((branch.pc >> 1) % predictor.target_sets as u64).or_default();
            if unordered && let Some(known) = set.iter_mut().find(|target| target.0 == branch.pc) {
                known.1 = branch.next;
                return;
            }
            set.retain(|target| target.0 != branch.pc);
            set.insert(0, (branch.pc, branch.next));
            set.truncate(predictor.target_ways);
        }
    }

    fn write_back(&mut self, core: usize) {
        let (stays, early) = (self.has(Fault::PastStays), self.has(Fault::EarlyRedirect));
        for hart in &mut self.cores[core].harts {
            let before = hart.past.clone();
            let wrong = (0..hart.list.len()).find(|&place| {
                let instruction = &hart.list[place];
                instruction.what == What::Branch
                    && instruction.end == Some(self.now)
                    && instruction.predicted != instruction.next
            });
            if let Some(place) = wrong {
                hart.squash(place + 1);
                let branch = &hart.list[place];
                let mut past = branch.after.clone();
                if branch.operation.instruction().branch == BranchKind::Conditional {
                    past.history = branch.before.history << 1 | u64::from(branch.taken);
                }
                let next = branch.next;
                hart.past = if stays { before } else { past };
                hart.redirect(next, self.now + self.config.redirect - u64::from(early));
            }
        }
    }

    fn issue(&mut self, core: usize) {
        let now = self.now;
        for _ in 0..self.config.issue_width {
            let mut best: Option<(u64, usize, usize)> = None;
            for (index, hart) in self.cores[core].harts.iter().enumerate() {
                for (place, instruction) in hart.list.iter().enumerate() {
                    if instruction.renamed.is_none() || instruction.issued.is_some() {
                        continue;
                    }
                    let second = instruction.what == What::Store || hart.ready(place, 1, now);
                    if hart.ready(place, 0, now) && second && hart.ready(place, 2, now) {
                        if best.is_none_or(|best| instruction.age < best.0) {
                            best = Some((instruction.age, index, place));
                        }
                        break;
                    }
                    if self.config.order == IssueOrder::InOrder {
                        break;
                    }
                }
            }
            let Some((_, index, place)) = best else { return };
            self.execute(core, index, place);
        }
    }

    fn execute(&mut self, core: usize, index: usize, place: usize) {
        let now = self.now;
        let hart = &mut self.cores[core].harts[index];
        let operands = [0, 1, 2].map(|which| hart.operand(place, which));
        let rounding = hart.float_status.rounding;
        let instruction = &mut hart.list[place];
        instruction.issued = Some(now);
        let latency = latency_of(&self.config, &instruction.operation);
        match instruction.operation.evaluate(instruction.pc, operands, rounding) {
            Effect::Value(value) => instruction.value = value,
            Effect::Float { value, flags } => (instruction.value, instruction.flags) = (value, flags),
            Effect::Branch { taken, next, link } => {
                (instruction.taken, instruction.next, instruction.value) = (taken, next, link);
            }
            Effect::Load { address, width, .. } | Effect::Atomic { address, width, .. } => {
                (instruction.address, instruction.width) = (address, width.into());
                return;
            }
            Effect::Store { address, width, .. } => (instruction.address, instruction.width) = (address, width.into()),
            Effect::Pause | Effect::Illegal(_) => {}
            _ => return,
        }
        instruction.end = Some(now + latency);
    }
}
