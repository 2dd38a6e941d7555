// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An active match and its copy unit: address generators, send and receive lines, merge and write-back.
//!
//! Byte x of send line k goes to byte x + shift of receive line k + first, or, after its end, of the next one. The
//! shift is the same for all lines of a message: the left half of a line is what stays in the first of the two
//! receive lines, the right half is what goes to the other.

use mb_processor::line_port::{LINE_BYTES, LineData, LineRequestKind};

use crate::descriptor::Descriptor;
use crate::parameters::MopedDesign;
use crate::walk::{Target, Walk};

const LINE: u64 = LINE_BYTES as u64;

/// Index of the side of the send, and of the receive.
pub(crate) const SEND: usize = 0;
pub(crate) const RECEIVE: usize = 1;

/// The state of a line (section 4.2; `Writing` is Present with its write-back under way).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LineState {
    Free,
    Reserved,
    Requested,
    Present,
    Writing,
}

/// A line of the copy unit (figure 9).
#[derive(Clone, Debug)]
struct Line {
    /// Number in the buffer, which First, Last and the cycle mark encode.
    number: u64,
    physical: u64,
    virtual_page: u64,
    state: LineState,
    tag: u32,
    /// Bytes of the message in this line.
    valid: u64,
    /// Halves that are copied, of a send line; bytes that are filled, of a receive line.
    copied: [bool; 2],
    filled: u64,
    /// Bytes of a send line, or those merged into a receive line.
    data: LineData,
    /// What memory holds of a receive line.
    memory: LineData,
}

impl Line {
    const FREE: Self = Self {
        number: 0,
        physical: 0,
        virtual_page: 0,
        state: LineState::Free,
        tag: 0,
        valid: 0,
        copied: [false; 2],
        filled: 0,
        data: [0; LINE_BYTES],
        memory: [0; LINE_BYTES],
    };

    /// The state of the line as part of the L2.
    fn contents(&self) -> LineData {
        std::array::from_fn(|at| if self.filled >> at & 1 == 1 { self.data[at] } else { self.memory[at] })
    }
}

/// Address generator of one buffer with its two translations.
#[derive(Clone, Debug)]
struct Side {
    descriptor: Descriptor,
    lines: u64,
    pages: u64,
    /// The line that is reserved next.
    next: u64,
    translated: [Option<(u64, u64)>; 2],
    walking: [Option<u64>; 2],
}

impl Side {
    fn new(descriptor: Descriptor, length: u32) -> Self {
        let covered = if length == 0 { 0 } else { u64::from(descriptor.offset()) + u64::from(length) };
        Self {
            descriptor,
            lines: covered.div_ceil(LINE),
            pages: descriptor.pages(length),
            next: 0,
            translated: [None; 2],
            walking: [None; 2],
        }
    }

    fn line_address(&self, number: u64) -> u64 {
        (self.descriptor.address & !(LINE - 1)) + number * LINE
    }

    /// Number in the buffer of the page of a line.
    fn page(&self, number: u64) -> u64 {
        self.line_address(number) / 4096 - self.descriptor.address / 4096
    }

    fn physical(&self, number: u64) -> Option<u64> {
        let page = self.page(number);
        let (_, physical) = self.translated[(page % 2) as usize].filter(|(held, _)| *held == page)?;
        Some(physical + self.line_address(number) % 4096)
    }

    /// Bytes of the message in a line.
    fn valid(&self, number: u64, length: u32) -> u64 {
        let start = u64::from(self.descriptor.offset());
        let end = start + u64::from(length);
        let low = start.saturating_sub(number * LINE).min(LINE);
        let high = end.saturating_sub(number * LINE).min(LINE);
        below(high) & !below(low)
    }
}

/// The lowest `bits` bits.
fn below(bits: u64) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// A coherence operation that a copy unit requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineOperation {
    side: usize,
    slot: usize,
    pub(crate) line: u64,
    pub(crate) kind: LineRequestKind,
}

