// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Barrel-threaded cores: one instruction begins in a cycle, of another thread than before if there is one.
//!
//! ```text
//!  inactive threads      core c: contexts, in turn         a thread goes on
//!  [ t8 t9 t10 ... ] --> [ t0 | t1 | t2 | t3 ] --slot-->   1 cycle after most instructions, when its data are there after a
//!         ^ swap, one at a time    |                       load, when it gets its lock or its answer after a call
//!         +------------------------+
//! ```
//!
//! A slot goes to the next context in turn that can go on, so that a single thread has every slot it can use. Instructions of
//! one thread do not overlap: it waits for the whole of a multiplication, a missing line or an atomic access; stores it leaves
//! behind, and a fence waits for them. What an instruction reads and writes happens in its slot, in order of time, and
//! within a cycle in order of cores. An instruction whose line is not there has taken its slot in vain.
//!
//! A new thread takes a free context of the core that has most of them, or of the first core that has any
//! ([`Placement`]); without one it is inactive. Inactive threads come into a core, in order, when none of its threads is active (all wait for a lock or for the host, or there is
//! none), into contexts without an active thread; and when a quantum ends, [as said](Exchange). A thread that gets its lock
//! while it is out of the core is inactive too.
//! Cost on the host: see `benches/barrel.rs`; cycles without an instruction cost nothing.

mod chart;
mod config;
mod contexts;
mod door;
mod locks;
mod statistics;

pub use chart::Chart;
pub use config::{BarrelConfig, CallCosts, Exchange, Placement};
pub use door::service;
pub use statistics::{CoreStatistics, Wait};

use std::collections::VecDeque;
use std::fmt;

use mb_core::Cycles;
use mb_core::ParameterError;

use self::contexts::{Core, NEVER, Thread};
use self::door::{Door, Effect, Whom};
use self::locks::Locks;
use super::hierarchy::{Access, Hierarchy, Reply};
use super::{Answer, Call, Class, Control, Fault, Hart, Host, Memory, Retired, Step};

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The time was reached.
    Time,
    /// The cycle ended in which the host paused.
    Paused,
    /// No thread can go on: there is none, or each waits for the host or for a lock that is not freed.
    Waiting,
    /// The program ended with this status.
    Exited(u64),
}

/// A thread that cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trap {
    /// Which one.
    pub thread: usize,
    /// When.
    pub cycle: Cycles,
    /// Why.
    pub fault: Fault,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} in cycle {}: {}", self.thread, self.cycle.0, self.fault)
    }
}

impl std::error::Error for Trap {}

/// A host that is told what happens.
pub trait Watch: Host {
    /// A thread was started by a call, with this argument.
    fn started(&mut self, thread: usize, argument: u64);

    /// A thread executed an instruction on a core, in the first of these cycles, and can go on in the second; a call's own
    /// effects were told before.
    fn retired(&mut self, core: usize, thread: usize, span: (Cycles, Cycles), retired: &Retired);

    /// Whether the run is to end with the cycle that is being run.
    fn pauses(&self) -> bool {
        false
    }
}

/// A host that takes no notice.
struct Blind<'a, S>(&'a mut S);

impl<S: Host> Host for Blind<'_, S> {
    fn set_cycle(&mut self, cycle: u64) {
        self.0.set_cycle(cycle);
    }

    fn cycle(&self) -> u64 {
        self.0.cycle()
    }

    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer {
        self.0.call(call, memory)
    }
}

impl<S: Host> Watch for Blind<'_, S> {
    fn started(&mut self, _: usize, _: u64) {}

    fn retired(&mut self, _: usize, _: usize, _: (Cycles, Cycles), _: &Retired) {}
}

/// Stacks of threads, one below the other. A thread leaves the first 16 bytes of its own free: on PPC32 a function keeps its
/// return address above the stack pointer that it was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stacks {
    /// Where that of thread 0 begins, downwards; a multiple of 16.
    pub top: u64,
    /// Length of each; a multiple of 16.
    pub bytes: u64,
}

/// The core whose turn is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Next {
    core: usize,
    cycle: u64,
    /// No other core has anything to do before this cycle that it does not do behind this core.
    before: u64,
}

