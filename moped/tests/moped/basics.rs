// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Single messages: bytes, status, extensions, protection, page faults.

use mb_moped::contract::{Field, Go, Id, Kind, ProcessAddress, State, TRUNCATED, Word, control};

use crate::chip::{Chip, Post, VIRTUAL, rank, small};
use crate::lines::Timing;

/// A chip with a process of program 0 on each core, and an address space of `pages` pages for each.
fn chip(preset: &str, cores: usize, pages: usize, timing: Timing) -> Chip {
    let mut chip = Chip::new(&small(preset, cores, 64), timing, 1);
    for core in 0..cores {
        let space = chip.space(pages, 0);
        let root = chip.spaces[space].root;
        chip.moped.set_page_table(core, root);
    }
    chip
}

/// Fills the buffers of all processes with a pattern and returns the memory.
fn fill(chip: &mut Chip) -> Vec<u8> {
    for space in 0..chip.spaces.len() {
        for page in chip.spaces[space].pages.clone() {
            let at = (page - crate::lines::BASE) as usize;
            for offset in 0..4096 {
                chip.lines.bytes[at + offset] = ((at + offset) * 7 + (at >> 8)) as u8;
            }
        }
    }
    chip.lines.bytes.clone()
}

#[test]
fn a_message_arrives_with_its_status() {
    for preset in mb_moped::presets::PAPER {
        let mut chip = chip(preset, 4, 4, Timing::fixed(20, 8, 6));
        let mut expected = fill(&mut chip);
        let (from, to) = (VIRTUAL + 100, VIRTUAL + 4000);
        let send = chip.post(0, rank(0), &Post::send(1, 3, 55, from, 1000));
        let receive = chip.post(1, rank(1), &Post::receive(None, None, to, 2000));
        assert_eq!(chip.finish(0, rank(0), send), State::Complete);
        for (word, value) in
            [(Word::Peek, State::Complete as u64), (Word::Source, 3), (Word::Tagged, 55), (Word::Bytes, 1000)]
        {
            assert_eq!(chip.poll(1, rank(1), receive, word), value, "{preset}: {word:?}");
        }
        assert_eq!(chip.finish(1, rank(1), receive), State::Complete);
        for byte in 0..1000 {
            let (source, target) = (chip.place(0, from + byte), chip.place(1, to + byte));
            expected[target] = expected[source];
        }
        assert!(expected == chip.lines.bytes, "{preset}");
        assert_eq!((chip.moped.used(0), chip.moped.used(1)), (0, 0));
    }
}

#[test]
fn a_probe_finds_a_send_once_no_descriptor_is_in_flight() {
    // The message between the MOPEDs is slow: rank 1 probes before the send has arrived.
    let mut chip = chip("base", 2, 1, Timing::fixed(20, 8, 200));
    let none = Id { node: 0, entry: 0 };
    let probe = |chip: &mut Chip| {
        let probe = chip.post(1, rank(1), &Post::receive(Some(0), Some(5), 0, 0).with(Kind::Probe));
        chip.finish(1, rank(1), probe)
    };
    assert_eq!(chip.poll(0, rank(0), none, Word::InFlight), 0);
    chip.post(0, rank(0), &Post::send(1, 0, 5, VIRTUAL, 8));
    assert_eq!(chip.poll(0, rank(0), none, Word::InFlight), 1);
    assert_eq!(probe(&mut chip), State::NoMessage);
    while chip.poll(0, rank(0), none, Word::InFlight) != 0 {}
    assert_eq!(probe(&mut chip), State::Complete);
}

#[test]
fn a_longer_message_is_truncated_and_says_so() {
    let mut chip = chip("base", 2, 2, Timing::fixed(20, 8, 6));
    let mut expected = fill(&mut chip);
    let receive = chip.post(1, rank(1), &Post::receive(Some(0), Some(5), VIRTUAL + 1, 70));
    let send = chip.post(0, rank(0), &Post::send(1, 0, 5, VIRTUAL, 300));
    assert_eq!(chip.finish(0, rank(0), send), State::Complete);
    chip.settle();
    assert_eq!(chip.poll(1, rank(1), receive, Word::Bytes), 300);
    assert_eq!(chip.poll(1, rank(1), receive, Word::State), State::Complete as u64 | TRUNCATED);
    for byte in 0..70 {
        let (source, target) = (chip.place(0, VIRTUAL + byte), chip.place(1, VIRTUAL + 1 + byte));
        expected[target] = expected[source];
    }
    assert!(expected == chip.lines.bytes);
}

