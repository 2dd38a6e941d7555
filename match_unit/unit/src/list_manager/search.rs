// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of a search.

use super::parameters::MAX_HEAD_CACHE;
use super::protocol::{ANSWER_WORDS, List, SearchResult, StallCause};
use crate::layout::{WORDS, Words};

/// Slot number of the end-of-list item, which is not in item memory.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// Next word to stream: of the header, of an item (position and word), or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamPosition {
    Header(usize),
    Item(usize, usize),
    Done,
}

/// State of the current search.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub(super) list: List,
    pub(super) header: Words,
    pub(super) start: u64,
    pub(super) cause: StallCause,
    pub(super) cursor: StreamPosition,
    /// Cycle of the last request to memory.
    pub(super) requested: u64,
    /// Slot of the current item ([`NO_SLOT`] for the end-of-list item), and the cycle in which its
    /// first word can enter.
    pub(super) slot: u32,
    pub(super) available: u64,
    /// Cycles in which recent items began to enter, by position modulo [`MAX_HEAD_CACHE`].
    pub(super) began: [u64; MAX_HEAD_CACHE],
    /// Number of answered items, and the cycles in which the list manager acted on the last two answers.
    pub(super) answered: usize,
    pub(super) answered_at: [u64; 2],
    /// Whether the words being received belong to a match.
    pub(super) matched: bool,
    pub(super) result: Option<SearchResult>,
    pub(super) words: [u64; ANSWER_WORDS],
    pub(super) count: usize,
}

impl Search {
    pub(super) const fn none() -> Self {
        Self {
            list: List::Posted,
            header: [0; WORDS],
            start: 0,
            cause: StallCause::Idle,
            cursor: StreamPosition::Done,
            requested: 0,
            slot: NO_SLOT,
            available: 0,
            began: [0; MAX_HEAD_CACHE],
            answered: 0,
            answered_at: [0; 2],
            matched: false,
            result: None,
            words: [0; ANSWER_WORDS],
            count: 0,
        }
    }
}
