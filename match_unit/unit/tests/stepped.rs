// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list manager computes when each word enters the FIFO. Here it is held against a model that
//! goes cycle by cycle: a queue of words, a memory with requests in flight, and answers on their
//! way; each search at a random time, with every program, items of every size, and memories fast and slow.

use std::collections::{BTreeMap, VecDeque};

use mb_asm::MatchProgram;
use mb_core::random::Random;
use mb_unit::layout::{ANY_NID, ANY_PID, Item, ItemWords, MessageHeader, WORDS, Words, flags, op, options};
use mb_unit::list_manager::{List, ListManagerParameters};
use mb_unit::match_processor::{IssueEvent, MatchProcessor};
use mb_unit::programs::BuiltinProgram;
use mb_unit::template::template;
use mb_unit::unit::{FifoHead, FifoTag, InputNeed, MatchUnit, OutputWord, WRITE_STAGE};

/// Issue cycles and addresses of one run, and for each search the position found and the cycle of the answer.
type Seen = (Vec<(u64, u16)>, Vec<(Option<usize>, u64)>);

/// A search of one of the two lists, and when its header is there.
#[derive(Clone, Copy, Debug)]
struct Request {
    list: List,
    header: Words,
    arrival: u64,
}

/// The list manager, cycle by cycle, during one search.
struct Stream<'a> {
    items: &'a [ItemWords],
    item_words: usize,
    header: Words,
    start: u64,
    /// Next word: header words first, then item by item.
    item: Option<usize>,
    place: usize,
    /// When each item began to enter, when it was asked of memory, and when it was answered; by position.
    began: BTreeMap<usize, u64>,
    asked: BTreeMap<usize, u64>,
    answers: Vec<(u64, u64)>,
    answer_words: usize,
    over: Option<(Option<usize>, u64)>,
    ended: bool,
}

impl Stream<'_> {
    fn matched(&self, now: u64) -> Option<usize> {
        self.answers.iter().position(|(word, at)| *word != 0 && *at <= now)
    }

    /// Asks memory for the next item beyond the head cache, if its port and a place in flight are free.
    fn ask(&mut self, now: u64, memory: &ListManagerParameters) {
        let cycles = (memory.item_words as u64).div_ceil(memory.words_per_cycle);
        let next = self.asked.keys().next_back().map_or(memory.head_cache, |last| last + 1);
        if next >= self.items.len() || now < self.start {
            return;
        }
        let allowed = match next.checked_sub(memory.head_cache) {
            Some(0) => true,
            Some(before) => {
                self.began.get(&before).is_some_and(|began| *began <= now) && now >= self.asked[&(next - 1)] + cycles
            }
            None => false,
        };
        if allowed {
            self.asked.insert(next, now);
        }
    }

    /// The word that can enter in this cycle.
    fn word(&self, now: u64, memory: &ListManagerParameters) -> Option<(FifoTag, u64)> {
        if now < self.start || self.ended {
            return None;
        }
        let Some(item) = self.item else { return Some((FifoTag::Header, self.header[self.place])) };
        if self.place == 0 {
            let last = self.over.is_some_and(|(found, _)| found.map_or(self.items.len(), |found| found + 1) < item);
            if last {
                return self.over.filter(|(_, at)| *at <= now).map(|_| (FifoTag::End, 0));
            }
            if item > self.items.len() || self.matched(u64::MAX).is_some_and(|found| item > found + 1) {
                return None;
            }
            // Two items at most are without an answer that has been acted on.
            if item >= 2 && self.answers.get(item - 2).is_none_or(|(_, at)| *at > now) {
                return None;
            }
        }
        if item == self.items.len() {
            return Some((FifoTag::Item, Item::end().encode(self.item_words)[self.place]));
        }
        let after = memory.latency + self.place as u64 / memory.words_per_cycle;
        let there = item < memory.head_cache || self.asked.get(&item).is_some_and(|asked| *asked + after <= now);
        there.then(|| (FifoTag::Item, self.items[item][self.place]))
    }

    fn entered(&mut self, tag: FifoTag, now: u64) {
        match (tag, self.item) {
            (FifoTag::End, _) => {
                self.ended = true;
                return;
            }
            (FifoTag::Item, Some(item)) if self.place == 0 => {
                self.began.insert(item, now);
            }
            _ => {}
        }
        let size = if self.item.is_none() { WORDS } else { self.item_words };
        self.place = (self.place + 1) % size;
        if self.place == 0 {
            self.item = Some(self.item.map_or(0, |item| item + 1));
        }
    }

    fn answer(&mut self, sent: OutputWord, acted: u64) {
        if self.answer_words == 0 {
            self.answers.push((sent.word, acted));
        }
        self.answer_words += 1;
        if sent.last {
            self.answer_words = 0;
            let found = self.matched(u64::MAX);
            if found.is_some() || self.answers.len() > self.items.len() {
                self.over = Some((found, acted));
            }
        }
    }
}

