// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The coherence protocol: states, events, actions, and tables of transitions that the simulator
//! executes and that the model checker explores.
//!
//! A node is one cache controller for its L1 caches, its private L2 and its device; a line of its
//! home is one entry of a directory. The directory serves one transaction of a line at a time: it
//! is busy from the request to the unblock message of the requester, and requests for a busy line
//! wait. Therefore the protocol needs no order of messages in the switch.

mod display;
mod step;
mod table;
mod words;

use std::fmt;

pub use step::{
    DirectoryEntry, MessageTarget, Outgoing, ProtocolMessage, cache_event, directory_event, step_directory,
};
pub use words::{
    CacheAction, CacheEvent, CacheState, DeviceTransactions, DirectoryAction, DirectoryEvent, DirectoryState,
    MessageKind,
};

/// The transition for a state and an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition<A, S> {
    /// In this order.
    pub actions: Vec<A>,
    /// The state afterwards.
    pub next: S,
}

/// A cache controller's transition.
pub type CacheTransition = Transition<CacheAction, CacheState>;
/// A directory's transition.
pub type DirectoryTransition = Transition<DirectoryAction, DirectoryState>;

/// An event that a state does not allow: a fault of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Impossible {
    /// The controller.
    pub controller: &'static str,
    /// The name of the state.
    pub state: &'static str,
    /// The name of the event.
    pub event: &'static str,
    /// The address of the line.
    pub line: u64,
}

impl fmt::Display for Impossible {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { controller, state, event, line } = self;
        write!(out, "{controller}: event {event} in state {state} of line {line:#x}; expected an event of the table")
    }
}

impl std::error::Error for Impossible {}

/// The tables for one configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Protocol {
    cache: Vec<Option<CacheTransition>>,
    directory: Vec<Option<DirectoryTransition>>,
}

impl Protocol {
    /// The tables. With `migratory`, the owner of a locally modified line hands it over exclusively
    /// when another node reads it.
    ///
    /// # Panics
    /// Two rows of the table are for the same state and event.
    #[must_use]
    pub fn new(design: DeviceTransactions, migratory: bool) -> Self {
        let mut protocol = Self {
            cache: vec![None; CacheState::ALL.len() * CacheEvent::ALL.len()],
            directory: vec![None; DirectoryState::ALL.len() * DirectoryEvent::ALL.len()],
        };
        for row in table::CACHE.iter().filter(|row| row.when.holds(design, migratory)) {
            for (&state, &event) in row.pairs() {
                let entry = &mut protocol.cache[state as usize * CacheEvent::ALL.len() + event as usize];
                assert!(entry.is_none(), "two rows for cache state {} and event {}", state.name(), event.name());
                *entry = Some(Transition { actions: row.actions.to_vec(), next: row.next.unwrap_or(state) });
            }
        }
        for row in table::DIRECTORY.iter().filter(|row| row.when.holds(design, migratory)) {
            for (&state, &event) in row.pairs() {
                let entry = &mut protocol.directory[state as usize * DirectoryEvent::ALL.len() + event as usize];
                assert!(entry.is_none(), "two rows for directory state {} and event {}", state.name(), event.name());
                *entry = Some(Transition { actions: row.actions.to_vec(), next: row.next.unwrap_or(state) });
            }
        }
        protocol
    }

    /// The transition of a cache controller.
    ///
    /// # Errors
    /// The table has none.
    #[inline]
    pub fn cache(&self, state: CacheState, event: CacheEvent, line: u64) -> Result<&CacheTransition, Impossible> {
        self.cache[state as usize * CacheEvent::ALL.len() + event as usize].as_ref().ok_or(Impossible {
            controller: "cache controller",
            state: state.name(),
            event: event.name(),
            line,
        })
    }

    /// The transition of a directory.
    ///
    /// # Errors
    /// The table has none.
    #[inline]
    pub fn directory(
        &self,
        state: DirectoryState,
        event: DirectoryEvent,
        line: u64,
    ) -> Result<&DirectoryTransition, Impossible> {
        self.directory[state as usize * DirectoryEvent::ALL.len() + event as usize].as_ref().ok_or(Impossible {
            controller: "directory",
            state: state.name(),
            event: event.name(),
            line,
        })
    }

    /// The state after a request of the core that the controller serves from the copy, without any other
    /// action; `None` if it does more.
    #[must_use]
    pub fn hit(&self, state: CacheState, event: CacheEvent) -> Option<CacheState> {
        let transition = self.cache(state, event, 0).ok()?;
        (transition.actions == [CacheAction::Hit]).then_some(transition.next)
    }

    /// Replaces a transition of the cache controllers, to plant a fault.
    pub fn set_cache(&mut self, state: CacheState, event: CacheEvent, transition: Option<CacheTransition>) {
        self.cache[state as usize * CacheEvent::ALL.len() + event as usize] = transition;
    }

    /// Replaces a transition of the directories, to plant a fault.
    pub fn set_directory(
        &mut self,
        state: DirectoryState,
        event: DirectoryEvent,
        transition: Option<DirectoryTransition>,
    ) {
        self.directory[state as usize * DirectoryEvent::ALL.len() + event as usize] = transition;
    }
}
