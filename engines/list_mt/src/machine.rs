// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The firmware of a receive engine on its cores: operations in, answers out in order of time.
//!
//! ```text
//!  deliver --> descriptor --> thread 0: takes it, locks the list's head, starts a thread
//!                             threads 1, 2, ...: walk the list with lock coupling, answer, end --> answered
//! ```
//!
//! Cycles count from the end of the boot, when thread 0 waits for the first operation.

use mb_core::{Cycles, Op, ParameterError};
use mb_firmware::Nic;
use mb_firmware::layout::BYTES;
use mb_kit::Answered;
use mb_processor::barrel::{Barrel, BarrelObserver, BarrelStatistics, BarrelStop, Stacks};
use mb_processor::hierarchy::{AccessKind, CacheStatistics};
use mb_processor::{Hart, Isa, Memory, Ppc32, Retired, Rv64, Syscall, SyscallHandler, SyscallResult};

use crate::parameters::{Delivery, Entries, ListMtParts};

/// Bytes of a thread's stack.
pub(crate) const STACK: u64 = 1024;

/// An outstanding operation, in a slot of the descriptor ring.
#[derive(Clone, Copy, Debug)]
struct Work {
    op: Op,
    start: Cycles,
    visits: u32,
}

/// The system-call handler of the firmware, which also counts visits.
#[derive(Debug)]
struct FirmwareHost {
    nic: Nic,
    /// By slot.
    work: Vec<Option<Work>>,
    /// The slot of the operation that each thread performs.
    slot_of: Vec<Option<usize>>,
    /// The descriptor of slot 0.
    ring: u64,
    /// An answer ends the run.
    stop_at_answer: bool,
}

impl FirmwareHost {
    fn slot(&self, descriptor: u64) -> usize {
        ((descriptor - self.ring) / BYTES) as usize
    }
}

impl SyscallHandler for FirmwareHost {
    fn set_cycle(&mut self, cycle: u64) {
        self.nic.set_cycle(cycle);
    }

    fn cycle(&self) -> u64 {
        self.nic.cycle()
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        self.nic.call(call, memory)
    }
}

impl BarrelObserver for FirmwareHost {
    #[inline]
    fn pause_requested(&self) -> bool {
        self.stop_at_answer && self.nic.has_answers()
    }

    fn started(&mut self, thread: usize, argument: u64) {
        self.slot_of[thread] = Some(self.slot(argument));
    }

    #[inline]
    fn retired(&mut self, _: usize, thread: usize, _: (Cycles, Cycles), retired: &Retired) {
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
    host: FirmwareHost,
    entries: Entries,
    delivery: Delivery,
    cores: usize,
    boot: Cycles,
}

impl<H: Hart + Clone> Board<H> {
    fn new(parameters: &ListMtParts, hart: H) -> Result<Self, ParameterError> {
        let program = parameters.guest().program(parameters.machine);
        let mut memory = program.memory(0);
        let top = memory.range().end.next_multiple_of(BYTES) + parameters.cores.threads as u64 * STACK;
        memory.grow((top - memory.range().end) as usize);
        let nic = Nic::new(parameters.machine, &mut memory, parameters.operations);
        let mut barrel = Barrel::new(&parameters.cores, hart, memory, Stacks { top, bytes: STACK })?;
        barrel.spawn(program.entry(), &[], Cycles::ZERO);
        let host = FirmwareHost {
            // The ring ends at the first entry.
            ring: nic.entries() - parameters.operations as u64 * BYTES,
            nic,
            work: vec![None; parameters.operations],
            slot_of: vec![None; parameters.cores.threads],
            stop_at_answer: false,
        };
        let mut board = Self {
            barrel,
            host,
            entries: parameters.entries,
            delivery: parameters.delivery,
            cores: parameters.cores.hierarchy.cores,
            boot: Cycles::ZERO,
        };
        assert_eq!(board.run(Cycles::MAX), BarrelStop::Waiting, "the firmware waits for an operation");
        board.boot = board.barrel.now() + Cycles(1);
        Ok(board)
    }

    /// Runs the cycles of the cores before `until`.
    fn run(&mut self, until: Cycles) -> BarrelStop {
        let stop = self.barrel.run_observed(until, &mut self.host);
        stop.unwrap_or_else(|trap| panic!("the firmware does not fault: {trap}"))
    }

