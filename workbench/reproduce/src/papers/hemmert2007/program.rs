// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 4.3, table 1 and figure 1: the match program, its words, and what it answers.

use std::collections::BTreeSet;

use mb_unit::golden;
use mb_unit::layout::{Item, MessageHeader, WORDS, op, options};
use mb_unit::list_manager::List;
use mb_unit::match_processor::{IssueEvent, MatchProcessor};
use mb_unit::unit::{FifoTag, MatchUnit};

use super::Subject;
use super::subject::{header, item, list, words_taken};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, count, fact, measure, number};
use crate::error::MeasureError;
use crate::verdict::Measured;

/// The segments of table 1.
const TABLE_1: [&str; 6] = ["init", "header", "shared", "fast", "slow", "flush"];

pub(super) const TESTS: &[ClaimTest<Subject>] = &[
    measure("hemmert2007.ucode.init", |subject| count(subject.segment_words("init")?)),
    measure("hemmert2007.ucode.header", |subject| count(subject.segment_words("header")?)),
    measure("hemmert2007.ucode.item_shared", |subject| count(subject.segment_words("shared")?)),
    measure("hemmert2007.ucode.item_fast", |subject| count(subject.segment_words("fast")?)),
    measure("hemmert2007.ucode.item_slow", |subject| count(subject.segment_words("slow")?)),
    measure("hemmert2007.ucode.flush", |subject| count(subject.segment_words("flush")?)),
    measure("hemmert2007.ucode.total", total),
    measure("hemmert2007.ucode.init_once", init_once),
    measure("hemmert2007.ucode.one_to_one", words_per_statement),
    measure("hemmert2007.mu.header_words", |subject| {
        count(words_taken(&subject.search_nth(3)?.events, FifoTag::Header))
    }),
    measure("hemmert2007.mu.instrs_item_matched", |subject| {
        count(executed(subject, &item(1), &["shared", "fast", "slow"])?)
    }),
    measure("hemmert2007.mu.shared_executed_on_match", |subject| count(executed(subject, &item(1), &["shared"])?)),
    crate::claim_test::differs(
        "hemmert2007.mu.slow_path_match_instrs",
        |subject| count(executed(subject, &slow_item(), &["shared", "fast", "slow"])?),
        "The claim is derived by us and assumes that the slow path replaces the fast one. Our slow path branches off in the \
         second word of the fast one and returns to its last three words, which send the answer.",
    ),
    measure("hemmert2007.mu.issue_single_match", |subject| count(subject.search_nth(1)?.events.len())),
    measure("hemmert2007.ucode.slow_path_scope", slow_path_by_item),
    measure("hemmert2007.match.memd_bytes", item_bytes),
    measure("hemmert2007.match.header_smaller", header_bytes),
    measure("hemmert2007.match.field_widths", field_widths),
    measure("hemmert2007.match.outputs", outputs),
    measure("hemmert2007.match.commonest_failure", match_bits_fail_fastest),
    measure("hemmert2007.match.fail_anywhere", each_test_fails),
];

/// Words of table 1, and with the search of the unexpected list, which the paper leaves out.
fn total(subject: &Subject) -> Interpretations {
    let mut words = 0;
    for segment in TABLE_1 {
        words += subject.segment_words(segment)?;
    }
    let whole = subject.program.words.len();
    Ok(vec![
        Interpretation::new("segments of table 1", Measured::Number(words as f64)),
        Interpretation::new("and the search of the unexpected list, which is ours", Measured::Number(whole as f64)),
    ])
}

fn init_once(subject: &Subject) -> Interpretations {
    let words = subject.segment_words("init")?;
    let mut machine = MatchProcessor::in_reset(&subject.program.words, subject.memory);
    let mut events = Vec::new();
    let mut watch = |event: &IssueEvent, _: &MatchUnit| events.push(*event);
    machine.run_until_waiting(&mut watch)?;
    for _ in 0..3 {
        machine.search(List::Posted, header().words(), 0, &mut watch)?;
    }
    number(subject.in_segments(&events, &["init"])?.len() as f64 / words as f64)
}

fn words_per_statement(subject: &Subject) -> Interpretations {
    let statements: BTreeSet<_> = subject.program.lines.iter().map(|line| line.number).collect();
    number(subject.program.words.len() as f64 / statements.len() as f64)
}

