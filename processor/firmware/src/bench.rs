// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system-call handler of the benchmark of hemmert2007 figure 5: measures the cycles between
//! its marks.
//!
//! At the first mark of each pass the program waits once, so that the caller can make lines cold.

use std::ops::Range;

use mb_core::Cycles;
use mb_processor::{Memory, Service, Syscall, SyscallHandler, SyscallResult};

use crate::layout::BYTES;
use crate::service;

/// Passes of a run: a warm-up, and depths of 0 to 100 % in steps of 10.
pub const PASSES: usize = 12;
/// Headers of a pass.
pub const HEADERS: u64 = 64;

/// First arguments of a mark, which are those of `processor/firmware/host.h`.
pub(crate) mod mark {
    pub(crate) const LIST: u64 = 1;
    pub(crate) const HEADERS: u64 = 2;
    pub(crate) const BEGIN: u64 = 3;
    pub(crate) const END: u64 = 4;
}

/// The addresses of list or headers.
pub type AddressRange = Range<u64>;

/// The position that matches at `percent` of a list: 0 % is the first item, 100 % the last.
#[must_use]
pub const fn position(percent: u64, items: u64) -> u64 {
    (percent * (items - 1) + 50) / 100
}

/// The handler of a benchmark.
#[derive(Clone, Debug)]
pub struct Bench {
    items: u64,
    list: AddressRange,
    headers: AddressRange,
    /// Begin and end of each pass.
    passes: Vec<(Cycles, Cycles)>,
    waited: bool,
    cycle: u64,
}

impl Bench {
    /// A handler for a list of `items`.
    #[must_use]
    pub fn new(items: u64) -> Self {
        Self { items, list: 0..0, headers: 0..0, passes: Vec::new(), waited: false, cycle: 0 }
    }

    /// Addresses of the items.
    #[must_use]
    pub fn list(&self) -> AddressRange {
        self.list.clone()
    }

    /// Addresses of the headers.
    #[must_use]
    pub fn headers(&self) -> AddressRange {
        self.headers.clone()
    }

    /// Whether the program waits at the beginning of a pass. It continues in the next run.
    #[must_use]
    pub const fn begins(&self) -> bool {
        self.waited
    }

    /// The cycles of each pass.
    pub fn cycles(&self) -> impl Iterator<Item = Cycles> {
        self.passes.iter().map(|&(begin, end)| end - begin)
    }
}

impl SyscallHandler for Bench {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    /// # Panics
    /// When the program makes a call that the benchmark does not use.
    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        let [first, second, ..] = call.arguments;
        match (call.service, first) {
            (Service::Custom(service::MARK), mark::LIST) => self.list = second..second + self.items * BYTES,
            (Service::Custom(service::MARK), mark::HEADERS) => self.headers = second..second + HEADERS * BYTES,
            (Service::Custom(service::MARK), mark::BEGIN) if !self.waited => {
                self.waited = true;
                return SyscallResult::Wait;
            }
            (Service::Custom(service::MARK), mark::BEGIN) => {
                self.waited = false;
                self.passes.push((Cycles(self.cycle), Cycles(self.cycle)));
            }
            (Service::Custom(service::MARK), mark::END) => {
                if let Some((_, end)) = self.passes.last_mut() {
                    *end = Cycles(self.cycle);
                }
            }
            (Service::Exit, status) => return SyscallResult::Exit(status),
            _ => panic!("benchmark: found call {call:?}; expected a mark or exit"),
        }
        SyscallResult::Value(0)
    }
}
