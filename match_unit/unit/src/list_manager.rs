// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list manager: both lists in local memory, their stream into the match unit, and the unit's answers.
//!
//! Contract: one search at a time. A search streams the header, then the items from the oldest on, then an item that marks the
//! end ([`Item::end`]). At most two items are unanswered at any time, so a match is followed by exactly one further item,
//! which is always sent whole, and then by an end mark.
//! Times are cycles. Nothing is stepped: when a word enters the FIFO follows from when earlier words entered and left, from the
//! memory and from the answers, and is computed when the unit asks for the word. `match_unit/unit/tests/stepped.rs`
//! holds this against a model that moves every word in every cycle.
//!
//! Cost: constant per word; appending is constant, removing moves 4 bytes for each younger item.
//! Source: Hemmert et al. (`hemmert2007`) section 3.2 and figure 2; what Hemmert et al. leave open is listed in the model card.

use crate::layout::{Item, WORDS, Words};
use crate::unit::{Head, Sent, Tag};

/// Largest head cache, in items.
pub const MAX_HEAD_CACHE: usize = 16;

/// Most words of one answer that are kept.
pub const ANSWER_WORDS: usize = 4;

/// No slot of item memory has this number.
const NO_SLOT: u32 = u32::MAX;

/// What the list manager and its memory are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Cycles from a request to its first word, at least 1.
    pub latency: u64,
    /// 64-bit words that arrive in each cycle, 1 to 8.
    pub words_per_cycle: u64,
    /// First items of each list held at hand, and memory requests in flight; 1 to [`MAX_HEAD_CACHE`].
    pub head_cache: usize,
    /// Cycles from an answer in the output FIFO to the action on it, at least 1.
    pub reaction: u64,
    /// Cycles to take an item out of its list.
    pub unlink: u64,
    /// Words the input FIFO holds, at least 2.
    pub fifo: usize,
    /// Items that local memory holds, both lists together; what exceeds them lies in host memory.
    pub capacity: usize,
    /// Cycles from a request to its first word in host memory, at least 1.
    pub spill_latency: u64,
}

impl Memory {
    /// That of the preset `hemmert2007`, which has the sources.
    pub const HEMMERT2007: Self = Self {
        latency: 10,
        words_per_cycle: 1,
        head_cache: 2,
        reaction: 1,
        unlink: 2,
        fifo: 16,
        capacity: 4096,
        spill_latency: 250,
    };

    /// Cycles for which one item occupies the port of the memory.
    const fn item_cycles(&self) -> u64 {
        (WORDS as u64).div_ceil(self.words_per_cycle)
    }
}

/// One of the two lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum List {
    /// Receives that wait for a message.
    Posted,
    /// Messages that wait for a receive.
    Unexpected,
}

/// Why a word was not in the FIFO earlier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// No operation had been offered.
    Idle,
    /// The list manager was busy with the operation before.
    Update,
    /// Header words enter at one per cycle.
    Header,
    /// Item words enter at one per cycle.
    Stream,
    /// The memory had not delivered the item.
    Memory,
    /// Two items were unanswered.
    Answer,
    /// The FIFO was full.
    Full,
}

impl Cause {
    /// Every cause, in the order of reports.
    pub const ALL: [Self; 7] =
        [Self::Idle, Self::Update, Self::Header, Self::Stream, Self::Memory, Self::Answer, Self::Full];

    /// The word in tables.
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

/// A word on its way through the input FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Cycle in which it enters; the unit can see it one cycle later.
    pub entered: u64,
    /// The word; zero for an end mark.
    pub word: u64,
    /// What it belongs to.
    pub tag: Tag,
    /// Why it did not enter earlier.
    pub cause: Cause,
}

