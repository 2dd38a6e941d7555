// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list manager: both lists in memory, their stream into the match unit, and the unit's answers.
//!
//! Contract: one search at a time. A search streams the header, the items from the oldest on, and an item that marks
//! the end of the list ([`Item::end`]). At most two items are unanswered. After a match the list manager therefore
//! completes exactly one further item and then sends an end mark.
//! Times are cycles. The model is not stepped: the cycle in which a word enters the FIFO is computed from the cycles in
//! which earlier words entered and left, the memory delays and the answers, when the unit requests the word.
//! `match_unit/unit/tests/stepped.rs` compares it with a model that moves every word in every cycle.
//!
//! Cost: constant per word. Appending is constant; removing moves 4 bytes for each younger item.
//! Source: Hemmert et al. (`hemmert2007`) section 3.2 and figure 2; the engine's README lists what they leave open.

mod items;
mod parameters;
mod protocol;
mod search;
mod steady;
mod stream;

use crate::layout::{Item, ItemWords, Words, handle_word};
use crate::unit::{FifoTag, OutputWord};
use items::{ItemMemory, ItemSlot};
pub use parameters::{ListManagerParameters, MAX_HEAD_CACHE};
pub use protocol::{ANSWER_WORDS, FifoWord, List, ProtocolError, SearchResult, StallCause};
use search::{Search, StreamPosition};
pub(crate) use steady::StreamPhase;

/// Both lists, the current search and the input FIFO.
#[derive(Clone, Debug)]
pub struct ListManager {
    parameters: ListManagerParameters,
    items: ItemMemory,
    /// The item that marks the end of a list.
    end: ItemWords,
    search: Search,
    /// The last end mark, and the number of marks at the head of the FIFO.
    mark: FifoWord,
    marks: usize,
    /// A word that was read from the head and not popped; it follows the marks.
    peeked: Option<FifoWord>,
    /// Numbers of words that entered and left, and the cycles in which recent words left, by number modulo a power of
    /// two.
    entered: usize,
    left: usize,
    left_at: Box<[u64]>,
    last_entered: u64,
    last_cause: StallCause,
    /// First cycle in which the next operation can start.
    free: u64,
    host_stalls: u64,
}

impl ListManager {
    /// A list manager with empty lists.
    ///
    /// # Panics
    /// When a parameter is outside its documented range.
    #[must_use]
    pub fn new(parameters: ListManagerParameters) -> Self {
        parameters.assert_valid();
        Self {
            parameters,
            items: ItemMemory::new(parameters.item_words),
            end: Item::end().encode(parameters.item_words),
            search: Search::none(),
            mark: FifoWord { entered: 0, word: 0, tag: FifoTag::End, cause: StallCause::Idle },
            marks: 0,
            peeked: None,
            entered: 0,
            left: 0,
            left_at: vec![0; parameters.fifo.next_power_of_two()].into(),
            last_entered: 0,
            last_cause: StallCause::Idle,
            free: 0,
            host_stalls: 0,
        }
    }

    /// The parameters.
    #[must_use]
    pub const fn parameters(&self) -> &ListManagerParameters {
        &self.parameters
    }

    /// Number of items in a list.
    #[must_use]
    pub fn len(&self, list: List) -> usize {
        self.items.list(list).slots.len()
    }

    /// Whether a list has no item.
    #[must_use]
    pub fn is_empty(&self, list: List) -> bool {
        self.len(list) == 0
    }

    /// Items of both lists in host memory.
    #[must_use]
    pub fn spilled(&self) -> usize {
        self.items.spilled_items()
    }

    /// Cycles for which items of host memory have kept the stream waiting longer than items of local memory would
    /// have.
    #[must_use]
    pub const fn host_stalls(&self) -> u64 {
        self.host_stalls
    }

    /// First cycle in which the next operation can start.
    #[must_use]
    pub const fn free_at(&self) -> u64 {
        self.free
    }