fn run_stepped(
    program: &MatchProgram,
    memory: ListManagerParameters,
    lists: &[Vec<ItemWords>; 2],
    requests: &[Request],
) -> Seen {
    let mut unit = MatchUnit::new(&program.words);
    let mut fifo: VecDeque<(u64, FifoTag, u64)> = VecDeque::new();
    let (mut issues, mut answers) = (Vec::new(), Vec::new());
    let mut requests: VecDeque<Request> = requests.iter().copied().collect();
    let mut stream: Option<Stream<'_>> = None;
    let mut free = 0;
    for now in 0..1_000_000 {
        if stream.as_ref().is_none_or(|stream| stream.ended) {
            if let Some(stream) = stream.take() {
                answers.extend(stream.over);
            }
            let Some(&request) = requests.front().filter(|request| request.arrival.max(free) <= now) else {
                if requests.is_empty()
                    && fifo.iter().all(|(_, tag, _)| *tag == FifoTag::End)
                    && unit.need() == Some(InputNeed::Word)
                {
                    return (issues, answers);
                }
                issue(&mut unit, &mut fifo, now, &mut issues);
                continue;
            };
            requests.pop_front();
            stream = Some(Stream {
                items: &lists[usize::from(request.list == List::Unexpected)],
                item_words: memory.item_words,
                header: request.header,
                start: now,
                item: None,
                place: 0,
                began: BTreeMap::new(),
                asked: BTreeMap::new(),
                answers: Vec::new(),
                answer_words: 0,
                over: None,
                ended: false,
            });
        }
        let room = fifo.len() < memory.fifo;
        if let Some(stream) = &mut stream {
            let entering = stream.word(now, &memory).filter(|_| room);
            // The unit sees what entered in earlier cycles only.
            let sent = issue(&mut unit, &mut fifo, now, &mut issues);
            if let Some((tag, word)) = entering {
                fifo.push_back((now, tag, word));
                stream.entered(tag, now);
                if tag == FifoTag::End {
                    free = now + 1;
                }
            }
            // A place in flight is free in the cycle in which an item begins to enter.
            stream.ask(now, &memory);
            if let Some(sent) = sent {
                stream.answer(sent, now + WRITE_STAGE + memory.reaction);
            }
        }
    }
    panic!("a million cycles were not enough");
}

fn issue(
    unit: &mut MatchUnit,
    fifo: &mut VecDeque<(u64, FifoTag, u64)>,
    now: u64,
    issues: &mut Vec<(u64, u16)>,
) -> Option<OutputWord> {
    let word = fifo.iter().position(|(_, tag, _)| *tag != FifoTag::End);
    let head = match unit.need() {
        Some(InputNeed::Nothing) => FifoHead { word: 0, tag: FifoTag::End },
        Some(InputNeed::Head) => fifo.front().map(|(_, tag, word)| FifoHead { word: *word, tag: *tag })?,
        _ => FifoHead { word: fifo[word?].2, tag: fifo[0].1 },
    };
    let issued = unit.issue(head);
    if issued.popped {
        fifo.drain(..=word?);
    }
    issues.push((now, issued.at));
    issued.sent
}

