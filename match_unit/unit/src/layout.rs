// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 64 bytes of a list item and of a header, word by word.
//!
//! ```text
//!  item    63        32 31    16 15     0      header  63  56 55  48 47    32 31        0
//!   w0   match bits                             h0     | op  | flags | pid    | nid      |
//!   w1   bits that take part in the match       h1      match bits
//!   w2   | nid        | pid     | options |     h2      length; of a search: bits that take part
//!   w3   length of the memory, bytes            h3      remote offset, bytes
//!   w4   local offset, bytes                    h4      header data
//!   w5   | max size   | threshold         |     h5 to h7  not read
//!   w6   | event queue| handle            |
//!   w7   start address
//! ```
//!
//! A program declares items of 4, 8 or 16 words. Those of 4 have w0 to w2, and w6 in the place of w3: what MPI matching
//! needs. Those of 16 begin as above; the list manager passes on w8 to w15 as they are.
//!
//! Source: the fields of hemmert2007 figure 1, in the order in which the function tests them. The
//! packing is ours, since the paper prints none. It differs between header and item, because
//! hemmert2007 4.3 describes header code that rearranges fields.

use crate::list::List;

/// Words of a header, and of an item unless the program declares another number: 64 bytes (hemmert2007 3.1).
pub const WORDS: usize = 8;

/// The words of a header or of an item of that size, in the order in which they enter the input FIFO.
pub type Words = [u64; WORDS];

/// Words of the longest item.
pub const MAX_ITEM_WORDS: usize = 16;

/// Words of an item of any size; those beyond its size are zero.
pub type ItemWords = [u64; MAX_ITEM_WORDS];

/// The word that holds event queue and handle in items of `item_words` words.
#[must_use]
pub const fn handle_word(item_words: usize) -> usize {
    if item_words < WORDS { 3 } else { 6 }
}

/// Network id that accepts any (`ANY` of hemmert2007 figure 1).
pub const ANY_NID: u32 = u32::MAX;
/// Process id that accepts any.
pub const ANY_PID: u16 = u16::MAX;

/// Options of an item, in the low 16 bits of its word 2.
pub mod options {
    /// The descriptor is valid.
    pub const VALID: u16 = 0x0001;
    /// Puts are accepted.
    pub const PUT: u16 = 0x0002;
    /// Gets are accepted.
    pub const GET: u16 = 0x0004;
    /// A message longer than the remaining space is truncated.
    pub const TRUNCATE: u16 = 0x0008;
    /// The offset is taken from the header.
    pub const REMOTE_OFFSET: u16 = 0x0010;
    /// The descriptor is closed when less than its max size remains.
    pub const MAX_SIZE: u16 = 0x0020;
    /// `mpi`: any initiator is accepted.
    pub const ANY_SOURCE: u16 = 0x0040;
    /// `portals4`: the entry unlinks after one use.
    pub const USE_ONCE: u16 = 0x0080;
    /// `portals4`, in place of [`MAX_SIZE`]: the entry unlinks when less than its min free size remains.
    pub const MIN_FREE: u16 = 0x0020;
    /// The item marks the end of the list.
    pub const END: u16 = 0x8000;
}

/// Operations in a header's top byte. Others than put and get pass every operation test
/// (hemmert2007 figure 1, lines 21 and 22).
pub mod op {
    /// Data is written to the target.
    pub const PUT: u8 = 1;
    /// Data is read from the target.
    pub const GET: u8 = 2;
}

/// Flags of a header. They use the bits of two item options, so that one constant tests both.
pub mod flags {
    /// Of a search: any initiator is accepted.
    pub const ANY_SOURCE: u8 = 0x10;
    /// The header is a search of the unexpected list.
    pub const SEARCH: u8 = 0x20;
}

/// A list item by its fields. Sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Item {
    /// Match bits.
    pub bits: u64,
    /// Bits that take part in the match (the complement of ignore bits).
    pub care: u64,
    /// Network id, or [`ANY_NID`].
    pub nid: u32,
    /// Process id, or [`ANY_PID`].
    pub pid: u16,
    /// [`options`].
    pub options: u16,
    /// Length of the memory.
    pub length: u64,
    /// Local offset.
    pub local_offset: u64,
    /// Max size, or min free size in `portals4`.
    pub max_size: u32,
    /// Uses left; an item with none is inactive.
    pub threshold: u32,
    /// Event queue.
    pub event_queue: u32,
    /// Identifies the item in an answer; not zero.
    pub handle: u32,
    /// Address of the memory.
    pub start: u64,
}

