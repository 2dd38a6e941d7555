// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Multithreaded processors and chip multiprocessors: cores with several contexts that fetch,
//! rename, issue and commit RV64 instructions cycle by cycle.
//!
//! ```text
//!   I-cache -> fetch -> front end -> rename -> instruction queue -> issue -> units -> write-back -> commit
//!              ICOUNT    `front_end`  map,        shared by the      oldest    | address     |          |
//!              BTB       cycles       registers   contexts           first     v             |       stores
//!              gshare                                              load/store queue <-> memory system
//!                ^                                                                           |
//!                +---- `redirect` cycles after a mispredicted branch ends: squash -----------+
//! ```
//!
//! One model with parameters: a simultaneous multithreaded processor is one core with many
//! contexts, a chip multiprocessor has many cores with one context. Unlike in the other cores, function
//! and timing are not separate: an instruction takes its operands when it is issued, a load takes its
//! value when memory answers, a store goes to memory when it commits. Wrong paths are fetched, executed
//! and squashed.
//!
//! # Rules of a cycle
//!
//! In each cycle completed requests arrive, and then the stages run from the last to the first.
//! Where contexts take turns, context `cycle mod contexts` is first.
//!
//! 1. **Commit.** Contexts in turns, each in program order, at most `commit_width` instructions that
//!    ended in an earlier cycle. A store is sent to memory, and waits here if memory refuses it.
//!    Floating-point exceptions accrue.
//!    Branches train counters and the BTB.
//! 2. **Write-back.** Instructions that end wake those that need their results. A mispredicted
//!    branch removes the younger instructions of its context; map, return stack and history are as
//!    after the branch. Fetch continues `redirect` cycles later.
//! 3. **Issue.** At most `issue_width` instructions whose operands were ready at the end of step 2
//!    and that were renamed in an earlier cycle, the oldest of the core first. With latency `l` an
//!    instruction that is issued in cycle `c` ends in cycle `c + l`. A load only computes its
//!    address here. A store is issued without its data.
//! 4. **Access.** Loads are sent, the oldest of the core first. A load waits for the addresses of
//!    all older stores, for older loads of the same address that have no value, and for older
//!    atomics and fences. If the youngest older store that overlaps it covers it and has its
//!    data, the load takes its value from there; otherwise it waits until that store has committed.
//!    It ends `load` cycles later, or when memory says, whichever is later. Accesses refused by
//!    memory are repeated in the next cycle and use no issue slot.
//!    An atomic, a fence, fence.i, wrs, an access to a CSR and a system call execute here, before
//!    the loads, contexts in turns, when they are the oldest of their context. A load from a device
//!    is sent when it is the oldest.
//! 5. **Rename.** At most `rename_width` instructions that were fetched `front_end` cycles before or
//!    earlier, the oldest of the core first, as long as the instruction queue, the reorder buffer,
//!    the load/store queue and the rename registers have space. A context whose next instruction
//!    finds no space is passed over.
//! 6. **Fetch.** The policy selects `fetch_threads` contexts. They fetch up to `fetch_width`
//!    instructions together, each with at most one access to the instruction cache, up to the first
//!    branch that is predicted taken. A context keeps the last block that it has read. After a
//!    branch that is predicted taken without a BTB entry, fetch continues after it for `misfetch`
//!    cycles. After a system call, fence.i, wrs and a write of a CSR other than fflags, a context
//!    fetches nothing until that instruction commits.
//!
//! # Memory order
//!
//! The order of memory accesses is that of the RISC-V weak memory model (RVWMO), and stronger in
//! some points: stores are sent in program order; every atomic is an acquire; every fence orders
//! later loads. A load may be performed before an older load of another address. If it is performed
//! before an older load of the same address, it is repeated.
//!
//! Cores that have one instruction at a time have none of these stages: [`IssueOrder::Blocking`].
//!
//! Harts may have supervisor mode: [`Chip::with_supervisor`]. Then addresses are translated at fetch
//! and when an access has computed them, and traps are precise; see [`TranslationConfig`].
//!
//! Not modelled: register files with fewer ports than operands, several instruction queues.
//!
//! Sources: Tullsen et al., *Exploiting Choice: Instruction Fetch and Issue on an Implementable
//! Simultaneous Multithreading Processor* (ISCA 1996); Crowley et al. (`crowley2000`), section 3.3.