    fn run_until(&mut self, until: Cycles, stop_at_answer: bool) {
        let until = self.boot + until;
        if until > self.barrel.now() {
            self.host.stop_at_answer = stop_at_answer;
            let stop = self.run(until);
            assert!(!matches!(stop, BarrelStop::Exited(_)), "the firmware never exits");
        }
    }

    fn deliver(&mut self, op: &Op, at: Cycles) -> bool {
        let Some(address) = self.host.nic.deliver(op, self.barrel.memory_mut()) else { return false };
        let slot = self.host.slot(address);
        self.host.work[slot] = Some(Work { op: *op, start: at, visits: 0 });
        let hierarchy = self.barrel.hierarchy();
        hierarchy.invalidate(address, BYTES);
        if self.delivery == Delivery::Cache {
            for core in 0..self.cores {
                hierarchy.warm(core, AccessKind::Load, address, BYTES);
            }
        }
        if self.entries == Entries::Cold {
            let (first, end) = (self.host.nic.entries(), self.barrel.memory().range().end);
            self.barrel.hierarchy().invalidate(first, end - first);
        }
        self.barrel.wake(self.boot + at);
        true
    }

    fn answered(&mut self) -> Option<Answered> {
        let answered = self.host.nic.answered()?;
        let work = self.host.work[answered.slot].take().expect("an operation is answered once");
        let at = answered.at + Cycles(1) - self.boot;
        Some(Answered { outcome: answered.outcome, visits: work.visits, start: work.start, at })
    }

    fn next_event(&self) -> Option<Cycles> {
        Some(self.barrel.next_event()? - self.boot)
    }
}

/// A board of either instruction set.
#[derive(Debug)]
enum Boards {
    Ppc32(Box<Board<Ppc32>>),
    Rv64(Box<Board<Rv64>>),
}

/// Evaluates an expression on the board of either instruction set.
macro_rules! board {
    ($machine:expr, $board:ident => $do:expr) => {
        match $machine {
            Boards::Ppc32($board) => $do,
            Boards::Rv64($board) => $do,
        }
    };
}

/// Cores whose firmware waits for operations.
#[derive(Debug)]
pub struct FirmwareCores {
    board: Boards,
}

impl FirmwareCores {
    /// Boots the firmware with empty lists.
    ///
    /// # Errors
    /// An invalid core or cache configuration.
    ///
    /// # Panics
    /// When a committed program is damaged, which the tests of `mb-firmware` exclude.
    pub fn new(parameters: &ListMtParts) -> Result<Self, ParameterError> {
        let program = parameters.guest().program(parameters.machine);
        let one = "one thread";
        let board = match parameters.machine {
            Isa::Ppc32 => {
                let hart = Ppc32::load(&program, 1).expect(one).remove(0);
                Boards::Ppc32(Box::new(Board::new(parameters, hart)?))
            }
            Isa::Rv64 => {
                let hart = Rv64::load(&program, 1).expect(one).remove(0);
                Boards::Rv64(Box::new(Board::new(parameters, hart)?))
            }
        };
        Ok(Self { board })
    }

    /// Runs every cycle before `until`; no effect if `until` has passed.
    ///
    /// # Panics
    /// When the lists exceed the addresses of the firmware: about 33 million entries.
    pub fn run_until(&mut self, until: Cycles) {
        board!(&mut self.board, board => board.run_until(until, false));
    }

    /// As [`run_until`](Self::run_until), but ends after the first cycle with an answer.
    ///
    /// # Panics
    /// As [`run_until`](Self::run_until).
    pub fn run_to_answer(&mut self, until: Cycles) {
        board!(&mut self.board, board => board.run_until(until, true));
    }

    /// Delivers `op` in cycle `at`, up to which all cycles have been run. Returns whether a slot
    /// was free.
    pub fn deliver(&mut self, op: &Op, at: Cycles) -> bool {
        board!(&mut self.board, board => board.deliver(op, at))
    }

    /// Removes and returns the oldest answer.
    pub fn answered(&mut self) -> Option<Answered> {
        board!(&mut self.board, board => board.answered())
    }

    /// The cycle of the next event, if there is one without another delivery.
    #[must_use]
    pub fn next_event(&self) -> Option<Cycles> {
        board!(&self.board, board => board.next_event())
    }

