// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every program against its golden function: each field, flag and corner by itself, and random lists.
//!
//! `MICROCODE_ROUNDS` sets the number of random lists per program (default 3000; each is searched eight times).

use mb_asm::MatchProgram;
use mb_core::random;
use mb_unit::golden::{self, GoldenMatch};
use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, flags, handle_word, op, options};
use mb_unit::list_manager::{List, ListManagerParameters};
use mb_unit::match_processor::MatchProcessor;
use mb_unit::programs::BuiltinProgram;
use mb_unit::template::template;

const MEMORY: ListManagerParameters = ListManagerParameters::HEMMERT2007;

/// A golden function of the posted list.
type Golden = fn(&[Item], &MessageHeader) -> Option<GoldenMatch>;

fn golden_of(program: BuiltinProgram) -> Golden {
    match program {
        BuiltinProgram::Mpi => golden::mpi,
        BuiltinProgram::PortalsHemmert2007 | BuiltinProgram::PortalsLean => golden::portals_hemmert2007,
        BuiltinProgram::Portals4 => golden::portals4,
    }
}

/// A machine and the list it was filled with.
struct Rig {
    machine: MatchProcessor,
    list: Vec<Item>,
    golden: Golden,
}

impl Rig {
    fn new(program: BuiltinProgram, list: &[Item]) -> Self {
        let mut machine = MatchProcessor::new(&program.assemble().words, MEMORY).unwrap();
        let mut list = list.to_vec();
        for (position, item) in list.iter_mut().enumerate() {
            machine.lists_mut().append(List::Posted, *item, position as u64, 0);
            item.handle = position as u32 + 1;
        }
        Self { machine, list, golden: golden_of(program) }
    }

    /// Searches the posted list and compares the answer with the golden one, which is returned.
    #[track_caller]
    fn check(&mut self, header: &MessageHeader) -> Option<GoldenMatch> {
        let expected = (self.golden)(&self.list, header);
        let now = self.machine.now();
        let answer = self.machine.search(List::Posted, header.words(), now, &mut ()).unwrap();
        let context = || format!("{header:#?} in {:#?}", self.list);
        assert_eq!(answer.found, expected.map(|found| found.position), "{}", context());
        if let Some(expected) = expected {
            assert_eq!((answer.words, answer.count), (expected.words, expected.count), "{}", context());
        }
        expected
    }
}

/// An item that accepts `HEADER` in every program.
const ITEM: Item = Item {
    bits: 0x0123_4567_89ab_cdef,
    care: u64::MAX,
    nid: 7,
    pid: 9,
    options: options::VALID | options::PUT,
    length: 4096,
    local_offset: 96,
    max_size: 1000,
    threshold: 1,
    event_queue: 5,
    handle: 0,
    start: 0xfeed_0000,
};

const HEADER: MessageHeader = MessageHeader {
    op: op::PUT,
    flags: 0,
    pid: 9,
    nid: 7,
    bits: 0x0123_4567_89ab_cdef,
    length: 100,
    remote_offset: 200,
    data: 3,
};

/// The answer of one program for one item and one header: checked, then without the handle.
#[track_caller]
fn answer(program: BuiltinProgram, item: Item, header: MessageHeader) -> Option<Vec<u64>> {
    let found = Rig::new(program, &[item]).check(&header)?;
    assert_eq!(found.words[0], 5 << 32 | 1, "the handle of slot 0 and the event queue");
    Some(found.words[1..found.count].to_vec())
}

/// The answer of both programs that have the function of hemmert2007 figure 1.
#[track_caller]
fn portals_hemmert2007(item: Item, header: MessageHeader) -> Option<Vec<u64>> {
    let both =
        [BuiltinProgram::PortalsHemmert2007, BuiltinProgram::PortalsLean].map(|program| answer(program, item, header));
    assert_eq!(both[0], both[1]);
    both.into_iter().next().flatten()
}

fn portals4(item: Item, header: MessageHeader) -> Option<Vec<u64>> {
    answer(BuiltinProgram::Portals4, item, header)
}

fn with(item: Item, set: u16) -> Item {
    Item { options: item.options | set, ..item }
}

fn without(item: Item, cleared: u16) -> Item {
    Item { options: item.options & !cleared, ..item }
}