/// The end of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Position in the list of the item that matched.
    pub found: Option<usize>,
    /// Items compared, the one that matched included.
    pub visits: u32,
    /// The words of the last answer; those beyond `count` are zero.
    pub words: [u64; ANSWER_WORDS],
    /// Words of the last answer.
    pub count: usize,
    /// Cycle in which the list manager acts on the last word of the answer.
    pub at: u64,
}

/// What a program did that the protocol does not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProtocolError {
    /// It waits for a word that will not come.
    #[error(
        "word {pc} waits for input that the list manager will not send: item {item} follows only after an answer for item {unanswered}"
    )]
    Starved {
        /// Address of the waiting word.
        pc: u16,
        /// Position of the item that is not sent.
        item: usize,
        /// Position of the item that was not answered.
        unanswered: usize,
    },
    /// It answers an item that it was not sent.
    #[error("word {pc} answers item {item}, but only {sent} items were sent")]
    Unasked {
        /// Address of the sending word.
        pc: u16,
        /// Position that the answer would belong to.
        item: usize,
        /// Items sent.
        sent: usize,
    },
    /// It says that the item that marks the end of the list matched.
    #[error("word {pc} answers that the end of the list matched: its first word is {word:#x}, expected 0")]
    EndMatched {
        /// Address of the sending word.
        pc: u16,
        /// The answer.
        word: u64,
    },
    /// It sends more after a match.
    #[error("word {pc} sends an answer after the one that ended the search")]
    AfterMatch {
        /// Address of the sending word.
        pc: u16,
    },
    /// It wants the next header although the search is not over.
    #[error("word {pc} waits for the next header, but item {item} was not answered")]
    Unanswered {
        /// Address of the waiting word.
        pc: u16,
        /// Position of the first item without an answer.
        item: usize,
    },
    /// It runs on behind its last word, which the assembler and the image reader do not let it.
    #[error("execution runs past the last word: word {pc} is not part of the program")]
    PastEnd {
        /// The address that has no word.
        pc: u16,
    },
    /// It runs without taking a word or sending one.
    #[error("no word was taken and none was sent in {words} words up to word {pc}: the program does not end")]
    Runaway {
        /// Address of the next word.
        pc: u16,
        /// Words issued in a row.
        words: u32,
    },
}

/// A slot of item memory.
#[derive(Clone, Copy, Debug)]
struct Slot {
    words: Words,
    id: u64,
    spilled: bool,
}

/// A list: slots in order of age, and since when each of its first items is at hand.
#[derive(Clone, Debug, Default)]
struct Order {
    slots: Vec<u32>,
    ready: [u64; MAX_HEAD_CACHE],
}

/// Where a search stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cursor {
    Header(usize),
    Item(usize, usize),
    Done,
}

#[derive(Clone, Debug)]
struct Search {
    list: List,
    header: Words,
    start: u64,
    cause: Cause,
    cursor: Cursor,
    /// Cycle of the last request to memory.
    requested: u64,
    /// The slot of the current item, or `NO_SLOT` for the one that marks the end, and when its first word can enter.
    slot: u32,
    available: u64,
    /// Cycles in which recent items began to enter, by position modulo [`MAX_HEAD_CACHE`].
    began: [u64; MAX_HEAD_CACHE],
    /// Items answered, and when the last two answers were acted on.
    answered: usize,
    answered_at: [u64; 2],
    /// Whether the words being received belong to a match.
    matched: bool,
    over: Option<Answer>,
    words: [u64; ANSWER_WORDS],
    count: usize,
}

/// Longest FIFO whose phase is compared.
const PHASE_WORDS: usize = 64;

/// Where the stream stands when an item has just begun, with every time relative to now and every position to the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Phase {
    entered: u64,
    cause: Cause,
    requested: u64,
    available: u64,
    began: [u64; MAX_HEAD_CACHE],
    unanswered: usize,
    answered_at: [u64; 2],
    left_at: [u64; PHASE_WORDS],
}