#[test]
fn a_process_sends_to_itself_within_one_line() {
    for preset in mb_moped::presets::PAPER {
        let mut chip = chip(preset, 1, 1, Timing::fixed(20, 8, 6));
        let mut expected = fill(&mut chip);
        let send = chip.post(0, rank(0), &Post::send(0, 0, 5, VIRTUAL, 20));
        let receive = chip.post(0, rank(0), &Post::receive(Some(0), Some(5), VIRTUAL + 30, 20));
        assert_eq!(chip.finish(0, rank(0), receive), State::Complete);
        assert_eq!(chip.finish(0, rank(0), send), State::Complete);
        for byte in 0..20 {
            let (source, target) = (chip.place(0, VIRTUAL + byte), chip.place(0, VIRTUAL + 30 + byte));
            expected[target] = expected[source];
        }
        assert!(expected == chip.lines.bytes, "{preset}");
    }
}

#[test]
fn probes_find_the_oldest_message_and_a_matched_probe_takes_it() {
    for cores in 1..=4 {
        let mut chip = chip("base", cores, 4, Timing::fixed(20, 8, 6));
        fill(&mut chip);
        let (sender, receiver) = (0, cores - 1);
        let to = rank(receiver as u16);
        let find = |chip: &mut Chip, kind| {
            let probe = chip.post(receiver, to, &Post::receive(None, None, 0, 0).with(kind));
            chip.settle();
            probe
        };
        let probe = find(&mut chip, Kind::Probe);
        assert_eq!(chip.finish(receiver, to, probe), State::NoMessage);
        for tag in [8, 9] {
            chip.post(sender, rank(0), &Post::send(to.rank, 0, tag, VIRTUAL + u64::from(tag) * 100, 50));
        }
        chip.settle();
        let probe = find(&mut chip, Kind::Probe);
        assert_eq!(chip.poll(receiver, to, probe, Word::Tagged), 8);
        assert_eq!(chip.finish(receiver, to, probe), State::Complete);
        let matched = find(&mut chip, Kind::MatchedProbe);
        assert_eq!(chip.state(receiver, to, matched, Word::State), State::Found);
        assert_eq!(chip.poll(receiver, to, matched, Word::Tagged), 8);
        let other = chip.post(receiver, to, &Post::receive(None, None, VIRTUAL + 8192, 50));
        assert_eq!(chip.finish(receiver, to, other), State::Complete);
        chip.store(receiver, to, matched, Field::Address, VIRTUAL + 12288);
        chip.store(receiver, to, matched, Field::Length, 50);
        let go = Go { kind: Kind::Take, context: 0, rank: None, any_tag: false };
        chip.store(receiver, to, matched, Field::Go, go.value());
        assert_eq!(chip.finish(receiver, to, matched), State::Complete);
        for byte in 0..50 {
            let read = |space, address| chip.lines.bytes[chip.place(space, address)];
            assert_eq!(read(receiver, VIRTUAL + 8192 + byte), read(sender, VIRTUAL + 900 + byte));
            assert_eq!(read(receiver, VIRTUAL + 12288 + byte), read(sender, VIRTUAL + 800 + byte));
        }
    }
}

#[test]
fn a_cancelled_receive_matches_nothing_and_a_matched_one_is_not_cancelled() {
    for cores in 1..=3 {
        let mut chip = chip("base", cores, 2, Timing::fixed(20, 8, 6));
        let receiver = cores - 1;
        let to = rank(receiver as u16);
        let [first, second] = [0, 64].map(|at| chip.post(receiver, to, &Post::receive(None, None, VIRTUAL + at, 8)));
        chip.store(receiver, to, first, Field::Cancel, 0);
        chip.settle();
        let send = chip.post(0, rank(0), &Post::send(to.rank, 0, 1, VIRTUAL + 128, 8));
        chip.settle();
        chip.store(receiver, to, second, Field::Cancel, 0);
        assert_eq!(chip.finish(receiver, to, first), State::Cancelled);
        assert_eq!(chip.finish(receiver, to, second), State::Complete);
        assert_eq!(chip.finish(0, rank(0), send), State::Complete);
        let unused = Id::of(chip.reserve(0, rank(0)));
        chip.store(0, rank(0), unused, Field::Cancel, 0);
        assert_eq!(chip.state(0, rank(0), unused, Word::State), State::None);
    }
}