#[test]
fn every_match_bit_and_every_mask_bit_counts() {
    for program in BuiltinProgram::ALL {
        for bit in 0..64 {
            let other = MessageHeader { bits: HEADER.bits ^ 1 << bit, ..HEADER };
            assert!(answer(program, ITEM, other).is_none(), "{program:?} bit {bit}");
            let masked = Item { care: !(1 << bit), ..ITEM };
            assert!(answer(program, masked, other).is_some(), "{program:?} bit {bit} ignored");
        }
    }
}

#[test]
fn a_process_is_compared_in_all_bits_unless_any_will_do() {
    for program in [BuiltinProgram::PortalsHemmert2007, BuiltinProgram::PortalsLean, BuiltinProgram::Portals4] {
        for bit in 0..32 {
            let other = MessageHeader { nid: HEADER.nid ^ 1 << bit, ..HEADER };
            assert!(answer(program, ITEM, other).is_none());
            assert!(answer(program, Item { nid: ANY_NID, ..ITEM }, other).is_some());
        }
        for bit in 0..16 {
            let other = MessageHeader { pid: HEADER.pid ^ 1 << bit, ..HEADER };
            assert!(answer(program, ITEM, other).is_none());
            assert!(answer(program, Item { pid: ANY_PID, ..ITEM }, other).is_some());
        }
        let stranger = MessageHeader { nid: 1, pid: 1, ..HEADER };
        assert!(answer(program, Item { nid: ANY_NID, ..ITEM }, stranger).is_none());
        assert!(answer(program, Item { nid: ANY_NID, pid: ANY_PID, ..ITEM }, stranger).is_some());
    }
    for bit in 0..32 {
        let other = MessageHeader { nid: HEADER.nid ^ 1 << bit, ..HEADER };
        assert!(answer(BuiltinProgram::Mpi, ITEM, other).is_none());
        assert!(answer(BuiltinProgram::Mpi, with(ITEM, options::ANY_SOURCE), other).is_some());
    }
}

#[test]
fn hemmert2007_an_invalid_or_used_up_descriptor_is_passed_over() {
    assert!(portals_hemmert2007(without(ITEM, options::VALID), HEADER).is_none());
    assert!(portals_hemmert2007(Item { threshold: 0, ..ITEM }, HEADER).is_none());
    for bit in 0..32 {
        assert!(portals_hemmert2007(Item { threshold: 1 << bit, ..ITEM }, HEADER).is_some());
    }
    let slow = with(ITEM, options::REMOTE_OFFSET);
    assert!(portals_hemmert2007(without(slow, options::VALID), HEADER).is_none());
    assert!(portals_hemmert2007(Item { threshold: 0, ..slow }, HEADER).is_none());
}

#[test]
fn hemmert2007_an_operation_must_be_enabled_and_unknown_ones_always_are() {
    for set in [0, options::PUT, options::GET, options::PUT | options::GET] {
        for slow in [0, options::REMOTE_OFFSET] {
            let item = with(without(ITEM, options::PUT), set | slow);
            for (operation, enabled) in [
                (op::PUT, set & options::PUT != 0),
                (op::GET, set & options::GET != 0),
                (0, true),
                (3, true),
                (255, true),
            ] {
                assert_eq!(
                    portals_hemmert2007(item, MessageHeader { op: operation, ..HEADER }).is_some(),
                    enabled,
                    "{operation}"
                );
            }
        }
    }
}

#[test]
fn hemmert2007_a_kept_offset_is_not_clamped_and_wraps_beyond_the_length() {
    assert_eq!(portals_hemmert2007(ITEM, HEADER), Some(vec![96, 100]));
    assert_eq!(portals_hemmert2007(Item { local_offset: 3996, ..ITEM }, HEADER), Some(vec![3996, 100]));
    assert_eq!(portals_hemmert2007(Item { local_offset: 3997, ..ITEM }, HEADER), None);
    assert_eq!(portals_hemmert2007(Item { local_offset: 4097, ..ITEM }, HEADER), Some(vec![4097, 100]));
}

#[test]
fn hemmert2007_a_long_message_is_cut_or_refused() {
    let long = MessageHeader { length: 4001, ..HEADER };
    assert_eq!(portals_hemmert2007(ITEM, MessageHeader { length: 4000, ..HEADER }), Some(vec![96, 4000]));
    assert_eq!(portals_hemmert2007(ITEM, long), None);
    assert_eq!(portals_hemmert2007(with(ITEM, options::TRUNCATE), long), Some(vec![96, 4000]));
    assert_eq!(
        portals_hemmert2007(with(ITEM, options::TRUNCATE), MessageHeader { length: u64::MAX, ..HEADER }),
        Some(vec![96, 4000])
    );
}