/// Words of the named segments that are executed for `matching`, the only item before the extra
/// one.
fn executed(subject: &Subject, matching: &Item, segments: &[&'static str]) -> Result<usize, MeasureError> {
    let search = subject.search(&[*matching, item(2)])?;
    search.answer.found.ok_or(MeasureError::NotSeen("the match"))?;
    Ok(subject.in_segments(&search.events, segments)?.len())
}

/// An item that matches and has a max size, which the slow path looks after.
fn slow_item() -> Item {
    Item { options: options::VALID | options::PUT | options::MAX_SIZE, max_size: 64, ..item(1) }
}

fn slow_path_by_item(subject: &Subject) -> Interpretations {
    let (fast, slow) = (executed(subject, &item(1), &["slow"])?, executed(subject, &slow_item(), &["slow"])?);
    fact(fast == 0 && slow > 0, format!("{fast} slow words without the option, {slow} with"))
}

fn item_bytes(subject: &Subject) -> Interpretations {
    let searched = subject.search_nth(9)?;
    let items = searched.answer.visits as usize + 1;
    number(8.0 * words_taken(&searched.events, FifoTag::Item) as f64 / items as f64)
}

/// Bytes that the fields of a header need, and bytes that are streamed for it.
fn header_bytes(subject: &Subject) -> Interpretations {
    let ones = MessageHeader {
        op: u8::MAX,
        flags: u8::MAX,
        pid: u16::MAX,
        nid: u32::MAX,
        bits: u64::MAX,
        length: u64::MAX,
        remote_offset: u64::MAX,
        data: u64::MAX,
    };
    let fields = ones.words().iter().map(|word| word.count_ones()).sum::<u32>() / 8;
    let streamed = 8 * words_taken(&subject.search_nth(1)?.events, FifoTag::Header) as u32;
    let interpretation =
        |name, bytes: u32| Interpretation::new(name, Measured::Fact(bytes < 64, format!("{bytes} bytes")));
    Ok(vec![interpretation("the fields", fields), interpretation("the eight words that section 4.3 reads", streamed)])
}

fn field_widths(_: &Subject) -> Interpretations {
    let none = MessageHeader::default();
    let headers = [
        MessageHeader { op: u8::MAX, ..none },
        MessageHeader { flags: u8::MAX, ..none },
        MessageHeader { pid: u16::MAX, ..none },
        MessageHeader { nid: u32::MAX, ..none },
        MessageHeader { bits: u64::MAX, ..none },
        MessageHeader { length: u64::MAX, ..none },
    ];
    let none = Item::default();
    let items = [
        Item { bits: u64::MAX, ..none },
        Item { nid: u32::MAX, ..none },
        Item { pid: u16::MAX, ..none },
        Item { options: u16::MAX, ..none },
        Item { threshold: u32::MAX, ..none },
        Item { start: u64::MAX, ..none },
    ];
    let bits = |words: [u64; WORDS]| words.iter().map(|word| word.count_ones()).sum::<u32>();
    let widths: BTreeSet<_> =
        headers.iter().map(|header| bits(header.words())).chain(items.iter().map(|item| bits(item.words()))).collect();
    let ends = widths.first().zip(widths.last()).ok_or(MeasureError::NotSeen("a field"))?;
    Ok(vec![Interpretation::new("", Measured::Range(f64::from(*ends.0), f64::from(*ends.1)))])
}

/// Headers that fit, that are cut and that are placed by their own offset, each answered as figure
/// 1 says.
fn outputs(subject: &Subject) -> Interpretations {
    let cut = Item { options: options::VALID | options::PUT | options::TRUNCATE, local_offset: 4000, ..item(1) };
    let remote = Item { options: options::VALID | options::PUT | options::REMOTE_OFFSET, ..item(1) };
    let long = MessageHeader { length: 200, remote_offset: 128, ..header() };
    let mut right = 0;
    for matching in [item(1), cut, remote] {
        let items = [item(2), matching, item(2)];
        let search = subject.search_in(subject.memory, &items, &long)?;
        let expected = golden::portals_hemmert2007(&items, &long).ok_or(MeasureError::NotSeen("the match"))?;
        let words = |words: &[u64; 4]| [words[1], words[2]];
        let same_place = search.answer.found == Some(expected.position) && search.answer.words[0] != 0;
        right += usize::from(same_place && words(&search.answer.words) == words(&expected.words));
    }
    fact(right == 3, format!("{right} of 3 answers are those of figure 1"))
}

/// Items that fail one test each, with the name of the test.
fn failing_items() -> [(&'static str, Item); 8] {
    let good = item(1);
    [
        ("match bits", item(2)),
        ("nid", Item { nid: 8, ..good }),
        ("pid", Item { pid: 8, ..good }),
        ("valid", Item { options: options::PUT, ..good }),
        ("threshold", Item { threshold: 0, ..good }),
        ("operation", Item { options: options::VALID | options::GET, ..good }),
        ("max size", Item { options: options::VALID | options::PUT | options::MAX_SIZE, max_size: 5000, ..good }),
        ("length", Item { length: 32, ..good }),
    ]
}

fn each_test_fails(subject: &Subject) -> Interpretations {
    debug_assert_eq!(header().op, op::PUT, "the operation that one of the items does not permit");
    let mut wrong = Vec::new();
    for (test, failing) in failing_items() {
        let search = subject.search(&[failing, item(1), item(2)])?;
        if search.answer.found != Some(1) {
            wrong.push(test);
        }
    }
    let shown = if wrong.is_empty() { "8 of 8 tests".to_owned() } else { format!("not: {}", wrong.join(", ")) };
    fact(wrong.is_empty(), shown)
}

/// Words that a failing item costs, test by test.
fn match_bits_fail_fastest(subject: &Subject) -> Interpretations {
    let without = subject.search(&[item(1), item(2)])?.events.len();
    let mut words = Vec::new();
    for (_, failing) in failing_items() {
        words.push(subject.search(&[failing, item(1), item(2)])?.events.len() - without);
    }
    let others = words[1..].iter().min().copied().unwrap_or_default();
    let all_fail_there = list(9)[..8].iter().all(|item| item.bits != header().bits);
    fact(words[0] < others && all_fail_there, format!("{} words against {others} and more for other tests", words[0]))
}