    /// Words and id of the item at `position`.
    ///
    /// # Panics
    /// When `position` is not in the list.
    #[must_use]
    pub fn item(&self, list: List, position: usize) -> (&[u64], u64) {
        let slot = self.items.list(list).slots[position];
        (self.items.words(slot), self.items.slots[slot as usize].id)
    }

    /// Whether the item at `position` is in host memory.
    ///
    /// # Panics
    /// When `position` is not in the list.
    #[must_use]
    pub fn is_spilled(&self, list: List, position: usize) -> bool {
        self.items.slot(list, position).spilled
    }

    /// The cycle from which the item at `position` is in the head cache; `None` for items outside it.
    #[must_use]
    pub fn cached_since(&self, list: List, position: usize) -> Option<u64> {
        let cached = position < self.parameters.head_cache && position < self.len(list);
        cached.then(|| self.items.list(list).ready[position])
    }

    /// The position of the item with `id`.
    #[must_use]
    pub fn position(&self, list: List, id: u64) -> Option<usize> {
        self.items.list(list).slots.iter().position(|&slot| self.items.slots[slot as usize].id == id)
    }

    /// Appends `item` under `id` from cycle `at` on and writes the number of its slot into its handle; returns
    /// whether it is in host memory.
    ///
    /// # Panics
    /// When both lists together would hold more than 2^32 - 1 items.
    pub fn append(&mut self, list: List, item: Item, id: u64, at: u64) -> bool {
        self.append_words(list, item.encode(self.parameters.item_words), id, at)
    }

    /// As [`ListManager::append`], for an item of any layout; words beyond the size of an item are not read. The handle
    /// is written into the lower half of its word ([`handle_word`]).
    ///
    /// # Panics
    /// As [`ListManager::append`].
    pub fn append_words(&mut self, list: List, mut words: ItemWords, id: u64, at: u64) -> bool {
        let (slot, spilled) = self.items.reserve(self.parameters.capacity);
        let handle = u32::try_from(slot + 1).expect("handles have 32 bits");
        let place = &mut words[handle_word(self.parameters.item_words)];
        *place = *place >> 32 << 32 | u64::from(handle);
        let done = at + self.parameters.item_cycles();
        self.free = self.free.max(done);
        self.items.append(list, slot, ItemSlot { id, spilled }, &words, self.parameters.head_cache, done);
        spilled
    }

    /// Unlinks the item at `position` from cycle `at` on; returns its id.
    ///
    /// # Panics
    /// When `position` is not in the list.
    pub fn remove(&mut self, list: List, position: usize, at: u64) -> u64 {
        let done = at + self.parameters.unlink;
        self.free = self.free.max(done);
        self.items.remove(list, position, done, &self.parameters)
    }

    /// Spends the cycles of a removal from cycle `at` on without removing an item.
    pub fn occupy(&mut self, at: u64) {
        self.free = self.free.max(at + self.parameters.unlink);
    }

    /// Begins a search of `list` with a header that is available from cycle `arrival` on; returns its first cycle.
    pub fn begin(&mut self, list: List, header: Words, arrival: u64) -> u64 {
        let start = arrival.max(self.free);
        let cause = if self.free >= arrival && self.entered > 0 { StallCause::Update } else { StallCause::Idle };
        self.search = Search {
            list,
            header,
            start,
            cause,
            cursor: StreamPosition::Header(0),
            requested: start,
            ..Search::none()
        };
        start
    }

    /// The result of the current search, once it has one.
    #[must_use]
    pub const fn result(&self) -> Option<&SearchResult> {
        self.search.result.as_ref()
    }

