// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists and visits of a queue in order of age, and removal by pattern.

use super::{Inner, Matcher, Other};
use crate::heap::Array;
use crate::types::{OutOfMemory, Pattern, QueuedMessage, QueuedReceive, Visit};

impl Matcher {
    /// The posted receives, oldest first, in memory of the global allocator.
    ///
    /// # Errors
    /// Out of memory for the list.
    pub fn receives(&self) -> Result<Vec<QueuedReceive>, OutOfMemory> {
        copied(&self.list_receives()?)
    }

    /// The unexpected messages, oldest first, in memory of the global allocator.
    ///
    /// # Errors
    /// Out of memory for the list.
    pub fn messages(&self) -> Result<Vec<QueuedMessage>, OutOfMemory> {
        copied(&self.list_messages()?)
    }

    fn list_receives(&self) -> Result<Array<QueuedReceive>, OutOfMemory> {
        let mut receives = Array::new(self.heap);
        self.heap.beyond_the_limit(|| receives.reserve_exact(self.posted_len()))?;
        each!(&self.inner, structure => structure.receives(&mut receives), else ());
        Ok(receives)
    }

    fn list_messages(&self) -> Result<Array<QueuedMessage>, OutOfMemory> {
        let mut messages = Array::new(self.heap);
        self.heap.beyond_the_limit(|| messages.reserve_exact(self.unexpected_len()))?;
        each!(&self.inner, structure => structure.messages(&mut messages), else ());
        Ok(messages)
    }

    /// Calls `visit` with the posted receives, oldest first, and removes those for which it says so. Returns the
    /// number removed.
    ///
    /// Cost: linear in the posted receives, and for `bins` and `adaptive` the sorting of them.
    ///
    /// # Errors
    /// Out of memory for a list of the receives; none was visited.
    pub fn visit_receives(&mut self, visit: impl FnMut(&QueuedReceive) -> Visit) -> Result<usize, OutOfMemory> {
        Ok(visit_each(&self.list_receives()?, visit, |receive| self.cancel(receive.handle)))
    }

    /// As [`Matcher::visit_receives`], with the unexpected messages.
    ///
    /// # Errors
    /// Out of memory for a list of the messages; none was visited.
    pub fn visit_messages(&mut self, visit: impl FnMut(&QueuedMessage) -> Visit) -> Result<usize, OutOfMemory> {
        Ok(visit_each(&self.list_messages()?, visit, |message| self.discard(message.handle)))
    }

    /// Removes the posted receives that accept nothing but messages that `within` accepts: those of a freed
    /// communicator, those that name a failed process, or all. Calls `removed` with each, oldest first. Returns their
    /// number.
    ///
    /// # Errors
    /// Out of memory for a list of the receives; none was removed.
    pub fn remove_receives(
        &mut self,
        within: Pattern,
        mut removed: impl FnMut(&QueuedReceive),
    ) -> Result<usize, OutOfMemory> {
        self.visit_receives(|receive| remove_if(within.covers(&receive.pattern), || removed(receive)))
    }

    /// Removes the unexpected messages that `within` accepts; else as [`Matcher::remove_receives`].
    ///
    /// # Errors
    /// Out of memory for a list of the messages; none was removed.
    pub fn remove_messages(
        &mut self,
        within: Pattern,
        mut removed: impl FnMut(&QueuedMessage),
    ) -> Result<usize, OutOfMemory> {
        self.visit_messages(|message| remove_if(within.accepts(&message.envelope), || removed(message)))
    }
}

/// A copy in memory of the global allocator.
fn copied<T: Copy>(listed: &[T]) -> Result<Vec<T>, OutOfMemory> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(listed.len())?;
    copy.extend_from_slice(listed);
    Ok(copy)
}

/// Visits entries and removes those for which `visit` says so; returns their number.
fn visit_each<T>(
    entries: &[T],
    mut visit: impl FnMut(&T) -> Visit,
    mut remove: impl FnMut(&T) -> Option<u64>,
) -> usize {
    let mut removed = 0;
    for entry in entries {
        match visit(entry) {
            Visit::Keep => {}
            Visit::Remove => removed += usize::from(remove(entry).is_some()),
            Visit::Stop => break,
        }
    }
    removed
}

/// The answer of a visit that removes some entries and reports each.
fn remove_if(is_removed: bool, report: impl FnOnce()) -> Visit {
    if is_removed {
        report();
        return Visit::Remove;
    }
    Visit::Keep
}
