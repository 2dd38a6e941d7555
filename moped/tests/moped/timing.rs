// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times as closed formulas, tight from both sides.

use mb_moped::contract::{Id, ProcessAddress, State, Word};
use mb_moped::parameters::WalkStart;
use mb_moped::{Moped, MopedParameters};
use mb_processor::line_port::LineRequestKind;

use crate::chip::{Chip, Post, VIRTUAL, rank, small};
use crate::lines::Timing;

/// A chip of `cores` with a process on each, and the rank whose messages are matched by the MOPED of a core.
fn chip(parameters: &MopedParameters, pages: usize, timing: Timing) -> Chip {
    let mut chip = Chip::new(parameters, timing, 1);
    for core in 0..parameters.nodes {
        let space = chip.space(pages, 0);
        let root = chip.spaces[space].root;
        chip.moped.set_page_table(core, root);
    }
    chip
}

/// Posts a descriptor; returns it and the cycle of its completion by software.
fn post(chip: &mut Chip, core: usize, post: &Post) -> (Id, u64) {
    let id = chip.post(core, rank(core as u16), post);
    (id, chip.cycle)
}

/// The first cycle, from now on, after which a condition holds.
fn cycle_of(chip: &mut Chip, holds: impl Fn(&Moped) -> bool) -> u64 {
    assert!(!holds(&chip.moped), "it holds already");
    chip.settle_until(|chip| holds(&chip.moped));
    chip.cycle
}

#[test]
fn a_port_access_takes_the_cycles_of_the_port() {
    for port_cycles in [1, 2, 7] {
        let mut chip = chip(&MopedParameters { port_cycles, ..small("base", 1, 4) }, 1, Timing::fixed(9, 9, 9));
        for _ in 0..3 {
            let before = chip.cycle;
            let id = Id::of(chip.reserve(0, rank(0)));
            assert_eq!(chip.cycle - before, port_cycles);
            let before = chip.cycle;
            assert_eq!(chip.state(0, rank(0), id, Word::State), State::Reserved);
            assert_eq!(chip.cycle - before, 2 * port_cycles);
        }
    }
}

#[test]
fn a_refusal_takes_four_messages() {
    // Raise to the home, set to all, set here to the home, set everywhere to all; a message of a MOPED to itself takes
    // a cycle, as does the first message of an access.
    let distance = 11;
    for (program, messages) in [(0, 1 + distance + distance + 1), (1, 4 * distance)] {
        let mut chip = chip(&small("base", 2, 2), 1, Timing::fixed(9, 9, distance));
        let process = ProcessAddress { program, rank: 0 };
        for _ in 0..2 {
            chip.reserve(0, process);
        }
        let before = chip.cycle;
        assert_eq!(chip.reserve(0, process), mb_moped::contract::REFUSED);
        assert_eq!(chip.cycle - before, 2 + messages, "home {program}");
        let before = chip.cycle;
        assert_eq!(chip.reserve(0, process), mb_moped::contract::REFUSED);
        assert_eq!(chip.cycle - before, 1);
    }
}

#[test]
fn a_search_takes_a_cycle_for_each_entry_that_it_visits() {
    for (find_cycles, walk_cycles) in [(0, 0), (1, 1), (2, 3)] {
        for others in [0, 1, 5, 40] {
            for place in [0, others] {
                let parameters = MopedParameters { find_cycles, walk_cycles, ..small("base", 1, 64) };
                let mut chip = chip(&parameters, 1, Timing::fixed(9, 9, 9));
                for other in 0..others {
                    let tag = if other < place { 1 } else { 2 };
                    post(&mut chip, 0, &Post::receive(Some(0), Some(tag), VIRTUAL, 0));
                    if other + 1 == place {
                        post(&mut chip, 0, &Post::receive(Some(0), Some(9), VIRTUAL, 0));
                    }
                }
                if place == 0 {
                    post(&mut chip, 0, &Post::receive(Some(0), Some(9), VIRTUAL, 0));
                }
                chip.settle();
                let visited = chip.moped.counters(0).visited;
                let (_, begin) = post(&mut chip, 0, &Post::send(0, 0, 9, VIRTUAL, 0));
                let end = cycle_of(&mut chip, |moped| moped.counters(0).matched == 1);
                let expected = if place == 0 { others } else { place } + 1;
                assert_eq!(chip.moped.counters(0).visited - visited, expected, "{others} others, place {place}");
                assert_eq!(end - begin, 1 + find_cycles + expected * walk_cycles, "{others} others, place {place}");
            }
        }
    }
}

