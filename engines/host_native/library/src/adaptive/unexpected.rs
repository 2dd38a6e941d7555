// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of `adaptive`.
//!
//! A receive without wildcards can take only messages of one envelope: one chain. A receive with wildcards compares
//! envelopes in order of age, 64 at a time; what it finds is the oldest of its envelope too, the first of its chain.

use super::chains::{Chains, First, Slack};
use crate::log::{Log, Room};
use crate::scan::{Heads, Unit, first_accepted};
use crate::types::{Envelope, Handle, Message, OutOfMemory, Pattern};

/// So many messages are sooner looked at one by one than 64 at once.
const FEW: u32 = 8;

/// What a message is stamped with: what its handle has, and its place in the log.
#[inline(always)]
fn stamp(generation: u32, place: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(place)
}

#[inline(always)]
fn generation(stamp: u64) -> u32 {
    (stamp >> 32) as u32
}

pub(super) struct UnexpectedMessages {
    len: u32,
    /// Of the next message, but for the two lowest bits, which all messages have.
    generation: u32,
    chains: Chains,
    log: Log<Heads>,
    unit: Unit,
}

impl UnexpectedMessages {
    pub(super) fn new(unit: Unit) -> Self {
        // An entry is in the log besides; so that there is less room to spare.
        let chains = Chains::new(Slack { part: 16, buckets: 1 });
        Self { len: 0, generation: 3, chains, log: Log::new(), unit }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(super) fn append(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.chains.make_room()?;
        if self.log.make_room()? == Room::InHoles {
            self.squeeze();
        }
        let generation = self.generation;
        self.generation = generation.wrapping_add(4);
        let stamp = stamp(generation, self.log.next_place());
        let place = self.chains.append((envelope.bits, envelope.source), stamp, user, |_| true);
        self.log.push((envelope, place));
        self.len += 1;
        Ok(Handle::new(place, generation))
    }

    #[cold]
    #[inline(never)]
    fn squeeze(&mut self) {
        let chains = &mut self.chains;
        self.log.squeeze(|(_, owner), place| chains.restamp(owner, |old| stamp(generation(old), place)));
        // There are holes at the end now.
        let made = self.log.make_room();
        debug_assert!(made == Ok(Room::Made));
    }

    /// Finds the oldest message that `pattern` accepts. There must be messages.
    #[inline(always)]
    fn find(&self, bits: u64, ignore: u64, source: Option<u32>) -> Option<First> {
        let exact = match source {
            Some(source) if ignore == 0 => Envelope { bits, source },
            source => self.oldest(bits, ignore, source)?,
        };
        self.chains.find(exact.bits, exact.source, |_| true)
    }

    /// The envelope of the oldest message that a pattern with wildcards accepts.
    #[inline(never)]
    fn oldest(&self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Envelope> {
        let pattern = Pattern { bits, ignore, source };
        if self.len <= FEW {
            return self.log.keys().find(|envelope| pattern.accepts(envelope));
        }
        let place = first_accepted(self.unit, &self.log, pattern)?;
        Some(self.log.key(place).0)
    }

    /// The oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn probe(&self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Message> {
        if self.len == 0 {
            return None;
        }
        Some(self.chains.message(self.find(bits, ignore, source)?))
    }

    /// Takes the oldest message that a pattern accepts. There must be messages.
    #[inline(always)]
    pub(super) fn take(&mut self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Message> {
        let first = self.find(bits, ignore, source)?;
        self.len -= 1;
        self.log.remove(self.chains.stamp_of(first) as u32);
        Some(self.chains.take(first))
    }

    /// Takes a message back; returns its user value.
    pub(super) fn discard(&mut self, handle: Handle) -> Option<u64> {
        let place = handle.index();
        let stamp = self.chains.stamp_at(place)?;
        let user = self.chains.take_back(place, |stamp| generation(stamp) == handle.generation(), |_| true)?;
        self.log.remove(stamp as u32);
        self.len -= 1;
        Some(user)
    }

    pub(super) fn reserve(&mut self, messages: usize) -> Result<(), OutOfMemory> {
        self.chains.reserve(messages)?;
        if messages > 0 { self.log.reserve(messages) } else { Ok(()) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + self.log.bytes()
    }
}
