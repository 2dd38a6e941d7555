// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of `cam_list` are its formulas, to the cycle and from both sides.

use mb_cam_list::{Arbiter, CamList, CamListParameters, ListSearch};
use mb_core::engine::Accepted;
use mb_core::{Clock, Cycles, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, RecvId, Shortcuts};
use mb_kit::Server;
use mb_testkit::checked;
use mb_testkit::drive::{Fetch, Offer, Visits, judge, judge_one_by_one};

use super::BASE;

fn engine(parameters: &CamListParameters) -> Server<CamList> {
    Server::new(CamList::new(checked(parameters)).unwrap())
}

fn envelope(bits: u64) -> Envelope {
    Envelope { bits, initiator: Initiator(1) }
}

fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

/// Has `before` answered, then offers `op`: it must be answered after so many cycles of 234 MHz,
/// and not a picosecond earlier.
#[track_caller]
fn assert_takes(engine: &mut Server<CamList>, before: impl Iterator<Item = Op>, op: Op, cycles: u64) {
    let mut done = Vec::new();
    for op in before {
        engine.offer(Picos::ZERO, op);
    }
    engine.settle(&mut done);
    done.clear();
    let clock = Clock::from_mhz(234);
    let start = Cycles(1_000_000_000);
    assert_eq!(engine.offer(clock.span(start), op), Accepted::Yes);
    let due = clock.span(start + Cycles(cycles));
    engine.run_until(due - Picos(1), &mut done);
    assert_eq!(done, [], "too early");
    engine.run_until(due, &mut done);
    assert_eq!(done.len(), 1, "too late");
    assert_eq!(done[0].at, due);
}

/// Offers `ops` long after everything before.
fn fill(engine: &mut Server<CamList>, ops: impl Iterator<Item = Op>) {
    let mut done = Vec::new();
    let now = engine.busy() + Picos::from_ns(1_000_000_000);
    for op in ops {
        engine.offer(now, op);
        engine.settle(&mut done);
    }
}

/// Dispatch and the search of the CAM.
const CAM: u64 = 1 + 1;

#[test]
fn a_match_in_the_cam_takes_a_cycle_at_any_depth() {
    for depth in [1, 2, 255, 256] {
        assert_takes(&mut engine(&BASE), (1..=depth).map(post), arrive(depth), CAM);
        assert_takes(&mut engine(&BASE), (1..=depth).map(arrive), post(depth), CAM);
        // A hit in a full CAM, whatever is behind it.
        assert_takes(&mut engine(&BASE), (1..=4000).map(post), arrive(depth), CAM);
    }
}

#[test]
fn an_insertion_follows_the_search_that_found_nothing() {
    assert_takes(&mut engine(&BASE), (1..=9).map(post), arrive(99), CAM + 1);
    assert_takes(
        &mut engine(&CamListParameters { cam_insert: Cycles(16), ..BASE }),
        (1..=9).map(post),
        post(99),
        CAM + 16,
    );
    assert_takes(
        &mut engine(&CamListParameters { list_insert: Cycles(4), ..BASE }),
        (1..=256).map(arrive),
        arrive(999),
        CAM + 4,
    );
    assert_takes(&mut engine(&BASE), (1..=260).map(post), arrive(999), CAM + 3 + 1);
}

#[test]
fn a_match_in_the_lists_takes_three_cycles_for_each_row_of_elements() {
    for lists in [1, 4, 64] {
        for depth in [257, 258, 260, 261, 500, 1000, 10_000, 33_024_u64] {
            let rows = (depth - 256).div_ceil(lists as u64);
            let parameters = CamListParameters { lists, ..BASE };
            assert_takes(&mut engine(&parameters), (1..=depth).map(post), arrive(depth), CAM + 3 * rows);
            // Entries behind the match cost nothing.
            assert_takes(&mut engine(&parameters), (1..=33_024).map(arrive), post(depth), CAM + 3 * rows);
        }
    }
}

#[test]
fn lists_walked_from_the_begin_hide_the_cam() {
    let parameters = CamListParameters { search: ListSearch::WithCam, ..BASE };
    assert_takes(&mut engine(&parameters), (1..=256).map(post), arrive(256), CAM);
    assert_takes(&mut engine(&parameters), (1..=1000).map(post), arrive(1000), 1 + 3 * 186);
}

