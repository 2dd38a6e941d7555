// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receives whose kind of wildcard has no class of its own: compared one by one, 64 at a time, in order of age.

use super::chains::MOST;
use super::short::FIRST_INDEX;
use crate::log::{Log, Room};
use crate::pool::{Entry, Kind, Pool};
use crate::scan::{Patterns, Unit, first_accepting};
use crate::types::{Envelope, Handle, OutOfMemory, Pattern};

/// So many are sooner looked at one by one than 64 at once.
const FEW: u32 = 16;

/// What is not compared of a receive.
#[derive(Clone, Copy, Default)]
struct Body {
    user: u64,
    age: u64,
    /// In the log.
    place: u32,
    generation: u32,
}

impl Entry for Body {
    fn link(&mut self) -> &mut u32 {
        &mut self.place
    }

    fn generation(&mut self) -> &mut u32 {
        &mut self.generation
    }
}

pub(super) struct Odd {
    log: Log<Patterns>,
    bodies: Pool<Body>,
    unit: Unit,
}

/// The index in a handle that tells these receives from others.
fn index(owner: u32) -> u32 {
    owner | MOST as u32
}

impl Odd {
    pub(super) fn new(unit: Unit) -> Self {
        Self { log: Log::new(), bodies: Pool::new(Kind::Receives), unit }
    }

    pub(super) fn len(&self) -> u32 {
        self.log.len()
    }

    pub(super) fn append(&mut self, pattern: Pattern, user: u64, age: u64) -> Result<Handle, OutOfMemory> {
        // Their indices in handles stay below those of short queues.
        if index(self.len()) >= FIRST_INDEX {
            return Err(OutOfMemory);
        }
        self.bodies.make_room()?;
        if self.log.make_room()? == Room::InHoles {
            let bodies = &mut self.bodies;
            self.log.squeeze(|(_, owner), place| bodies[owner].place = place);
            // Takes the next block if all that are left are full.
            self.log.make_room()?;
        }
        let place = self.log.next_place();
        let handle = self.bodies.insert(Body { user, age, place, generation: 0 });
        self.log.push((pattern, handle.index()));
        Ok(Handle::new(index(handle.index()), handle.generation()))
    }

    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), OutOfMemory> {
        self.bodies.reserve(receives)?;
        self.log.reserve(receives)
    }

    /// The place in the log of the oldest that accepts `envelope`.
    pub(super) fn find(&self, envelope: Envelope) -> Option<u32> {
        if self.len() <= FEW {
            return self.log.keys().find(|(_, pattern)| pattern.accepts(&envelope)).map(|(place, _)| place);
        }
        first_accepting(self.unit, &self.log, envelope)
    }

    /// The age of the receive at a place in the log.
    pub(super) fn age(&self, place: u32) -> u64 {
        self.bodies[self.log.owner(place)].age
    }

    /// Takes the receive at a place in the log; returns its user value.
    pub(super) fn take(&mut self, place: u32) -> u64 {
        let owner = self.log.owner(place);
        self.log.remove(place);
        self.bodies.remove(owner).user
    }

    pub(super) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        let owner = handle.index() ^ MOST as u32;
        let owner = self.bodies.find(Handle::new(owner, handle.generation()))?;
        Some(self.take(self.bodies[owner].place))
    }

    pub(super) fn bytes(&self) -> usize {
        self.log.bytes() + self.bodies.bytes()
    }
}