mod access;
mod account;
mod across;
mod alone;
mod blocking;
mod code;
mod commit;
mod config;
mod context;
mod core;
mod fetch;
mod frontend;
mod in_flight;
mod interface;
mod issue;
mod kanata;
mod pages;
mod presets;
mod privileged;
mod registers;
mod returns;
mod setting;
mod statistics;
mod translation;
mod turns;
mod walk;
mod wrong_path;

use mb_core::ParameterError;

use self::code::Code;
use self::core::Core;
use self::setting::{Environment, Fixed, Setting};
use self::turns::{Cycle, due_cores, next_of};
use crate::isa::FloatStatus;
use crate::memory::system::{CompletedKind, CompletedRequest, MemorySystem};

pub use config::{ChipConfig, FetchPolicy, IssueOrder, Latencies};
pub use interface::{CallHandler, ChipFault, ChipObserver, ChipStop, Passage};
pub use kanata::{ChipKanata, hart_and_pc};
pub use presets::{blocking, cmp, cmp2, crowley2000, in_order, smt};
pub use statistics::{HartStatistics, IssueStall};
pub use translation::TranslationConfig;

/// A chip without its memory. Harts are numbered from 0: hart `core * contexts + context`.
#[derive(Clone, Debug)]
pub struct Chip {
    config: ChipConfig,
    cores: Vec<Core>,
    /// For each core, the next cycle to be stepped without an event of the memory or another core.
    next: Box<[u64; ChipConfig::MAX_CORES]>,
    /// The cores, as bits, with an instruction that waits for what the memory or another core changes.
    waiting: u64,
    code: Code,
    /// The next cycle to be simulated.
    now: u64,
    /// Steps every core in every cycle.
    every_cycle: bool,
    completions: Vec<CompletedRequest>,
    transfers: Vec<CompletedRequest>,
    /// Harts whose software interrupt becomes pending at the end of the cycle.
    interrupts: Vec<usize>,
}

