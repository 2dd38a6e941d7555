// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `moped/mpi/moped.h` and its Rust types have the same numbers.

use std::collections::BTreeMap;

use mb_moped::contract::*;

const HEADER: &str = include_str!("../../mpi/moped.h");

/// Names of the header with their numbers.
fn header() -> BTreeMap<&'static str, u64> {
    let number = |text: &str| {
        let text = text.trim().trim_end_matches(',').trim_end_matches("ul").trim_end_matches('u');
        text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16)).ok()
    };
    let mut found = BTreeMap::new();
    for line in HEADER.lines() {
        let code = line.split("//").next().unwrap_or_default().trim();
        if let Some(definition) = code.strip_prefix("#define ") {
            if let Some((name, value)) = definition.split_once(' ') {
                found.extend(number(value).map(|value| (name, value)));
            }
        } else {
            let inside = code.trim_start_matches("enum {").trim_end_matches("};");
            for item in inside.split(',') {
                if let Some((name, value)) = item.split_once('=')
                    && name.trim().starts_with("MOPED_")
                {
                    found.extend(number(value).map(|value| (name.trim(), value)));
                }
            }
        }
    }
    found
}

#[test]
fn the_header_and_its_mirror_have_the_same_numbers() {
    let mirror = [
        ("MOPED_PORTS", PORTS),
        ("MOPED_CONTROL", CONTROL),
        ("MOPED_PAGE_BYTES", PAGE_BYTES),
        ("MOPED_PORT_BYTES", PORT_BYTES),
        ("MOPED_RANKS", RANKS),
        ("MOPED_DATA_PORT", DATA_PORT),
        ("MOPED_POLL_PORT", POLL_PORT),
        ("MOPED_REFUSED", REFUSED),
        ("MOPED_RETRY", RETRY),
        ("MOPED_LENGTH_MAX", LENGTH_MAX),
        ("MOPED_FIELD_SHIFT", FIELD_SHIFT.into()),
        ("MOPED_VALUE_SHIFT", VALUE_SHIFT.into()),
        ("MOPED_VALUE_BITS", VALUE_BITS.into()),
        ("MOPED_RANK_SHIFT", RANK_SHIFT.into()),
        ("MOPED_KIND_SHIFT", KIND_SHIFT.into()),
        ("MOPED_ANY_RANK_SHIFT", ANY_RANK_SHIFT.into()),
        ("MOPED_ANY_TAG_SHIFT", ANY_TAG_SHIFT.into()),
        ("MOPED_WORD_SHIFT", WORD_SHIFT.into()),
        ("MOPED_BACKOFF_BIT", BACKOFF_BIT),
        ("MOPED_DRAINED", DRAINED),
        ("MOPED_EPISODE_SHIFT", EPISODE_SHIFT.into()),
        ("MOPED_STATE_BITS", STATE_BITS),
        ("MOPED_TRUNCATED", TRUNCATED),
        ("MOPED_MAPPED", MAPPED),
        ("MOPED_UNMAPPABLE", UNMAPPABLE),
        ("MOPED_ADDRESS", Field::Address as u64),
        ("MOPED_LENGTH", Field::Length as u64),
        ("MOPED_TAG", Field::Tag as u64),
        ("MOPED_GO", Field::Go as u64),
        ("MOPED_CANCEL", Field::Cancel as u64),
        ("MOPED_RESUME", Field::Resume as u64),
        ("MOPED_SEND", Kind::Send as u64),
        ("MOPED_RECEIVE", Kind::Receive as u64),
        ("MOPED_PROBE", Kind::Probe as u64),
        ("MOPED_MATCHED_PROBE", Kind::MatchedProbe as u64),
        ("MOPED_TAKE", Kind::Take as u64),
        ("MOPED_STATE", Word::State as u64),
        ("MOPED_PEEK", Word::Peek as u64),
        ("MOPED_SOURCE", Word::Source as u64),
        ("MOPED_TAGGED", Word::Tagged as u64),
        ("MOPED_BYTES", Word::Bytes as u64),
        ("MOPED_BACKOFF", Word::Backoff as u64),
        ("MOPED_IN_FLIGHT", Word::InFlight as u64),
        ("MOPED_NONE", State::None as u64),
        ("MOPED_RESERVED", State::Reserved as u64),
        ("MOPED_PENDING", State::Pending as u64),
        ("MOPED_MATCHED", State::Matched as u64),
        ("MOPED_FOUND", State::Found as u64),
        ("MOPED_COMPLETE", State::Complete as u64),
        ("MOPED_REVOKED", State::Revoked as u64),
        ("MOPED_CANCELLED", State::Cancelled as u64),
        ("MOPED_NO_MESSAGE", State::NoMessage as u64),
        ("MOPED_BAD_BUFFER", State::BadBuffer as u64),
    ];
    assert_eq!(header(), BTreeMap::from(mirror));
}

#[test]
fn the_registers_of_the_kernel_are_in_the_order_of_the_header() {
    let place = HEADER.find("struct moped_control {").expect("the structure");
    let body = HEADER[place..].split("};").next().expect("its end");
    let names: Vec<_> =
        body.lines().filter_map(|line| line.trim().strip_prefix("uint64_t ")?.split(';').next()).collect();
    let mirror = [
        ("fault", control::FAULT),
        ("fault_owner", control::FAULT_OWNER),
        ("resolve", control::RESOLVE),
        ("invalidate", control::INVALIDATE),
        ("in_flight", control::IN_FLIGHT),
    ];
    let offsets: Vec<_> = names.iter().copied().zip((0..).step_by(8)).collect();
    assert_eq!(offsets, mirror);
}