/// Both lists and the stream.
#[derive(Clone, Debug)]
pub struct ListManager {
    memory: Memory,
    slots: Vec<Slot>,
    local: FreeList,
    spilled: FreeList,
    posted: Order,
    unexpected: Order,
    search: Search,
    /// The last end mark, and how many marks are at the head of the FIFO.
    mark: Entry,
    marks: usize,
    /// A word that was looked at and not taken; it is behind the marks.
    seen: Option<Entry>,
    /// Number of words that ever entered and left, and when the last ones left, by number modulo a power of two.
    entered: usize,
    left: usize,
    left_at: Box<[u64]>,
    last_entered: u64,
    last_cause: Cause,
    free: u64,
}

/// Which slots are not in use: those given back, last first, then those never used.
#[derive(Clone, Debug, Default)]
struct FreeList {
    given_back: Vec<u32>,
    used: usize,
}

impl ListManager {
    /// Empty lists.
    ///
    /// # Panics
    /// When a value of `memory` is outside the range that is written beside it.
    #[must_use]
    pub fn new(memory: Memory) -> Self {
        assert!(memory.latency > 0 && memory.spill_latency > 0 && memory.reaction > 0, "delays are at least one cycle");
        assert!((1..=8).contains(&memory.words_per_cycle), "memory delivers 1 to 8 words per cycle");
        assert!((1..=MAX_HEAD_CACHE).contains(&memory.head_cache), "the head cache has 1 to {MAX_HEAD_CACHE} items");
        assert!(memory.fifo >= 2, "the input FIFO holds at least two words");
        Self {
            memory,
            slots: Vec::new(),
            local: FreeList::default(),
            spilled: FreeList::default(),
            posted: Order::default(),
            unexpected: Order::default(),
            search: Search::none(),
            mark: Entry { entered: 0, word: 0, tag: Tag::End, cause: Cause::Idle },
            marks: 0,
            seen: None,
            entered: 0,
            left: 0,
            left_at: vec![0; memory.fifo.next_power_of_two()].into(),
            last_entered: 0,
            last_cause: Cause::Idle,
            free: 0,
        }
    }

    /// The memory it was made with.
    #[must_use]
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Items of a list.
    #[must_use]
    pub fn len(&self, list: List) -> usize {
        self.order(list).slots.len()
    }

    /// Whether a list has no item.
    #[must_use]
    pub fn is_empty(&self, list: List) -> bool {
        self.len(list) == 0
    }

    /// Items of both lists that lie in host memory.
    #[must_use]
    pub fn spilled(&self) -> usize {
        let in_host = |order: &Order| order.slots.iter().filter(|&&slot| self.slots[slot as usize].spilled).count();
        in_host(&self.posted) + in_host(&self.unexpected)
    }

    /// First cycle in which the next operation can be taken.
    #[must_use]
    pub const fn free_at(&self) -> u64 {
        self.free
    }

    /// The item at `position`: its words and its id.
    ///
    /// # Panics
    /// When there is no such position.
    #[must_use]
    pub fn item(&self, list: List, position: usize) -> (&Words, u64) {
        let slot = &self.slots[self.order(list).slots[position] as usize];
        (&slot.words, slot.id)
    }

    /// Whether the item at `position` lies in host memory.
    ///
    /// # Panics
    /// When there is no such position.
    #[must_use]
    pub fn is_spilled(&self, list: List, position: usize) -> bool {
        self.slots[self.order(list).slots[position] as usize].spilled
    }

    /// Since which cycle the item at `position` is in the head cache; `None` for items that the cache does not hold.
    #[must_use]
    pub fn cached_since(&self, list: List, position: usize) -> Option<u64> {
        (position < self.memory.head_cache && position < self.len(list)).then(|| self.order(list).ready[position])
    }

    /// The position of the item with `id`.
    #[must_use]
    pub fn position(&self, list: List, id: u64) -> Option<usize> {
        self.order(list).slots.iter().position(|&slot| self.slots[slot as usize].id == id)
    }

