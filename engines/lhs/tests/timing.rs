// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of `lhs` are its formulas, to the picosecond.

use mb_core::{
    Accepted, Clock, Cycles, Engine, Envelope, Initiator, MsgId, Op, Outcome, Pattern, Picos, ProbeId, RecvId,
    ReplayEngine, Shortcuts,
};
use mb_kit::Server;
use mb_lhs::{Attribute, Lhs, LhsParameters, Occupancy};
use mb_testkit::drive::{Fetch, Visits, judge};
use mb_testkit::{cases, checked, streams};

/// The loop over an envelope: 100 cycles at 2.5 GHz.
const LOOP: u64 = 40_000;
const LATENCY: u64 = 150_000;
const LARGE: u64 = 600_000;
/// A line of 64 bytes at 3200 MB/s.
const LINE: u64 = 20_000;
const POSTED: u64 = 12_000;
const OPERATION: u64 = 4000;
const JOIN: u64 = 250_000;

/// 1024 slots of 16 bytes, without prefetching.
const BASE: LhsParameters = LhsParameters {
    clock: Clock::from_mhz(100),
    slots: 1024,
    entry: 16,
    pointer: 0,
    size_location: 8,
    message: 64,
    groups: 1,
    cores: 1,
    join: Picos(JOIN),
    host_clock: Clock::from_mhz(2500),
    r#loop: Cycles(100),
    posted: Cycles(30),
    operation: Cycles(10),
    attribute: Attribute::WriteBack,
    latency: Picos(LATENCY),
    large: Picos(LARGE),
    bandwidth: 3200,
    word: 4,
    line: 64,
    sector: 64,
    hwp: false,
    hwp_misses: 2,
    hwp_ahead: 128,
    hwp_page: 4096,
    swp: false,
    swp_offset: 0,
    swp_cycles: Cycles(5),
};

fn engine(parameters: &LhsParameters) -> Server<Lhs> {
    Server::new(Lhs::new(checked(parameters)).unwrap())
}

fn envelope(number: u64) -> Envelope {
    Envelope { bits: number, initiator: Initiator(number as u32 % 64) }
}

fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

fn from_anyone(number: u64) -> Pattern {
    Pattern { initiator: None, ..Pattern::exactly(envelope(number)) }
}

fn probe(pattern: Pattern) -> Op {
    Op::Probe { probe: ProbeId(0), pattern }
}

/// A time at which all that was offered before is done, on a clock edge.
const LATER: Picos = Picos(1_000_000_000_000);

fn fill(engine: &mut Server<Lhs>, ops: impl IntoIterator<Item = Op>) {
    for op in ops {
        assert_eq!(engine.offer(Picos::ZERO, op), Accepted::Yes);
    }
    engine.settle(&mut Vec::new());
}

/// Offers `op` at `now`: how long until its answer, and its visits. The engine says the time before, and nothing comes
/// out a picosecond early.
fn served(engine: &mut Server<Lhs>, now: Picos, op: Op) -> (u64, u32) {
    assert_eq!(engine.offer(now, op), Accepted::Yes);
    let mut done = Vec::new();
    let event = engine.next_event().unwrap();
    engine.run_until(Picos(event.0 - 1), &mut done);
    assert_eq!(done, [], "too early");
    engine.run_until(event, &mut done);
    assert_eq!((done.len(), done[0].at), (1, event));
    ((event - now).0, done[0].visits)
}

/// The time of a search that finds the message at `depth` among 2000, in an engine with `parameters`,
/// without the fixed time.
fn search(parameters: &LhsParameters, depth: u64) -> u64 {
    let mut engine = engine(parameters);
    fill(&mut engine, (1..=2000).map(arrive));
    let (time, visits) = served(&mut engine, LATER, probe(Pattern::exactly(envelope(depth))));
    assert_eq!(u64::from(visits), depth);
    time - OPERATION
}

const DEPTHS: [u64; 12] = [1, 2, 3, 4, 5, 8, 9, 64, 100, 257, 1000, 1024];

#[test]
fn past_the_caches_every_envelope_costs_its_words() {
    for depth in DEPTHS {
        assert_eq!(
            search(&LhsParameters { attribute: Attribute::Uncacheable, ..BASE }, depth),
            depth * (4 * LATENCY + LOOP)
        );
        assert_eq!(
            search(&LhsParameters { attribute: Attribute::Uncacheable, word: 8, ..BASE }, depth),
            depth * (2 * LATENCY + LOOP)
        );
    }
}