/// Cores, their threads, and the memory that they share.
#[derive(Debug)]
pub struct Barrel<H> {
    config: BarrelConfig,
    prototype: H,
    stacks: Stacks,
    memory: Memory,
    hierarchy: Hierarchy,
    locks: Locks,
    threads: Vec<Thread<H>>,
    /// Numbers of threads that have ended.
    ended: Vec<usize>,
    cores: Vec<Core>,
    /// Threads that could go on, but are in no core.
    inactive: VecDeque<usize>,
    /// Threads that wait for the host.
    for_host: VecDeque<usize>,
    /// Threads that wait for room for a thread.
    for_room: VecDeque<usize>,
    /// Threads that wait for the end of all others.
    for_others: Vec<usize>,
    now: u64,
    exited: Option<u64>,
}

impl<H: Hart + Clone> Barrel<H> {
    /// Cores without a thread; threads are copies of `prototype`, which is of `memory`'s program.
    ///
    /// # Errors
    /// A configuration that cannot be built.
    pub fn new(config: &BarrelConfig, prototype: H, memory: Memory, stacks: Stacks) -> Result<Self, ParameterError> {
        config.check()?;
        let hierarchy = Hierarchy::new(&config.hierarchy)?;
        Ok(Self {
            config: *config,
            prototype,
            stacks,
            memory,
            hierarchy,
            locks: Locks::new(config.calls),
            threads: Vec::new(),
            ended: Vec::new(),
            cores: vec![Core::new(config); config.hierarchy.cores],
            inactive: VecDeque::new(),
            for_host: VecDeque::new(),
            for_room: VecDeque::new(),
            for_others: Vec::new(),
            now: 0,
            exited: None,
        })
    }

    /// Starts a thread at `entry` with its first `arguments`, created in cycle `at` or now, whichever is later; its number, or
    /// `None` if there can be no more. It ends by a call; its entry has nowhere to return to.
    ///
    /// # Panics
    /// When there are more than eight arguments.
    pub fn spawn(&mut self, entry: u64, arguments: &[u64], at: Cycles) -> Option<usize> {
        let number =
            self.ended.pop().or_else(|| (self.threads.len() < self.config.threads).then_some(self.threads.len()));
        let number = number?;
        let mut hart = self.prototype.clone();
        hart.set_thread(number as u32);
        hart.jump(entry);
        hart.set_stack(self.stacks.top.wrapping_sub(number as u64 * self.stacks.bytes + 16));
        for (index, &argument) in arguments.iter().enumerate() {
            hart.set_argument(index, argument);
        }
        let since = at.0.max(self.now);
        let thread = Thread::new(hart, since, since + self.config.calls.create.0);
        if number < self.threads.len() {
            self.threads[number] = thread;
        } else {
            self.threads.push(thread);
        }
        self.place(number, since);
        Some(number)
    }

    /// Lets the thread that has waited for the host longest try its call again, in cycle `at` or now, whichever is later;
    /// whether there is one. A core that it comes into is its own until then: what else happens before is to be run first.
    pub fn wake(&mut self, at: Cycles) -> bool {
        let Some(number) = self.for_host.pop_front() else { return false };
        self.activate(number, at.0.max(self.now));
        true
    }

    /// Runs every cycle before `until`.
    ///
    /// # Errors
    /// A thread cannot go on; nothing may be run after that.
    pub fn run_until<S: Host>(&mut self, until: Cycles, host: &mut S) -> Result<Stop, Trap> {
        self.run_watched(until, &mut Blind(host))
    }

    /// As [`run_until`](Self::run_until), and tells what happens.
    ///
    /// # Errors
    /// As there.
    pub fn run_watched<S: Watch>(&mut self, until: Cycles, host: &mut S) -> Result<Stop, Trap> {
        loop {
            if let Some(status) = self.exited {
                return Ok(Stop::Exited(status));
            }
            let next = self.next_core();
            if host.pauses() && next.is_none_or(|next| next.cycle > self.now) {
                self.now += 1;
                return Ok(Stop::Paused);
            }
            let Some(Next { core, cycle, before }) = next else {
                self.now = if until == Cycles::MAX { self.now } else { self.now.max(until.0) };
                return Ok(Stop::Waiting);
            };
            if cycle >= until.0 {
                self.now = self.now.max(until.0);
                return Ok(Stop::Time);
            }
            self.now = cycle;
            // Nobody else comes before `before`, unless something is done to others.
            let before = before.min(until.0);
            while self.turn(core, host)? {
                let cycle = self.cores[core].wake();
                if cycle >= before {
                    break;
                }
                self.now = cycle;
            }
        }
    }

    /// When something happens next, if anything does without the host.
    #[must_use]
    pub fn next_event(&self) -> Option<Cycles> {
        if self.exited.is_some() {
            return None;
        }
        self.next_core().map(|next| Cycles(next.cycle))
    }

