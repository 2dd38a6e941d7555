// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Barrel-threaded cores: each cycle issues one instruction, of another thread than the cycle
//! before if possible.
//!
//! ```text
//!  inactive threads      core c: contexts, round-robin     a thread can issue again
//!  [ t8 t9 t10 ... ] --> [ t0 | t1 | t2 | t3 ] --slot-->   1 cycle after most instructions; after a load,
//!         ^ swap, one at a time    |                       when the data arrive; after a system call,
//!         +------------------------+                       when it has its lock or its result
//! ```
//!
//! A slot goes to the next context in round-robin order whose thread is ready, so a single thread
//! can use every slot. Instructions of one thread do not overlap: a thread waits for the end of a
//! multiplication, a missing line or an atomic. It does not wait for stores; a fence does.
//! Instructions read and write memory in their slot, in order of time, and within a cycle in order
//! of cores. An instruction fetch that misses loses its slot.
//!
//! A new thread takes a free context ([`SpawnPolicy`]), or becomes inactive if there is none.
//! Inactive threads are swapped in, in order: when a core has no active thread (each waits for a
//! lock or for the host, or there is none), into the contexts without an active thread; and at the
//! end of a quantum ([`Exchange`]). A thread that receives its lock while it is not in a core is
//! inactive too. Cost on the host: see `benches/barrel.rs`; cycles without an instruction cost
//! nothing.

mod config;
mod contexts;
mod execute;
mod kanata;
mod locks;
mod observer;
mod placement;
mod statistics;
mod syscalls;

pub use config::{BarrelConfig, CallCosts, Exchange, SpawnPolicy};
pub use kanata::BarrelKanata;
pub use observer::BarrelObserver;
pub use statistics::{BarrelStatistics, Wait};
pub use syscalls::service;

use std::collections::VecDeque;
use std::fmt;

use mb_core::Cycles;
use mb_core::ParameterError;

use self::contexts::{Core, NEVER, Thread};
use self::locks::Locks;
use self::observer::Unobserved;
use crate::hierarchy::Hierarchy;
use crate::{Fault, Hart, Memory, SyscallHandler};

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrelStop {
    /// It reached the cycle limit of the call.
    Until,
    /// The observer requested a pause, and the cycle of the request has ended.
    Paused,
    /// No thread can continue: there is none, or each waits for the host or for a lock that is not
    /// released.
    Waiting,
    /// The program ended with this status.
    Exited(u64),
}

/// A thread that cannot execute its next instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trap {
    /// Number of the thread.
    pub thread: usize,
    /// Cycle of the instruction.
    pub cycle: Cycles,
    /// The fault.
    pub fault: Fault,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}: cycle {}: {}", self.thread, self.cycle.0, self.fault)
    }
}

impl std::error::Error for Trap {}

/// The stacks of threads, one below the other. The initial stack pointer leaves the top 16 bytes
/// free: a PPC32 function saves its return address above the stack pointer of its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stacks {
    /// Upper end of the stack of thread 0, which grows downwards; a multiple of 16.
    pub top: u64,
    /// Length of each stack; a multiple of 16.
    pub bytes: u64,
}

/// The core with the earliest event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Next {
    core: usize,
    cycle: u64,
    /// The core can run up to this cycle before any other core has an event that precedes its own.
    before: u64,
}

/// Barrel-threaded cores, their threads, and the memory that they share.
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
    /// Threads that could continue but are in no core.
    inactive: VecDeque<usize>,
    /// Threads that wait for the host.
    waiting_for_host: VecDeque<usize>,
    /// Threads that wait for a thread slot.
    waiting_for_slot: VecDeque<usize>,
    /// Threads that wait for the end of all other threads.
    waiting_for_others: Vec<usize>,
    now: u64,
    exited: Option<u64>,
}

