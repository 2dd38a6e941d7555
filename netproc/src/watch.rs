// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the machine observes of the harts of a chip: stores that a handler must not make, stores to the controller with
//! their instructions, and what each hart does.

use std::collections::VecDeque;

use mb_processor::chip::{ChipObserver, Passage};

use crate::contract::{DEVICE, DEVICE_BYTES};
use crate::processor::HartError;
use crate::protection::Protection;

/// Observes instructions that leave the pipeline.
pub trait PassageObserver {
    /// An instruction commits in `cycle`; in program order of each hart.
    fn committed(&mut self, passage: &Passage, cycle: u64);

    /// An instruction on a wrong path is removed.
    fn squashed(&mut self, passage: &Passage) {
        let _ = passage;
    }
}

/// Observes for the machine.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) protection: Protection,
    /// Instructions of the stores to the controller that have not reached it, by hart.
    stores: Vec<VecDeque<u64>>,
    /// A store that was refused: its hart, and what it broke.
    refused: Option<(u32, HartError)>,
}

impl Watch {
    pub(crate) fn new(protection: Protection, harts: usize) -> Self {
        Self { protection, stores: vec![VecDeque::new(); harts], refused: None }
    }

    /// The instruction of the oldest store of a hart that has not reached the controller; stores of a hart arrive in
    /// program order.
    pub(crate) fn arrived(&mut self, hart: u32) -> Option<u64> {
        self.stores[hart as usize].pop_front()
    }

    /// The store at `pc` that was refused, if it was the cause of a fault of `hart`.
    pub(crate) fn refused(&self, hart: usize, pc: u64) -> Option<HartError> {
        self.refused.filter(|(found, error)| *found as usize == hart && error.pc() == pc).map(|(_, error)| error)
    }
}

impl ChipObserver for Watch {
    const RECORDS_PASSAGES: bool = false;

    fn committed(&mut self, _: &Passage, _: u64) {}

    #[inline]
    fn may_write(&mut self, hart: usize, pc: u64, address: u64, width: u8) -> bool {
        let Some(target) = self.protection.refuses(hart as u32, pc, address, width) else { return true };
        self.refused = Some((hart as u32, HartError::ForeignStore { pc, address, width, target }));
        false
    }

    #[inline]
    fn stored(&mut self, hart: usize, pc: u64, address: u64, width: u8, value: u64) {
        self.protection.stored(address, width, value);
        if (DEVICE..DEVICE + DEVICE_BYTES).contains(&address) {
            self.stores[hart].push_back(pc);
        }
    }
}

/// Observes for the machine and for `observer`.
pub(crate) struct Observed<'a> {
    pub(crate) watch: &'a mut Watch,
    pub(crate) observer: &'a mut dyn PassageObserver,
}

impl ChipObserver for Observed<'_> {
    fn committed(&mut self, passage: &Passage, cycle: u64) {
        self.observer.committed(passage, cycle);
    }

    fn squashed(&mut self, passage: &Passage) {
        self.observer.squashed(passage);
    }

    #[inline]
    fn may_write(&mut self, hart: usize, pc: u64, address: u64, width: u8) -> bool {
        self.watch.may_write(hart, pc, address, width)
    }

    #[inline]
    fn stored(&mut self, hart: usize, pc: u64, address: u64, width: u8, value: u64) {
        self.watch.stored(hart, pc, address, width, value);
    }
}
