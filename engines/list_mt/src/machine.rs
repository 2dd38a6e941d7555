// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A receive engine's firmware on its cores: operations in, answers out as they come.
//!
//! ```text
//!  deliver --> descriptor --> thread 0: takes it, locks the list's head, starts a thread
//!                             threads 1, 2, ...: walk the list hand over hand, answer, end --> answered
//! ```
//!
//! Cycles count from the end of the boot, when thread 0 waits for the first operation.

use mb_core::settings::SettingError;
use mb_core::{Cycles, Op, Outcome};
use mb_guest::Nic;
use mb_guest::layout::BYTES;
use mb_parts::processor::barrel::{Barrel, CoreStatistics, Stacks, Stop, Watch};
use mb_parts::processor::hierarchy::{Access, CacheStatistics};
use mb_parts::processor::{Answer, Call, Hart, Host, Machine as InstructionSet, Memory, Ppc32, Retired, Rv64};

use crate::parameters::{Delivery, Entries, Parameters};

/// Bytes of a thread's stack.
pub(crate) const STACK: u64 = 1024;

/// An operation that the firmware has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served {
    /// The firmware's answer.
    pub outcome: Outcome,
    /// Entries that it read.
    pub visits: u32,
    /// When it was delivered.
    pub start: Cycles,
    /// The cycle after that in which its thread said that the answer is there.
    pub at: Cycles,
}

/// An operation under way, in a slot of the descriptor ring.
#[derive(Clone, Copy, Debug)]
struct Work {
    op: Op,
    start: Cycles,
    visits: u32,
}

/// The host of the firmware, and who counts its visits.
#[derive(Debug)]
struct Around {
    nic: Nic,
    /// By slot.
    work: Vec<Option<Work>>,
    /// The slot of the operation that each thread performs.
    slot_of: Vec<Option<usize>>,
    /// The descriptor of slot 0.
    ring: u64,
}

impl Around {
    fn slot(&self, descriptor: u64) -> usize {
        ((descriptor - self.ring) / BYTES) as usize
    }
}

impl Host for Around {
    fn set_cycle(&mut self, cycle: u64) {
        self.nic.set_cycle(cycle);
    }

    fn cycle(&self) -> u64 {
        self.nic.cycle()
    }

    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer {
        self.nic.call(call, memory)
    }
}

impl Watch for Around {
    fn started(&mut self, thread: usize, argument: u64) {
        self.slot_of[thread] = Some(self.slot(argument));
    }

    #[inline]
    fn retired(&mut self, thread: usize, _: Cycles, retired: &Retired) {
        if let Some(slot) = self.slot_of[thread]
            && let Some(work) = &mut self.work[slot]
        {
            work.visits += u32::from(self.nic.is_visit(&work.op, retired));
        }
    }
}

/// Cores and the firmware on them.
#[derive(Debug)]
struct Board<H> {
    barrel: Barrel<H>,
    around: Around,
    entries: Entries,
    delivery: Delivery,
    cores: usize,
    boot: Cycles,
}

impl<H: Hart + Clone> Board<H> {
    fn new(parameters: &Parameters, hart: H) -> Result<Self, SettingError> {
        let program = parameters.guest().program(parameters.machine);
        let mut memory = program.memory(0);
        let top = memory.range().end.next_multiple_of(BYTES) + parameters.cores.threads as u64 * STACK;
        memory.grow((top - memory.range().end) as usize);
        let nic = Nic::new(parameters.machine, &mut memory, parameters.operations);
        let mut barrel = Barrel::new(&parameters.cores, hart, memory, Stacks { top, bytes: STACK })?;
        barrel.spawn(program.entry(), &[], Cycles::ZERO);
        let around = Around {
            // The ring lies before the entries.
            ring: nic.entries() - parameters.operations as u64 * BYTES,
            nic,
            work: vec![None; parameters.operations],
            slot_of: vec![None; parameters.cores.threads],
        };
        let mut board = Self {
            barrel,
            around,
            entries: parameters.entries,
            delivery: parameters.delivery,
            cores: parameters.cores.hierarchy.cores,
            boot: Cycles::ZERO,
        };
        assert_eq!(board.run(Cycles::MAX), Stop::Waiting, "the firmware waits for an operation");
        board.boot = board.barrel.now() + Cycles(1);
        Ok(board)
    }

