// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What stands around the benchmark of hemmert2007 figure 5: cycles between its marks.
//!
//! At the first mark of each pass it lets the program wait once, so that whoever runs it can make lines cold.

use std::ops::Range;

use mb_core::Cycles;
use mb_processor::{Answer, Call, Host, Memory, Service};

use crate::layout::BYTES;
use crate::service;

/// Passes of a run: one that primes, and depths of 0 to 100 % in steps of 10.
pub const PASSES: usize = 12;
/// Headers of a pass.
pub const HEADERS: u64 = 64;

mod mark {
    pub(super) const LIST: u64 = 1;
    pub(super) const HEADERS: u64 = 2;
    pub(super) const BEGIN: u64 = 3;
    pub(super) const END: u64 = 4;
}

/// Addresses of list or headers.
pub type Region = Range<u64>;

/// The position that matches at `percent` of a list: 0 % is the first item, 100 % the last.
#[must_use]
pub const fn position(percent: u64, items: u64) -> u64 {
    (percent * (items - 1) + 50) / 100
}

/// The host of a benchmark.
#[derive(Clone, Debug)]
pub struct Bench {
    items: u64,
    list: Region,
    headers: Region,
    /// When each pass began and ended.
    passes: Vec<(Cycles, Cycles)>,
    waited: bool,
    cycle: u64,
}

impl Bench {
    /// For a list of `items`.
    #[must_use]
    pub fn new(items: u64) -> Self {
        Self { items, list: 0..0, headers: 0..0, passes: Vec::new(), waited: false, cycle: 0 }
    }

    /// Where the items are.
    #[must_use]
    pub fn list(&self) -> Region {
        self.list.clone()
    }

    /// Where the headers are.
    #[must_use]
    pub fn headers(&self) -> Region {
        self.headers.clone()
    }

    /// Whether the program waits at the beginning of a pass, and goes on when it is run again.
    #[must_use]
    pub const fn begins(&self) -> bool {
        self.waited
    }

    /// Cycles of each pass that has ended.
    pub fn cycles(&self) -> impl Iterator<Item = Cycles> {
        self.passes.iter().map(|&(begin, end)| end - begin)
    }
}

impl Host for Bench {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    /// # Panics
    /// When the program makes a call that is not the benchmark's.
    fn call(&mut self, call: Call, _: &mut Memory) -> Answer {
        let [first, second, ..] = call.arguments;
        match (call.service, first) {
            (Service::Own(service::MARK), mark::LIST) => self.list = second..second + self.items * BYTES,
            (Service::Own(service::MARK), mark::HEADERS) => self.headers = second..second + HEADERS * BYTES,
            (Service::Own(service::MARK), mark::BEGIN) if !self.waited => {
                self.waited = true;
                return Answer::Wait;
            }
            (Service::Own(service::MARK), mark::BEGIN) => {
                self.waited = false;
                self.passes.push((Cycles(self.cycle), Cycles(self.cycle)));
            }
            (Service::Own(service::MARK), mark::END) => {
                if let Some((_, end)) = self.passes.last_mut() {
                    *end = Cycles(self.cycle);
                }
            }
            (Service::Exit, status) => return Answer::Exit(status),
            _ => panic!("the benchmark makes no such call: {call:?}"),
        }
        Answer::Value(0)
    }
}
