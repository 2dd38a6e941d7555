// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system-call handler that stops the benchmark where a pass begins or ends.

use mb_processor::{Memory, Service, Syscall, SyscallHandler, SyscallResult};

use crate::bench::mark::{BEGIN, END};
use crate::service::MARK;

/// A mark at which the program waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PassMark {
    /// A pass begins when the program is allowed to continue.
    Begin,
    /// A pass has ended in this cycle.
    End(u64),
}

/// The host of a run: the program waits where a pass begins, and on request where it ends, until the
/// caller allows it to continue.
#[derive(Clone, Copy, Default, Debug)]
pub struct MarkHost {
    cycle: u64,
    asked: Option<PassMark>,
    allowed: bool,
    /// Whether the program waits at the end of a pass too.
    stops_at_end: bool,
    /// Cycle in which the pass ended, if the program did not wait there.
    ended: Option<u64>,
    /// Cycle in which the pass began.
    began: u64,
}

impl MarkHost {
    /// A host that stops the program where a pass begins, and where it ends if `stops_at_end`.
    #[must_use]
    pub fn new(stops_at_end: bool) -> Self {
        Self { stops_at_end, ..Self::default() }
    }

    /// The cycle in which the pass began.
    #[must_use]
    pub const fn began(&self) -> u64 {
        self.began
    }

    /// The cycle in which the last pass ended, if the program did not wait there. A second call returns `None`.
    pub fn ended(&mut self) -> Option<u64> {
        self.ended.take()
    }

    /// Lets the program continue; returns the mark at which it waits, or `None` if it waits at none.
    pub fn allow(&mut self) -> Option<PassMark> {
        self.allowed = self.asked.is_some();
        self.asked.take()
    }
}

impl SyscallHandler for MarkHost {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, call: Syscall, _memory: &mut Memory) -> SyscallResult {
        match call.service {
            Service::Exit => SyscallResult::Exit(call.arguments[0]),
            Service::Custom(MARK) if self.allowed => {
                self.allowed = false;
                if call.arguments[0] == BEGIN {
                    self.began = self.cycle;
                }
                SyscallResult::Value(0)
            }
            Service::Custom(MARK) if call.arguments[0] == BEGIN => {
                self.asked = Some(PassMark::Begin);
                SyscallResult::Wait
            }
            Service::Custom(MARK) if call.arguments[0] == END && self.stops_at_end => {
                self.asked = Some(PassMark::End(self.cycle));
                SyscallResult::Wait
            }
            Service::Custom(MARK) if call.arguments[0] == END => {
                self.ended = Some(self.cycle);
                SyscallResult::Value(0)
            }
            _ => SyscallResult::Value(0),
        }
    }
}
