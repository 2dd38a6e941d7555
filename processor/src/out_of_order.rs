// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core that issues out of order, after `SimpleScalar`'s sim-outorder: a register update unit and a load/store queue.
//!
//! ```text
//!   hart --step--> fetch --queue--> dispatch --window--> issue --units, caches--> write back --> commit
//!                    ^                 |                                              |             |
//!                    |                 +-- target known late: `misfetched` cycles     |       stores write,
//!                    +---------------- wrong prediction: `mispredicted` cycles -------+     predictor learns
//! ```
//!
//! In each cycle the stages run from the last to the first, as in sim-outorder: what ends in a cycle wakes what is issued in
//! it, and what is dispatched is issued a cycle later at the earliest. Instructions are executed in order at fetch, so values
//! are those of that instant; a system call waits at the head of the queue until all before it has committed, and is executed
//! when it is dispatched.
//!
//! A memory access is two operations: an address is computed, then, if the stores before it allow, memory is accessed; a
//! store's second operation takes an issue slot only, and its write happens at commit. Accesses, long operations and changes
//! of the flow are issued first, then the rest, the older first; sim-outorder takes the newest of the former first.
//!
//! Not modelled: the wrong path (after a misprediction nothing is fetched until it is found out, so caches and units never
//! see what would have been thrown away), address translation, a second level of cache, floating point, prefetching.
//! Source: Burger and Austin, *The `SimpleScalar` Tool Set, Version 2.0* (1997), sections 4.1 to 4.4.
//! Cost on the host: some 100 ns per instruction; cycles in which nothing can happen cost nothing. Nothing is allocated.

mod agenda;
mod back;
mod config;
mod front;
mod presets;
mod statistics;
mod window;

use mb_core::Cycles;
use mb_core::ParameterError;

use super::hierarchy::Hierarchy;
use super::predictor::{Prediction, Predictor, Verdict};
use super::{Class, Control, Fault, Hart, Host, Memory, Register, Retired, Shape};
use agenda::Agenda;
use statistics::Cause;
use window::{Kind, Window};

pub use config::{Disambiguation, OutOfOrderConfig, UnitConfig};
pub use presets::{cortex_a72, ppc440};
pub use statistics::{CycleStack, Statistics};

/// Why a core stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It reached the cycle that it was to run until.
    Until,
    /// All that came before a system call is done, and the host has no answer to it.
    Waiting,
    /// The program ended with this status, and all that came before has committed.
    Exited(u64),
}

/// When an instruction passed the stages of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// The instruction.
    pub retired: Retired,
    /// What fetch made of it.
    pub verdict: Verdict,
    /// When it was fetched.
    pub fetched: Cycles,
    /// When it entered the window.
    pub dispatched: Cycles,
    /// When its first operation was issued.
    pub issued: Cycles,
    /// When its last operation was issued: its memory access, if it has one.
    pub accessed: Cycles,
    /// When its last operation ended.
    pub written: Cycles,
    /// When it left the window.
    pub committed: Cycles,
}

impl Passage {
    const NOTHING: Self = Self {
        retired: Retired {
            pc: 0,
            next: 0,
            address: 0,
            taken: false,
            shape: Shape {
                class: Class::Integer,
                control: Control::None,
                sources: [Register::NONE; 3],
                destinations: [Register::NONE; 3],
                bytes: 0,
                access: 0,
            },
        },
        verdict: Verdict::Right,
        fetched: Cycles::ZERO,
        dispatched: Cycles::ZERO,
        issued: Cycles::ZERO,
        accessed: Cycles::ZERO,
        written: Cycles::ZERO,
        committed: Cycles::ZERO,
    };
}

/// Watches instructions leave the window, in order.
pub trait Observer {
    /// An instruction has committed.
    fn committed(&mut self, passage: &Passage);
}

impl Observer for () {
    #[inline]
    fn committed(&mut self, _: &Passage) {}
}

/// The state of fetch.
#[derive(Clone, Debug)]
struct Front {
    /// An instruction was executed and is not yet fetched.
    held: bool,
    /// A system call that waits behind the queue, and when it was fetched.
    call: Option<Cycles>,
    /// Fetch goes on in this cycle at the earliest.
    resume: Cycles,
    /// What has to be executed or decoded before fetch knows where to go on.
    lost: bool,
    /// The block that is being read.
    block: Option<u64>,
    /// Why the window is empty, if it is.
    cause: Cause,
}

/// When each unit can take its next operation.
#[derive(Clone, Debug)]
struct Pool(Vec<Cycles>);

impl Pool {
    #[inline]
    fn take(&mut self, now: Cycles, interval: Cycles) -> Result<(), Cycles> {
        if let Some(free) = self.0.iter_mut().find(|free| **free <= now) {
            *free = now + interval;
            return Ok(());
        }
        Err(self.0.iter().min().copied().unwrap_or(now))
    }
}

/// What dispatch found no room in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Full {
    Nothing,
    Window,
    MemoryQueue,
}

const ONE: Cycles = Cycles(1);

/// An out-of-order core.
#[derive(Clone, Debug)]
pub struct OutOfOrder {
    config: OutOfOrderConfig,
    core: usize,
    now: Cycles,
    front: Front,
    predictor: Predictor,
    window: Window,
    agenda: Agenda,
    /// Integer, multiply, divide, address; the last two may be empty, and the first two do their work.
    pools: [Pool; 4],
    /// The oldest instruction is alone in the window until it commits.
    alone: bool,
    /// When the store at the head of the window can be tried again.
    retry: Cycles,
    /// When something that is ready can be issued.
    issue: Cycles,
    full: Full,
    /// The first cycle that the statistics lack.
    counted: Cycles,
    statistics: Statistics,
}