    /// Event counts of `core`, including the boot.
    #[must_use]
    pub fn statistics(&self, core: usize) -> BarrelStatistics {
        board!(&self.board, board => board.barrel.statistics(core))
    }

    /// Event counts of the data cache of `core`.
    #[must_use]
    pub fn data_cache(&mut self, core: usize) -> CacheStatistics {
        board!(&mut self.board, board => board.barrel.hierarchy().data_statistics(core))
    }
}

#[cfg(test)]
mod tests {
    use mb_oracle::Oracle;
    use mb_processor::barrel::service::{ACQUIRE, JOIN};
    use mb_processor::{Fault, Service, StaticInstruction, Step};
    use mb_testkit::{preset, streams};

    use super::*;

    /// A thread that skips some system calls.
    #[derive(Clone)]
    struct SkippingHart {
        hart: Ppc32,
        skips: fn(&Syscall) -> bool,
    }

    struct Skip<'a, S> {
        host: &'a mut S,
        skips: fn(&Syscall) -> bool,
    }

    impl<S: SyscallHandler> SyscallHandler for Skip<'_, S> {
        fn set_cycle(&mut self, cycle: u64) {
            self.host.set_cycle(cycle);
        }

        fn cycle(&self) -> u64 {
            self.host.cycle()
        }

        fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
            if (self.skips)(&call) { SyscallResult::Value(0) } else { self.host.call(call, memory) }
        }
    }

    impl Hart for SkippingHart {
        fn pc(&self) -> u64 {
            self.hart.pc()
        }

        fn jump(&mut self, pc: u64) {
            self.hart.jump(pc);
        }

        fn set_argument(&mut self, index: usize, value: u64) {
            self.hart.set_argument(index, value);
        }

        fn set_stack(&mut self, address: u64) {
            self.hart.set_stack(address);
        }

        fn set_thread(&mut self, thread: u32) {
            self.hart.set_thread(thread);
        }

        fn instruction_at(&self, pc: u64) -> Option<StaticInstruction> {
            self.hart.instruction_at(pc)
        }

        fn step<H: SyscallHandler>(&mut self, memory: &mut Memory, host: &mut H) -> Result<Step, Fault> {
            self.hart.step(memory, &mut Skip { host, skips: self.skips })
        }
    }

    /// Offers random streams as fast as they are accepted, and compares outcomes and visits with
    /// the oracle.
    fn judge(skips: fn(&Syscall) -> bool) -> Result<(), String> {
        let parameters = ListMtParts::new(&preset(&crate::ENTRY, "mt16"));
        let program = parameters.guest().program(parameters.machine);
        let hart = Ppc32::load(&program, 1).unwrap().remove(0);
        streams::check(120, |offers| {
            let mut board = Board::new(&parameters, SkippingHart { hart: hart.clone(), skips }).unwrap();
            let mut oracle = Oracle::new();
            let mut expected: Vec<_> = offers.iter().map(|offer| oracle.apply(offer.op)).collect();
            let mut found = Vec::new();
            let mut waiting = offers.iter();
            let mut next = waiting.next();
            // Enough for a sequential execution.
            for cycle in 0..offers.len() as u64 * 4000 {
                board.run_until(Cycles(cycle), false);
                found.extend(std::iter::from_fn(|| board.answered()).map(|served| (served.outcome, served.visits)));
                while let Some(offer) = next
                    && board.deliver(&offer.op, Cycles(cycle))
                {
                    next = waiting.next();
                }
                if found.len() == offers.len() {
                    break;
                }
            }
            expected.sort_unstable();
            found.sort_unstable();
            if found == expected { Ok(()) } else { Err(format!("found {found:?}, expected {expected:?}")) }
        })
    }

    #[test]
    fn the_order_needs_both_of_its_rules() {
        judge(|_| false).expect("with both rules, outcomes and visits of the oracle");
        // Without rule 3, operations start while others walk the other list.
        judge(|call| call.service == Service::Custom(JOIN))
            .expect_err("wrong outcomes without waiting for the other kind");
        // Without rule 1, threads start without the lock of the head of the list.
        judge(|call| call.thread == 0 && call.service == Service::Custom(ACQUIRE))
            .expect_err("wrong outcomes without ordered entry");
    }
}