    /// Appends `item` under `id` from cycle `at` on; its handle becomes that of the slot it is put in.
    ///
    /// # Panics
    /// When 2^32 - 1 items are alive.
    pub fn append(&mut self, list: List, mut item: Item, id: u64, at: u64) {
        let capacity = self.memory.capacity;
        let (slot, spilled) = match self.local.take(capacity) {
            Some(slot) => (slot, false),
            None => (capacity + self.spilled.take(usize::MAX).expect("host memory has no limit"), true),
        };
        item.handle = u32::try_from(slot + 1).expect("handles have 32 bits");
        // Host memory beyond the slots in use is allocated as it is needed, local memory too: neither shows in the times.
        while self.slots.len() <= slot {
            self.slots.push(Slot { words: [0; WORDS], id: 0, spilled: false });
        }
        self.slots[slot] = Slot { words: item.words(), id, spilled };
        let done = at + self.memory.item_cycles();
        self.free = self.free.max(done);
        let head_cache = self.memory.head_cache;
        let order = self.order_mut(list);
        if order.slots.len() < head_cache {
            order.ready[order.slots.len()] = done;
        }
        order.slots.push(slot as u32);
    }

    /// Takes the item at `position` out of its list from cycle `at` on; returns its id.
    ///
    /// # Panics
    /// When there is no such position.
    pub fn remove(&mut self, list: List, position: usize, at: u64) -> u64 {
        let done = at + self.memory.unlink;
        self.free = self.free.max(done);
        let (head_cache, latency) = (self.memory.head_cache, self.memory.latency);
        let spill_latency = self.memory.spill_latency;
        let order = self.order_mut(list);
        let slot = order.slots.remove(position);
        if position < head_cache {
            order.ready.copy_within(position + 1..head_cache, position);
            // The item that moves up into the cache is fetched now.
            let next = order.slots.get(head_cache - 1).copied();
            let far = next.is_some_and(|slot| self.slots[slot as usize].spilled);
            self.order_mut(list).ready[head_cache - 1] = done + if far { spill_latency } else { latency };
        }
        let capacity = self.memory.capacity;
        match (slot as usize).checked_sub(capacity) {
            Some(far) => self.spilled.give_back(far as u32),
            None => self.local.give_back(slot),
        }
        self.slots[slot as usize].id
    }

    /// Spends the time of taking an item out, from cycle `at` on, on one that is not there.
    pub fn occupy(&mut self, at: u64) {
        self.free = self.free.max(at + self.memory.unlink);
    }

    /// Begins a search of `list` with a header that is there from cycle `arrival` on; returns the cycle in which it begins.
    pub fn begin(&mut self, list: List, header: Words, arrival: u64) -> u64 {
        let start = arrival.max(self.free);
        let cause = if self.free >= arrival && self.entered > 0 { Cause::Update } else { Cause::Idle };
        self.search =
            Search { list, header, start, cause, cursor: Cursor::Header(0), requested: start, ..Search::none() };
        start
    }

    /// The answer that ended the search, once it is there.
    #[must_use]
    pub const fn answer(&self) -> Option<&Answer> {
        self.search.over.as_ref()
    }

    /// The word or end mark at the head of the FIFO, now or in future; `None` when none will come before the next operation.
    ///
    /// # Errors
    /// When the program has not given the answers that the next word depends on.
    pub fn head(&mut self, pc: u16) -> Result<Option<Entry>, ProtocolError> {
        if self.marks > 0 {
            return Ok(Some(self.mark));
        }
        if self.seen.is_none() {
            self.seen = self.produce(pc)?;
            if let Some(mark) = self.seen.take_if(|entry| entry.tag == Tag::End) {
                (self.mark, self.marks) = (mark, 1);
                return Ok(Some(mark));
            }
        }
        Ok(self.seen)
    }