#[test]
fn no_process_reaches_a_descriptor_of_another() {
    let mut chip = chip("base", 3, 2, Timing::fixed(20, 8, 6));
    let expected = fill(&mut chip);
    let receive = chip.post(1, rank(1), &Post::receive(None, None, VIRTUAL, 64));
    let open = Id::of(chip.reserve(1, rank(1)));
    let others = [
        ProcessAddress { program: 1, rank: 1 },
        ProcessAddress { program: 0, rank: 2 },
        ProcessAddress { program: 3, rank: 9 },
    ];
    for (hostile, core) in others.into_iter().zip([1, 2, 0]) {
        for id in [receive, open] {
            for word in [Word::State, Word::Peek, Word::Source, Word::Tagged, Word::Bytes] {
                assert_eq!(chip.poll(core, hostile, id, word), State::None as u64, "{hostile:?} {word:?}");
            }
            for number in 0..16 {
                let word = id.number() | number << 16 | 0x1234 << 20;
                chip.access(core, hostile.port(), 8, Some(word));
            }
        }
        // A send of another program with all that the receive accepts.
        if hostile.program != 0 {
            chip.post(core, hostile, &Post::send(1, 0, 1, VIRTUAL, 64));
        }
    }
    for (address, width, value) in [
        (rank(1).port(), 8, None),
        (rank(1).port() + 4, 8, Some(1)),
        (rank(1).port() + 2, 2, None),
        (rank(1).port(), 4, Some(receive.number())),
        (rank(1).port() + 4, 4, Some(0xffff_ffff)),
        (rank(1).port(), 8, Some(u64::MAX)),
    ] {
        chip.access(1, address, width, value);
    }
    chip.settle();
    assert_eq!(chip.state(1, rank(1), receive, Word::Peek), State::Pending);
    assert_eq!(chip.state(1, rank(1), open, Word::Peek), State::Reserved);
    assert!(expected == chip.lines.bytes);
    let send = chip.post(0, rank(0), &Post::send(1, 0, 1, VIRTUAL, 64));
    assert_eq!(chip.finish(1, rank(1), receive), State::Complete);
    assert_eq!(chip.finish(0, rank(0), send), State::Complete);
}

#[test]
fn a_poll_that_another_process_has_interrupted_is_repeated() {
    let mut chip = chip("base", 1, 1, Timing::fixed(20, 8, 6));
    let mine = Id::of(chip.reserve(0, rank(0)));
    let store = |chip: &mut Chip, process: ProcessAddress, word| {
        chip.access(0, process.port() + 4, 4, Some(mine.number() | word << 16));
    };
    store(&mut chip, rank(0), Word::Peek as u64);
    store(&mut chip, rank(1), Word::Peek as u64);
    assert_eq!(chip.access(0, rank(0).port() + 4, 4, None), mb_moped::contract::RETRY);
    store(&mut chip, rank(0), Word::Peek as u64);
    assert_eq!(chip.access(0, rank(0).port() + 4, 4, None), State::Reserved as u64);
}

