// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The firmware of a receive engine on its core: one operation in, one answer out.
//!
//! The core waits in the system call for the next operation until a descriptor is delivered. The
//! time of an answer is the cycle of the system call that reports it. The instructions from there
//! to the next wait delay the next operation.

use mb_core::{Cycles, Op, Outcome, ParameterError};
use mb_firmware::layout::BYTES;
use mb_firmware::{Nic, Visit};
use mb_processor::hierarchy::{AccessKind, CacheStatistics, Hierarchy};
use mb_processor::out_of_order::{CommitObserver, InstructionTiming, OutOfOrder, OutOfOrderStatistics, OutOfOrderStop};
use mb_processor::{Hart, Isa, Memory, Ppc32, Rv64};

use crate::parameters::{Delivery, Entries, ListOooParts};

/// Slots of the descriptor ring: the 64 headers of hemmert2007 figure 5.
const SLOTS: usize = 64;

/// An operation and its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServedOperation {
    /// The firmware's answer.
    pub outcome: Outcome,
    /// Entries visited.
    pub visits: u32,
    /// The cycle in which the core started.
    pub start: Cycles,
    /// The cycle of the answer.
    pub at: Cycles,
}

/// Counts visits, records the entries that were accessed, and forwards to another observer.
struct VisitCounter<'a, O> {
    visit: Visit,
    visits: u32,
    /// Address of the first entry.
    entries: u64,
    /// Addresses of accessed entries, possibly with duplicates.
    accessed: Vec<u64>,
    observer: &'a mut O,
}

impl<O: CommitObserver> CommitObserver for VisitCounter<'_, O> {
    #[inline]
    fn committed(&mut self, timing: &InstructionTiming) {
        let retired = &timing.retired;
        self.visits += u32::from(self.visit.is(retired));
        if retired.instruction.access > 0 && retired.address >= self.entries {
            let entry = retired.address - retired.address % BYTES;
            if self.accessed.last() != Some(&entry) {
                self.accessed.push(entry);
            }
        }
        self.observer.committed(timing);
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
    /// Kept to reuse its allocation.
    accessed: Vec<u64>,
}

impl<H: Hart> Board<H> {
    fn new(parameters: &ListOooParts, hart: H) -> Result<Self, ParameterError> {
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

    /// Runs until the firmware waits for an operation.
    fn run<O: CommitObserver>(&mut self, observer: &mut O) {
        let Self { hart, memory, nic, hierarchy, core, .. } = self;
        let stop = core.run_observed(hart, memory, nic, hierarchy, Cycles::MAX, observer);
        assert_eq!(stop, Ok(OutOfOrderStop::Waiting), "the firmware never exits or faults");
    }

    fn serve<O: CommitObserver>(&mut self, op: &Op, earliest: Cycles, observer: &mut O) -> ServedOperation {
        self.core.skip(earliest);
        let start = self.core.now();
        let address = self.nic.deliver(op, &mut self.memory).expect("every operation was answered");
        match self.delivery {
            Delivery::Memory => self.hierarchy.invalidate(address, BYTES),
            Delivery::Cache => self.hierarchy.warm(0, AccessKind::Load, address, BYTES),
        }
        let (visit, entries) = (self.nic.visit(op), self.nic.entries());
        let accessed = std::mem::take(&mut self.accessed);
        let mut counter = VisitCounter { visit, visits: 0, entries, accessed, observer };
        self.run(&mut counter);
        let visits = counter.visits;
        self.accessed = counter.accessed;
        for entry in self.accessed.drain(..) {
            if self.entries == Entries::Cold {
                self.hierarchy.invalidate(entry, BYTES);
            }
        }
        let answered = self.nic.answered().expect("the firmware answers before it waits");
        ServedOperation { outcome: answered.outcome, visits, start, at: answered.at }
    }
}

/// A board of either instruction set.
#[derive(Clone, Debug)]
enum Boards {
    Ppc32(Box<Board<Ppc32>>),
    Rv64(Box<Board<Rv64>>),
}

/// A core whose firmware waits for operations.
#[derive(Clone, Debug)]
pub struct FirmwareCore {
    board: Boards,
    /// The cycle in which the firmware first waited for an operation: cycle 0 of the interface.
    boot: Cycles,
}

impl FirmwareCore {
    /// Boots the firmware with empty lists.
    ///
    /// # Errors
    /// An invalid core or cache configuration.
    ///
    /// # Panics
    /// When the committed firmware is damaged, which the tests exclude.
    pub fn new(parameters: &ListOooParts) -> Result<Self, ParameterError> {
        let program = parameters.guest.program(parameters.machine);
        let one = "one thread";
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

    /// Performs `op`, which is delivered in cycle `earliest` at the earliest.
    ///
    /// # Panics
    /// When the lists exceed the addresses of the firmware: about 33 million entries.
    pub fn serve(&mut self, op: &Op, earliest: Cycles) -> ServedOperation {
        self.serve_observed(op, earliest, &mut ())
    }

    /// As [`serve`](Self::serve), with a call of `observer` for every commit. Its cycles count from
    /// the start of the boot.
    ///
    /// # Panics
    /// As [`FirmwareCore::serve`].
    pub fn serve_observed<O: CommitObserver>(
        &mut self,
        op: &Op,
        earliest: Cycles,
        observer: &mut O,
    ) -> ServedOperation {
        let earliest = earliest + self.boot;
        let served = match &mut self.board {
            Boards::Ppc32(board) => board.serve(op, earliest, observer),
            Boards::Rv64(board) => board.serve(op, earliest, observer),
        };
        ServedOperation { start: served.start - self.boot, at: served.at - self.boot, ..served }
    }

    /// Event counts of the core.
    #[must_use]
    pub fn statistics(&self) -> &OutOfOrderStatistics {
        self.core().statistics()
    }

    /// Event counts of the data cache.
    #[must_use]
    pub fn data_cache(&self) -> CacheStatistics {
        match &self.board {
            Boards::Ppc32(board) => board.hierarchy.data_statistics(0),
            Boards::Rv64(board) => board.hierarchy.data_statistics(0),
        }
    }
}
