// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of `match_unit` are its formulas, to the picosecond, and its visits those of a list walk.

use mb_core::parameters::Choice;
use mb_core::{
    Accepted, Clock, Cycles, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, QueueLengths, RecvId,
    ReplayEngine, Shortcuts,
};
use mb_kit::Server;
use mb_match_unit::{MatchUnitEngine, MatchUnitParameters, ProgramName};
use mb_testkit::drive::Visits;
use mb_testkit::{cases, checked, streams};

const CLOCK: Clock = Clock::from_mhz(500);

/// The preset `hemmert2007` with a queue of commands that no test fills unless it says so.
const BASE: MatchUnitParameters = MatchUnitParameters {
    clock: CLOCK,
    program: ProgramName::PortalsHemmert2007,
    memory_latency: Cycles(10),
    words_per_cycle: 1,
    head_cache: 2,
    reaction: Cycles(1),
    unlink: Cycles(2),
    fifo: 16,
    capacity: 4096,
    spill_latency: Cycles(250),
    commands: 1_000_000,
};

fn engine(parameters: &MatchUnitParameters) -> Server<MatchUnitEngine> {
    Server::new(MatchUnitEngine::new(checked(parameters)))
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

fn fill(engine: &mut Server<MatchUnitEngine>, ops: impl Iterator<Item = Op>) -> Picos {
    for op in ops {
        engine.offer(Picos::ZERO, op);
    }
    let mut done = Vec::new();
    engine.settle(&mut done);
    done.last().map_or(Picos::ZERO, |completion| completion.at)
}

/// Offers `op` long after everything else; it must be answered `cycles` later, and not a picosecond earlier.
#[track_caller]
fn assert_takes(engine: &mut Server<MatchUnitEngine>, op: Op, cycles: u64) {
    let start = Picos::from_ns(1_000_000_000);
    engine.offer(start, op);
    let due = start + CLOCK.span(Cycles(cycles));
    assert_eq!(engine.next_event(), Some(due));
    let mut done = Vec::new();
    engine.run_until(due - Picos(1), &mut done);
    assert_eq!(done, [], "too early");
    engine.run_until(due, &mut done);
    assert_eq!(done.len(), 1, "too late");
}

/// Words that a program issues, from hemmert2007 table 1 and its like: the words of the header; the
/// words of an item up to the one that sends the last word of the answer, if it matches and if it
/// is the end of the list; and those in the unexpected list.
struct Words {
    program: ProgramName,
    matched: u64,
    ended: u64,
    found: u64,
    not_found: u64,
}

const HEADER: u64 = 9;

const WORDS: &[Words] = &[
    Words { program: ProgramName::Mpi, matched: 7, ended: 7, found: 7, not_found: 6 },
    Words { program: ProgramName::PortalsHemmert2007, matched: 5 + 7, ended: 5 + 3 + 3, found: 7, not_found: 6 },
    Words { program: ProgramName::PortalsLean, matched: 5 + 7, ended: 5 + 3 + 3, found: 7, not_found: 6 },
    Words { program: ProgramName::Portals4, matched: 5 + 12 + 5, ended: 5 + 4, found: 7, not_found: 6 },
];

/// Cycles from the offer to the answer in an idle engine: one until the unit sees the first header
/// word, the words up to the last word of the answer, two until it is written and one until the
/// list manager acts on it.
fn latency(items_before: u64, words: u64) -> u64 {
    1 + HEADER + 8 * items_before + (words - 1) + 2 + 1
}

#[test]
fn an_arrival_takes_eight_cycles_for_each_receive_visited() {
    for words in WORDS {
        for depth in [1, 2, 3, 16, 17, 300] {
            let mut matched = engine(&MatchUnitParameters { program: words.program, ..BASE });
            fill(&mut matched, (1..=depth).map(post));
            assert_takes(&mut matched, arrive(depth), latency(depth - 1, words.matched));
            let mut ended = engine(&MatchUnitParameters { program: words.program, ..BASE });
            fill(&mut ended, (1..=depth).map(post));
            assert_takes(&mut ended, arrive(0), latency(depth, words.ended));
        }
    }
}

#[test]
fn a_post_or_probe_takes_eight_cycles_for_each_message_visited() {
    for words in WORDS {
        for depth in [1, 2, 3, 16, 17, 300] {
            let probe = Op::Probe { probe: ProbeId(1), pattern: Pattern::exactly(envelope(depth)) };
            let found = latency(depth - 1, words.found);
            for (op, cycles) in [(post(depth), found), (probe, found), (post(0), latency(depth, words.not_found))] {
                let mut engine = engine(&MatchUnitParameters { program: words.program, ..BASE });
                fill(&mut engine, (1..=depth).map(arrive));
                assert_takes(&mut engine, op, cycles);
            }
        }
    }
}

#[test]
fn a_cancel_takes_one_removal() {
    let mut engine = engine(&MatchUnitParameters { unlink: Cycles(7), ..BASE });
    fill(&mut engine, (1..=30).map(post));
    assert_takes(&mut engine, Op::Cancel { recv: RecvId(17) }, 7);
    assert_eq!(engine.queue_lengths(), QueueLengths { posted: 29, unexpected: 0 });
}

#[test]
fn a_head_cache_of_k_items_hides_8k_cycles_of_memory_latency_and_no_more() {
    for head_cache in [1, 2, 3] {
        let cycles = |latency: u64| {
            let parameters = MatchUnitParameters { head_cache, memory_latency: Cycles(latency), ..BASE };
            let mut engine = engine(&parameters);
            fill(&mut engine, (1..=100).map(post));
            engine.offer(Picos::from_ns(1_000_000), arrive(100));
            engine.next_event().unwrap()
        };
        let most = 8 * head_cache as u64;
        let hidden = cycles(most);
        assert_eq!(cycles(1), hidden);
        assert!(cycles(most + 1) > hidden);
    }
}

#[test]
fn a_full_queue_of_commands_refuses_until_the_next_one_starts() {
    let mut engine = engine(&MatchUnitParameters { commands: 2, ..BASE });
    assert_eq!(engine.offer(Picos(1), post(1)), Accepted::Yes);
    assert_eq!(engine.offer(Picos(1), post(2)), Accepted::Yes);
    let Accepted::Busy { retry_at } = engine.offer(Picos(1), post(3)) else { panic!("the queue is full") };
    assert_eq!(retry_at, CLOCK.span(Cycles(1)), "the first starts at the first edge after its offer");
    assert_eq!(engine.offer(retry_at, post(3)), Accepted::Yes);
    assert!(matches!(engine.offer(retry_at, post(4)), Accepted::Busy { .. }));
    assert_eq!(engine.queue_lengths(), QueueLengths { posted: 3, unexpected: 0 });
}

#[test]
fn items_beyond_the_capacity_are_found_more_slowly() {
    let arrival = |capacity: usize, depth: u64| {
        let mut engine = engine(&MatchUnitParameters { capacity, spill_latency: Cycles(250), ..BASE });
        fill(&mut engine, (1..=20).map(post));
        assert_eq!(engine.service().machine().lists().spilled(), 20_usize.saturating_sub(capacity));
        engine.offer(Picos::from_ns(1_000_000), arrive(depth));
        engine.next_event().unwrap()
    };
    assert_eq!(arrival(12, 10), arrival(20, 10));
    assert!(arrival(12, 20) > arrival(20, 20) + CLOCK.span(Cycles(250)));
}

#[test]
fn outcomes_and_visits_are_those_of_a_list_walk() {
    for &program in ProgramName::ALL {
        let parameters = MatchUnitParameters { program, capacity: 8, commands: 3, ..BASE };
        let make = || Box::new(engine(&parameters)) as Box<dyn ReplayEngine>;
        assert_eq!(cases::run(&cases::corpus().unwrap(), &make, Visits::Own), Ok(()));
        assert_eq!(streams::outcomes_are_the_oracles(&make, Visits::Own), Ok(()));
    }
}

#[test]
fn the_initiator_that_stands_for_any_in_hardware_is_an_initiator_like_others() {
    for &program in ProgramName::ALL {
        let mut engine = engine(&MatchUnitParameters { program, ..BASE });
        let last = Envelope { bits: 1, initiator: Initiator(u32::MAX) };
        engine.offer(Picos::ZERO, Op::Post { recv: RecvId(1), pattern: Pattern::exactly(last) });
        engine.offer(Picos::ZERO, arrive(1));
        engine.offer(Picos::ZERO, Op::Arrive { msg: MsgId(2), envelope: last });
        let mut done = Vec::new();
        engine.settle(&mut done);
        let outcomes: Vec<String> = done.iter().map(|completion| completion.outcome.to_string()).collect();
        assert_eq!(outcomes, ["receive 1 posted", "message 1 unexpected", "receive 1 matched message 2"]);
    }
}