#[test]
fn a_page_fault_interrupts_the_owner_and_ends_when_the_page_is_mapped() {
    let mut chip = Chip::new(&small("base", 2, 64), Timing::fixed(20, 8, 6), 3);
    for core in 0..2 {
        let space = chip.space(4, 2);
        let root = chip.spaces[space].root;
        chip.moped.set_page_table(core, root);
    }
    let mut expected = fill(&mut chip);
    let length = 3 * 4096;
    let send = chip.post(0, rank(0), &Post::send(1, 0, 1, VIRTUAL + 10, length));
    let receive = chip.post(1, rank(1), &Post::receive(Some(0), Some(1), VIRTUAL + 5, length));
    let mut resolved = [Vec::new(), Vec::new()];
    while resolved.iter().map(Vec::len).sum::<usize>() < 4 {
        chip.settle_until(|chip| chip.moped.interrupts(0) || chip.moped.interrupts(1));
        for (core, pages) in resolved.iter_mut().enumerate() {
            if chip.moped.interrupts(core) {
                let fault = chip.control(core, control::FAULT, None);
                assert_eq!(chip.control(core, control::FAULT_OWNER, None), core as u64);
                assert_eq!(fault & 0xfff, 1 | (core as u64) << 1);
                let number = (fault - VIRTUAL) / 4096;
                chip.map(core, number, true);
                pages.push(number);
                chip.control(core, control::RESOLVE, Some(0));
            }
        }
    }
    assert_eq!(resolved, [[2, 3], [2, 3]]);
    assert_eq!(chip.finish(0, rank(0), send), State::Complete);
    assert_eq!(chip.finish(1, rank(1), receive), State::Complete);
    for byte in 0..u64::from(length) {
        let (source, target) = (chip.place(0, VIRTUAL + 10 + byte), chip.place(1, VIRTUAL + 5 + byte));
        expected[target] = expected[source];
    }
    let tables: Vec<_> = (0..2).flat_map(|space| chip.spaces[space].pages.clone()).collect();
    for page in tables {
        let at = (page - crate::lines::BASE) as usize;
        assert!(expected[at..at + 4096] == chip.lines.bytes[at..at + 4096]);
    }
}

#[test]
fn a_page_that_cannot_be_mapped_ends_both_descriptors() {
    let mut chip = Chip::new(&small("base", 2, 64), Timing::fixed(20, 8, 6), 3);
    for (core, missing) in [(0, 0), (1, 1)] {
        let space = chip.space(2, missing);
        let root = chip.spaces[space].root;
        chip.moped.set_page_table(core, root);
    }
    let send = chip.post(0, rank(0), &Post::send(1, 0, 1, VIRTUAL, 8000));
    let receive = chip.post(1, rank(1), &Post::receive(Some(0), Some(1), VIRTUAL + 5, 8000));
    chip.settle_until(|chip| chip.moped.interrupts(1));
    chip.control(1, control::RESOLVE, Some(1));
    assert_eq!(chip.finish(0, rank(0), send), State::BadBuffer);
    assert_eq!(chip.finish(1, rank(1), receive), State::BadBuffer);
    chip.settle();
}

#[test]
fn a_page_is_withdrawn_when_no_line_of_it_is_in_use() {
    let mut waited = 0;
    for delay in 0..50 {
        let mut chip = chip("base", 2, 4, Timing::fixed(40, 8, 6));
        let send = chip.post(0, rank(0), &Post::send(1, 0, 1, VIRTUAL, 16384));
        let receive = chip.post(1, rank(1), &Post::receive(Some(0), Some(1), VIRTUAL, 16384));
        chip.settle_until(|chip| chip.moped.counters(1).writes > 20);
        chip.step_by(delay);
        chip.map(1, 0, false);
        chip.control(1, control::INVALIDATE, Some(VIRTUAL));
        let before = chip.cycle;
        while chip.control(1, control::INVALIDATE, None) != 0 {}
        waited = waited.max(chip.cycle - before);
        let from = chip.lines.requests.len();
        let gone = chip.spaces[1].pages[0];
        chip.settle_until(|chip| chip.moped.interrupts(1));
        assert!(chip.lines.requests[from..].iter().all(|(_, _, request)| request.line & !4095 != gone), "{delay}");
        chip.map(1, 0, true);
        chip.control(1, control::RESOLVE, Some(0));
        assert_eq!(chip.finish(0, rank(0), send), State::Complete);
        assert_eq!(chip.finish(1, rank(1), receive), State::Complete);
        for byte in 0..16384 {
            let [source, target] = [0, 1].map(|space| chip.place(space, VIRTUAL + byte));
            assert_eq!(chip.lines.bytes[source], chip.lines.bytes[target], "{delay}: byte {byte}");
        }
    }
    // More than the messages to the other MOPED and back: lines were in use.
    assert!(waited > 2 * 6 + 2, "{waited}");
}