#[test]
fn probes_search_and_cancels_search_without_an_insertion() {
    let pattern = Pattern::exactly(envelope(1000));
    let probe = Op::Probe { probe: ProbeId(1), pattern };
    assert_takes(&mut engine(&BASE), (1..=2000).map(arrive), probe, CAM + 3 * 186);
    let probe = Op::MatchedProbe { probe: ProbeId(1), pattern };
    assert_takes(&mut engine(&BASE), (1..=2000).map(arrive), probe, CAM + 3 * 186);
    assert_takes(&mut engine(&BASE), (1..=900).map(arrive), probe, CAM + 3 * 161);
    assert_takes(&mut engine(&BASE), (1..=2000).map(post), Op::Cancel { recv: RecvId(1000) }, CAM + 3 * 186);
    assert_takes(&mut engine(&BASE), (1..=2000).map(post), Op::Cancel { recv: RecvId(9000) }, CAM + 3 * 436);
}

#[test]
fn masks_and_ages_cost_what_their_parameters_say() {
    let parameters = CamListParameters { ternary: Cycles(1), age_cam: Cycles(2), age_lists: Cycles(5), ..BASE };
    assert_takes(&mut engine(&parameters), (1..=256).map(post), arrive(256), CAM + 3);
    assert_takes(&mut engine(&parameters), (1..=1000).map(post), arrive(1000), CAM + 3 + 3 * 186 + 5);
}

#[test]
fn host_memory_costs_a_read_for_each_entry_behind_the_lists() {
    let parameters = CamListParameters { cam: 4, list_entries: 8, ..BASE };
    assert_takes(&mut engine(&parameters), (1..=12).map(post), arrive(12), CAM + 3 * 2);
    assert_takes(&mut engine(&parameters), (1..=20).map(post), arrive(17), CAM + 3 * 2 + 5 * 117);
}

#[test]
fn lists_that_matches_have_made_uneven_cost_the_longest() {
    // Receives 257, 261, ... are in the first list; all others leave.
    let leave = (257..=656).filter(|number| number % 4 != 1).map(arrive);
    assert_takes(&mut engine(&BASE), (1..=656).map(post).chain(leave), arrive(653), CAM + 3 * 100);
}

#[test]
fn an_insertion_waits_for_the_mover_and_a_search_does_too() {
    let transfer = 7;
    let parameters = CamListParameters { transfer: Cycles(transfer), ..BASE };
    // The arrival frees a slot of the full CAM after dispatch, search and removal; the post, which
    // has found nothing meanwhile, is put behind the lists when the mover has filled that slot.
    let mut one = engine(&parameters);
    let mut done = Vec::new();
    for op in (1..=300).map(post) {
        one.offer(Picos::ZERO, op);
    }
    one.settle(&mut done);
    let clock = Clock::from_mhz(234);
    let start = Cycles(1_000_000);
    let mut answers = Vec::new();
    for op in [arrive(7), post(999), arrive(8)] {
        one.offer(clock.span(start), op);
    }
    one.settle(&mut answers);
    let freed = CAM + 1;
    let cycles = [CAM, freed + transfer + 1, freed + transfer + 1];
    let due = cycles.map(|cycles| clock.span(start + Cycles(cycles)));
    assert_eq!(answers.iter().map(|completion| completion.at).collect::<Vec<_>>(), due);
    assert_eq!(one.service().counters().transfers, 2);
    // The post waited from the removal on, the second arrival's search from its dispatch on.
    assert_eq!(one.service().counters().waiting_for_mover, transfer + transfer - 1);
}

#[test]
fn searches_of_the_two_queues_overlap_unless_the_arbiter_is_serial() {
    // 744 entries behind each CAM, 186 rows.
    let walk = 1 + 3 * 186;
    for (arbiter, last) in [(Arbiter::Overlapped, 1 + walk + 1), (Arbiter::Serial, 1 + walk + 1 + 1 + walk)] {
        let mut one = engine(&CamListParameters { arbiter, ..BASE });
        let deep = (1..=1000).map(post).chain((2001..=3000).map(arrive));
        let mut done = Vec::new();
        for op in deep {
            one.offer(Picos::ZERO, op);
        }
        one.settle(&mut done);
        let clock = Clock::from_mhz(234);
        let start = Cycles(1_000_000_000);
        done.clear();
        for op in [post(3000), arrive(1000)] {
            one.offer(clock.span(start), op);
        }
        one.settle(&mut done);
        assert_eq!(done[0].at, clock.span(start + Cycles(1 + walk)));
        // Its result waits for the removal of the older one's.
        assert_eq!(done[1].at, clock.span(start + Cycles(last)), "{arbiter:?}");
    }
}

