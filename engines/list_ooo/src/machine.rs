// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A receive engine's firmware on its core: one operation in, its answer out.
//!
//! The core sleeps in the call for the next operation. A descriptor wakes it, and its answer is known in the cycle in which
//! it makes the call that says so; what it does from there to the next sleep delays the operation after it.

use mb_core::settings::SettingError;
use mb_core::{Cycles, Op, Outcome};
use mb_guest::layout::BYTES;
use mb_guest::{Nic, Visit};
use mb_processor::hierarchy::{Access, CacheStatistics, Hierarchy};
use mb_processor::out_of_order::{CommitObserver, InstructionTiming, OutOfOrder, OutOfOrderStatistics, Stop};
use mb_processor::{Hart, Isa, Memory, Ppc32, Rv64};

use crate::parameters::{Delivery, Entries, Parameters};

/// Slots of the header buffer: the 64 headers of hemmert2007 figure 5.
const SLOTS: usize = 64;

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served {
    /// The firmware's answer.
    pub outcome: Outcome,
    /// Entries that it read.
    pub visits: u32,
    /// When it woke.
    pub start: Cycles,
    /// When it answered.
    pub at: Cycles,
}

/// Counts visits, notes entries that were accessed, and lets somebody else watch.
struct Watch<'a, O> {
    visit: Visit,
    visits: u32,
    /// Where entries begin.
    entries: u64,
    /// Addresses of accessed entries, some of them more than once.
    accessed: Vec<u64>,
    also: &'a mut O,
}

impl<O: CommitObserver> CommitObserver for Watch<'_, O> {
    #[inline]
    fn committed(&mut self, passage: &InstructionTiming) {
        let retired = &passage.retired;
        self.visits += u32::from(self.visit.is(retired));
        if retired.instruction.access > 0 && retired.address >= self.entries {
            let entry = retired.address - retired.address % BYTES;
            if self.accessed.last() != Some(&entry) {
                self.accessed.push(entry);
            }
        }
        self.also.committed(passage);
    }
}

/// A core and the firmware on it.
#[derive(Clone, Debug)]
struct Board<H> {
    hart: H,
    memory: Memory,
    nic: Nic,
    hierarchy: Hierarchy,
    core: OutOfOrder,
    entries: Entries,
    delivery: Delivery,
    /// Kept for its room.
    accessed: Vec<u64>,
}

impl<H: Hart> Board<H> {
    fn new(parameters: &Parameters, hart: H) -> Result<Self, SettingError> {
        let mut memory = parameters.guest.program(parameters.machine).memory(0);
        let nic = Nic::new(parameters.machine, &mut memory, SLOTS);
        let mut board = Self {
            hart,
            memory,
            nic,
            hierarchy: Hierarchy::new(&parameters.hierarchy)?,
            core: OutOfOrder::new(parameters.core, 0)?,
            entries: parameters.entries,
            delivery: parameters.delivery,
            accessed: Vec::new(),
        };
        board.run(&mut ());
        Ok(board)
    }

    /// Runs until the firmware asks for an operation and there is none.
    fn run<O: CommitObserver>(&mut self, observer: &mut O) {
        let Self { hart, memory, nic, hierarchy, core, .. } = self;
        let stop = core.run_observed(hart, memory, nic, hierarchy, Cycles::MAX, observer);
        assert_eq!(stop, Ok(Stop::Waiting), "the firmware runs for ever and keeps to its memory");
    }

    fn serve<O: CommitObserver>(&mut self, op: &Op, earliest: Cycles, observer: &mut O) -> Served {
        self.core.skip(earliest);
        let start = self.core.now();
        let address = self.nic.deliver(op, &mut self.memory).expect("every operation was answered");
        match self.delivery {
            Delivery::Memory => self.hierarchy.invalidate(address, BYTES),
            Delivery::Cache => self.hierarchy.warm(0, Access::Load, address, BYTES),
        }
        let (visit, entries) = (self.nic.visit(op), self.nic.entries());
        let accessed = std::mem::take(&mut self.accessed);
        let mut watch = Watch { visit, visits: 0, entries, accessed, also: observer };
        self.run(&mut watch);
        let visits = watch.visits;
        self.accessed = watch.accessed;
        for entry in self.accessed.drain(..) {
            if self.entries == Entries::Cold {
                self.hierarchy.invalidate(entry, BYTES);
            }
        }
        let answered = self.nic.answered().expect("the firmware answers before it asks again");
        Served { outcome: answered.outcome, visits, start, at: answered.at }
    }
}

#[derive(Clone, Debug)]
enum Boards {
    Ppc32(Box<Board<Ppc32>>),
    Rv64(Box<Board<Rv64>>),
}

/// A firmware that waits for operations, on a core of either instruction set.
#[derive(Clone, Debug)]
pub struct Machine {
    board: Boards,
    /// When the firmware first asked for an operation: cycle 0 for everybody else.
    boot: Cycles,
}

impl Machine {
    /// Boots the firmware with empty lists.
    ///
    /// # Errors
    /// Parameters from which no core or cache can be built.
    ///
    /// # Panics
    /// When the committed firmware is damaged, which the tests exclude.
    pub fn new(parameters: &Parameters) -> Result<Self, SettingError> {
        let program = parameters.guest.program(parameters.machine);
        let one = "a program has its one thread";
        let board = match parameters.machine {
            Isa::Ppc32 => {
                Boards::Ppc32(Box::new(Board::new(parameters, Ppc32::load(&program, 1).expect(one).remove(0))?))
            }
            Isa::Rv64 => Boards::Rv64(Box::new(Board::new(parameters, Rv64::load(&program, 1).expect(one).remove(0))?)),
        };
        let mut machine = Self { board, boot: Cycles::ZERO };
        machine.boot = machine.core().now();
        Ok(machine)
    }

    fn core(&self) -> &OutOfOrder {
        match &self.board {
            Boards::Ppc32(board) => &board.core,
            Boards::Rv64(board) => &board.core,
        }
    }

    /// Performs `op`, which comes in cycle `earliest` at the earliest.
    ///
    /// # Panics
    /// When the lists are too long for the firmware's addresses: some 33 million entries.
    pub fn serve(&mut self, op: &Op, earliest: Cycles) -> Served {
        self.serve_observed(op, earliest, &mut ())
    }

    /// [`serve`](Self::serve), and tells `observer` of every instruction that commits. Its cycles count from the first of the
    /// boot.
    ///
    /// # Panics
    /// As [`Machine::serve`].
    pub fn serve_observed<O: CommitObserver>(&mut self, op: &Op, earliest: Cycles, observer: &mut O) -> Served {
        let earliest = earliest + self.boot;
        let served = match &mut self.board {
            Boards::Ppc32(board) => board.serve(op, earliest, observer),
            Boards::Rv64(board) => board.serve(op, earliest, observer),
        };
        Served { start: served.start - self.boot, at: served.at - self.boot, ..served }
    }

    /// What the core has done so far.
    #[must_use]
    pub fn statistics(&self) -> &OutOfOrderStatistics {
        self.core().statistics()
    }

    /// What the data cache has served.
    #[must_use]
    pub fn data_cache(&self) -> CacheStatistics {
        match &self.board {
            Boards::Ppc32(board) => board.hierarchy.data_statistics(0),
            Boards::Rv64(board) => board.hierarchy.data_statistics(0),
        }
    }
}