/// The use of a line by a copy unit.
#[derive(Clone, Debug)]
pub(crate) enum Use {
    /// Nothing, or it is reserved.
    None,
    /// A right or a write-back is under way, or a copy.
    Busy,
    /// It is owned, with these bytes.
    Owned(LineData),
}

/// An active match.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    /// Tells uses of a slot apart.
    pub(crate) serial: u64,
    /// Entry of the receive.
    pub(crate) receive: usize,
    sides: [Side; 2],
    length: u32,
    shift: u64,
    /// Added to the number of a send line: the receive line of its left half.
    first: i64,
    lines: [Vec<Line>; 2],
    written: u64,
    failed: bool,
    design: MopedDesign,
}

impl Active {
    /// The copy of the first `length` bytes.
    pub(crate) fn new(
        serial: u64,
        receive: usize,
        descriptors: [Descriptor; 2],
        length: u32,
        lines: usize,
        design: MopedDesign,
    ) -> Self {
        let [send, to] = descriptors;
        let (from, into) = (u64::from(send.offset()), u64::from(to.offset()));
        Self {
            serial,
            receive,
            sides: [Side::new(send, length), Side::new(to, length)],
            length,
            shift: (into + LINE - from) % LINE,
            first: if into >= from { 0 } else { -1 },
            lines: [vec![Line::FREE; lines], vec![Line::FREE; lines]],
            written: 0,
            failed: false,
            design,
        }
    }

    pub(crate) fn descriptor(&self, side: usize) -> &Descriptor {
        &self.sides[side].descriptor
    }

    /// Takes a translation.
    pub(crate) fn translate(&mut self, side: usize, page: u64, physical: u64) {
        let side = &mut self.sides[side];
        let place = (page % 2) as usize;
        if page < side.pages {
            side.translated[place] = Some((page, physical));
        }
        if side.walking[place] == Some(page) {
            side.walking[place] = None;
        }
    }

    /// A walk is under way.
    pub(crate) fn walking(&mut self, side: usize, page: u64) {
        self.sides[side].walking[(page % 2) as usize] = Some(page);
    }

    /// The walks that are needed: the page of the next line and the page after it.
    pub(crate) fn walks(&mut self, slot: usize) -> Vec<Walk> {
        let mut walks = Vec::new();
        if self.failed {
            return walks;
        }
        for (index, side) in self.sides.iter_mut().enumerate() {
            if side.next == side.lines {
                continue;
            }
            let current = side.page(side.next);
            for page in current..(current + 2).min(side.pages) {
                let place = (page % 2) as usize;
                let held = side.translated[place].is_some_and(|(held, _)| held == page);
                if !held && side.walking[place].is_none() {
                    side.walking[place] = Some(page);
                    walks.push(Walk {
                        target: Target::Active { slot, serial: self.serial, side: index },
                        page,
                        root: side.descriptor.root,
                        address: (side.descriptor.address & !4095) + page * 4096,
                        is_receive: index == RECEIVE,
                    });
                }
            }
        }
        walks
    }

    /// Drops the translations of a page. False: lines of the page are in the unit.
    pub(crate) fn invalidate(&mut self, root: u64, page: u64) -> bool {
        let mut free = true;
        for index in [SEND, RECEIVE] {
            let side = &mut self.sides[index];
            if side.descriptor.root != root {
                continue;
            }
            let number = page.wrapping_sub(side.descriptor.address / 4096);
            for held in &mut side.translated {
                if held.is_some_and(|(held, _)| held == number) {
                    *held = None;
                }
            }
            let accessed = |line: &Line| match line.state {
                LineState::Free => false,
                LineState::Present => index == RECEIVE,
                _ => true,
            };
            free &= !self.lines[index].iter().any(|line| line.virtual_page == page && accessed(line));
        }
        free
    }