    /// The cycle that is next to be run, or being run.
    #[must_use]
    pub fn now(&self) -> Cycles {
        Cycles(self.now)
    }

    /// Threads that have not ended.
    #[must_use]
    pub fn live(&self) -> usize {
        self.threads.len() - self.ended.len()
    }

    /// The memory of all threads.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The memory of all threads, to be written from outside; caches are not told.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The caches, and memory's times.
    pub fn hierarchy(&mut self) -> &mut Hierarchy {
        &mut self.hierarchy
    }

    /// What `core` did until now.
    #[must_use]
    pub fn statistics(&self, core: usize) -> CoreStatistics {
        let core = &self.cores[core];
        let mut statistics = core.statistics;
        statistics.cycles = self.now.max(core.slot);
        statistics.waited[Wait::Idle as usize] += statistics.cycles - core.slot;
        statistics
    }

    /// The core that has something to do first, the first of several.
    #[inline]
    fn next_core(&self) -> Option<Next> {
        let quantum = !self.inactive.is_empty();
        let mut next = Next { core: 0, cycle: NEVER, before: NEVER };
        for (number, core) in self.cores.iter().enumerate() {
            let mut cycle = core.wake();
            if quantum {
                cycle = cycle.min(core.quantum_end.max(self.now));
            }
            if cycle < next.cycle {
                next = Next { core: number, cycle, before: next.cycle };
            } else if cycle < next.before {
                next.before = cycle + 1;
            }
        }
        (next.cycle != NEVER).then_some(next)
    }

    /// What core `number` does in this cycle; whether that was done to nobody else.
    #[inline]
    fn turn<S: Watch>(&mut self, number: usize, host: &mut S) -> Result<bool, Trap> {
        let cycle = self.now;
        if !self.inactive.is_empty() && cycle >= self.cores[number].quantum_end {
            self.end_quantum(number, cycle);
            return Ok(false);
        }
        let core = &mut self.cores[number];
        let before = core.slot;
        let (context, thread) = core.give_slot(cycle);
        core.lose(before, cycle, self.threads[thread].wait, self.threads[thread].since);
        let (ready, alone) = match self.step(number, thread, cycle, host) {
            Ok(found) => found,
            Err(fault) => return Err(Trap { thread, cycle: Cycles(cycle), fault }),
        };
        self.threads[thread].ready = ready;
        self.threads[thread].since = cycle + 1;
        let core = &mut self.cores[number];
        core.set_ready(context, ready);
        if core.has_no_active() {
            self.relieve(number, cycle + 1);
        }
        Ok(alone && self.inactive.is_empty())
    }

    /// `thread` gets the slot of a core in `cycle`; returns when it can have the next one, and whether nothing was done to
    /// another one.
    #[inline]
    fn step<S: Watch>(&mut self, number: usize, thread: usize, cycle: u64, host: &mut S) -> Result<(u64, bool), Fault> {
        if let Some((access, address, bytes)) = self.threads[thread].again.take() {
            self.cores[number].waste(Wait::Memory);
            return Ok((self.access(number, thread, access, address, bytes, cycle), true));
        }
        if let Some(retry) = self.fetch(number, thread, cycle) {
            self.cores[number].waste(Wait::Memory);
            self.threads[thread].wait = Wait::Memory;
            return Ok((retry, true));
        }
        let mut door = Door {
            cycle: Cycles(cycle),
            service: host,
            locks: &mut self.locks,
            thread,
            core: number,
            alone: self.threads.len() - self.ended.len() == 1,
            full: self.ended.is_empty() && self.threads.len() >= self.config.threads,
            effect: Effect::None,
        };
        // Looked at where it was put: the host's processor waits for what it has just written in other pieces.
        let step = &self.threads[thread].hart.step(&mut self.memory, &mut door);
        let effect = door.effect;
        match step {
            Ok(Step::Retired(retired)) => {
                self.cores[number].statistics.instructions += 1;
                let next = self.after(number, thread, retired, cycle);
                let next = if effect == Effect::None { next } else { self.take_effect(effect, thread, cycle, host) };
                host.retired(number, thread, (Cycles(cycle), Cycles(next)), retired);
                // Those that wait are told by system calls alone.
                Ok((next, retired.shape.class != Class::System))
            }
            Ok(Step::Waiting) => {
                let Effect::Waits(wait, whom) = effect else {
                    unreachable!("a call that waits says for whom: {effect:?}")
                };
                self.cores[number].waste(wait);
                self.threads[thread].wait = wait;
                match whom {
                    Whom::Holder => {}
                    Whom::Host => self.for_host.push_back(thread),
                    Whom::Room => self.for_room.push_back(thread),
                    Whom::Others => self.for_others.push(thread),
                }
                Ok((NEVER, false))
            }
            Ok(Step::Exited(status)) => {
                self.cores[number].statistics.instructions += 1;
                if effect == Effect::Ends {
                    self.end(thread, cycle);
                } else {
                    self.exited = Some(*status);
                }
                Ok((NEVER, false))
            }
            Err(fault) => Err(*fault),
        }
    }

