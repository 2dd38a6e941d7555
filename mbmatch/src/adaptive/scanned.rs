// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receives whose wildcard kind has no class of its own. They are found by a scan in order of age:
//! one by one while they are few, else 64 at a time.

use super::short::FIRST_INDEX;
use super::table::MAX_SLOTS;
use crate::heap::{Array, Heap};
use crate::log::{Log, Room};
use crate::pool::{Entry, Kind, Pool};
use crate::scan::{Patterns, Unit, first_accepting};
use crate::types::{Envelope, Handle, OutOfMemory, Pattern, QueuedReceive};

/// Up to this many receives are compared one by one, which is faster than 16 or 64 at a time.
const SCALAR_SCAN_THRESHOLD: u32 = 3;

/// What a scan does not compare of a receive.
#[derive(Clone, Copy, Default)]
struct Body {
    user: u64,
    age: u64,
    /// In the log.
    position: u32,
    generation: u32,
}

impl Entry for Body {
    fn link(&mut self) -> &mut u32 {
        &mut self.position
    }

    fn generation(&mut self) -> &mut u32 {
        &mut self.generation
    }
}

/// The receives, their keys in a [`Log`].
pub(super) struct ScannedReceives {
    log: Log<Patterns>,
    bodies: Pool<Body>,
    unit: Unit,
}

/// The index in a handle: above those of the table, which tells the two apart.
fn handle_index(owner: u32) -> u32 {
    owner | MAX_SLOTS as u32
}

impl ScannedReceives {
    /// No receives yet. `unused` is that of an earlier pool; see [`Self::unused`].
    pub(super) fn new(unit: Unit, heap: Heap, unused: u32) -> Self {
        let mut bodies = Pool::new(Kind::Receives, heap);
        bodies.continue_from(unused);
        Self { log: Log::new(heap), bodies, unit }
    }

    /// From here on, generations in handles are those of later receives, once the memory was given back.
    pub(super) fn unused(&self) -> u32 {
        self.bodies.unused()
    }

    /// Frees the memory that the receives do not need.
    pub(super) fn shrink(&mut self) {
        let bodies = &mut self.bodies;
        self.log.shrink(|(_, owner), position| bodies[owner].position = position);
        self.bodies.shrink();
    }

    /// The number of receives that a search for `envelope` compares.
    pub(super) fn compared(&self, envelope: Envelope) -> usize {
        let found = self.find(envelope);
        if self.len() > SCALAR_SCAN_THRESHOLD {
            return self.log.compared(found);
        }
        let passed = self.log.keys().take_while(|(position, _)| Some(*position) != found).count();
        passed + usize::from(found.is_some())
    }

    pub(super) fn len(&self) -> u32 {
        self.log.len()
    }

    pub(super) fn append(&mut self, pattern: Pattern, user: u64, age: u64) -> Result<Handle, OutOfMemory> {
        // The indices stay below those of short queues.
        if handle_index(self.len()) >= FIRST_INDEX {
            return Err(OutOfMemory);
        }
        self.bodies.make_room()?;
        if self.log.make_room()? == Room::NeedsCompaction {
            let bodies = &mut self.bodies;
            self.log.compact(|(_, owner), position| bodies[owner].position = position);
            // After compaction this takes the next block if all others are full.
            self.log.make_room()?;
        }
        let position = self.log.next_position();
        let handle = self.bodies.insert(Body { user, age, position, generation: 0 });
        self.log.push((pattern, handle.index()));
        Ok(Handle::new(handle_index(handle.index()), handle.generation()))
    }

    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), OutOfMemory> {
        self.bodies.reserve(receives)?;
        self.log.reserve(receives)
    }

    /// The position of the oldest receive that accepts `envelope`. Cost: linear in the receives.
    pub(super) fn find(&self, envelope: Envelope) -> Option<u32> {
        if self.len() <= SCALAR_SCAN_THRESHOLD {
            return self.log.keys().find(|(_, pattern)| pattern.accepts(&envelope)).map(|(position, _)| position);
        }
        first_accepting(self.unit, &self.log, envelope)
    }

    /// The age of the receive at a position.
    pub(super) fn age(&self, position: u32) -> u64 {
        self.bodies[self.log.owner(position)].age
    }

    /// Removes the receive at a position; returns its user value.
    pub(super) fn take(&mut self, position: u32) -> u64 {
        let owner = self.log.owner(position);
        self.log.remove(position);
        self.bodies.remove(owner).user
    }

    pub(super) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        let owner = handle.index() ^ MAX_SLOTS as u32;
        let owner = self.bodies.find(Handle::new(owner, handle.generation()))?;
        Some(self.take(self.bodies[owner].position))
    }

    /// The age of the receive that a handle names.
    pub(super) fn age_of(&self, handle: Handle) -> u64 {
        self.bodies[handle.index() ^ MAX_SLOTS as u32].age
    }

    /// Appends all receives to `into`, oldest first.
    pub(super) fn receives(&self, into: &mut Array<QueuedReceive>) {
        into.extend(self.log.keys().map(|(position, pattern)| {
            let owner = self.log.owner(position);
            let handle = Handle::new(handle_index(owner), self.bodies.handle(owner).generation());
            QueuedReceive { handle, user: self.bodies[owner].user, pattern }
        }));
    }

    pub(super) fn bytes(&self) -> usize {
        self.log.bytes() + self.bodies.bytes()
    }
}
