// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Priorities of threads in the fetch of a multithreaded core.

use mb_core::parameters::Choice;
use mb_processor::chip::ChipConfig;

/// Which contexts of a core fetch before others. The fetch policy selects among those of equal priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Priorities {
    /// All alike.
    Equal,
    /// Context 0 first, which is the OS thread if it is pinned.
    OsFirst,
    /// Context 0 last.
    WorkersFirst,
    /// Each context before those with higher numbers.
    Ascending,
    /// As ascending, but context 0 last: the workers in their order, then the OS thread.
    WorkersAscending,
}

impl Priorities {
    /// The priority of each context; lower values fetch first.
    #[must_use]
    pub const fn of_contexts(self) -> [u8; ChipConfig::MAX_CONTEXTS] {
        const LAST: u8 = ChipConfig::MAX_CONTEXTS as u8;
        let (first, others) = match self {
            Self::Equal | Self::Ascending => (0, 0),
            Self::OsFirst => (0, 1),
            Self::WorkersFirst => (1, 0),
            Self::WorkersAscending => (LAST, 0),
        };
        let mut priorities = [others; ChipConfig::MAX_CONTEXTS];
        if matches!(self, Self::Ascending | Self::WorkersAscending) {
            let mut context = 0;
            while context < priorities.len() {
                priorities[context] = context as u8;
                context += 1;
            }
        }
        priorities[0] = first;
        priorities
    }
}