#[test]
fn the_papers_depth_of_1000_takes_the_time_of_its_clock() {
    for (preset, us) in [("two_level", 6.947), ("p2l4", 2.385), ("p2l64", 0.214)] {
        let (clock, parameters) = preset_parameters(preset);
        let mut engine = Server::new(CamList::new(checked(&parameters)).unwrap());
        fill(&mut engine, (1..=1000).map(post));
        let before = engine.service().counters().walking;
        fill(&mut engine, [arrive(1000)].into_iter());
        let walk = clock.span(Cycles(engine.service().counters().walking - before));
        assert!((walk.as_ns() / 1000.0 - us).abs() < 0.0005, "{preset}: {walk}");
    }
}

#[test]
fn unloading_from_the_last_on_takes_the_sum_of_the_searches() {
    for (preset, length, cycles, seconds) in [
        ("two_level", 256, 256, 0.000_000_797),
        ("two_level", 1000, 831_676, 0.002_588),
        ("two_level", 30_000, 1_327_103_176, 4.13),
        ("p2l4", 30_000, 331_809_448, 1.418),
        ("p2l64", 30_000, 20_780_176, 0.1237),
    ] {
        let (clock, parameters) = preset_parameters(preset);
        let mut unloaded = engine(&CamListParameters { lists: parameters.lists, search: ListSearch::WithCam, ..BASE });
        fill(&mut unloaded, (1..=length).map(post));
        let before = unloaded.service().counters();
        fill(&mut unloaded, (1..=length).rev().map(arrive));
        let after = unloaded.service().counters();
        assert_eq!(after.searching - before.searching, cycles, "{preset}, {length}");
        assert_eq!((after.completed, after.transfers), (length, 0));
        let span = clock.span(Cycles(cycles)).as_ns() / 1e9;
        assert!((span / seconds - 1.0).abs() < 0.001, "{preset}, {length}: {span} s");
    }
}

fn preset_parameters(name: &str) -> (Clock, CamListParameters) {
    let (lists, clock) = match name {
        "two_level" => (1, Clock::from_khz(321_300)),
        "p2l4" => (4, Clock::from_mhz(234)),
        _ => (64, Clock::from_mhz(168)),
    };
    (clock, CamListParameters { lists, clock, ..BASE })
}

#[test]
fn a_full_input_queue_refuses_until_an_operation_starts() {
    let mut one = engine(&CamListParameters { fifo: 2, ..BASE });
    for number in 1..=3 {
        // The first starts at once.
        assert_eq!(one.offer(Picos::ZERO, post(number)), Accepted::Yes);
    }
    // The second starts when the first is in place; arrivals have a queue of their own.
    let retry_at = Clock::from_mhz(234).span(Cycles(CAM + 1));
    assert_eq!(one.offer(Picos::ZERO, post(4)), Accepted::Busy { retry_at });
    assert_eq!(one.offer(Picos::ZERO, arrive(4)), Accepted::Yes);
    let mut done = Vec::new();
    one.run_until(retry_at, &mut done);
    assert_eq!(one.offer(retry_at, post(4)), Accepted::Yes);
}

/// A refusal until there is room would never end: what makes room is behind the refused
/// operation. So queues go on in host memory, and refusals end with time alone.
#[test]
fn queues_without_room_take_every_operation() {
    let parameters = CamListParameters { cam: 2, list_entries: 4, fifo: 1, spill: Cycles(5), ..BASE };
    let posts = (1..=200).map(post);
    let arrivals = (1..=200).rev().map(arrive).chain((1001..=1200).map(arrive));
    let late = (1001..=1200).rev().map(post);
    let ops: Vec<Op> = posts.chain(arrivals).chain(late).collect();
    let offers: Vec<_> = ops.iter().map(|&op| Offer { at: Picos::ZERO, op }).collect();
    judge(&mut engine(&parameters), &offers, Fetch::RunUntil, Visits::Own).unwrap();
    judge_one_by_one(&mut engine(&parameters), &ops, Visits::Own).unwrap();
}

#[test]
fn visits_are_the_entries_compared() {
    let visits = |depth: u64, wanted: u64| {
        let ops: Vec<Op> = (1..=depth).map(post).chain([arrive(wanted)]).collect();
        judge_one_by_one(&mut engine(&BASE), &ops, Visits::Own).unwrap().last().unwrap().completion.visits
    };
    // All of the CAM at once, then the lists row by row.
    assert_eq!(visits(100, 7), 100);
    assert_eq!(visits(1000, 256), 256);
    assert_eq!(visits(1000, 257), 256 + 4);
    assert_eq!(visits(258, 999), 256 + 2);
    assert_eq!(visits(1000, 999), 256 + 744);
}

#[test]
fn lists_that_cannot_share_their_entries_are_refused() {
    let error = CamList::new(checked(&CamListParameters { lists: 3, ..BASE })).unwrap_err();
    assert_eq!(error.to_string(), "invalid parameters: `list_entries` is 32768, which 3 lists cannot share evenly");
}
