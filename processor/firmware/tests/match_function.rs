// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The compiled match function of `processor/firmware/match.h` against a golden function, which was written from
//! hemmert2007 figure 1 and independently of the C code.

use mb_firmware::layout::{BYTES, ByteOrder};
use mb_firmware::{Guest, service};
use mb_processor::{Hart, Isa, Memory, Ppc32, Rv64, Service, Step, Syscall, SyscallHandler, SyscallResult};
use proptest::prelude::*;

const ANY_NID: u32 = u32::MAX;
const ANY_PID: u16 = u16::MAX;
const VALID: u16 = 0x01;
const PUT: u16 = 0x02;
const GET: u16 = 0x04;
const TRUNCATE: u16 = 0x08;
const REMOTE_OFFSET: u16 = 0x10;
const MAX_SIZE: u16 = 0x20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Item {
    bits: u64,
    care: u64,
    nid: u32,
    pid: u16,
    options: u16,
    length: u64,
    offset: u64,
    max_size: u32,
    threshold: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    bits: u64,
    nid: u32,
    pid: u16,
    op: u16,
    length: u64,
    offset: u64,
}

/// A match: position of the item, and offset and length of the data to receive.
type Match = (usize, u64, u32);

/// All conditions of figure 1 for one item, and the offset and length that it computes.
fn accepted(item: &Item, header: &Header) -> Option<(u64, u32)> {
    let has = |option| item.options & option != 0;
    let offset = if has(REMOTE_OFFSET) { header.offset.min(item.length) } else { item.offset };
    let remain = item.length.wrapping_sub(offset);
    let fits = header.length <= remain;
    let conditions = [
        item.bits & item.care == header.bits & item.care,
        [ANY_NID, header.nid].contains(&item.nid),
        [ANY_PID, header.pid].contains(&item.pid),
        has(VALID),
        item.threshold > 0,
        header.op != 1 || has(PUT),
        header.op != 2 || has(GET),
        has(TRUNCATE) || !has(MAX_SIZE) || remain >= u64::from(item.max_size),
        has(TRUNCATE) || fits,
    ];
    let length = if fits { header.length } else { remain };
    conditions.iter().all(|&holds| holds).then_some((offset, length as u32))
}

fn golden(list: &[Item], header: &Header) -> Option<Match> {
    let mut matches = list.iter().enumerate().filter_map(|(position, item)| {
        let (offset, length) = accepted(item, header)?;
        Some((position, offset, length))
    });
    matches.next()
}

/// A handler that returns one descriptor.
struct OneCase(Option<u64>);

impl SyscallHandler for OneCase {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        match call.service {
            Service::Custom(service::NEXT) => self.0.take().map_or(SyscallResult::Wait, SyscallResult::Value),
            Service::Custom(service::ANSWER) => SyscallResult::Value(0),
            _ => panic!("unexpected call {call:?}"),
        }
    }
}

/// The program `cases` on one instruction set.
struct Compiled<H> {
    hart: H,
    memory: Memory,
    order: ByteOrder,
    descriptor: u64,
}

const MOST_ITEMS: usize = 32;