    /// The word or end mark that is at the head of the FIFO or will be the next to reach it; `None` when no further one
    /// enters before the next operation.
    ///
    /// # Errors
    /// When the next word depends on an answer that the program has not sent.
    pub fn head(&mut self, pc: u16) -> Result<Option<FifoWord>, ProtocolError> {
        if self.marks > 0 {
            return Ok(Some(self.mark));
        }
        if self.peeked.is_none() {
            self.peeked = self.produce(pc)?;
            if let Some(mark) = self.peeked.take_if(|entry| entry.tag == FifoTag::End) {
                (self.mark, self.marks) = (mark, 1);
                return Ok(Some(mark));
            }
        }
        Ok(self.peeked)
    }

    /// The next word that is not an end mark; `None` when no further one enters before the next operation. The caller
    /// reports the cycle of the pop to [`ListManager::taken`].
    ///
    /// # Errors
    /// As [`ListManager::head`].
    #[inline]
    pub fn take(&mut self, pc: u16) -> Result<Option<FifoWord>, ProtocolError> {
        loop {
            let next = match self.peeked.take() {
                Some(entry) => Some(entry),
                None => self.produce(pc)?,
            };
            match next {
                Some(mark) if mark.tag == FifoTag::End => (self.mark, self.marks) = (mark, self.marks + 1),
                other => return Ok(other),
            }
        }
    }

    /// Records that the word last returned by [`ListManager::take`] left the FIFO in cycle `at`, together with the end
    /// marks before it.
    #[inline]
    pub fn taken(&mut self, at: u64) {
        for _ in 0..=self.marks {
            let place = self.left & (self.left_at.len() - 1);
            self.left_at[place] = at;
            self.left += 1;
        }
        self.marks = 0;
    }

    /// Whether the head of the FIFO is an end mark.
    #[inline]
    #[must_use]
    pub const fn at_end_mark(&self) -> bool {
        self.marks > 0
    }

    /// Receives a word that the program at `pc` put into the output FIFO in cycle `at`.
    ///
    /// # Errors
    /// When the word does not answer an item that was sent.
    pub fn receive(&mut self, sent: OutputWord, at: u64, pc: u16) -> Result<(), ProtocolError> {
        let acted = at + self.parameters.reaction;
        let items = self.len(self.search.list);
        let search = &mut self.search;
        if search.result.is_some() {
            return Err(ProtocolError::AfterMatch { pc });
        }
        let first = search.count == 0;
        if search.count < ANSWER_WORDS {
            search.words[search.count] = sent.word;
        }
        search.count += 1;
        if first {
            let begun = match search.cursor {
                StreamPosition::Header(_) => 0,
                StreamPosition::Item(item, words) => item + usize::from(words > 0),
                StreamPosition::Done => items + 1,
            };
            if search.answered >= begun {
                return Err(ProtocolError::Unasked { pc, item: search.answered, sent: begun });
            }
            search.matched = sent.word != 0;
            if search.matched && search.answered == items {
                return Err(ProtocolError::EndMatched { pc, word: sent.word });
            }
            search.answered_at[search.answered % 2] = acted;
            search.answered += 1;
        }
        if sent.last {
            let end = search.answered > items;
            if search.matched || end {
                search.result = Some(SearchResult {
                    found: search.matched.then(|| search.answered - 1),
                    visits: search.answered.min(items) as u32,
                    words: search.words,
                    count: search.count.min(ANSWER_WORDS),
                    at: acted,
                });
            }
            search.count = 0;
            search.words = [0; ANSWER_WORDS];
        }
        Ok(())
    }

    /// The words in the FIFO at the end of cycle `now`, head first, as far as they are determined.
    ///
    /// Cost: a copy of the list manager.
    #[must_use]
    pub fn fifo(&self, now: u64) -> Vec<FifoWord> {
        let mut words = vec![self.mark; self.marks];
        words.extend(self.peeked);
        let mut copy = self.clone();
        while words.len() < self.parameters.fifo
            && let Ok(Some(entry)) = copy.produce(0)
        {
            words.push(entry);
        }
        words.retain(|entry| entry.entered <= now);
        words
    }

    /// Items answered so far in the current search.
    #[must_use]
    pub const fn answered(&self) -> usize {
        self.search.answered
    }
}
