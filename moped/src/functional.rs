// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The devices without time: lines are those of a plain memory, and an access has all its consequences at once.

use std::collections::VecDeque;
use std::ops::Range;

use mb_processor::Memory;
use mb_processor::functional::SystemDevice;
use mb_processor::line_port::{LINE_BYTES, LineData, LineEvent, LinePort, LineRequest, LineRequestKind};
use mb_processor::system::{Device, DeviceAnswer};

use crate::device::Moped;

/// MOPEDs for functional execution. Matching, back-off and translation are those of [`Moped`].
///
/// The caller alternates accesses with [`settle`](Self::settle); an access that answers `Wait` is repeated after it.
#[derive(Clone, Debug)]
pub struct FunctionalMoped {
    moped: Moped,
    cycle: u64,
    /// Lines that could not be accessed: outside of memory, or code.
    refused: Vec<u64>,
    /// There was an access since everything was settled.
    touched: bool,
}

/// Lines of a memory, and messages that take no time.
struct Lines<'a> {
    memory: &'a mut Memory,
    events: &'a mut [VecDeque<LineEvent>],
    refused: &'a mut Vec<u64>,
}

impl FunctionalMoped {
    /// Devices for functional execution.
    #[must_use]
    pub fn new(moped: Moped) -> Self {
        Self { moped, cycle: 0, refused: Vec::new(), touched: false }
    }

    /// The devices, for counters, page tables and faults.
    pub fn moped(&mut self) -> &mut Moped {
        &mut self.moped
    }

    /// The devices, to continue with time. Nothing is under way after [`settle`](Self::settle) but page faults and
    /// descriptors without a partner.
    #[must_use]
    pub fn into_moped(self) -> Moped {
        self.moped
    }

    /// Physical addresses of lines that were copied and are not writable memory; a wrong page table has them.
    #[must_use]
    pub fn refused(&self) -> &[u64] {
        &self.refused
    }

    /// Performs everything that the accesses so far have caused.
    pub fn settle(&mut self, memory: &mut Memory) {
        let mut events = vec![VecDeque::new(); self.moped.nodes.len()];
        loop {
            self.cycle = self.moped.next_event().map_or(self.cycle + 1, |next| next.max(self.cycle + 1));
            let mut lines = Lines { memory, events: &mut events, refused: &mut self.refused };
            self.moped.advance(self.cycle, &mut lines);
            if self.moped.next_event().is_none() && events.iter().all(VecDeque::is_empty) {
                return;
            }
        }
    }
}

impl Device for FunctionalMoped {
    fn range(&self) -> Range<u64> {
        self.moped.range()
    }

    fn read(&mut self, _: u64, core: usize, context: u8, address: u64, width: u8) -> DeviceAnswer {
        self.touched = true;
        self.moped.read(self.cycle, core, context, address, width)
    }

    fn write(&mut self, _: u64, core: usize, context: u8, address: u64, width: u8, value: u64) -> DeviceAnswer {
        self.touched = true;
        self.moped.write(self.cycle, core, context, address, width, value)
    }
}

impl SystemDevice for FunctionalMoped {
    fn external(&self, hart: usize) -> bool {
        self.moped.interrupts(hart)
    }

    fn page_table(&mut self, hart: usize, root: u64) {
        self.moped.set_page_table(hart, root);
    }

    fn settle(&mut self, memory: &mut Memory) {
        if std::mem::take(&mut self.touched) {
            Self::settle(self, memory);
        }
    }
}

impl Lines<'_> {
    fn read(&mut self, line: u64) -> LineData {
        self.memory.read::<LINE_BYTES>(line).unwrap_or_else(|| {
            self.refused.push(line);
            [0; LINE_BYTES]
        })
    }
}

impl LinePort for Lines<'_> {
    fn line_request(&mut self, cycle: u64, node: usize, request: LineRequest) -> bool {
        let LineRequest { tag, line, kind } = request;
        let at = cycle;
        let event = match kind {
            LineRequestKind::Copy | LineRequestKind::Read => LineEvent::Data { tag, at, data: self.read(line) },
            LineRequestKind::Own => LineEvent::Owned { tag, at, data: Some(self.read(line)) },
            LineRequestKind::OwnWithoutData => LineEvent::Owned { tag, at, data: None },
            LineRequestKind::Write(data) => {
                if self.memory.write(line, &data).is_err() {
                    self.refused.push(line);
                }
                LineEvent::Written { tag, at }
            }
            LineRequestKind::Release => LineEvent::Written { tag, at },
        };
        self.events[node].push_back(event);
        true
    }

    fn send(&mut self, cycle: u64, from: usize, to: usize, _: u32, tag: u64) {
        self.events[to].push_back(LineEvent::Message { from, tag, at: cycle });
    }

    fn line_events(&mut self, node: usize, events: &mut Vec<LineEvent>) {
        events.extend(self.events[node].drain(..));
    }
}