    /// The next word that is no end mark, to be taken; `None` when none will come before the next operation. When it is taken,
    /// [`ListManager::taken`] must be told.
    ///
    /// # Errors
    /// As [`ListManager::head`].
    #[inline]
    pub fn take(&mut self, pc: u16) -> Result<Option<Entry>, ProtocolError> {
        loop {
            let next = match self.seen.take() {
                Some(entry) => Some(entry),
                None => self.produce(pc)?,
            };
            match next {
                Some(mark) if mark.tag == Tag::End => (self.mark, self.marks) = (mark, self.marks + 1),
                other => return Ok(other),
            }
        }
    }

    /// The word that was handed out last left the FIFO in cycle `at`, and with it the end marks before it.
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
    /// When the word is no answer to an item that was sent.
    pub fn receive(&mut self, sent: Sent, at: u64, pc: u16) -> Result<(), ProtocolError> {
        let acted = at + self.memory.reaction;
        let items = self.len(self.search.list);
        let search = &mut self.search;
        if search.over.is_some() {
            return Err(ProtocolError::AfterMatch { pc });
        }
        let first = search.count == 0;
        if search.count < ANSWER_WORDS {
            search.words[search.count] = sent.word;
        }
        search.count += 1;
        if first {
            let begun = match search.cursor {
                Cursor::Header(_) => 0,
                Cursor::Item(item, words) => item + usize::from(words > 0),
                Cursor::Done => items + 1,
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
                search.over = Some(Answer {
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

    /// The words in the FIFO at the end of cycle `now`, head first, as far as they are decided.
    #[must_use]
    pub fn fifo(&self, now: u64) -> Vec<Entry> {
        let mut words = vec![self.mark; self.marks];
        words.extend(self.seen);
        let mut copy = self.clone();
        while words.len() < self.memory.fifo
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

    /// Whether the word that was taken last is the first of an item.
    #[inline]
    pub(crate) const fn item_begun(&self) -> bool {
        matches!(self.search.cursor, Cursor::Item(_, 1)) && self.entered == self.left
    }

    /// The phase of the stream at the begin of an item; `None` where the next items may not be like this one.
    pub(crate) fn phase(&self, now: u64) -> Option<Phase> {
        let (search, fifo) = (&self.search, self.memory.fifo);
        let Cursor::Item(item, 1) = search.cursor else { return None };
        // Before this, the head cache shows in the times.
        let steady = item > self.memory.head_cache + 1 && self.entered == self.left && self.left >= fifo;
        let quiet = search.count == 0 && !search.matched && search.over.is_none();
        if !steady || !quiet || fifo > PHASE_WORDS || search.slot as usize >= self.memory.capacity {
            return None;
        }
        let relative = |time: u64| time.wrapping_sub(now);
        let mut began = [0; MAX_HEAD_CACHE];
        for (back, time) in began.iter_mut().enumerate().take(self.memory.head_cache + 1) {
            *time = relative(search.began[(item - back) % MAX_HEAD_CACHE]);
        }
        let mut left_at = [0; PHASE_WORDS];
        for (back, time) in left_at[..fifo].iter_mut().enumerate() {
            *time = relative(self.left_at[(self.left - 1 - back) & (self.left_at.len() - 1)]);
        }
        Some(Phase {
            entered: relative(self.last_entered),
            cause: self.last_cause,
            requested: relative(search.requested),
            available: relative(search.available),
            began,
            unanswered: item - search.answered,
            answered_at: [0, 1].map(|back| relative(search.answered_at[(item - back) % 2])),
            left_at,
        })
    }

    /// How many items from the current one on satisfy `like`, each followed by a further item in local memory.
    pub(crate) fn alike(&self, like: impl Fn(&Words) -> bool) -> usize {
        let Cursor::Item(item, _) = self.search.cursor else { return 0 };
        let slots = &self.order(self.search.list).slots[item..];
        let local = |slot: u32| (slot as usize) < self.memory.capacity;
        slots.windows(2).take_while(|pair| local(pair[1]) && like(&self.slots[pair[0] as usize].words)).count()
    }

    /// Moves on by `items` items that take eight cycles each and fail; returns the words of the last of them and the first word
    /// of the item behind it.
    pub(crate) fn pass_over(&mut self, items: usize) -> (Words, u64) {
        let Cursor::Item(item, _) = self.search.cursor else { unreachable!("an item has begun") };
        let (words, cycles) = (WORDS * items, (WORDS * items) as u64);
        let mask = self.left_at.len() - 1;
        let mut left_at = [0; PHASE_WORDS];
        for (back, time) in left_at[..self.memory.fifo].iter_mut().enumerate() {
            *time = self.left_at[(self.left - 1 - back) & mask] + cycles;
        }
        self.left += words;
        self.entered += words;
        self.last_entered += cycles;
        for (back, time) in left_at[..self.memory.fifo].iter().enumerate() {
            self.left_at[(self.left - 1 - back) & mask] = *time;
        }
        let last = self.slots[self.order(self.search.list).slots[item + items - 1] as usize].words;
        let slot = self.order(self.search.list).slots[item + items];
        let search = &mut self.search;
        let (began, answered_at) = (search.began, search.answered_at);
        for back in 0..=self.memory.head_cache.min(item) {
            search.began[(item + items - back) % MAX_HEAD_CACHE] = began[(item - back) % MAX_HEAD_CACHE] + cycles;
        }
        for back in 0..2 {
            search.answered_at[(item + items - back) % 2] = answered_at[(item - back) % 2] + cycles;
        }
        search.requested += cycles;
        search.available += cycles;
        search.answered += items;
        search.slot = slot;
        search.cursor = Cursor::Item(item + items, 1);
        (last, self.slots[slot as usize].words[0])
    }

    fn order(&self, list: List) -> &Order {
        match list {
            List::Posted => &self.posted,
            List::Unexpected => &self.unexpected,
        }
    }

    fn order_mut(&mut self, list: List) -> &mut Order {
        match list {
            List::Posted => &mut self.posted,
            List::Unexpected => &mut self.unexpected,
        }
    }

    /// The next word of the stream and the cycle in which it enters.
    #[inline]
    fn produce(&mut self, pc: u16) -> Result<Option<Entry>, ProtocolError> {
        let (word, tag, earliest, cause) = match self.search.cursor {
            Cursor::Done => return Ok(None),
            Cursor::Header(place) => {
                let search = &mut self.search;
                search.cursor = if place + 1 < WORDS { Cursor::Header(place + 1) } else { Cursor::Item(0, 0) };
                let cause = if place == 0 { search.cause } else { Cause::Header };
                (search.header[place], Tag::Header, search.start, cause)
            }
            Cursor::Item(item, 0) => {
                if let Some((earliest, cause)) = self.begin_item(item, pc)? {
                    self.search.cursor = Cursor::Item(item, 1);
                    (self.item_word(0), Tag::Item, earliest, cause)
                } else {
                    self.search.cursor = Cursor::Done;
                    let known = self.search.over.map_or(self.search.start, |answer| answer.at);
                    (0, Tag::End, known, Cause::Answer)
                }
            }
            Cursor::Item(item, place) => {
                self.search.cursor =
                    if place + 1 < WORDS { Cursor::Item(item, place + 1) } else { Cursor::Item(item + 1, 0) };
                let earliest = self.search.available + place as u64 / self.memory.words_per_cycle;
                (self.item_word(place), Tag::Item, earliest, Cause::Memory)
            }
        };
        // One word enters per cycle; what delayed the word before delays this one as well.
        let mut entered = if self.entered == 0 { 0 } else { self.last_entered + 1 };
        let mut why = match self.last_cause {
            Cause::Idle | Cause::Update if tag == Tag::Header => Cause::Header,
            Cause::Idle | Cause::Update | Cause::Header => Cause::Stream,
            other => other,
        };
        if earliest > entered {
            entered = earliest;
            why = cause;
        }
        if self.entered >= self.memory.fifo {
            let place = (self.entered - self.memory.fifo) & (self.left_at.len() - 1);
            let room = self.left_at[place] + 1;
            if room > entered {
                entered = room;
                why = Cause::Full;
            }
        }
        self.entered += 1;
        self.last_entered = entered;
        self.last_cause = why;
        match (tag, self.search.cursor) {
            (Tag::Item, Cursor::Item(item, 1)) => self.search.began[item % MAX_HEAD_CACHE] = entered,
            (Tag::End, _) => self.free = self.free.max(entered + 1),
            _ => {}
        }
        Ok(Some(Entry { entered, word, tag, cause: why }))
    }

    /// When the first word of an item can enter, and what decides that; `None` if the list has ended.
    fn begin_item(&mut self, item: usize, pc: u16) -> Result<Option<(u64, Cause)>, ProtocolError> {
        let list = self.search.list;
        let items = self.len(list);
        let after_match = self.search.matched && item > self.search.answered;
        if item > items || after_match {
            return match self.search.over {
                Some(_) => Ok(None),
                None => Err(ProtocolError::Unanswered { pc, item: self.search.answered }),
            };
        }
        let mut earliest = 0;
        let mut cause = Cause::Stream;
        if item >= 2 {
            if self.search.answered < item - 1 {
                return Err(ProtocolError::Starved { pc, item, unanswered: self.search.answered });
            }
            earliest = self.search.answered_at[item % 2];
            cause = Cause::Answer;
        }
        let head_cache = self.memory.head_cache;
        let slot = self.order(list).slots.get(item).copied().unwrap_or(NO_SLOT);
        self.search.slot = slot;
        let available = if item == items {
            // The item that marks the end is in a register of the list manager.
            0
        } else if item < head_cache {
            self.order(list).ready[item]
        } else {
            let far = self.slots[slot as usize].spilled;
            // As many requests are in flight as the head cache has items; the first goes out with the header.
            let window = if item == head_cache {
                self.search.start
            } else {
                let port = self.search.requested + self.memory.item_cycles();
                port.max(self.search.began[(item - head_cache) % MAX_HEAD_CACHE])
            };
            self.search.requested = window;
            window + if far { self.memory.spill_latency } else { self.memory.latency }
        };
        if available > earliest {
            earliest = available;
            cause = Cause::Memory;
        }
        self.search.available = available;
        Ok(Some((earliest, cause)))
    }

    #[inline]
    fn item_word(&self, place: usize) -> u64 {
        const END: Words = Item::end().words();
        match self.slots.get(self.search.slot as usize) {
            Some(slot) => slot.words[place],
            None => END[place],
        }
    }
}

impl Search {
    const fn none() -> Self {
        Self {
            list: List::Posted,
            header: [0; WORDS],
            start: 0,
            cause: Cause::Idle,
            cursor: Cursor::Done,
            requested: 0,
            slot: NO_SLOT,
            available: 0,
            began: [0; MAX_HEAD_CACHE],
            answered: 0,
            answered_at: [0; 2],
            matched: false,
            over: None,
            words: [0; ANSWER_WORDS],
            count: 0,
        }
    }
}

impl FreeList {
    fn take(&mut self, limit: usize) -> Option<usize> {
        if let Some(slot) = self.given_back.pop() {
            return Some(slot as usize);
        }
        let fresh = self.used;
        (fresh < limit).then(|| {
            self.used += 1;
            fresh
        })
    }

    fn give_back(&mut self, slot: u32) {
        self.given_back.push(slot);
    }
}

impl Entry {
    /// What the unit sees of it.
    #[must_use]
    pub const fn as_head(&self) -> Head {
        Head { word: self.word, tag: self.tag }
    }
}
