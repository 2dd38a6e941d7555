// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads whose calls of the match function and visits of items are counted.
//!
//! A cold list is made by renaming: the loads of each header from the list get addresses of their
//! own, so that the timing model, which never looks at a value, finds every line of the list
//! missing once for each header. Locks and results keep their addresses.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use mb_processor::{Fault, Hart, InstructionClass, Memory, Retired, StaticInstruction, Step, SyscallHandler};

use crate::layout::BYTES;

/// Counts since the start of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchCounts {
    /// Calls of the match function.
    pub headers: u64,
    /// Visits of items.
    pub visits: u64,
    /// Visits of an item after a later header had visited it.
    pub overtaken: u64,
    /// Threads started.
    pub threads: u64,
}

/// State that the threads of a run share.
#[derive(Debug)]
pub(super) struct Watch {
    /// Where the match function begins.
    matcher: u64,
    list: Range<u64>,
    cold: bool,
    /// Instructions that take no time.
    free: BTreeSet<u64>,
    headers: Cell<u64>,
    threads: Cell<u64>,
    visits: Cell<u64>,
    overtaken: Cell<u64>,
    /// The header that visited each item last.
    last: RefCell<Vec<u64>>,
}

impl Watch {
    pub(super) fn new(matcher: u64, list: Range<u64>, cold: bool, free: BTreeSet<u64>) -> Rc<Self> {
        let items = (list.end - list.start).div_ceil(BYTES) as usize;
        Rc::new(Self {
            matcher,
            list,
            cold,
            free,
            headers: Cell::new(0),
            threads: Cell::new(0),
            visits: Cell::new(0),
            overtaken: Cell::new(0),
            last: RefCell::new(vec![0; items]),
        })
    }

    /// Counts since the start of the run.
    pub(super) fn counts(&self) -> WatchCounts {
        WatchCounts {
            headers: self.headers.get(),
            visits: self.visits.get(),
            overtaken: self.overtaken.get(),
            threads: self.threads.get(),
        }
    }

    /// `header` reads from `address` within the list.
    fn read(&self, header: u64, address: u64) {
        let offset = address - self.list.start;
        if offset.is_multiple_of(BYTES) {
            self.visits.set(self.visits.get() + 1);
            let last = &mut self.last.borrow_mut()[(offset / BYTES) as usize];
            if *last > header {
                self.overtaken.set(self.overtaken.get() + 1);
            }
            *last = header;
        }
    }
}

/// A thread that is watched.
#[derive(Clone, Debug)]
pub(super) struct Watched<H> {
    hart: H,
    watch: Rc<Watch>,
    /// Number of the header that it matches, from 1; 0 before the first.
    header: u64,
}

impl<H> Watched<H> {
    pub(super) const fn new(hart: H, watch: Rc<Watch>) -> Self {
        Self { hart, watch, header: 0 }
    }
}

impl<H: Hart> Hart for Watched<H> {
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
        self.watch.threads.set(self.watch.threads.get() + 1);
        self.hart.set_thread(thread);
    }

    fn instruction_at(&self, pc: u64) -> Option<StaticInstruction> {
        self.hart.instruction_at(pc)
    }

    fn is_system(&self) -> bool {
        self.hart.is_system()
    }

    #[inline]
    fn step<S: SyscallHandler>(&mut self, memory: &mut Memory, host: &mut S) -> Result<Step, Fault> {
        // What is free happens on the way to the next instruction that is not.
        while !self.watch.free.is_empty() && self.watch.free.contains(&self.hart.pc()) {
            self.hart.step(memory, host)?;
        }
        let begins = self.hart.pc() == self.watch.matcher;
        let step = self.hart.step(memory, host)?;
        let Step::Retired(mut retired) = step else { return Ok(step) };
        if begins {
            self.watch.headers.set(self.watch.headers.get() + 1);
            self.header = self.watch.headers.get();
        }
        if self.header > 0
            && retired.instruction.class == InstructionClass::Load
            && self.watch.list.contains(&retired.address)
        {
            self.watch.read(self.header, retired.address);
            if self.watch.cold {
                // Programs lie below 2^32: no two headers share an address, and sets stay as they
                // are.
                retired = Retired { address: retired.address + (self.header << 32), ..retired };
            }
        }
        Ok(Step::Retired(retired))
    }
}