impl<H: Hart> Compiled<H> {
    fn new(isa: Isa, hart: H) -> Self {
        let mut memory = Guest::Cases.program(isa).memory(0);
        let descriptor = memory.range().end.next_multiple_of(BYTES);
        memory.grow((MOST_ITEMS + 2) * BYTES as usize);
        Self { hart, memory, order: ByteOrder(isa), descriptor }
    }

    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.memory.write(self.descriptor + at, bytes).unwrap();
    }

    fn find_match(&mut self, list: &[Item], header: &Header) -> Option<Match> {
        let order = self.order;
        self.write(0, &order.double(header.bits));
        self.write(8, &order.word(!header.nid)); // figure 1 does not compare the nid in the header
        self.write(12, &order.half(header.pid));
        self.write(14, &order.half(header.op));
        self.write(16, &order.double(header.length));
        self.write(24, &order.double(header.offset));
        self.write(32, &order.word(header.nid));
        self.write(36, &order.word(list.len() as u32));
        for (item, at) in list.iter().zip((BYTES..).step_by(BYTES as usize)) {
            self.write(at, &order.double(item.bits));
            self.write(at + 8, &order.double(item.care));
            self.write(at + 16, &order.word(item.nid));
            self.write(at + 20, &order.half(item.pid));
            self.write(at + 22, &order.half(item.options));
            self.write(at + 32, &order.double(item.length));
            self.write(at + 40, &order.double(item.offset));
            self.write(at + 56, &order.word(item.max_size));
            self.write(at + 60, &order.word(item.threshold));
        }
        let mut examiner = OneCase(Some(self.descriptor));
        while self.hart.step(&mut self.memory, &mut examiner).unwrap() != Step::Waiting {}
        let word = |at| order.read_word(&self.memory, self.descriptor + at).unwrap();
        let position = word(52) as usize;
        let offset = order.read_double(&self.memory, self.descriptor + 40).unwrap();
        (position < list.len()).then_some((position, offset, word(48)))
    }
}

struct Both(Compiled<Ppc32>, Compiled<Rv64>);

impl Both {
    fn new() -> Self {
        let ppc32 = Ppc32::load(&Guest::Cases.program(Isa::Ppc32), 1).unwrap().remove(0);
        let rv64 = Rv64::load(&Guest::Cases.program(Isa::Rv64), 1).unwrap().remove(0);
        Self(Compiled::new(Isa::Ppc32, ppc32), Compiled::new(Isa::Rv64, rv64))
    }

    fn matches(&mut self, list: &[Item], header: &Header) -> [Option<Match>; 2] {
        [self.0.find_match(list, header), self.1.find_match(list, header)]
    }
}

const ITEM: Item = Item {
    bits: 0x1234_5678_9abc_def0,
    care: u64::MAX,
    nid: 7,
    pid: 3,
    options: VALID | PUT | GET,
    length: 4096,
    offset: 96,
    max_size: 512,
    threshold: 1,
};
const HEADER: Header = Header { bits: ITEM.bits, nid: 7, pid: 3, op: 1, length: 100, offset: 200 };

#[test]
fn each_test_of_figure_1_rejects_by_itself() {
    const GETS: u16 = VALID | GET;
    const PUTS: u16 = VALID | PUT;
    let mut both = Both::new();
    let item = ITEM;
    let cases = [
        (item, HEADER, Some((96, 100))),
        // Match bits, in either half and under the mask.
        (Item { bits: item.bits ^ 1, ..item }, HEADER, None),
        (Item { bits: item.bits ^ 1 << 63, ..item }, HEADER, None),
        (Item { bits: item.bits ^ 1, care: !1, ..item }, HEADER, Some((96, 100))),
        (Item { bits: item.bits ^ 1 << 63, care: u64::MAX >> 1, ..item }, HEADER, Some((96, 100))),
        (Item { bits: !item.bits, care: 0, ..item }, HEADER, Some((96, 100))),
        // Nid and pid.
        (Item { nid: 8, ..item }, HEADER, None),
        (Item { nid: ANY_NID, ..item }, HEADER, Some((96, 100))),
        (Item { pid: 4, ..item }, HEADER, None),
        (Item { pid: ANY_PID, ..item }, HEADER, Some((96, 100))),
        // A descriptor that is invalid or has no uses left.
        (Item { options: PUT | GET, ..item }, HEADER, None),
        (Item { threshold: 0, ..item }, HEADER, None),
        // Operations; only put and get are filtered.
        (Item { options: GETS, ..item }, HEADER, None),
        (Item { options: GETS, ..item }, Header { op: 2, ..HEADER }, Some((96, 100))),
        (Item { options: PUTS, ..item }, Header { op: 2, ..HEADER }, None),
        (Item { options: VALID, ..item }, Header { op: 3, ..HEADER }, Some((96, 100))),
        // The offset of the header, clamped to the length.
        (Item { options: PUTS | REMOTE_OFFSET, ..item }, HEADER, Some((200, 100))),
        (Item { options: PUTS | REMOTE_OFFSET, ..item }, Header { offset: 3997, ..HEADER }, None),
        (
            Item { options: PUTS | REMOTE_OFFSET, ..item },
            Header { offset: u64::MAX, length: 0, ..HEADER },
            Some((4096, 0)),
        ),
        // The local offset is not clamped: above the length, the remaining length wraps around.
        (Item { offset: 4097, ..item }, HEADER, Some((4097, 100))),
        // A message that does not fit is rejected, or truncated.
        (item, Header { length: 4000, ..HEADER }, Some((96, 4000))),
        (item, Header { length: 4001, ..HEADER }, None),
        (Item { options: PUTS | TRUNCATE, ..item }, Header { length: 4001, ..HEADER }, Some((96, 4000))),
        // An item with less space than max size rejects, unless it truncates.
        (Item { options: PUTS | MAX_SIZE, max_size: 4000, ..item }, HEADER, Some((96, 100))),
        (Item { options: PUTS | MAX_SIZE, max_size: 4001, ..item }, HEADER, None),
        (Item { options: PUTS | MAX_SIZE | TRUNCATE, max_size: 4001, ..item }, HEADER, Some((96, 100))),
    ];
    for (item, header, expected) in cases {
        let expected = expected.map(|(offset, length)| (0, offset, length));
        assert_eq!(golden(&[item], &header), expected, "golden: {item:?} {header:?}");
        assert_eq!(both.matches(&[item], &header), [expected; 2], "{item:?} {header:?}");
    }
    assert_eq!(both.matches(&[], &HEADER), [None; 2]);
}

