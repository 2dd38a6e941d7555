// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An out-of-order core after `SimpleScalar`'s sim-outorder, with a ROB (register update unit) and
//! an LSQ.
//!
//! ```text
//!   hart --step--> fetch --queue--> dispatch --ROB--> issue --units, caches--> write-back --> commit
//!                    ^                 |                                           |             |
//!                    |                 +-- target known late: `misfetched` cycles  |       stores write,
//!                    +---------------- misprediction: `mispredicted` cycles -------+     predictor learns
//! ```
//!
//! In each cycle the stages run from the last to the first, as in sim-outorder. An operation that
//! ends in a cycle wakes operations that are issued in the same cycle. An instruction that is
//! dispatched is issued one cycle later at the earliest. Instructions are executed in order at
//! fetch, and read the values of that cycle. A system call waits at the head of the fetch queue
//! until everything before it has committed, and is executed when it is dispatched.
//!
//! A memory instruction has two operations: the first computes the address, the second accesses
//! memory once earlier stores permit. The second operation of a store takes only an issue slot; the
//! write happens at commit. Memory accesses, long operations and branches are issued first, then
//! the others, the older first in each group. (sim-outorder issues the newest of the first group
//! first.)
//!
//! Not modelled: the wrong path (after a misprediction nothing is fetched until the branch
//! resolves, so squashed instructions use no caches and no functional units), address translation,
//! a second cache level, floating point, prefetching. Source: Burger and Austin, *The
//! `SimpleScalar` Tool Set, Version 2.0* (1997), sections 4.1 to 4.4. Cost on the host: about 100
//! ns per instruction. Cycles without events cost nothing, and nothing is allocated while the core
//! runs.

mod backend;
mod config;
mod disambiguation;
mod event_queue;
mod frontend;
mod kanata;
mod lsq;
mod presets;
mod rob;
mod statistics;
mod timing;

use mb_core::Cycles;
use mb_core::ParameterError;

use crate::hierarchy::Hierarchy;
use crate::predictor::Predictor;
use crate::{Fault, Hart, Memory, SyscallHandler};
use event_queue::EventQueue;
use rob::{MemoryKind, Rob};
use statistics::StallCause;

pub use config::{Disambiguation, FloatUnits, OutOfOrderConfig, UnitConfig};
pub use kanata::{PipelineKanata, pc_and_class};
pub use presets::{CORTEX_A72, CoreSources, PPC440, cortex_a72, ppc440};
pub use statistics::{CycleStack, OutOfOrderStatistics};
pub use timing::{CommitObserver, InstructionTiming};

/// Why a core stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutOfOrderStop {
    /// It reached the cycle limit of the call.
    Until,
    /// Everything before a system call has committed, and the handler has no result yet.
    Waiting,
    /// The program ended with this status, and everything before has committed.
    Exited(u64),
}

/// The state of fetch.
#[derive(Clone, Debug)]
struct FrontEnd {
    /// An instruction has been executed and is not yet fetched.
    held: bool,
    /// The cycle in which the system call was fetched that waits to enter the queue.
    call: Option<Cycles>,
    /// The first cycle in which fetch can continue.
    resume: Cycles,
    /// Fetch waits until a mispredicted branch resolves or a misfetched one is decoded.
    awaiting_redirect: bool,
    /// The fetch block in the buffer.
    block: Option<u64>,
    /// Why the ROB is empty, if it is.
    cause: StallCause,
}

/// Functional units of one kind: the first cycle in which each can accept an operation.
#[derive(Clone, Debug)]
struct UnitPool(Vec<Cycles>);

impl UnitPool {
    /// Occupies a free unit for `interval`, or returns the cycle in which one becomes free.
    #[inline]
    fn take(&mut self, now: Cycles, interval: Cycles) -> Result<(), Cycles> {
        if let Some(free) = self.0.iter_mut().find(|free| **free <= now) {
            *free = now + interval;
            return Ok(());
        }
        Err(self.0.iter().min().copied().unwrap_or(now))
    }
}

/// The structure whose lack of space stopped dispatch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DispatchStall {
    Nothing,
    Rob,
    Lsq,
}

const ONE: Cycles = Cycles(1);

/// An out-of-order core.
#[derive(Clone, Debug)]
pub struct OutOfOrder {
    config: OutOfOrderConfig,
    core: usize,
    now: Cycles,
    front: FrontEnd,
    predictor: Predictor,
    rob: Rob,
    event_queue: EventQueue,
    /// Integer units, multipliers, dividers, address units, floating-point units. Without dividers the
    /// multipliers divide; without address units the integer units compute addresses.
    pools: [UnitPool; 5],
    /// A fence is in the ROB: nothing is dispatched until it commits.
    alone: bool,
    /// When the refused store at the head of the ROB can be repeated.
    retry: Cycles,
    /// The first cycle in which a ready operation can be issued.
    issue: Cycles,
    full: DispatchStall,
    /// The first cycle that is not yet in the statistics.
    counted: Cycles,
    statistics: OutOfOrderStatistics,
}

impl OutOfOrder {
    /// Core number `core` of a hierarchy, at cycle 0, with an empty pipeline.
    ///
    /// # Errors
    /// An invalid configuration.
    pub fn new(config: OutOfOrderConfig, core: usize) -> Result<Self, ParameterError> {
        config.check()?;
        let rob = Rob::new(&config);
        let pool = |count: u32| UnitPool(vec![Cycles::ZERO; count as usize]);
        Ok(Self {
            core,
            now: Cycles::ZERO,
            front: FrontEnd {
                held: false,
                call: None,
                resume: Cycles::ZERO,
                awaiting_redirect: false,
                block: None,
                cause: StallCause::Fill,
            },
            predictor: Predictor::new(config.predictor)?,
            event_queue: EventQueue::new(rob.slots() * 2),
            rob,
            pools: [
                pool(config.integer.count),
                pool(config.multiply.count),
                pool(config.divide.count),
                pool(config.address.count),
                pool(config.float.count),
            ],
            alone: false,
            retry: Cycles::ZERO,
            issue: Cycles::MAX,
            full: DispatchStall::Nothing,
            counted: Cycles::ZERO,
            statistics: OutOfOrderStatistics::default(),
            config,
        })
    }