    /// Runs the cycles of the cores before `until`.
    fn run(&mut self, until: Cycles) -> Stop {
        let stop = self.barrel.run_watched(until, &mut self.around);
        stop.unwrap_or_else(|trap| panic!("the firmware keeps to its memory: {trap}"))
    }

    fn run_until(&mut self, until: Cycles) {
        let until = self.boot + until;
        if until > self.barrel.now() {
            let stop = self.run(until);
            assert!(!matches!(stop, Stop::Exited(_)), "the firmware runs for ever");
        }
    }

    fn deliver(&mut self, op: &Op, at: Cycles) -> bool {
        let Some(address) = self.around.nic.deliver(op, self.barrel.memory_mut()) else { return false };
        let slot = self.around.slot(address);
        self.around.work[slot] = Some(Work { op: *op, start: at, visits: 0 });
        let hierarchy = self.barrel.hierarchy();
        hierarchy.invalidate(address, BYTES);
        if self.delivery == Delivery::Cache {
            for core in 0..self.cores {
                hierarchy.touch(core, Access::Load, address, BYTES);
            }
        }
        if self.entries == Entries::Cold {
            let (first, end) = (self.around.nic.entries(), self.barrel.memory().range().end);
            self.barrel.hierarchy().invalidate(first, end - first);
        }
        self.barrel.wake(self.boot + at);
        true
    }

    fn answered(&mut self) -> Option<Served> {
        let answered = self.around.nic.answered()?;
        let work = self.around.work[answered.slot].take().expect("an operation is answered once");
        let at = answered.at + Cycles(1) - self.boot;
        Some(Served { outcome: answered.outcome, visits: work.visits, start: work.start, at })
    }

    fn next_event(&self) -> Option<Cycles> {
        Some(self.barrel.next_event()? - self.boot)
    }
}

/// The instruction sets.
#[derive(Debug)]
enum Boards {
    Ppc32(Box<Board<Ppc32>>),
    Rv64(Box<Board<Rv64>>),
}

/// Does the same on whichever board there is.
macro_rules! board {
    ($machine:expr, $board:ident => $do:expr) => {
        match $machine {
            Boards::Ppc32($board) => $do,
            Boards::Rv64($board) => $do,
        }
    };
}

/// A receive engine's firmware on its cores.
#[derive(Debug)]
pub struct Machine {
    board: Boards,
}

impl Machine {
    /// Cores whose firmware has booted and waits for an operation.
    ///
    /// # Errors
    /// Parameters from which no cores or caches can be built.
    ///
    /// # Panics
    /// When a committed program is damaged, which the tests of `mb-guest` exclude.
    pub fn new(parameters: &Parameters) -> Result<Self, SettingError> {
        let program = parameters.guest().program(parameters.machine);
        let one = "a program has its one thread";
        let board = match parameters.machine {
            InstructionSet::Ppc32 => {
                let hart = Ppc32::load(&program, 1).expect(one).remove(0);
                Boards::Ppc32(Box::new(Board::new(parameters, hart)?))
            }
            InstructionSet::Rv64 => {
                let hart = Rv64::load(&program, 1).expect(one).remove(0);
                Boards::Rv64(Box::new(Board::new(parameters, hart)?))
            }
        };
        Ok(Self { board })
    }

    /// Runs every cycle before `until`; no effect if that is past.
    ///
    /// # Panics
    /// When the lists are too long for the firmware's addresses: some 33 million entries.
    pub fn run_until(&mut self, until: Cycles) {
        board!(&mut self.board, board => board.run_until(until));
    }

    /// Delivers `op` in cycle `at`, before which all were run; whether there was room for it.
    pub fn deliver(&mut self, op: &Op, at: Cycles) -> bool {
        board!(&mut self.board, board => board.deliver(op, at))
    }

    /// The first answer that was not handed out.
    pub fn answered(&mut self) -> Option<Served> {
        board!(&mut self.board, board => board.answered())
    }

    /// The next cycle in which a core does something, if any does before an operation is delivered.
    #[must_use]
    pub fn next_event(&self) -> Option<Cycles> {
        board!(&self.board, board => board.next_event())
    }

    /// What `core` has done, the boot included.
    #[must_use]
    pub fn statistics(&self, core: usize) -> CoreStatistics {
        board!(&self.board, board => board.barrel.statistics(core))
    }

    /// What the data cache of `core` has served.
    #[must_use]
    pub fn data_cache(&mut self, core: usize) -> CacheStatistics {
        board!(&mut self.board, board => board.barrel.hierarchy().data_statistics(core))
    }
}