impl OutOfOrder {
    /// Core number `core` of a hierarchy, at cycle 0, with an empty pipeline.
    ///
    /// # Errors
    /// A configuration that cannot be built.
    pub fn new(config: OutOfOrderConfig, core: usize) -> Result<Self, ParameterError> {
        config.check()?;
        let window = Window::new(&config);
        let pool = |count: u32| Pool(vec![Cycles::ZERO; count as usize]);
        Ok(Self {
            core,
            now: Cycles::ZERO,
            front: Front {
                held: false,
                call: None,
                resume: Cycles::ZERO,
                lost: false,
                block: None,
                cause: Cause::Fill,
            },
            predictor: Predictor::new(config.predictor)?,
            agenda: Agenda::new(window.slots() * 2),
            window,
            pools: [
                pool(config.integer.count),
                pool(config.multiply.count),
                pool(config.divide.count),
                pool(config.address.count),
            ],
            alone: false,
            retry: Cycles::ZERO,
            issue: Cycles::MAX,
            full: Full::Nothing,
            counted: Cycles::ZERO,
            statistics: Statistics::default(),
            config,
        })
    }

    /// The next cycle to be run.
    #[must_use]
    pub const fn now(&self) -> Cycles {
        self.now
    }

    /// What it has done so far.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Whether everything that was executed has committed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.window.is_empty() && self.window.queued() == 0 && !self.front.held
    }

    /// Lets time pass until `cycle` while a call waits or no program runs. Caches and predictor stay as they are.
    ///
    /// # Panics
    /// When there is something to do before.
    pub fn skip(&mut self, cycle: Cycles) {
        assert!(self.is_empty(), "time passes only for an empty pipeline");
        self.now = self.now.max(cycle);
    }

    /// Runs until `until`, or until the program ends or waits for its host. Nothing of a call depends on where the one before
    /// it ended. After `Exited`, a thread that was sent elsewhere starts a new program.
    ///
    /// # Errors
    /// The instruction that was to be fetched cannot be executed.
    pub fn run<H: Hart, S: Host>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
        hierarchy: &mut Hierarchy,
        until: Cycles,
    ) -> Result<Stop, Fault> {
        self.run_observed(hart, memory, host, hierarchy, until, &mut ())
    }

    /// [`run`](Self::run), and tells `observer` of every instruction that commits.
    ///
    /// # Errors
    /// The instruction that was to be fetched cannot be executed.
    pub fn run_observed<H: Hart, S: Host, O: Observer>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
        hierarchy: &mut Hierarchy,
        until: Cycles,
        observer: &mut O,
    ) -> Result<Stop, Fault> {
        while self.now < until {
            let before = self.cause();
            let is_complete = self.window.oldest().is_some_and(window::Entry::is_complete);
            let commits = is_complete && self.commit(hierarchy, observer);
            if self.agenda.is_due(self.now.0) {
                self.write_back();
            }
            self.window.refresh();
            if self.window.ready.is_empty() {
                self.issue = Cycles::MAX;
            } else {
                self.issue(hierarchy);
            }
            if let Some(stop) = self.dispatch(hart, memory, host)? {
                // This cycle is run again if the call is, and it counts if something has committed in it.
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
        Ok(Stop::Until)
    }

    /// Counts this cycle, and those up to `next` in which nothing happens.
    #[inline]
    fn account(&mut self, before: Cause, commits: bool, next: Cycles) {
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
            Full::Nothing => {}
            Full::Window => self.statistics.window_full += quiet + 1,
            Full::MemoryQueue => self.statistics.memory_queue_full += quiet + 1,
        }
    }

    /// Why nothing commits, if nothing does.
    #[inline]
    fn cause(&self) -> Cause {
        match self.window.oldest() {
            None if self.front.call.is_some() && self.window.queued() == 0 => Cause::Serialised,
            None => self.front.cause,
            Some(oldest) if oldest.is_complete() => Cause::Store,
            Some(oldest) if oldest.first_done && oldest.kind != Kind::Store => Cause::Load,
            Some(_) => Cause::Execution,
        }
    }

    /// The next cycle in which something can happen.
    #[inline]
    fn next(&self) -> Cycles {
        let soon = self.now + ONE;
        let mut next = Cycles::MAX;
        if self.window.oldest().is_some_and(window::Entry::is_complete) {
            next = self.retry.max(soon);
        }
        if !self.window.ready.is_empty() {
            next = next.min(self.issue.max(soon));
        }
        if next <= soon {
            return soon;
        }
        if let Some(upcoming) = self.window.upcoming() {
            let Passage { retired, fetched, .. } = &upcoming.passage;
            if self.full == Full::Nothing && !self.must_wait(retired) {
                next = next.min((*fetched + self.config.front_end).max(soon));
            }
        } else if let Some(at) = self.front.call
            && self.window.is_empty()
        {
            next = next.min((at + self.config.front_end).max(soon));
        }
        if self.front.call.is_none() && !self.front.lost && self.window.queued() < self.config.fetch_queue {
            next = next.min(self.front.resume.max(soon));
        }
        if let Some(end) = self.agenda.next(self.now.0) {
            next = next.min(Cycles(end));
        }
        next
    }
}
