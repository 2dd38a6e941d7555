// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of `adaptive`.
//!
//! A receive without wildcards can take only messages of one envelope: one chain. A receive with wildcards compares
//! envelopes in order of age, 64 at a time; what it finds is the oldest of its envelope too, the first of its chain.

use super::SHALLOW;
use super::chains::{Chains, Item, mark};
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

/// Where a message is.
enum Found {
    Slot(usize),
    First(super::chains::First),
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
        self.chains.pool.make_room()?;
        if self.is_short {
            if self.window.has_room() {
                let handle = self.chains.pool.insert(Item::new(user, 0));
                self.window.push_envelope(envelope, handle.index());
                self.len += 1;
                return Ok(handle);
            }
            self.grow_long()?;
        }
        self.append_long(envelope, user)
    }

    fn append_long(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.chains.make_room(1)?;
        self.make_room()?;
        let handle = self.chains.pool.insert(Item::new(user, 0));
        self.index(handle.index(), envelope);
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

    /// Indexes the item at `place`, which has its user, in chains and log, which have room.
    #[inline(always)]
    fn index(&mut self, place: u32, envelope: Envelope) {
        let number = self.log.push((envelope, place));
        let item = &mut self.chains.pool[place];
        (item.bits, item.source, item.mark) = (envelope.bits, envelope.source, mark(number.into(), 0));
        self.chains.append(place);
    }

    /// Finds the oldest message that `pattern` accepts.
    #[inline(always)]
    fn find(&self, pattern: Pattern) -> Option<Found> {
        if self.is_short {
            return self.window.find_envelope(pattern).map(Found::Slot);
        }
        let exact = match pattern.source {
            Some(source) if pattern.ignore == 0 => Envelope { bits: pattern.bits, source },
            _ => {
                let place = first_accepted(self.unit, &self.log, pattern)?;
                self.log.key(place).0
            }
        };
        self.chains.find(exact.bits, exact.source, 0).map(Found::First)
    }

    #[inline(always)]
    fn message(&self, found: &Found) -> Message {
        match found {
            Found::Slot(slot) => {
                let user = self.chains.pool[self.window.place(*slot)].user;
                Message { user, envelope: self.window.envelope(*slot) }
            }
            Found::First(first) => {
                let Item { bits, source, user, .. } = self.chains.pool[first.place()];
                Message { user, envelope: Envelope { bits, source } }
            }
        }
    }

    /// The oldest message that `pattern` accepts.
    pub(super) fn probe(&self, pattern: Pattern) -> Option<Message> {
        if self.len == 0 {
            return None;
        }
        self.find(pattern).map(|found| self.message(&found))
    }

    /// Takes the oldest message that `pattern` accepts.
    #[inline(always)]
    pub(super) fn take(&mut self, pattern: Pattern) -> Option<Message> {
        let found = self.find(pattern)?;
        let message = self.message(&found);
        match found {
            Found::Slot(slot) => {
                self.window.remove(slot);
                self.leave(self.window.place(slot));
            }
            Found::First(first) => {
                self.chains.take(first);
                self.leave_long(first.place());
            }
        }
        Some(message)
    }

    /// Takes a message back; returns its user value.
    pub(super) fn discard(&mut self, handle: Handle) -> Option<u64> {
        let place = self.chains.pool.find(handle)?;
        let user = self.chains.pool[place].user;
        if self.is_short {
            self.window.remove(self.window.find_place(place)?);
            self.leave(place);
        } else {
            self.chains.unlink(place);
            self.leave_long(place);
        }
        Some(user)
    }

    #[inline(always)]
    fn leave(&mut self, place: u32) {
        self.len -= 1;
        self.chains.pool.remove(place);
    }

    /// What is out of its chain leaves log and pool.
    #[inline(always)]
    fn leave_long(&mut self, place: u32) {
        self.log.remove(self.chains.pool[place].number() as u32);
        self.leave(place);
        if self.len > SHALLOW {
            self.quiet = 0;
        } else {
            self.quiet += 1;
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
        for slot in self.window.clear() {
            // The log is empty, and a block has more lanes than the window slots.
            self.index(self.window.place(slot), self.window.envelope(slot));
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