    /// When the next instruction of `thread` is to be fetched again, if its line is not there in `cycle`.
    #[inline]
    fn fetch(&mut self, number: usize, thread: usize, cycle: u64) -> Option<u64> {
        let config = &self.config.hierarchy.instruction;
        let hart = &self.threads[thread].hart;
        let pc = hart.pc();
        // Instructions are aligned to two bytes at least: only the last two of a line can begin one that ends in the next.
        let at_end = pc.wrapping_add(2) & (config.line - 1) == 0;
        let bytes = if at_end { hart.shape(pc).map_or(2, |shape| u64::from(shape.bytes)) } else { 2 };
        let hit = config.hit;
        match self.hierarchy.access(number, Access::Fetch, pc, bytes, Cycles(cycle)) {
            Reply::Ready(there) if there <= Cycles(cycle) + hit => None,
            Reply::Ready(there) => Some((there - hit).0),
            Reply::Retry(at) => Some(at.0),
        }
    }

    /// When `thread` can go on after an instruction that is no call.
    #[inline]
    fn after(&mut self, number: usize, thread: usize, retired: &Retired, cycle: u64) -> u64 {
        let shape = &retired.shape;
        self.threads[thread].wait = Wait::Execution;
        let next = match shape.class {
            Class::Integer | Class::System => cycle + 1,
            Class::Multiply => cycle + self.config.multiply.0,
            Class::Divide => cycle + self.config.divide.0,
            Class::Fence => {
                self.threads[thread].wait = Wait::Memory;
                self.threads[thread].stored.max(cycle + 1)
            }
            Class::Load | Class::Store | Class::Atomic if shape.access == 0 => cycle + 1,
            Class::Load => self.access(number, thread, Access::Load, retired.address, shape.access, cycle),
            Class::Store => self.access(number, thread, Access::Store, retired.address, shape.access, cycle),
            Class::Atomic => self.access(number, thread, Access::Atomic, retired.address, shape.access, cycle),
        };
        if shape.control != Control::None && retired.taken {
            return next.max(cycle + self.config.taken.0);
        }
        next
    }

    /// When `thread` can go on after an access to memory.
    #[inline]
    fn access(&mut self, number: usize, thread: usize, access: Access, address: u64, bytes: u8, cycle: u64) -> u64 {
        let reply = self.hierarchy.access(number, access, address, u64::from(bytes), Cycles(cycle));
        let state = &mut self.threads[thread];
        state.wait = Wait::Memory;
        match reply {
            Reply::Ready(there) if access == Access::Store => {
                state.stored = state.stored.max(there.0);
                cycle + 1
            }
            Reply::Ready(there) => there.0.max(cycle + 1),
            Reply::Retry(at) => {
                state.again = Some((access, address, bytes));
                at.0
            }
        }
    }

    /// What a call did; returns when its thread can go on.
    fn take_effect<S: Watch>(&mut self, effect: Effect, thread: usize, cycle: u64, host: &mut S) -> u64 {
        match effect {
            Effect::Takes(cycles) => {
                self.threads[thread].wait = Wait::Lock;
                cycle + cycles.0
            }
            Effect::HandsOver { lock, thread: next } => {
                let costs = self.config.calls;
                let other = self.locks.core(lock) != self.threads[next].place.core();
                let transfer = if other { costs.transfer } else { Cycles::ZERO };
                self.activate(next, cycle + (costs.hand_over + transfer).0);
                self.threads[thread].wait = Wait::Lock;
                cycle + costs.release.0
            }
            Effect::Starts { entry, argument } => {
                if let Some(started) = self.spawn(entry, &[argument], Cycles(cycle)) {
                    host.started(started, argument);
                }
                cycle + self.config.calls.create.0
            }
            Effect::None | Effect::Waits(..) | Effect::Ends => {
                unreachable!("a call with a result neither waits nor ends: {effect:?}")
            }
        }
    }
}
