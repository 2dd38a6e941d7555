// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The protocol between the list manager and a match program: FIFO words, stall causes, search results, violations.

pub use crate::list::List;
use crate::unit::{FifoHead, FifoTag};

/// Number of words kept of one answer.
pub const ANSWER_WORDS: usize = 4;

/// Why a word did not enter the FIFO earlier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StallCause {
    /// No operation had been offered.
    Idle,
    /// The list manager was still updating the lists.
    Update,
    /// Header words enter at one per cycle.
    Header,
    /// Item words enter at one per cycle.
    Stream,
    /// Memory had not delivered the item.
    Memory,
    /// Two items were unanswered.
    Answer,
    /// The FIFO was full.
    Full,
}

impl StallCause {
    /// Every cause, in the order of reports.
    pub const ALL: [Self; 7] =
        [Self::Idle, Self::Update, Self::Header, Self::Stream, Self::Memory, Self::Answer, Self::Full];

    /// The name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Update => "update",
            Self::Header => "header",
            Self::Stream => "stream",
            Self::Memory => "memory",
            Self::Answer => "answer",
            Self::Full => "full",
        }
    }
}

/// A word of the input FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FifoWord {
    /// Cycle in which it enters; it is visible to the unit one cycle later.
    pub entered: u64,
    /// The word; zero for an end mark.
    pub word: u64,
    /// Whether it belongs to a header, an item or the end of a list.
    pub tag: FifoTag,
    /// Why it did not enter earlier.
    pub cause: StallCause,
}

impl FifoWord {
    /// The word and tag as the unit reads them.
    #[must_use]
    pub const fn as_head(&self) -> FifoHead {
        FifoHead { word: self.word, tag: self.tag }
    }
}

/// Result of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchResult {
    /// Position of the matching item in the list.
    pub found: Option<usize>,
    /// Items compared, including the matching one.
    pub visits: u32,
    /// The words of the last answer; those beyond `count` are zero.
    pub words: [u64; ANSWER_WORDS],
    /// Words of the last answer.
    pub count: usize,
    /// Cycle in which the list manager acts on the last word of the answer.
    pub at: u64,
}

/// A violation of the list manager's protocol by a match program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The program waits for a word that will not be sent.
    #[error(
        "word {pc}: waits for item {item}, which is sent only after an answer for item {unanswered}; \
         at most two items may be unanswered"
    )]
    Starved {
        /// Address of the waiting word.
        pc: u16,
        /// Position of the item that is not sent.
        item: usize,
        /// Position of the item that was not answered.
        unanswered: usize,
    },
    /// The program answers an item that was not sent.
    #[error("word {pc}: answers item {item}, but only {sent} items were sent; expected one answer per item")]
    Unasked {
        /// Address of the sending word.
        pc: u16,
        /// Position that the answer would belong to.
        item: usize,
        /// Items sent.
        sent: usize,
    },
    /// The program reports a match for the item that marks the end of the list.
    #[error("word {pc}: answers the end of the list with {word:#x}; expected 0")]
    EndMatched {
        /// Address of the sending word.
        pc: u16,
        /// First word of the answer.
        word: u64,
    },
    /// The program sends another answer after the search has ended.
    #[error("word {pc}: sends an answer after the search has ended; expected none before the next header")]
    AfterMatch {
        /// Address of the sending word.
        pc: u16,
    },
    /// The program waits for the next header before the search has ended.
    #[error("word {pc}: waits for the next header, but item {item} is unanswered; expected one answer per item")]
    Unanswered {
        /// Address of the waiting word.
        pc: u16,
        /// Position of the first item without an answer.
        item: usize,
    },
    /// Execution runs past the last word. The assembler and the image reader reject such programs.
    #[error("word {pc}: not part of the program; expected an unconditional branch in the third word from the end")]
    PastEnd {
        /// The address that has no word.
        pc: u16,
    },
    /// The program neither pops a word nor ends an answer.
    #[error(
        "word {pc}: {words} words issued without input or the end of an answer; \
         expected the program to wait for input"
    )]
    Runaway {
        /// Address of the next word.
        pc: u16,
        /// Words issued in a row.
        words: u32,
    },
}