#[test]
fn forwarding_takes_a_message_each_way_and_completion_another() {
    for distance in [1, 6, 25] {
        let parameters = small("base", 4, 64);
        let (find, walk) = (parameters.find_cycles, parameters.walk_cycles);
        // The receive waits at its own MOPED, which matches it: the send comes by a message, empty messages take no
        // line, and the sender hears of the end by a message.
        let mut chip = chip(&parameters, 1, Timing::fixed(9, 9, distance));
        let (receive, _) = post(&mut chip, 1, &Post::receive(Some(0), Some(9), VIRTUAL, 0));
        chip.step_by(100);
        let (send, begin) = post(&mut chip, 0, &Post::send(1, 0, 9, VIRTUAL, 0));
        let matched = cycle_of(&mut chip, |moped| moped.counters(1).matched == 1);
        assert_eq!(matched - begin, 1 + distance + find + walk);
        let complete = cycle_of(&mut chip, |moped| moped.counters(1).completed == 1);
        assert_eq!(complete - matched, find);
        let sender = cycle_of(&mut chip, |moped| moped.state(send) == Some(State::Complete));
        assert_eq!(sender - complete, distance);
        assert_eq!(chip.state(1, rank(1), receive, Word::State), State::Complete);

        // Rank 3 runs on core 1 and is matched by MOPED 3: the pair goes to MOPED 1 by another message.
        let mut chip = self::chip(&parameters, 1, Timing::fixed(9, 9, distance));
        chip.post(1, rank(3), &Post::receive(Some(0), Some(9), VIRTUAL, 0));
        chip.step_by(100);
        let (send, begin) = post(&mut chip, 0, &Post::send(3, 0, 9, VIRTUAL, 0));
        let matched = cycle_of(&mut chip, |moped| moped.counters(3).matched == 1);
        assert_eq!(matched - begin, 1 + distance + find + walk);
        let complete = cycle_of(&mut chip, |moped| moped.counters(1).completed == 1);
        assert_eq!(complete - matched, distance + find);
        let sender = cycle_of(&mut chip, |moped| moped.state(send) == Some(State::Complete));
        assert_eq!(sender - complete, distance);
    }
}

/// Cycles from the beginning of a copy, with its translations made, to its end.
fn copy_cycles(parameters: &MopedParameters, timing: Timing, offsets: (u64, u64), length: u32) -> u64 {
    let mut chip = chip(parameters, 20, timing);
    // Another copy is active until all walks are done.
    for (tag, from, to, length) in [(1, 12 * 4096, 16 * 4096, 4 * 4096), (9, 6 * 4096 + offsets.0, offsets.1, length)] {
        post(&mut chip, 0, &Post::receive(Some(0), Some(tag), VIRTUAL + to, length));
        post(&mut chip, 0, &Post::send(0, 0, tag, VIRTUAL + from, length));
    }
    cycle_of(&mut chip, |moped| moped.counters(0).completed == 1);
    let before = chip.lines.requests.len();
    let end = cycle_of(&mut chip, |moped| moped.counters(0).completed == 2);
    end - chip.lines.requests[before].0
}

fn alone(lines: usize) -> MopedParameters {
    MopedParameters { lines, ..small("base", 1, 64) }
}

#[test]
fn aligned_lines_are_copied_in_rounds_of_the_ring() {
    // Receive line i is written back `access` after its right was requested, and its slot is free `write` later. A line
    // is requested in a cycle, so the lines of a round are a cycle apart.
    for lines in [2, 4, 8] {
        for (access, write) in [(20, 10), (35, 12), (90, 40)] {
            for count in [1_u64, 2, 3, 4, 5, 8, 9, 13, 33] {
                let found = copy_cycles(&alone(lines), Timing::fixed(access, write, 5), (0, 0), count as u32 * 64);
                let (rounds, rest) = ((count - 1) / lines as u64, (count - 1) % lines as u64);
                let expected = (rounds + 1) * (access + write) + rest;
                assert_eq!(found, expected, "{lines} lines, {access} and {write} cycles, {count} lines to copy");
            }
        }
    }
}