    /// The next cycle to be simulated.
    #[must_use]
    pub const fn now(&self) -> Cycles {
        self.now
    }

    /// Event counts since cycle 0.
    #[must_use]
    pub const fn statistics(&self) -> &OutOfOrderStatistics {
        &self.statistics
    }

    /// Whether every executed instruction has committed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rob.is_empty() && self.rob.queued() == 0 && !self.front.held
    }

    /// Advances the time to `cycle` while a system call waits or no program runs. Caches and
    /// predictor keep their state.
    ///
    /// # Panics
    /// When the pipeline is not empty.
    pub fn skip(&mut self, cycle: Cycles) {
        assert!(self.is_empty(), "skip needs an empty pipeline");
        self.now = self.now.max(cycle);
    }

    /// Runs every cycle before `until`, or until the program ends or waits for its handler. A run
    /// in parts is equal to the same run in one call. After `Exited`, [`Hart::jump`] starts a new
    /// program.
    ///
    /// # Errors
    /// The instruction to be fetched cannot be executed.
    pub fn run<H: Hart, S: SyscallHandler>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
        hierarchy: &mut Hierarchy,
        until: Cycles,
    ) -> Result<OutOfOrderStop, Fault> {
        self.run_observed(hart, memory, host, hierarchy, until, &mut ())
    }

    /// As [`run`](Self::run), with a call of `observer` for every commit.
    ///
    /// # Errors
    /// The instruction to be fetched cannot be executed.
    pub fn run_observed<H: Hart, S: SyscallHandler, O: CommitObserver>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
        hierarchy: &mut Hierarchy,
        until: Cycles,
        observer: &mut O,
    ) -> Result<OutOfOrderStop, Fault> {
        while self.now < until {
            let before = self.cause();
            let is_complete = self.rob.oldest().is_some_and(rob::RobEntry::is_complete);
            let commits = is_complete && self.commit(hierarchy, observer);
            if self.event_queue.is_due(self.now.0) {
                self.write_back();
            }
            self.rob.unblock_accesses();
            if self.rob.ready.is_empty() {
                self.issue = Cycles::MAX;
            } else {
                self.issue(hierarchy);
            }
            if let Some(stop) = self.dispatch(hart, memory, host)? {
                // The next run repeats this cycle. It is counted now only if something has
                // committed in it.
                if commits {
                    self.statistics.cycles.commits += 1;
                    self.counted = self.now + ONE;
                }
                return Ok(stop);
            }
            if self.can_fetch() {
                self.fetch(hart, memory, host, hierarchy)?;
            }
            let next = self.next().min(until);
            self.account(before, commits, next);
            self.now = next;
        }
        Ok(OutOfOrderStop::Until)
    }

    /// Adds this cycle, and the idle ones up to `next`, to the statistics.
    #[inline]
    fn account(&mut self, before: StallCause, commits: bool, next: Cycles) {
        if commits {
            self.statistics.cycles.commits += 1;
        } else if self.now >= self.counted {
            self.statistics.cycles.add(before, 1);
        }
        let quiet = next.0 - self.now.0 - 1;
        if quiet > 0 {
            self.statistics.cycles.add(self.cause(), quiet);
        }
        match self.full {
            DispatchStall::Nothing => {}
            DispatchStall::Rob => self.statistics.rob_full += quiet + 1,
            DispatchStall::Lsq => self.statistics.lsq_full += quiet + 1,
        }
    }

    /// The reason for a cycle without a commit.
    #[inline]
    fn cause(&self) -> StallCause {
        match self.rob.oldest() {
            None if self.front.call.is_some() && self.rob.queued() == 0 => StallCause::Serialised,
            None => self.front.cause,
            Some(oldest) if oldest.is_complete() => StallCause::Store,
            Some(oldest) if oldest.first_done && oldest.kind != MemoryKind::Store => StallCause::Load,
            Some(_) => StallCause::Execution,
        }
    }

    /// The next cycle in which anything can happen.
    #[inline]
    fn next(&self) -> Cycles {
        let soon = self.now + ONE;
        let mut next = Cycles::MAX;
        if self.rob.oldest().is_some_and(rob::RobEntry::is_complete) {
            next = self.retry.max(soon);
        }
        if !self.rob.ready.is_empty() {
            next = next.min(self.issue.max(soon));
        }
        if next <= soon {
            return soon;
        }
        if let Some(upcoming) = self.rob.upcoming() {
            let InstructionTiming { retired, fetched, .. } = &upcoming.timing;
            if self.full == DispatchStall::Nothing && !self.must_wait(retired) {
                next = next.min((*fetched + self.config.front_end).max(soon));
            }
        } else if let Some(at) = self.front.call
            && self.rob.is_empty()
        {
            next = next.min((at + self.config.front_end).max(soon));
        }
        if self.front.call.is_none() && !self.front.awaiting_redirect && self.rob.queued() < self.config.fetch_queue {
            next = next.min(self.front.resume.max(soon));
        }
        if let Some(end) = self.event_queue.next(self.now.0) {
            next = next.min(Cycles(end));
        }
        next
    }
}