/// Numbers near the limits of comparisons and of half words.
fn sizes() -> impl Strategy<Value = u64> {
    let edge = prop_oneof![Just(0), Just(64), Just(4096), Just(1 << 32), Just(1 << 63)];
    (edge, 0..3_u64).prop_map(|(edge, around): (u64, u64)| edge.wrapping_add(around).wrapping_sub(1))
}

fn items() -> impl Strategy<Value = Item> {
    let who = (prop_oneof![3 => 0..2_u32, 2 => Just(ANY_NID)], prop_oneof![3 => 0..2_u16, 2 => Just(ANY_PID)]);
    let care = prop_oneof![4 => Just(u64::MAX), 1 => Just(!1), 1 => Just(u64::MAX >> 1), 1 => Just(0)];
    let bits = prop_oneof![0..2_u64, Just(1 << 63)];
    // Most are valid and accept puts, so that later conditions are reached.
    let options =
        (any::<u16>(), any::<u16>()).prop_map(|(first, second)| (first | second & (VALID | PUT | GET)) & 0x3f);
    (bits, care, who, options, sizes(), sizes(), sizes(), 0..4_u32).prop_map(
        |(bits, care, (nid, pid), options, length, offset, max_size, threshold)| Item {
            bits,
            care,
            nid,
            pid,
            options,
            length,
            offset,
            max_size: max_size as u32,
            threshold,
        },
    )
}

fn headers() -> impl Strategy<Value = Header> {
    let bits = prop_oneof![0..2_u64, Just(1 << 63)];
    (bits, 0..2_u32, 0..2_u16, 1..4_u16, sizes(), sizes()).prop_map(|(bits, nid, pid, op, length, offset)| Header {
        bits,
        nid,
        pid,
        op,
        length,
        offset,
    })
}

#[test]
fn random_lists_have_the_matches_of_the_golden_function() {
    let mut both = Both::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let cases = (prop::collection::vec(items(), 0..MOST_ITEMS), prop::collection::vec(headers(), 8));
    let both = std::cell::RefCell::new(&mut both);
    runner
        .run(&cases, |(list, headers)| {
            for header in headers {
                let expected = golden(&list, &header);
                prop_assert_eq!(both.borrow_mut().matches(&list, &header), [expected; 2]);
            }
            Ok(())
        })
        .unwrap();
}
