// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Hemmert et al. print about its program and its cycles, measured on `portals_hemmert2007`.

use mb_match_unit::{ENTRY, MatchUnitParameters};
use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, op, options};
use mb_unit::list_manager::{List, ListManagerParameters};
use mb_unit::match_processor::{IssueEvent, MatchProcessor};
use mb_unit::programs::BuiltinProgram;
use mb_unit::unit::{MatchUnit, WRITE_STAGE};

const MEMORY: ListManagerParameters = ListManagerParameters::HEMMERT2007;

fn item(bits: u64) -> Item {
    Item {
        bits,
        care: u64::MAX,
        nid: ANY_NID,
        pid: ANY_PID,
        options: options::VALID | options::PUT,
        length: 4096,
        threshold: 1,
        ..Item::default()
    }
}

fn header(bits: u64) -> MessageHeader {
    MessageHeader { op: op::PUT, bits, length: 64, nid: 7, pid: 9, ..MessageHeader::default() }
}

/// A machine with a list of `length` items of which the last matches `header(1)`.
fn machine(length: usize) -> MatchProcessor {
    let mut machine = MatchProcessor::new(&BuiltinProgram::PortalsHemmert2007.assemble().words, MEMORY).unwrap();
    for position in 0..length {
        let bits = if position + 1 == length { 1 } else { 2 };
        machine.lists_mut().append(List::Posted, item(bits), position as u64, 0);
    }
    machine.lists_mut().append(List::Posted, item(3), length as u64, 0);
    machine
}

/// The words of one search, from the first that takes a header word on.
fn words(machine: &mut MatchProcessor, arrival: u64) -> Vec<IssueEvent> {
    let mut events = Vec::new();
    let mut watch = |event: &IssueEvent, _: &MatchUnit| events.push(*event);
    machine.search(List::Posted, header(1).words(), arrival, &mut watch).unwrap();
    events
}

/// Cycles from the read stage of the first word to the write stage of the last.
fn cycles(events: &[IssueEvent]) -> u64 {
    events[events.len() - 1].cycle + WRITE_STAGE + 1 - events[0].cycle
}

#[test]
fn the_memory_of_the_tests_is_that_of_the_preset() {
    assert_eq!(mb_testkit::preset::<MatchUnitParameters>(&ENTRY, "hemmert2007").memory(), MEMORY);
}

#[test]
fn the_program_has_the_words_of_table_1() {
    let program = BuiltinProgram::PortalsHemmert2007.assemble();
    let words = |name: &str| program.segments.iter().find(|segment| segment.name == name).unwrap().words;
    let split = ["init", "header", "shared", "fast", "slow", "flush"].map(words);
    assert_eq!(split, [4, 9, 6, 7, 10, 8]);
    assert_eq!(split.iter().sum::<usize>(), 44);
}

#[test]
fn a_header_with_one_item_takes_29_words_and_31_cycles() {
    let events = words(&mut machine(1), 1000);
    assert_eq!(events.len(), 9 + 12 + 8);
    assert_eq!(cycles(&events), 31);
}

#[test]
fn a_full_match_takes_12_words_in_14_cycles() {
    let program = BuiltinProgram::PortalsHemmert2007.assemble();
    let events = words(&mut machine(1), 1000);
    let at = |label: &str| program.labels[label].index() as u16;
    let matched: Vec<IssueEvent> =
        events.iter().filter(|event| (at("shared")..at("flush")).contains(&event.issued.at)).copied().collect();
    assert_eq!(matched.len(), 12);
    assert_eq!(matched.iter().filter(|event| event.issued.at < at("fast")).count(), 5);
    assert_eq!(cycles(&matched), 14);
}

#[test]
fn an_item_that_fails_on_match_bits_takes_8_cycles_and_nothing_else() {
    for length in 2..40 {
        let events = words(&mut machine(length), 1000);
        assert_eq!(cycles(&events), 31 + 8 * (length as u64 - 1), "{length} items");
        assert!(events[1..].iter().all(|event| event.stall.is_none()), "{length} items");
    }
}