    /// A page cannot be mapped: the owned lines are released.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_done(&self) -> bool {
        let idle = self.lines.iter().flatten().all(|line| line.state == LineState::Free);
        idle && (self.failed || self.written == self.sides[RECEIVE].lines)
    }

    /// Takes the answer to `Copy`.
    pub(crate) fn data(&mut self, tag: u32, data: &LineData) -> bool {
        let failed = self.failed;
        let waits = |line: &&mut Line| line.state == LineState::Requested && line.tag == tag;
        let Some(line) = self.lines[SEND].iter_mut().find(waits) else { return false };
        line.data = *data;
        line.state = if failed { LineState::Free } else { LineState::Present };
        true
    }

    /// Takes the answer to `Own` and `OwnWithoutData`.
    pub(crate) fn owned(&mut self, tag: u32, data: Option<&LineData>) -> bool {
        let waits = |line: &&mut Line| line.state == LineState::Requested && line.tag == tag;
        let Some(line) = self.lines[RECEIVE].iter_mut().find(waits) else { return false };
        line.memory = data.copied().unwrap_or([0; LINE_BYTES]);
        line.state = LineState::Present;
        true
    }

    /// A write-back or release is performed.
    pub(crate) fn was_written(&mut self, tag: u32) -> bool {
        let waits = |line: &&mut Line| line.state == LineState::Writing && line.tag == tag;
        let Some(line) = self.lines[RECEIVE].iter_mut().find(waits) else { return false };
        *line = Line::FREE;
        self.written += 1;
        true
    }

    /// The right to a line is lost; bytes that were merged are kept.
    pub(crate) fn revoked(&mut self, physical: u64) -> bool {
        let failed = self.failed;
        let owned = |line: &&mut Line| {
            line.physical == physical && matches!(line.state, LineState::Present | LineState::Writing)
        };
        let Some(line) = self.lines[RECEIVE].iter_mut().find(owned) else { return false };
        line.state = if failed { LineState::Free } else { LineState::Reserved };
        true
    }

    /// The use that this unit makes of a line.
    pub(crate) fn usage(&self, physical: u64) -> Use {
        let receives = self.lines[RECEIVE].iter().find(|line| line.physical == physical && line.tag != 0);
        match receives.map(|line| (line.state, line)) {
            Some((LineState::Present, line)) => return Use::Owned(line.contents()),
            Some((LineState::Requested | LineState::Writing, _)) => return Use::Busy,
            _ => {}
        }
        let copies = |line: &Line| line.physical == physical && line.state == LineState::Requested;
        if self.lines[SEND].iter().any(copies) { Use::Busy } else { Use::None }
    }

    /// Reserves free lines for which there are translations.
    pub(crate) fn reserve(&mut self) -> bool {
        let mut changed = false;
        if self.failed {
            for line in self.lines.iter_mut().flatten() {
                if line.state == LineState::Reserved {
                    *line = Line::FREE;
                    changed = true;
                }
            }
            for line in &mut self.lines[SEND] {
                if line.state == LineState::Present {
                    *line = Line::FREE;
                    changed = true;
                }
            }
            return changed;
        }
        for (side, lines) in self.sides.iter_mut().zip(&mut self.lines) {
            let count = lines.len() as u64;
            while side.next < side.lines {
                let slot = &mut lines[(side.next % count) as usize];
                let Some(physical) = side.physical(side.next).filter(|_| slot.state == LineState::Free) else { break };
                *slot = Line {
                    number: side.next,
                    physical,
                    virtual_page: side.line_address(side.next) / 4096,
                    state: LineState::Reserved,
                    valid: side.valid(side.next, self.length),
                    ..Line::FREE
                };
                side.next += 1;
                changed = true;
            }
        }
        changed
    }

    /// Moves up to `halves` halves of send lines into receive lines; returns how many.
    pub(crate) fn merge(&mut self, halves: usize) -> usize {
        let mut moved = 0;
        let [sends, receives] = &mut self.lines;
        let mut order: Vec<usize> = (0..sends.len()).filter(|slot| sends[*slot].state == LineState::Present).collect();
        order.sort_unstable_by_key(|slot| sends[*slot].number);
        let count = receives.len() as u64;
        for slot in order {
            let send = &mut sends[slot];
            for half in 0..2 {
                let stay = below(LINE - self.shift);
                let bytes = send.valid & if half == 0 { stay } else { !stay };
                if send.copied[half] {
                    continue;
                }
                if bytes == 0 {
                    send.copied[half] = true;
                    continue;
                }
                let number = (send.number as i64 + self.first + half as i64) as u64;
                let receive = &mut receives[(number % count) as usize];
                let same = receive.number == number && receive.state == LineState::Present;
                if moved == halves || !same {
                    continue;
                }
                merge_half(send, receive, bytes, self.shift);
                send.copied[half] = true;
                moved += 1;
            }
            if send.copied == [true; 2] {
                *send = Line::FREE;
            }
        }
        moved
    }

    /// The next write-back, or release after a failure.
    pub(crate) fn next_write(&self) -> Option<LineOperation> {
        let ready = |line: &Line| line.state == LineState::Present && (self.failed || line.filled == line.valid);
        let (slot, line) = oldest(&self.lines[RECEIVE], ready)?;
        let kind = if self.failed && line.filled != line.valid {
            LineRequestKind::Release
        } else {
            LineRequestKind::Write(line.contents())
        };
        Some(LineOperation { side: RECEIVE, slot, line: line.physical, kind })
    }

    /// The receive lines whose right is requested next, oldest first.
    pub(crate) fn next_owns(&self) -> Vec<LineOperation> {
        let wanted = |(slot, line): (usize, &Line)| {
            let without = self.design == MopedDesign::Optcache && line.valid == u64::MAX;
            let kind = if without { LineRequestKind::OwnWithoutData } else { LineRequestKind::Own };
            LineOperation { side: RECEIVE, slot, line: line.physical, kind }
        };
        reserved(&self.lines[RECEIVE]).into_iter().map(wanted).collect()
    }

    /// The send lines that are copied next, oldest first.
    pub(crate) fn next_copies(&self) -> Vec<LineOperation> {
        let wanted = |(slot, line): (usize, &Line)| LineOperation {
            side: SEND,
            slot,
            line: line.physical,
            kind: LineRequestKind::Copy,
        };
        reserved(&self.lines[SEND]).into_iter().map(wanted).collect()
    }

    /// An operation was accepted.
    pub(crate) fn requested(&mut self, wanted: &LineOperation, tag: u32) {
        let line = &mut self.lines[wanted.side][wanted.slot];
        line.tag = tag;
        line.state = match wanted.kind {
            LineRequestKind::Write(_) | LineRequestKind::Release => LineState::Writing,
            _ => LineState::Requested,
        };
    }

    /// A send line is in a receive line of this MOPED.
    pub(crate) fn copied_here(&mut self, wanted: &LineOperation, data: &LineData) {
        let line = &mut self.lines[SEND][wanted.slot];
        (line.data, line.state) = (*data, LineState::Present);
    }
}

fn reserved(lines: &[Line]) -> Vec<(usize, &Line)> {
    let mut found: Vec<_> = lines.iter().enumerate().filter(|(_, line)| line.state == LineState::Reserved).collect();
    found.sort_unstable_by_key(|(_, line)| line.number);
    found
}

fn oldest(lines: &[Line], wanted: impl Fn(&Line) -> bool) -> Option<(usize, &Line)> {
    lines.iter().enumerate().filter(|(_, line)| wanted(line)).min_by_key(|(_, line)| line.number)
}

/// Shifts the `bytes` of a send line into a receive line.
fn merge_half(send: &Line, receive: &mut Line, bytes: u64, shift: u64) {
    for at in 0..LINE {
        if bytes >> at & 1 == 1 {
            receive.data[((at + shift) % LINE) as usize] = send.data[at as usize];
        }
    }
    receive.filled |= bytes.rotate_left(shift as u32);
}