#[test]
fn in_the_cache_every_envelope_costs_the_loop() {
    for depth in DEPTHS {
        assert_eq!(search(&LhsParameters { attribute: Attribute::Cached, ..BASE }, depth), depth * LOOP);
    }
}

#[test]
fn a_new_line_costs_the_latency_and_the_others_in_it_nothing() {
    for depth in DEPTHS {
        for (entry, per_line) in [(16, 4), (32, 2), (64, 1), (128, 1)] {
            let pointer = if entry == 16 { 0 } else { 8 };
            let time = search(&LhsParameters { entry, pointer, ..BASE }, depth);
            assert_eq!(time, depth * LOOP + depth.div_ceil(per_line) * LATENCY, "{depth} of {entry} bytes");
        }
    }
}

#[test]
fn a_sector_brings_the_line_beside_it_one_transfer_later() {
    for depth in DEPTHS {
        // Four envelopes take longer than the transfer of a line, one does not if the loop is short.
        let time = search(&LhsParameters { sector: 128, ..BASE }, depth);
        assert_eq!(time, depth * LOOP + depth.div_ceil(8) * LATENCY);
        let short = LhsParameters { sector: 128, entry: 64, pointer: 8, r#loop: Cycles(25), ..BASE };
        let (sectors, seconds) = (depth.div_ceil(2), depth / 2);
        assert_eq!(search(&short, depth), depth * 10_000 + sectors * LATENCY + seconds * (LINE - 10_000));
    }
}

#[test]
fn the_prefetcher_leaves_two_misses_in_each_page() {
    for depth in DEPTHS {
        // 256 envelopes of 16 bytes in a page, 4 in a line; the loop over a line hides the latency of the next but one.
        let lines = depth.div_ceil(4);
        let misses = 2 * (lines / 64) + (lines % 64).min(2);
        assert_eq!(search(&LhsParameters { hwp: true, ..BASE }, depth), depth * LOOP + misses * LATENCY);
        let later = 5 * (lines / 64) + (lines % 64).min(5);
        assert_eq!(search(&LhsParameters { hwp: true, hwp_misses: 5, ..BASE }, depth), depth * LOOP + later * LATENCY);
        let whole = search(&LhsParameters { hwp: true, hwp_page: 65_536, ..BASE }, depth);
        assert_eq!(whole, depth * LOOP + lines.min(2) * LATENCY);
    }
}

#[test]
fn the_prefetcher_starts_anew_in_the_buffer_of_each_group() {
    // 40 messages in each of four buffers: ten lines, the first two of which miss.
    let mut engine = engine(&LhsParameters { groups: 4, hwp: true, ..BASE });
    fill(&mut engine, (1..=160).map(arrive));
    let (time, visits) = served(&mut engine, LATER, probe(from_anyone(0)));
    assert_eq!((time, visits), (OPERATION + 160 * LOOP + 4 * 2 * LATENCY, 160));
}

#[test]
fn a_bus_that_is_too_slow_sets_the_pace_of_a_prefetched_walk() {
    // One line for each envelope: 64 bytes at 1000 MB/s take 64 ns, longer than the loop. The
    // second miss is followed on the bus by all that is prefetched, so line n is there n - 2
    // transfers after the second.
    let slow = LhsParameters { hwp: true, entry: 64, pointer: 8, bandwidth: 1000, hwp_page: 65_536, ..BASE };
    for depth in [3, 4, 5, 10, 100, 1000] {
        let second = LATENCY + LOOP + LATENCY;
        assert_eq!(search(&slow, depth), second + (depth - 2) * 64_000 + LOOP, "{depth}");
    }
}

#[test]
fn software_prefetches_cost_their_instruction_and_hide_what_they_are_ahead() {
    const SWP: u64 = 2000;
    for depth in DEPTHS {
        let lines = depth.div_ceil(4);
        // At the envelope itself: nothing is gained.
        let late = search(&LhsParameters { swp: true, ..BASE }, depth);
        assert_eq!(late, depth * (LOOP + SWP) + lines * LATENCY);
        // 256 bytes ahead: the first four lines miss, and each waits behind the prefetch of the
        // instruction before; all others are there.
        let ahead = search(&LhsParameters { swp: true, swp_offset: 256, ..BASE }, depth);
        assert_eq!(ahead, depth * (LOOP + SWP) + lines.min(4) * (LINE + LATENCY));
        // One line ahead, and the loop over a line is shorter than the latency: each line was asked
        // for when the one before it was begun, so what that one was waited for counts.
        let short = search(&LhsParameters { swp: true, swp_offset: 64, r#loop: Cycles(10), ..BASE }, depth);
        let waits = std::iter::successors(Some(LINE + LATENCY), |before| {
            Some(LATENCY.saturating_sub(4 * (4000 + SWP) + before))
        });
        assert_eq!(short, depth * (4000 + SWP) + waits.take(lines as usize).sum::<u64>(), "{depth}");
        // With the prefetcher on, they add their instruction alone.
        let both = search(&LhsParameters { swp: true, hwp: true, ..BASE }, depth);
        assert_eq!(both, search(&LhsParameters { hwp: true, ..BASE }, depth) + depth * SWP);
    }
}

#[test]
fn beyond_the_slots_every_envelope_is_read_in_the_large_memory() {
    for (slots, depth) in [(1024, 1025), (1024, 2000), (256, 300), (0, 1), (0, 1000)] {
        let heads = depth.min(slots);
        let time = search(&LhsParameters { slots: slots as usize, ..BASE }, depth);
        assert_eq!(time, depth * LOOP + heads.div_ceil(4) * LATENCY + (depth - heads) * LARGE, "{slots} slots");
    }
}

#[test]
fn the_walk_turns_from_one_memory_to_the_other_by_age() {
    let mut engine = engine(&LhsParameters { slots: 8, attribute: Attribute::Cached, ..BASE });
    fill(&mut engine, (1..=10).map(arrive).chain([post(1), post(2), arrive(11), arrive(12)]));
    // 3 to 8 and 11, 12 in slots, 9 and 10 in the large memory.
    assert_eq!(engine.service().occupancy(), Occupancy { heads: 8, stale: 0, large: 2 });
    for (number, visits, large) in [(8, 6, 0), (9, 7, 1), (10, 8, 2), (11, 9, 2), (12, 10, 2)] {
        let expected = (OPERATION + visits * LOOP + large * LARGE, visits as u32);
        assert_eq!(served(&mut engine, Picos(LATER.0 * number), probe(Pattern::exactly(envelope(number)))), expected);
    }
}

#[test]
fn dead_entries_are_read_until_an_end_of_the_ring_reaches_them() {
    let mut engine = engine(&BASE);
    fill(&mut engine, (1..=100).map(arrive).chain((20..30).map(post)));
    assert_eq!(engine.service().occupancy(), Occupancy { heads: 90, stale: 10, large: 0 });
    let last =
        |engine: &mut Server<Lhs>, at: u64| served(engine, Picos(LATER.0 * at), probe(Pattern::exactly(envelope(100))));
    assert_eq!(last(&mut engine, 1), (OPERATION + 100 * LOOP + 25 * LATENCY, 100));
    // Slots 29 to 99 are left, in lines 7 to 24.
    fill(&mut engine, []);
    for (at, number) in (2..).zip(1..20) {
        assert_eq!(served(&mut engine, Picos(LATER.0 * at), post(number)).1, 1);
    }
    assert_eq!(engine.service().occupancy(), Occupancy { heads: 71, stale: 0, large: 0 });
    assert_eq!(last(&mut engine, 30), (OPERATION + 71 * LOOP + 18 * LATENCY, 71));
    for (at, number) in [(31, 99), (32, 100)] {
        served(&mut engine, Picos(LATER.0 * at), post(number));
    }
    assert_eq!(engine.service().occupancy(), Occupancy { heads: 69, stale: 0, large: 0 });
}

#[test]
fn an_arrival_is_divided_read_and_compared_with_the_posted_receives() {
    // Two words of head, or eight of the whole message, and the cycle that makes the entry valid.
    for (parameters, divided, read) in [
        (&BASE, 3, LATENCY),
        (&LhsParameters { attribute: Attribute::Cached, ..BASE }, 3, LATENCY),
        (&LhsParameters { attribute: Attribute::Uncacheable, ..BASE }, 3, 4 * LATENCY),
        (&LhsParameters { entry: 32, pointer: 8, ..BASE }, 5, LATENCY),
        (&LhsParameters { entry: 64, pointer: 8, ..BASE }, 9, LATENCY),
        (&LhsParameters { entry: 64, message: 20, ..BASE }, 4, LATENCY),
        (&LhsParameters { slots: 0, ..BASE }, 9, LARGE),
    ] {
        let mut engine = engine(parameters);
        fill(&mut engine, (1..=9).map(post));
        let time = divided * 10_000 + read + OPERATION;
        assert_eq!(served(&mut engine, LATER, arrive(5)), (time + 5 * POSTED, 5), "{parameters:?}");
        assert_eq!(served(&mut engine, LATER + LATER, arrive(10)), (time + 8 * POSTED, 8), "{parameters:?}");
        let cancel = Op::Cancel { recv: RecvId(7) };
        assert_eq!(served(&mut engine, Picos(3 * LATER.0), cancel), (OPERATION + 6 * POSTED, 6));
    }
}

#[test]
fn the_controller_takes_one_message_after_the_other_while_the_host_works() {
    let mut engine = engine(&LhsParameters { latency: Picos::ZERO, operation: Cycles(0), ..BASE });
    let at = LATER + Picos(1);
    for number in 1..=3 {
        assert_eq!(engine.offer(at, arrive(number)), Accepted::Yes);
    }
    let mut done = Vec::new();
    engine.settle(&mut done);
    // From the next edge on nine cycles each, of which the head takes three.
    let times: Vec<_> = done.iter().map(|completion| (completion.at - LATER).0).collect();
    assert_eq!(times, [40_000, 130_000, 220_000]);
}

#[test]
fn a_group_holds_and_walks_its_senders_alone() {
    // 1000 messages from 64 senders in 16 groups of 64 slots.
    let mut engine = engine(&LhsParameters { groups: 16, attribute: Attribute::Cached, ..BASE });
    fill(&mut engine, (1..=1000).map(arrive));
    for number in [1, 16, 17, 500, 1000_u64] {
        let visits = number.div_ceil(16);
        let answer = served(&mut engine, Picos(LATER.0 * number), probe(Pattern::exactly(envelope(number))));
        assert_eq!(answer, (OPERATION + visits * LOOP, visits as u32));
    }
}

#[test]
fn an_open_sender_asks_every_group_for_messages_older_than_the_best() {
    let mut engine = engine(&LhsParameters { groups: 4, attribute: Attribute::Cached, ..BASE });
    fill(&mut engine, (1..=800).map(arrive));
    // Group 0 has it, so the others are left at the first younger message; group 3 has it, so the
    // others are walked whole.
    for (number, visits) in [(400, 400), (403, 600 + 101)] {
        let answer = served(&mut engine, Picos(LATER.0 * number), probe(from_anyone(number)));
        assert_eq!(answer, (OPERATION + visits * LOOP, visits as u32));
    }
}

#[test]
fn cores_search_side_by_side_and_join() {
    for (cores, rounds) in [(2, 2), (3, 2), (4, 1), (9, 1)] {
        let mut engine = engine(&LhsParameters { groups: 4, cores, attribute: Attribute::Cached, ..BASE });
        fill(&mut engine, (1..=800).map(arrive));
        let (time, visits) = served(&mut engine, LATER, probe(from_anyone(0)));
        assert_eq!((time, visits), (OPERATION + rounds * 200 * LOOP + JOIN, 800), "{cores} cores");
        // A named sender is in one group, which the asking core walks itself.
        let (time, _) = served(&mut engine, LATER + LATER, probe(Pattern::exactly(envelope(800))));
        assert_eq!(time, OPERATION + 200 * LOOP);
    }
}

#[test]
fn cores_share_the_bus() {
    // One line for each message. Two cores ask at once, and the second waits for a transfer; after that they alternate.
    for (groups, count) in [(2, 100), (4, 200)] {
        let layout = LhsParameters { groups, cores: groups, entry: 64, pointer: 8, ..BASE };
        let mut engine = engine(&layout);
        fill(&mut engine, (1..=count).map(arrive));
        let (time, _) = served(&mut engine, LATER, probe(from_anyone(0)));
        let behind = groups as u64 - 1;
        assert_eq!(time, OPERATION + behind * LINE + 50 * (LATENCY + LOOP) + JOIN);
    }
    // A bus that takes longer for the lines of all cores than one core for its own sets the pace.
    let layout = LhsParameters { groups: 4, cores: 4, entry: 64, pointer: 8, bandwidth: 1000, ..BASE };
    let mut engine = engine(&layout);
    fill(&mut engine, (1..=200).map(arrive));
    let (time, _) = served(&mut engine, LATER, probe(from_anyone(0)));
    assert_eq!(time, OPERATION + 199 * 64_000 + LATENCY + LOOP + JOIN);
}

#[test]
fn the_oldest_of_the_groups_matches_wins_whichever_core_finds_it_first() {
    for cores in [1, 2, 8] {
        let mut engine = engine(&LhsParameters { groups: 8, cores, ..BASE });
        // Sender 5 first, behind many others of its group; then sender 0, alone in the group that is searched first.
        let from = |sender, bits, msg| Op::Arrive {
            msg: MsgId(msg),
            envelope: Envelope { bits, initiator: Initiator(sender) },
        };
        fill(&mut engine, (1..=50).map(|msg| from(5, 0, msg)).chain([from(5, 9, 51), from(0, 9, 52)]));
        assert_eq!(
            engine.offer(LATER, Op::Post { recv: RecvId(1), pattern: Pattern { bits: 9, ignore: 0, initiator: None } }),
            Accepted::Yes
        );
        let mut done = Vec::new();
        engine.settle(&mut done);
        assert_eq!(done[0].outcome, Outcome::Matched(RecvId(1), MsgId(51)), "{cores} cores");
    }
}

/// Heads of a line are walked at once; with a prefetch instruction in the loop, head by head. One
/// that costs nothing and points beyond the buffer must not be seen.
#[test]
fn a_line_walked_at_once_is_the_line_walked_head_by_head() {
    for parameters in [
        &LhsParameters { slots: 6, hwp: true, ..BASE },
        &LhsParameters { slots: 32, sector: 128, r#loop: Cycles(1), ..BASE },
        &LhsParameters { slots: 33, groups: 3, cores: 2, r#loop: Cycles(10), ..BASE },
        &LhsParameters { slots: 64, groups: 4, cores: 3, hwp: true, bandwidth: 1000, r#loop: Cycles(1), ..BASE },
        &LhsParameters { slots: 16, entry: 32, pointer: 8, ..BASE },
        &LhsParameters { slots: 16, attribute: Attribute::Cached, ..BASE },
    ] {
        let one_by_one = LhsParameters { swp: true, swp_offset: 65_536, swp_cycles: Cycles(0), ..parameters.clone() };
        let judged = streams::check(300, |offers| {
            let answers = [parameters, &one_by_one]
                .map(|parameters| judge(&mut engine(parameters), offers, Fetch::RunUntil, Visits::Own));
            let [at_once, one_by_one] = answers;
            if at_once? == one_by_one? { Ok(()) } else { Err("other times or visits".to_owned()) }
        });
        assert_eq!(judged, Ok(()), "{parameters:?}");
    }
}

#[test]
fn outcomes_are_the_oracles_whatever_the_memories_hold() {
    for parameters in [
        &LhsParameters { slots: 4, hwp: true, ..BASE },
        &LhsParameters { slots: 0, groups: 3, ..BASE },
        &LhsParameters { slots: 6, groups: 3, cores: 2, swp: true, swp_offset: 64, ..BASE },
        &LhsParameters { slots: 16, groups: 4, cores: 4, attribute: Attribute::Uncacheable, ..BASE },
        &LhsParameters { slots: 16, groups: 2, entry: 128, pointer: 8, sector: 256, hwp: true, ..BASE },
    ] {
        let make = || Box::new(engine(parameters)) as Box<dyn ReplayEngine>;
        assert_eq!(cases::run(&cases::corpus().unwrap(), &make, Visits::Own), Ok(()), "{parameters:?}");
        assert_eq!(streams::outcomes_are_the_oracles(&make, Visits::Own), Ok(()), "{parameters:?}");
    }
}

#[test]
fn sizes_that_do_not_go_together_are_refused() {
    let refused = |parameters| Lhs::new(checked(parameters)).unwrap_err().to_string();
    for (parameters, expected) in [
        (&LhsParameters { slots: 10, groups: 4, ..BASE }, "10 slots cannot be shared evenly by 4 groups"),
        (
            &LhsParameters { size_location: 6, ..BASE },
            "`size_location` is 6, but four bytes of length begin at a multiple of four",
        ),
        (
            &LhsParameters { pointer: 8, ..BASE },
            "`entry` is 16 and `pointer` 8, but an entry is a power of two of bytes that holds an envelope of 16 and a pointer \
             of whole words",
        ),
        (
            &LhsParameters { sector: 32, ..BASE },
            "a line of 64 bytes, a sector of 32 and a page of 4096; expected powers of two, each at least \
             as large as the one before",
        ),
        (&LhsParameters { word: 3, ..BASE }, "an envelope of 16 bytes is not a whole number of words of 3"),
    ] {
        assert_eq!(refused(parameters), format!("invalid parameters: {expected}"));
    }
}