impl Item {
    /// The eight words.
    #[must_use]
    pub const fn words(&self) -> Words {
        [
            self.bits,
            self.care,
            (self.nid as u64) << 32 | (self.pid as u64) << 16 | self.options as u64,
            self.length,
            self.local_offset,
            (self.max_size as u64) << 32 | self.threshold as u64,
            (self.event_queue as u64) << 32 | self.handle as u64,
            self.start,
        ]
    }

    /// The words of the item in a program with items of `item_words` words.
    #[must_use]
    pub fn encode(&self, item_words: usize) -> ItemWords {
        let words = self.words();
        let mut all = [0; MAX_ITEM_WORDS];
        let kept = item_words.min(WORDS);
        all[..kept].copy_from_slice(&words[..kept]);
        all[handle_word(item_words)] = words[handle_word(WORDS)];
        all
    }

    /// The fields of eight words.
    #[must_use]
    pub const fn from_words(words: &Words) -> Self {
        Self {
            bits: words[0],
            care: words[1],
            nid: (words[2] >> 32) as u32,
            pid: (words[2] >> 16) as u16,
            options: words[2] as u16,
            length: words[3],
            local_offset: words[4],
            max_size: (words[5] >> 32) as u32,
            threshold: words[5] as u32,
            event_queue: (words[6] >> 32) as u32,
            handle: words[6] as u32,
            start: words[7],
        }
    }

    /// The item that marks the end of every list. It matches every header, so that each program reaches the test of
    /// [`options::END`]; its handle is zero, which answers "no match".
    #[must_use]
    pub const fn end() -> Self {
        Self {
            bits: 0,
            care: 0,
            nid: ANY_NID,
            pid: ANY_PID,
            options: options::END
                | options::VALID
                | options::PUT
                | options::GET
                | options::TRUNCATE
                | options::ANY_SOURCE,
            length: 0,
            local_offset: 0,
            max_size: 0,
            threshold: 1,
            event_queue: 0,
            handle: 0,
            start: 0,
        }
    }
}

/// An item without any field.
const EMPTY: Item = Item {
    bits: 0,
    care: 0,
    nid: 0,
    pid: 0,
    options: 0,
    length: 0,
    local_offset: 0,
    max_size: 0,
    threshold: 0,
    event_queue: 0,
    handle: 0,
    start: 0,
};

/// A header by its fields. Sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageHeader {
    /// [`op`].
    pub op: u8,
    /// [`flags`].
    pub flags: u8,
    /// The sender's process id.
    pub pid: u16,
    /// The sender's network id.
    pub nid: u32,
    /// Match bits.
    pub bits: u64,
    /// Length of the message; of a search, the bits that take part in the match.
    pub length: u64,
    /// Offset requested by the sender.
    pub remote_offset: u64,
    /// Passed to the event.
    pub data: u64,
}

impl MessageHeader {
    /// The eight words.
    #[must_use]
    pub const fn words(&self) -> Words {
        let first = (self.op as u64) << 56 | (self.flags as u64) << 48 | (self.pid as u64) << 32 | self.nid as u64;
        [first, self.bits, self.length, self.remote_offset, self.data, 0, 0, 0]
    }

    /// The fields of eight words.
    #[must_use]
    pub const fn from_words(words: &Words) -> Self {
        Self {
            op: (words[0] >> 56) as u8,
            flags: (words[0] >> 48) as u8,
            pid: (words[0] >> 32) as u16,
            nid: words[0] as u32,
            bits: words[1],
            length: words[2],
            remote_offset: words[3],
            data: words[4],
        }
    }

    /// The item of an MPI receiver for a header that found nothing in `list`, and the list that it is appended to: an
    /// unexpected message, or a posted receive with one use, any length and offset zero.
    #[must_use]
    pub const fn item_of(&self, list: List) -> (List, Item) {
        let Self { bits, nid, pid, .. } = *self;
        let item = Item { bits, care: u64::MAX, nid, pid, ..EMPTY };
        match list {
            List::Posted => (List::Unexpected, item),
            List::Unexpected => {
                let any = self.flags & flags::ANY_SOURCE != 0;
                let (nid, pid) = if any { (ANY_NID, ANY_PID) } else { (nid, pid) };
                let any = if any { options::ANY_SOURCE } else { 0 };
                let options = options::VALID | options::PUT | options::TRUNCATE | options::USE_ONCE | any;
                (List::Posted, Item { care: self.length, nid, pid, options, threshold: 1, ..item })
            }
        }
    }
}
