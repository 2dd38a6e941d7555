// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of `adaptive`.
//!
//! A receive without wildcards can take only messages of one envelope: one chain. A receive with wildcards compares
//! envelopes in order of age, 64 at a time; what it finds is the oldest of its envelope too, the first of its chain.

use super::SHALLOW;
use super::chains::{Chains, First, mark};
use crate::log::{Log, Room};
use crate::pool::Kind;
use crate::scan::{Heads, Unit, first_accepted};
use crate::types::{Envelope, Handle, Message, OutOfMemory, Pattern};
use crate::window::{SLOTS, Window};

pub(super) struct UnexpectedMessages {
    len: u32,
    /// Whether the window is the index; else chains and log are.
    is_short: bool,
    /// Messages that left in a row while there were few, as long as the chains are the index.
    quiet: u32,
    window: Window,
    /// An item's number is its place in the log.
    chains: Chains,
    log: Log<Heads>,
    unit: Unit,
}

impl UnexpectedMessages {
    pub(super) fn new(unit: Unit) -> Self {
        Self {
            len: 0,
            is_short: true,
            quiet: 0,
            window: Window::default(),
            chains: Chains::new(Kind::Messages),
            log: Log::new(),
            unit,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(super) fn append(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        if !(self.is_short && self.window.has_room() && self.chains.pool.has_room()) {
            return self.append_slow(envelope, user);
        }
        let (item, handle) = self.chains.pool.take_place();
        item.user = user;
        self.window.push_envelope(envelope, handle.index());
        self.len += 1;
        Ok(handle)
    }

    #[inline(never)]
    fn append_slow(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.chains.pool.make_room()?;
        if self.is_short {
            if self.window.has_room() {
                return self.append(envelope, user);
            }
            self.grow_long()?;
        }
        self.chains.make_room(1)?;
        self.make_room()?;
        let Envelope { bits, source } = envelope;
        // The log wants the place that the pool will give, and the pool the place that the log will.
        let number = self.log.next_place();
        let handle = self.chains.append_new(bits, source, mark(number.into(), 0), user);
        self.log.push((envelope, handle.index()));
        self.len += 1;
        Ok(handle)
    }

    /// Makes sure that the log has room for a message.
    #[inline(always)]
    fn make_room(&mut self) -> Result<(), OutOfMemory> {
        if self.log.make_room()? == Room::InHoles {
            self.squeeze();
        }
        Ok(())
    }

    #[cold]
    fn squeeze(&mut self) {
        let pool = &mut self.chains.pool;
        self.log.squeeze(|(_, owner), place| pool[owner].mark = mark(place.into(), 0));
        // There are holes at the end now.
        let made = self.log.make_room();
        debug_assert!(made == Ok(Room::Made));
    }

    /// Finds the oldest message that `pattern` accepts.
    #[inline(always)]
    fn find_long(&self, pattern: Pattern) -> Option<First> {
        let exact = match pattern.source {
            Some(source) if pattern.ignore == 0 => Envelope { bits: pattern.bits, source },
            source => self.oldest(pattern.bits, pattern.ignore, source)?,
        };
        self.chains.find(exact.bits, exact.source, 0)
    }

    /// The envelope of the oldest message that a pattern with wildcards accepts.
    #[inline(never)]
    fn oldest(&self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Envelope> {
        let place = first_accepted(self.unit, &self.log, Pattern { bits, ignore, source })?;
        Some(self.log.key(place).0)
    }

    /// The oldest message that `pattern` accepts.
    #[inline(always)]
    pub(super) fn probe(&self, pattern: Pattern) -> Option<Message> {
        if self.len == 0 {
            return None;
        }
        if !self.is_short {
            return self.probe_long(pattern.bits, pattern.ignore, pattern.source);
        }
        let slot = self.window.find_envelope(pattern)?;
        let user = self.chains.pool[self.window.place(slot)].user;
        Some(Message { user, envelope: self.window.envelope(slot) })
    }

    /// The parts of the pattern come in registers.
    #[inline(never)]
    fn probe_long(&self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Message> {
        let first = self.find_long(Pattern { bits, ignore, source })?;
        Some(self.chains.pool[first.place()].message())
    }

    #[inline(always)]
    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Takes the oldest message that `pattern` accepts from a short queue.
    #[inline(always)]
    pub(super) fn take_short(&mut self, pattern: Pattern) -> Option<Message> {
        let slot = self.window.find_envelope(pattern)?;
        self.window.remove(slot);
        self.len -= 1;
        let user = self.chains.pool.remove(self.window.place(slot)).user;
        Some(Message { user, envelope: self.window.envelope(slot) })
    }

    /// Takes the oldest message that `pattern` accepts from a long queue.
    #[inline(always)]
    pub(super) fn take_long(&mut self, pattern: Pattern) -> Option<Message> {
        let item = self.chains.take(self.find_long(pattern)?);
        self.left(item.number());
        Some(item.message())
    }

    /// Takes a message back; returns its user value.
    pub(super) fn discard(&mut self, handle: Handle) -> Option<u64> {
        let place = self.chains.pool.find(handle)?;
        if self.is_short {
            self.window.remove(self.window.find_place(place)?);
            self.len -= 1;
            return Some(self.chains.pool.remove(place).user);
        }
        self.chains.unlink(place);
        let item = self.chains.pool.remove(place);
        self.left(item.number());
        Some(item.user)
    }

    /// A message that left chains and pool leaves the log.
    #[inline(always)]
    fn left(&mut self, number: u64) {
        self.log.remove(number as u32);
        self.len -= 1;
        if self.len <= SHALLOW {
            self.quiet = if self.len == SHALLOW { 0 } else { self.quiet + 1 };
            if self.quiet > SHALLOW * 32 {
                self.shrink_short();
            }
        }
    }

    /// From the window to chains and log.
    #[cold]
    fn grow_long(&mut self) -> Result<(), OutOfMemory> {
        self.chains.make_room(SLOTS as u32 + 1)?;
        self.log.reserve(SLOTS)?;
        self.make_room()?;
        while let Some(slot) = self.window.oldest() {
            let (place, envelope) = (self.window.place(slot), self.window.envelope(slot));
            self.window.remove(slot);
            // The log is empty, and a block has more lanes than the window slots.
            let number = self.log.push((envelope, place));
            self.chains.append_old(place, envelope.bits, envelope.source, mark(number.into(), 0));
        }
        (self.is_short, self.quiet) = (false, 0);
        Ok(())
    }

    /// From chains and log, in which there are few, to the window.
    #[cold]
    fn shrink_short(&mut self) {
        while let Some(at) = self.log.oldest() {
            let (envelope, place) = self.log.key(at);
            self.log.remove(at);
            self.chains.unlink(place);
            self.window.push_envelope(envelope, place);
        }
        self.is_short = true;
    }

    pub(super) fn reserve(&mut self, messages: usize) -> Result<(), OutOfMemory> {
        self.chains.pool.reserve(messages)?;
        if messages > SLOTS {
            self.chains.reserve(messages)?;
            self.log.reserve(messages)?;
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + self.log.bytes()
    }
}