#[test]
fn hemmert2007_a_remote_offset_is_clamped_to_the_length() {
    let item = with(ITEM, options::REMOTE_OFFSET);
    assert_eq!(portals_hemmert2007(item, HEADER), Some(vec![200, 100]));
    assert_eq!(portals_hemmert2007(item, MessageHeader { remote_offset: 4096, ..HEADER }), None);
    assert_eq!(
        portals_hemmert2007(item, MessageHeader { remote_offset: 4096, length: 0, ..HEADER }),
        Some(vec![4096, 0])
    );
    let cut = with(item, options::TRUNCATE);
    assert_eq!(portals_hemmert2007(cut, MessageHeader { remote_offset: u64::MAX, ..HEADER }), Some(vec![4096, 0]));
    assert_eq!(portals_hemmert2007(cut, MessageHeader { remote_offset: 4095, ..HEADER }), Some(vec![4095, 1]));
}

#[test]
fn hemmert2007_max_size_closes_a_descriptor_that_does_not_truncate() {
    let item = with(ITEM, options::MAX_SIZE);
    assert_eq!(portals_hemmert2007(Item { local_offset: 3096, ..item }, HEADER), Some(vec![3096, 100]));
    assert_eq!(portals_hemmert2007(Item { local_offset: 3097, ..item }, HEADER), None);
    let cut = with(item, options::TRUNCATE);
    assert_eq!(portals_hemmert2007(Item { local_offset: 3097, ..cut }, HEADER), Some(vec![3097, 100]));
    assert_eq!(portals_hemmert2007(Item { local_offset: 4097, ..item }, HEADER), Some(vec![4097, 100]));
}

#[test]
fn p4_room_decides_before_the_operation_does() {
    assert_eq!(portals4(ITEM, HEADER), Some(vec![96, 100, 0]));
    assert_eq!(portals4(ITEM, MessageHeader { length: 4001, ..HEADER }), None);
    assert_eq!(
        portals4(with(ITEM, options::TRUNCATE), MessageHeader { length: 4001, ..HEADER }),
        Some(vec![96, 4000, 0])
    );
    assert_eq!(portals4(ITEM, MessageHeader { op: op::GET, ..HEADER }), Some(vec![96, 0, 2]));
    assert_eq!(portals4(with(ITEM, options::USE_ONCE), MessageHeader { op: op::GET, ..HEADER }), Some(vec![96, 0, 2]));
    assert_eq!(portals4(ITEM, MessageHeader { op: op::GET, length: 4001, ..HEADER }), None);
    assert_eq!(portals4(ITEM, MessageHeader { op: 3, ..HEADER }), Some(vec![96, 100, 0]));
}

#[test]
fn p4_nothing_is_received_beyond_the_length() {
    let item = with(ITEM, options::TRUNCATE | options::REMOTE_OFFSET);
    assert_eq!(portals4(item, HEADER), Some(vec![200, 100, 0]));
    assert_eq!(portals4(item, MessageHeader { remote_offset: 4097, ..HEADER }), Some(vec![4097, 0, 0]));
    assert_eq!(portals4(with(Item { local_offset: 4097, ..ITEM }, options::TRUNCATE), HEADER), Some(vec![4097, 0, 0]));
    assert_eq!(portals4(Item { local_offset: 4097, ..ITEM }, HEADER), None);
    assert_eq!(
        portals4(Item { local_offset: 4097, ..ITEM }, MessageHeader { length: 0, ..HEADER }),
        Some(vec![4097, 0, 0])
    );
}

#[test]
fn p4_an_entry_is_used_up_by_one_use_or_by_its_own_offset() {
    assert_eq!(portals4(with(ITEM, options::USE_ONCE), HEADER), Some(vec![96, 100, 1]));
    let item = with(ITEM, options::MIN_FREE);
    assert_eq!(portals4(Item { local_offset: 2996, ..item }, HEADER), Some(vec![2996, 100, 0]));
    assert_eq!(portals4(Item { local_offset: 2997, ..item }, HEADER), Some(vec![2997, 100, 1]));
    let remote = with(item, options::REMOTE_OFFSET);
    assert_eq!(portals4(remote, MessageHeader { remote_offset: 2997, ..HEADER }), Some(vec![2997, 100, 0]));
}

#[test]
fn an_empty_list_is_searched_and_nothing_is_found() {
    for program in BuiltinProgram::ALL {
        let mut rig = Rig::new(program, &[]);
        for operation in 0..4 {
            assert_eq!(rig.check(&MessageHeader { op: operation, ..HEADER }), None);
        }
    }
}

