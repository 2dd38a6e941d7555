// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The stream of a search: header, items, end mark, and the cycle in which each word enters the FIFO.

use super::parameters::MAX_HEAD_CACHE;
use super::search::{NO_SLOT, StreamPosition};
use super::{FifoWord, ListManager, ProtocolError, StallCause};
use crate::layout::WORDS;
use crate::unit::FifoTag;

impl ListManager {
    /// The next word of the stream and the cycle in which it enters.
    #[inline]
    pub(super) fn produce(&mut self, pc: u16) -> Result<Option<FifoWord>, ProtocolError> {
        let (word, tag, earliest, cause) = match self.search.cursor {
            StreamPosition::Done => return Ok(None),
            StreamPosition::Header(place) => {
                let search = &mut self.search;
                search.cursor =
                    if place + 1 < WORDS { StreamPosition::Header(place + 1) } else { StreamPosition::Item(0, 0) };
                let cause = if place == 0 { search.cause } else { StallCause::Header };
                (search.header[place], FifoTag::Header, search.start, cause)
            }
            StreamPosition::Item(item, 0) => {
                if let Some((earliest, cause)) = self.begin_item(item, pc)? {
                    self.search.cursor = StreamPosition::Item(item, 1);
                    (self.item_word(0), FifoTag::Item, earliest, cause)
                } else {
                    self.search.cursor = StreamPosition::Done;
                    let decided = self.search.result.map_or(self.search.start, |result| result.at);
                    (0, FifoTag::End, decided, StallCause::Answer)
                }
            }
            StreamPosition::Item(item, place) => {
                self.search.cursor = if place + 1 < self.parameters.item_words {
                    StreamPosition::Item(item, place + 1)
                } else {
                    StreamPosition::Item(item + 1, 0)
                };
                let earliest = self.search.available + place as u64 / self.parameters.words_per_cycle;
                (self.item_word(place), FifoTag::Item, earliest, StallCause::Memory)
            }
        };
        // One word enters per cycle, so a delay of the previous word also delays this one.
        let mut entered = if self.entered == 0 { 0 } else { self.last_entered + 1 };
        let mut stall = match self.last_cause {
            StallCause::Idle | StallCause::Update if tag == FifoTag::Header => StallCause::Header,
            StallCause::Idle | StallCause::Update | StallCause::Header => StallCause::Stream,
            other => other,
        };
        if earliest > entered {
            if cause == StallCause::Memory && self.search.slot as usize >= self.parameters.capacity {
                let slower = self.parameters.spill_latency.saturating_sub(self.parameters.latency);
                self.host_stalls += (earliest - entered).min(slower);
            }
            entered = earliest;
            stall = cause;
        }
        if self.entered >= self.parameters.fifo {
            let place = (self.entered - self.parameters.fifo) & (self.left_at.len() - 1);
            let space = self.left_at[place] + 1;
            if space > entered {
                entered = space;
                stall = StallCause::Full;
            }
        }
        self.entered += 1;
        self.last_entered = entered;
        self.last_cause = stall;
        match (tag, self.search.cursor) {
            (FifoTag::Item, StreamPosition::Item(item, 1)) => self.search.began[item % MAX_HEAD_CACHE] = entered,
            (FifoTag::End, _) => self.free = self.free.max(entered + 1),
            _ => {}
        }
        Ok(Some(FifoWord { entered, word, tag, cause: stall }))
    }

    /// The first cycle in which an item can enter, and its cause; `None` after the end of the search.
    fn begin_item(&mut self, item: usize, pc: u16) -> Result<Option<(u64, StallCause)>, ProtocolError> {
        let list = self.search.list;
        let items = self.len(list);
        let after_match = self.search.matched && item > self.search.answered;
        if item > items || after_match {
            return match self.search.result {
                Some(_) => Ok(None),
                None => Err(ProtocolError::Unanswered { pc, item: self.search.answered }),
            };
        }
        let mut earliest = 0;
        let mut cause = StallCause::Stream;
        if item >= 2 {
            if self.search.answered < item - 1 {
                return Err(ProtocolError::Starved { pc, item, unanswered: self.search.answered });
            }
            earliest = self.search.answered_at[item % 2];
            cause = StallCause::Answer;
        }
        let head_cache = self.parameters.head_cache;
        let slot = self.items.list(list).slots.get(item).copied().unwrap_or(NO_SLOT);
        self.search.slot = slot;
        let available = if item == items {
            // The end-of-list item is held in a register of the list manager.
            0
        } else if item < head_cache {
            self.items.list(list).ready[item]
        } else {
            let spilled = self.items.slots[slot as usize].spilled;
            // At most `head_cache` requests are in flight; the first is issued with the header.
            let request = if item == head_cache {
                self.search.start
            } else {
                let port = self.search.requested + self.parameters.item_cycles();
                port.max(self.search.began[(item - head_cache) % MAX_HEAD_CACHE])
            };
            self.search.requested = request;
            request + if spilled { self.parameters.spill_latency } else { self.parameters.latency }
        };
        if available > earliest {
            earliest = available;
            cause = StallCause::Memory;
        }
        self.search.available = available;
        Ok(Some((earliest, cause)))
    }

    #[inline]
    fn item_word(&self, place: usize) -> u64 {
        match self.search.slot {
            NO_SLOT => self.end[place],
            slot => self.items.words(slot)[place],
        }
    }
}