impl Chip {
    /// A chip in cycle 0. Each hart is at `entry`; its registers are zero but for a0, the number of
    /// the hart, and a1, the number of harts.
    ///
    /// # Errors
    /// An invalid configuration.
    pub fn new(config: &ChipConfig, entry: u64) -> Result<Self, ParameterError> {
        config.check()?;
        let cores = (0..config.cores).map(|core| Core::new(config, core, entry & !1)).collect::<Result<Vec<_>, _>>()?;
        let mut chip = Self {
            config: *config,
            next: next_of(cores.len()),
            waiting: 0,
            cores,
            code: Code::new(),
            now: 0,
            every_cycle: false,
            completions: Vec::new(),
            transfers: Vec::new(),
            interrupts: Vec::new(),
        };
        for hart in 0..config.harts() {
            chip.set_register(hart, 10, hart as u64);
            chip.set_register(hart, 11, config.harts() as u64);
        }
        Ok(chip)
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &ChipConfig {
        &self.config
    }

    /// The next cycle to be simulated.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Event counts of a hart since cycle 0, up to [`now`](Self::now).
    ///
    /// # Panics
    /// There is no such hart. This also holds for the functions below.
    #[must_use]
    pub fn statistics(&self, hart: usize) -> &HartStatistics {
        let (core, context) = self.place(hart);
        &self.cores[core].contexts[context].statistics
    }

    /// Address of the oldest instruction of a hart that has not committed.
    #[must_use]
    pub fn pc(&self, hart: usize) -> u64 {
        let (core, context) = self.place(hart);
        self.cores[core].pc(context)
    }

    /// Register `index` of a hart, after its last committed instruction: x0 to x31, then f0 to f31.
    #[must_use]
    pub fn register(&self, hart: usize, index: usize) -> u64 {
        let (core, context) = self.place(hart);
        self.cores[core].register(context, index)
    }

    /// Accrued exceptions and rounding mode of a hart, after its last committed instruction.
    #[must_use]
    pub fn float_status(&self, hart: usize) -> FloatStatus {
        let (core, context) = self.place(hart);
        self.cores[core].contexts[context].float_status
    }

    /// Sets a register, numbered as above, of a hart that has not started.
    ///
    /// # Panics
    /// The hart has instructions in flight.
    pub fn set_register(&mut self, hart: usize, index: usize, value: u64) {
        let (core, context) = self.place(hart);
        let state = &self.cores[core].contexts[context];
        assert!(state.head == state.tail, "hart {hart} has instructions in flight");
        self.cores[core].set_register(context, index, value);
    }

    /// Sets the address at which a hart that has not started begins.
    ///
    /// # Panics
    /// The hart has instructions in flight.
    pub fn set_pc(&mut self, hart: usize, pc: u64) {
        let (core, context) = self.place(hart);
        let state = &mut self.cores[core].contexts[context];
        assert!(state.head == state.tail, "hart {hart} has instructions in flight");
        state.redirect(pc & !1, self.now);
    }

    /// Lets a hart execute nothing. Its instructions in flight are removed.
    pub fn halt(&mut self, hart: usize) {
        let (core, context) = self.place(hart);
        let pc = self.pc(hart);
        let head = self.cores[core].contexts[context].head;
        let Core { contexts, shared } = &mut self.cores[core];
        let state = &mut contexts[context];
        shared.squash(state, context, head, self.now, &self.config, &mut ());
        state.redirect(pc, self.now);
        state.halted = true;
        state.waits = false;
        state.full = context::Full::Nothing;
    }

    /// Whether a hart has ended its program or was halted.
    #[must_use]
    pub fn is_halted(&self, hart: usize) -> bool {
        let (core, context) = self.place(hart);
        self.cores[core].contexts[context].halted
    }

    /// Whether every cycle is simulated, also those in which nothing happens. The results are the
    /// same; tests compare the two.
    pub const fn simulate_every_cycle(&mut self, every: bool) {
        self.every_cycle = every;
    }

    /// Skips the cycles before `cycle`. All harts are halted.
    pub fn skip_to(&mut self, cycle: u64) {
        self.now = self.now.max(cycle);
    }

    /// The next cycle in which a core does something without an event of the memory, if there is
    /// one.
    #[must_use]
    pub fn next_event(&self) -> Option<u64> {
        self.next.iter().copied().filter(|&next| next != u64::MAX).min().map(|next| next.max(self.now))
    }

    /// Takes the DMA transfers that have completed since the last call.
    pub fn transfers(&mut self) -> Vec<CompletedRequest> {
        std::mem::take(&mut self.transfers)
    }

    /// Core and context of a hart.
    const fn place(&self, hart: usize) -> (usize, usize) {
        (hart / self.config.contexts, hart % self.config.contexts)
    }

    /// Runs every cycle before `until`, or to the end of the cycle in which a hart ends or a DMA
    /// transfer completes. A run in parts is equal to the same run in one call.
    ///
    /// # Errors
    /// A hart cannot execute its next instruction. The chip can be examined, but not continued.
    pub fn run_until<M: MemorySystem, H: CallHandler>(
        &mut self,
        until: u64,
        memory: &mut M,
        host: &mut H,
    ) -> Result<ChipStop, ChipFault> {
        self.run_observed(until, memory, host, &mut ())
    }

    /// As [`run_until`](Self::run_until), with calls of `observer`.
    ///
    /// # Errors
    /// A hart cannot execute its next instruction. The chip can be examined, but not continued.
    pub fn run_observed<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        until: u64,
        memory: &mut M,
        host: &mut H,
        observer: &mut O,
    ) -> Result<ChipStop, ChipFault> {
        let is_narrow = self.config.is_narrow() && self.cores.iter().all(|core| core.shared.translation.is_none());
        match (self.config.contexts, self.config.order) {
            (1, IssueOrder::OutOfOrder) => {
                self.run::<Fixed<M, H, O, true, false, false>>(until, memory, host, observer)
            }
            (1, IssueOrder::InOrder) if is_narrow => {
                self.run::<Fixed<M, H, O, true, true, true>>(until, memory, host, observer)
            }
            (1, IssueOrder::InOrder | IssueOrder::Blocking { .. }) => {
                self.run::<Fixed<M, H, O, true, true, false>>(until, memory, host, observer)
            }
            (_, IssueOrder::OutOfOrder) => {
                self.run::<Fixed<M, H, O, false, false, false>>(until, memory, host, observer)
            }
            (_, IssueOrder::InOrder | IssueOrder::Blocking { .. }) => {
                self.run::<Fixed<M, H, O, false, true, false>>(until, memory, host, observer)
            }
        }
    }