#[test]
fn an_unaligned_copy_waits_for_a_send_line_once_in_each_round() {
    for (access, write) in [(35, 12), (60, 30)] {
        for count in [1_u64, 2, 3, 4, 5, 7, 8, 9, 12] {
            let timing = Timing::fixed(access, write, 5);
            let (round, place) = ((count - 1) / 4, (count - 1) % 4);
            // Receive line i needs send lines i - 1 and i. The last send line of a round is free when the first
            // receive line of the next round is there, and its slot holds the last send line of that round. From the
            // third round on a write-back, a right and this copy are due in one cycle, which starts two of them.
            let found = copy_cycles(&alone(4), timing, (0, 40), count as u32 * 64 - 40);
            let full = if place == 3 && round > 0 {
                (round + 2) * access + round * write + u64::from(round > 1)
            } else {
                (round + 1) * access + round * write + place
            };
            assert_eq!(found, full + write, "{count} lines to the right");
            // Receive line i needs send lines i and i + 1: the last one needs a send line of the next round. In the
            // second round that slot is free a cycle later, and in the third three operations are due as above.
            let found = copy_cycles(&alone(4), timing, (24, 0), count as u32 * 64);
            let full = if place == 3 {
                (round + 2) * access + round * write + round.min(2)
            } else {
                (round + 1) * access + round * write + 1 + place
            };
            assert_eq!(found, full + write, "{count} lines to the left");
        }
    }
}

/// The end of a copy whose operations and shifts are limited by nothing but the lines of the unit.
///
/// Receive line j is requested when the line before it in its slot is written back, and full when the send lines of
/// its bytes are there; send line k is requested when the line before it in its slot is merged.
fn recurrence(lines: usize, access: u64, write: u64, (from, into): (u64, u64), length: u64) -> u64 {
    let (sends, receives) = ((from + length).div_ceil(64) as usize, (into + length).div_ceil(64) as usize);
    // Send lines of the bytes of receive line j.
    let sources = |j: usize| {
        let first = (j as u64 * 64).saturating_sub(into);
        let last = (j as u64 * 64 + 63 - into).min(length - 1);
        ((first + from) / 64) as usize..=((last + from) / 64) as usize
    };
    let (mut sent, mut owned) = (vec![u64::MAX; sends], vec![u64::MAX; receives]);
    let (mut merged, mut full) = (vec![u64::MAX; sends], vec![u64::MAX; receives]);
    for _ in 0..sends + receives {
        for j in 0..receives {
            let request = if j < lines { 0 } else { full[j - lines].saturating_add(write) };
            owned[j] = request.saturating_add(access);
            full[j] = sources(j).map(|k| sent[k]).max().unwrap_or(0).max(owned[j]);
        }
        for k in 0..sends {
            let request = if k < lines { 0 } else { merged[k - lines] };
            sent[k] = request.saturating_add(access);
            let targets = (0..receives).filter(|j| sources(*j).contains(&k)).map(|j| owned[j]);
            merged[k] = targets.max().unwrap_or(0).max(sent[k]);
        }
    }
    full[receives - 1] + write
}

#[test]
fn every_alignment_waits_for_nothing_but_its_lines() {
    let mut random = mb_core::random::Random::of(5, &[]);
    for _ in 0..300 {
        let lines = random.pick(&[2, 3, 4, 8]);
        let (access, write) = (random.within(2, 60), random.within(2, 60));
        let (offsets, length) = ((random.below(64), random.below(64)), random.within(1, 2500));
        let parameters = MopedParameters { operations: 16, merge_halves: 32, ..alone(lines) };
        let found = copy_cycles(&parameters, Timing::fixed(access, write, 5).unlimited(), offsets, length as u32);
        let expected = recurrence(lines, access, write, offsets, length);
        assert_eq!(found, expected, "{lines} lines, {access} and {write} cycles, {offsets:?}, {length} bytes");
    }
}