fn run_machine(
    program: &MatchProgram,
    memory: ListManagerParameters,
    lists: &[Vec<ItemWords>; 2],
    requests: &[Request],
) -> Seen {
    let mut machine = MatchProcessor::in_reset(&program.words, memory);
    for (list, items) in [List::Posted, List::Unexpected].into_iter().zip(lists) {
        for (id, words) in items.iter().enumerate() {
            machine.lists_mut().append_words(list, *words, id as u64, 0);
        }
    }
    let mut issues = Vec::new();
    let mut watch = |event: &IssueEvent, _: &MatchUnit| issues.push((event.cycle, event.issued.at));
    let mut answers = Vec::new();
    machine.run_until_waiting(&mut watch).unwrap();
    for request in requests {
        let answer = machine.search(request.list, request.header, request.arrival, &mut watch).unwrap();
        answers.push((answer.found, answer.at));
    }
    (issues, answers)
}

#[test]
fn computed_times_are_those_of_a_model_that_moves_every_word_in_every_cycle() {
    let sizes = [4, 8, 16].map(|size| mb_asm::assemble("template.mb", &template(size)).unwrap());
    let programs: Vec<_> = BuiltinProgram::ALL.map(BuiltinProgram::assemble).into_iter().chain(sizes).collect();
    let mut late = 0;
    for seed in 1..=600 {
        let mut random = Random::of(seed, &[]);
        let memory = ListManagerParameters {
            latency: random.pick(&[1, 8, 10, 16, 17, 33, 70]),
            words_per_cycle: random.pick(&[1, 1, 2, 3, 8]),
            head_cache: random.pick(&[1, 2, 3, 5]),
            reaction: random.pick(&[1, 1, 2, 5, 6, 7, 12, 30]),
            unlink: 2,
            fifo: random.pick(&[2, 3, 7, 8, 9, 16, 64]),
            capacity: 1024,
            spill_latency: 250,
            item_words: WORDS,
        };
        // Slots are given out in order, so the handles are known.
        let mut slots = 0;
        let lists = [0; 2].map(|_| {
            let length = random.below(14);
            (0..length)
                .map(|_| {
                    slots += 1;
                    Item {
                        bits: random.below(8),
                        care: u64::MAX,
                        nid: random.pick(&[1, 2, ANY_NID]),
                        pid: ANY_PID,
                        options: options::VALID
                            | random.pick(&[0, options::PUT])
                            | random.pick(&[0, options::TRUNCATE])
                            | random.pick(&[0, 0, options::REMOTE_OFFSET, options::MAX_SIZE]),
                        length: 100,
                        threshold: 1,
                        handle: slots,
                        ..Item::default()
                    }
                })
                .collect::<Vec<Item>>()
        });
        let mut arrival = 300;
        let requests: Vec<Request> = (0..6)
            .map(|_| {
                arrival += random.pick(&[0, 0, 1, 40, 200]);
                let search = random.below(3) == 0;
                let header = MessageHeader {
                    op: op::PUT,
                    flags: if search { flags::SEARCH | random.pick(&[0, flags::ANY_SOURCE]) } else { 0 },
                    nid: random.pick(&[1, 2]),
                    bits: random.below(9),
                    length: if search { u64::MAX } else { random.pick(&[10, 1000]) },
                    ..MessageHeader::default()
                };
                Request { list: if search { List::Unexpected } else { List::Posted }, header: header.words(), arrival }
            })
            .collect();
        for program in &programs {
            let memory = ListManagerParameters { item_words: program.item_words, ..memory };
            let encoded = lists.clone().map(|list| list.iter().map(|item| item.encode(program.item_words)).collect());
            let stepped = run_stepped(program, memory, &encoded, &requests);
            let computed = run_machine(program, memory, &encoded, &requests);
            let name = &program.name;
            assert_eq!(computed.1, stepped.1, "seed {seed}, {name}, {memory:?}: {lists:?} {requests:?}");
            assert_eq!(computed.0, stepped.0, "seed {seed}, {name}, {memory:?}: {lists:?} {requests:?}");
            late += computed.0.windows(2).filter(|pair| pair[1].0 > pair[0].0 + 1).count();
        }
    }
    assert!(late > 10_000, "{late} words waited");
}