    /// As [`run_observed`](Self::run_observed), for a chip with supervisor mode and one context per core: for a memory,
    /// a host and an observer that are used with such chips only, this compiles less code.
    ///
    /// # Errors
    /// A hart cannot execute its next instruction. The chip can be examined, but not continued.
    ///
    /// # Panics
    /// Cores have several contexts.
    pub fn run_supervised<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        until: u64,
        memory: &mut M,
        host: &mut H,
        observer: &mut O,
    ) -> Result<ChipStop, ChipFault> {
        assert_eq!(self.config.contexts, 1, "contexts of a core");
        match self.config.order {
            IssueOrder::OutOfOrder => self.run::<Fixed<M, H, O, true, false, false>>(until, memory, host, observer),
            IssueOrder::InOrder | IssueOrder::Blocking { .. } => {
                self.run::<Fixed<M, H, O, true, true, false>>(until, memory, host, observer)
            }
        }
    }

    /// Runs, and then completes the account of issue slots and the counts.
    fn run<S: Setting>(
        &mut self,
        until: u64,
        memory: &mut S::Memory,
        host: &mut S::Host,
        observer: &mut S::Observer,
    ) -> Result<ChipStop, ChipFault> {
        let result = self.run_cycles::<S>(until, memory, host, observer);
        for core in &mut self.cores {
            core.account_until::<S>(&self.config, self.now);
            for context in &mut core.contexts {
                context.count_instructions::<S>();
            }
        }
        result
    }

    fn run_cycles<S: Setting>(
        &mut self,
        until: u64,
        memory: &mut S::Memory,
        host: &mut S::Host,
        observer: &mut S::Observer,
    ) -> Result<ChipStop, ChipFault> {
        // A hart ends in a step, or was halted between two runs.
        let mut ended = true;
        // The cores, as bits, that are stepped in the next cycle; and no other is before the cycle `others`.
        let (mut soon, mut others) = (0_u64, 0);
        loop {
            if ended && let Some(stop) = self.stop() {
                return Ok(stop);
            }
            if self.now >= until {
                return Ok(ChipStop::Until);
            }
            let now = self.now;
            self.completions.clear();
            memory.advance(now, &mut self.completions);
            while let Some((hart, pending)) = memory.external_interrupt() {
                self.set_external(hart, pending);
                others = 0;
            }
            // The cores, as bits, of which memory has completed requests.
            let (mut transferred, mut arrived) = (false, 0_u64);
            for completion in &self.completions {
                if completion.source == CompletedKind::Dma {
                    self.transfers.push(*completion);
                    transferred = true;
                } else {
                    self.next[completion.core] = now;
                    arrived |= 1 << completion.core;
                }
            }
            let mut environment = Environment::<S> {
                config: &self.config,
                code: &mut self.code,
                memory,
                host,
                observer,
                active: false,
                ended: false,
                interrupts: &mut self.interrupts,
            };
            let mut due = soon | arrived;
            if others <= now || self.every_cycle {
                let (found, next) = due_cores(&self.next[..self.cores.len()], now, self.every_cycle);
                (due, others) = (due | found, next);
            }
            let cycle = Cycle { now, due, arrived, completions: &self.completions };
            let stepped = cycle.step(&mut self.cores, &mut self.next, self.waiting, &mut environment)?;
            (soon, others, self.waiting) = (stepped.soon, others.min(stepped.others), stepped.waiting);
            let mut next =
                if soon == 0 { self.next.iter().fold(u64::MAX, |first, &next| first.min(next)) } else { now + 1 };
            let active = environment.active;
            ended = environment.ended;
            while let Some(hart) = self.interrupts.pop() {
                let (core, context) = self.place(hart);
                if let Some(supervisor) = &mut self.cores[core].contexts[context].supervisor {
                    supervisor.raise_software();
                }
                self.next[core] = now + 1;
                soon |= 1_u64 << core;
                next = now + 1;
            }
            if self.waiting != 0 && active || self.every_cycle || ended {
                next = now + 1;
            } else if let Some(event) = memory.next_event() {
                next = next.min(event);
            }
            if transferred {
                // The caller may act in the next cycle, even if the cores do nothing in it.
                self.now = now + 1;
                return Ok(ChipStop::Transfer);
            }
            self.now = next.max(now + 1).min(until);
        }
    }

    /// Why the chip stops before the next cycle.
    fn stop(&mut self) -> Option<ChipStop> {
        let mut halted = true;
        for core in &mut self.cores {
            if let Some((context, status)) = core.shared.exits.pop() {
                let hart = core.shared.number * self.config.contexts + context;
                return Some(ChipStop::Exited { hart, status });
            }
            if let Some(context) = core.shared.stops.pop() {
                return Some(ChipStop::Host(core.shared.number * self.config.contexts + context));
            }
            halted &= core.contexts.iter().all(|context| context.halted);
        }
        halted.then_some(ChipStop::Halted)
    }
}