#[test]
fn two_operations_a_cycle_bound_a_copy() {
    // A line takes a copy, a right and a write-back. With enough lines nothing else limits it.
    for count in [16_u64, 33, 64] {
        let found = copy_cycles(&alone(16), Timing::fixed(1, 1, 5), (0, 0), count as u32 * 64);
        let least = (3 * count).div_ceil(2);
        assert!((least..=least + 3).contains(&found), "{found} cycles, at least {least}");
        let one = MopedParameters { operations: 1, ..alone(16) };
        let found = copy_cycles(&one, Timing::fixed(1, 1, 5), (0, 0), count as u32 * 64);
        assert!((3 * count..=3 * count + 3).contains(&found), "{found} cycles, at least {}", 3 * count);
    }
}

#[test]
fn a_walk_reads_three_levels_and_the_next_page_is_translated_during_the_copy() {
    let (access, write) = (50, 12);
    for walk_lines in [1, 3] {
        let parameters = MopedParameters { walk_lines, ..alone(4) };
        let mut chip = chip(&parameters, 12, Timing::fixed(access, write, 5));
        // Two pages are translated as soon as the receive is valid: without staging in 3 reads each.
        let (_, begin) = post(&mut chip, 0, &Post::receive(Some(0), Some(9), VIRTUAL, 8 * 4096));
        let first = cycle_of(&mut chip, |moped| moped.counters(0).walks == 1);
        assert_eq!(first - begin, 1 + 3 * access);
        let second = cycle_of(&mut chip, |moped| moped.counters(0).walks == 2);
        // With the three lines staged a level takes a cycle.
        assert_eq!(second - first, if walk_lines == 1 { 1 + 3 * access } else { 3 });
        chip.step_by(1000);
        assert_eq!(chip.moped.counters(0).walks, 2);
    }
    // The copy of eight pages waits for no translation after the first: it takes as long as its lines.
    let found = copy_cycles(&alone(4), Timing::fixed(access, write, 5), (0, 0), 4 * 4096);
    let expected = (4 * 64 / 4) * (access + write) + 3;
    assert_eq!(found, expected);
}

#[test]
fn early_translations_are_made_before_the_match() {
    let access = 50;
    for (walk_start, copied, owned) in [
        // The walk of the receive is done, and that of the send begins with the match.
        (WalkStart::Valid, 3 * access, 1),
        // Both begin when the match is selected, the send's first, with a cycle between walks.
        (WalkStart::Active, 1 + 3 * access, 2 + 6 * access),
    ] {
        let mut chip = chip(&MopedParameters { walk_start, ..alone(4) }, 12, Timing::fixed(access, 12, 5));
        post(&mut chip, 0, &Post::receive(Some(0), Some(9), VIRTUAL, 64));
        chip.step_by(1000);
        post(&mut chip, 0, &Post::send(0, 0, 9, VIRTUAL + 4096, 64));
        let matched = cycle_of(&mut chip, |moped| moped.counters(0).matched == 1);
        chip.step_by(1000);
        let first = |wanted| {
            let found = chip.lines.requests.iter().find(|(_, _, request)| request.kind == wanted);
            found.expect("a request").0 - matched
        };
        assert_eq!((first(LineRequestKind::Copy), first(LineRequestKind::Own)), (copied, owned), "{walk_start:?}");
    }
}

#[test]
fn skipped_cycles_change_no_time() {
    let run = |skips| {
        let mut chip = chip(&small("optcache", 4, 64), 4, Timing::fixed(35, 12, 7));
        chip.skips = skips;
        let mut times = Vec::new();
        for round in 0..6_u64 {
            let (from, to) = ((round % 4) as usize, (round * 3 % 4) as usize);
            let length = (round * 700) as u32;
            let receive = Post::receive(None, None, VIRTUAL + 8192 + round, length);
            let (id, _) = post(&mut chip, to, &receive);
            post(&mut chip, from, &Post::send(to as u16, from as u16, 1, VIRTUAL + round * 9, length));
            cycle_of(&mut chip, |moped| (0..4).map(|node| moped.counters(node).completed).sum::<u64>() == round + 1);
            times.push(chip.cycle);
            // Without skipping, polls at equal times: from the end of the copy on.
            assert_eq!(chip.finish(to, rank(to as u16), id), State::Complete);
            chip.skips = false;
            chip.step_by(100 - chip.cycle % 100);
            chip.skips = skips;
        }
        times
    };
    assert_eq!(run(true), run(false));
}