impl<H: Hart + Clone> Barrel<H> {
    /// Cores without threads. Each thread will be a copy of `prototype`, a hart of the program in
    /// `memory`.
    ///
    /// # Errors
    /// An invalid configuration.
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
            waiting_for_host: VecDeque::new(),
            waiting_for_slot: VecDeque::new(),
            waiting_for_others: Vec::new(),
            now: 0,
            exited: None,
        })
    }

    /// Starts a thread at `entry` with these `arguments` in cycle `at`, or now if that is later.
    /// Returns its number, or `None` if the maximum number of threads exists. The thread must end
    /// by a system call: its entry function has no return address.
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

    /// Wakes the thread that has waited for the host longest: it repeats its system call in cycle
    /// `at`, or now if that is later. Returns whether there is such a thread. All earlier cycles
    /// must have been run, because an idle core that takes the thread does nothing else until then.
    pub fn wake(&mut self, at: Cycles) -> bool {
        let Some(number) = self.waiting_for_host.pop_front() else { return false };
        self.activate(number, at.0.max(self.now));
        true
    }

    /// Runs every cycle before `until`.
    ///
    /// # Errors
    /// A thread cannot execute its next instruction. The cores must not be run again.
    pub fn run_until<S: SyscallHandler>(&mut self, until: Cycles, host: &mut S) -> Result<BarrelStop, Trap> {
        self.run_observed(until, &mut Unobserved(host))
    }

    /// Runs until no thread can continue or the program ends, but no cycle from `limit` on. If no thread can continue,
    /// the clock stays in the cycle of the last event.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until).
    pub fn run_until_waiting<S: SyscallHandler>(&mut self, limit: Cycles, host: &mut S) -> Result<BarrelStop, Trap> {
        self.run_events(limit, &mut Unobserved(host))
    }

    /// As [`run_until`](Self::run_until), with an observer.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until).
    pub fn run_observed<S: BarrelObserver>(&mut self, until: Cycles, host: &mut S) -> Result<BarrelStop, Trap> {
        let stop = self.run_events(until, host)?;
        if stop == BarrelStop::Waiting && until != Cycles::MAX {
            self.now = self.now.max(until.0);
        }
        Ok(stop)
    }

    /// Runs every event before `until`.
    fn run_events<S: BarrelObserver>(&mut self, until: Cycles, host: &mut S) -> Result<BarrelStop, Trap> {
        loop {
            if let Some(status) = self.exited {
                return Ok(BarrelStop::Exited(status));
            }
            let next = self.next_core();
            if host.pause_requested() && next.is_none_or(|next| next.cycle > self.now) {
                self.now += 1;
                return Ok(BarrelStop::Paused);
            }
            let Some(Next { core, cycle, before }) = next else {
                return Ok(BarrelStop::Waiting);
            };
            if cycle >= until.0 {
                self.now = self.now.max(until.0);
                return Ok(BarrelStop::Until);
            }
            self.now = cycle;
            // No other core has an event before `before`, unless this core causes one.
            let before = before.min(until.0);
            while self.run_core(core, host)? {
                let cycle = self.cores[core].wake();
                if cycle >= before {
                    break;
                }
                self.now = cycle;
            }
        }
    }

    /// The cycle of the next event, if there is one without the host.
    #[must_use]
    pub fn next_event(&self) -> Option<Cycles> {
        if self.exited.is_some() {
            return None;
        }
        self.next_core().map(|next| Cycles(next.cycle))
    }

    /// The current cycle, or the next one between runs.
    #[must_use]
    pub fn now(&self) -> Cycles {
        Cycles(self.now)
    }

    /// Threads that have not ended.
    #[must_use]
    pub fn live_threads(&self) -> usize {
        self.threads.len() - self.ended.len()
    }

    /// The memory that the threads share.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The memory that the threads share, for writes by the host; caches are not changed.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The caches and the memory channel.
    pub fn hierarchy(&mut self) -> &mut Hierarchy {
        &mut self.hierarchy
    }

    /// Misses of the instruction cache of a core.
    #[must_use]
    pub fn instruction_misses(&self, core: usize) -> u64 {
        self.hierarchy.instruction_statistics(core).misses
    }

    /// Misses of the data cache of a core.
    #[must_use]
    pub fn data_misses(&self, core: usize) -> u64 {
        self.hierarchy.data_statistics(core).misses
    }

    /// Event counts of `core` up to now.
    #[must_use]
    pub fn statistics(&self, core: usize) -> BarrelStatistics {
        let core = &self.cores[core];
        let mut statistics = core.statistics;
        statistics.cycles = self.now.max(core.slot);
        statistics.waited[Wait::Idle as usize] += statistics.cycles - core.slot;
        statistics
    }

    /// The core with the earliest event; the first of several.
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

    /// Runs the current cycle of core `number`; returns whether it affected no other core.
    #[inline]
    fn run_core<S: BarrelObserver>(&mut self, number: usize, host: &mut S) -> Result<bool, Trap> {
        let cycle = self.now;
        if !self.inactive.is_empty() && cycle >= self.cores[number].quantum_end {
            self.end_quantum(number, cycle);
            return Ok(false);
        }
        let core = &mut self.cores[number];
        let before = core.slot;
        let (context, thread) = core.take_slot(cycle);
        core.count_lost(before, cycle, self.threads[thread].wait, self.threads[thread].since);
        let (ready, alone) = match self.step(number, thread, cycle, host) {
            Ok(found) => found,
            Err(fault) => return Err(Trap { thread, cycle: Cycles(cycle), fault }),
        };
        self.threads[thread].ready = ready;
        self.threads[thread].since = cycle + 1;
        let core = &mut self.cores[number];
        core.set_ready(context, ready);
        if core.is_stalled() {
            self.refill(number, cycle + 1);
        }
        Ok(alone && self.inactive.is_empty())
    }
}