/// Numbers without a pattern.
struct RandomItems(random::Random);

impl RandomItems {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        self.0.pick(choices)
    }

    /// Sizes around each other, zero and the largest.
    fn size(&mut self) -> u64 {
        match self.below(10) {
            0 => 0,
            1 => u64::MAX - self.below(3),
            2 => 1 << 63 | self.below(4),
            _ => self.below(12),
        }
    }

    fn item(&mut self) -> Item {
        let mut item = Item {
            bits: self.below(3) << 32 | self.below(2),
            care: self.of(&[u64::MAX, u64::MAX, 0, !1, 0xffff_ffff]),
            nid: self.of(&[0, 1, 1 << 31, ANY_NID, ANY_NID]),
            pid: self.of(&[0, 1, 1 << 15, ANY_PID, ANY_PID]),
            options: self.next() as u16 & 0x7fff,
            length: self.size(),
            local_offset: self.size(),
            max_size: self.of(&[0, 1, 5, u32::MAX]),
            threshold: self.of(&[0, 1, 1, 7, u32::MAX, 1 << 31, 1 << 16]),
            event_queue: self.next() as u32,
            handle: 0,
            start: self.next(),
        };
        if self.below(4) > 0 {
            item.options |= options::VALID | options::PUT;
        }
        item
    }

    fn header(&mut self) -> MessageHeader {
        MessageHeader {
            op: self.of(&[0, op::PUT, op::PUT, op::GET, 3, 0x80]),
            flags: 0,
            pid: self.of(&[0, 1, 1 << 15, ANY_PID]),
            nid: self.of(&[0, 1, 1 << 31, ANY_NID]),
            bits: self.below(3) << 32 | self.below(2),
            length: self.size(),
            remote_offset: self.size(),
            data: self.next(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test may be told to run longer; models read no environment")]
fn rounds() -> u64 {
    std::env::var("MICROCODE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3000)
}

#[test]
fn random_lists_are_answered_as_the_golden_functions_do() {
    for program in BuiltinProgram::ALL {
        answers_random_lists(&program.assemble(), golden_of(program), rounds());
    }
}

#[test]
fn a_template_is_answered_as_mpi_in_every_size_of_items() {
    for item_words in mb_asm::program::ITEM_WORDS {
        let program = mb_asm::assemble("template.mb", &template(item_words)).unwrap();
        assert_eq!(program.item_words, item_words);
        answers_random_lists(&program, golden::mpi, rounds() / 3);
    }
}

fn answers_random_lists(program: &MatchProgram, golden: Golden, rounds: u64) {
    let (name, item_words) = (&program.name, program.item_words);
    let mut matches = [0_u64; 3];
    for seed in 0..rounds {
        let mut random = RandomItems(random::Random::of(seed, &[]));
        let mut machine =
            MatchProcessor::new(&program.words, ListManagerParameters { latency: 1 + seed % 30, item_words, ..MEMORY })
                .unwrap();
        let mut lists = [Vec::new(), Vec::new()];
        for (which, list) in [List::Posted, List::Unexpected].into_iter().zip(&mut lists) {
            for id in 0..random.below(6) {
                let mut item = random.item();
                machine.lists_mut().append(which, item, id, 0);
                item.handle = machine.lists().item(which, id as usize).0[handle_word(item_words)] as u32;
                list.push(item);
            }
        }
        for _ in 0..8 {
            let mut header = random.header();
            let search = random.below(3) == 0;
            let (list, expected) = if search {
                header.flags = flags::SEARCH | random.of(&[0, flags::ANY_SOURCE]);
                header.length = random.of(&[u64::MAX, 0, !1, 0xffff_ffff]);
                (List::Unexpected, golden::unexpected(&lists[1], &header))
            } else {
                (List::Posted, golden(&lists[0], &header))
            };
            let arrival = machine.now() + random.below(3) * random.below(40);
            let answer = machine.search(list, header.words(), arrival, &mut ()).unwrap();
            let (found, words) = expected.map_or((None, [0; 4]), |found| (Some(found.position), found.words));
            assert_eq!((answer.found, answer.words), (found, words), "{name}, seed {seed}: {header:#?} {lists:#?}");
            matches[if found.is_none() { 0 } else { 1 + usize::from(search) }] += 1;
        }
    }
    assert!(matches.iter().all(|&count| count > rounds / 2), "{name} misses, matches, found: {matches:?}");
}
