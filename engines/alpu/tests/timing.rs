// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of `alpu` are its formulas, to the picosecond.

use mb_alpu::{Alpu, AlpuParameters, ENTRY};
use mb_core::{
    Accepted, Clock, Cycles, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, QueueLengths, RecvId,
    ReplayEngine, Shortcuts,
};
use mb_kit::Server;
use mb_testkit::drive::Visits;
use mb_testkit::{cases, checked, preset, streams};

const CYCLE: u64 = 2000;
const SEARCH: u64 = 7 * CYCLE;
const WRITE: u64 = 10_000;
const READ: u64 = 14_000;
const OPERATION: u64 = 30_000;
const ENTRY_PICOS: u64 = 38_060;

/// 32 cells in blocks of 8.
const BASE: AlpuParameters = AlpuParameters {
    clock: Clock::from_mhz(500),
    cells: 32,
    block: 8,
    search: Cycles(7),
    write: Picos(WRITE),
    read: Picos(READ),
    operation: Picos(OPERATION),
    offload: Picos::ZERO,
    entry: Picos(ENTRY_PICOS),
    batch: 1,
    commands: 1_000_000,
};

fn engine(parameters: &AlpuParameters) -> Server<Alpu> {
    Server::new(Alpu::new(checked(parameters)).unwrap())
}

fn envelope(bits: u64) -> Envelope {
    Envelope { bits, initiator: Initiator(1) }
}

fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

/// A receive of anything.
fn post_any(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern { bits: 0, ignore: u64::MAX, initiator: None } }
}

fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

/// A time at which all that was offered before is done, on a clock edge.
const LATER: Picos = Picos(1_000_000_000_000);

/// Offers `op` at `now` and returns when it is answered, which the engine also says before.
fn answered(engine: &mut Server<Alpu>, now: Picos, op: Op) -> Picos {
    assert_eq!(engine.offer(now, op), Accepted::Yes);
    let mut done = Vec::new();
    let event = engine.next_event().unwrap();
    engine.run_until(Picos(event.0 - 1), &mut done);
    assert_eq!(done, [], "too early");
    engine.run_until(event, &mut done);
    assert_eq!(done.len(), 1, "too late");
    done[0].at
}

fn fill(engine: &mut Server<Alpu>, ops: impl IntoIterator<Item = Op>) {
    let mut done = Vec::new();
    for op in ops {
        assert_eq!(engine.offer(Picos::ZERO, op), Accepted::Yes);
    }
    engine.settle(&mut done);
}

/// Offers `op` to an engine that has served `before` long ago; it must take `picos`.
#[track_caller]
fn assert_takes(before: impl IntoIterator<Item = Op>, op: Op, picos: u64) {
    let mut engine = engine(&BASE);
    fill(&mut engine, before);
    assert_eq!(answered(&mut engine, LATER, op), LATER + Picos(picos));
}

const IN_UNIT: u64 = SEARCH + READ + OPERATION;

#[test]
fn a_search_is_constant_within_the_cells_and_a_straight_line_beyond() {
    for depth in [1, 2, 16, 17, 31, 32] {
        assert_takes((1..=depth).map(post), arrive(depth), IN_UNIT);
        assert_takes((1..=depth).map(post), arrive(0), IN_UNIT);
        assert_takes((1..=depth).map(arrive), post(depth), IN_UNIT);
    }
    for beyond in [1, 2, 17, 300, 5000] {
        let (depth, walk) = (32 + beyond, ENTRY_PICOS * beyond);
        let pattern = Pattern::exactly(envelope(depth));
        assert_takes((1..=depth).map(post), arrive(depth), IN_UNIT + walk);
        assert_takes((1..=depth).map(post), arrive(0), IN_UNIT + walk);
        assert_takes((1..=depth).map(post), arrive(32), IN_UNIT);
        assert_takes((1..=depth).map(arrive), post(depth), IN_UNIT + walk);
        assert_takes((1..=depth).map(arrive), Op::Probe { probe: ProbeId(1), pattern }, IN_UNIT + walk);
        assert_takes((1..=depth).map(arrive), Op::MatchedProbe { probe: ProbeId(1), pattern }, IN_UNIT + walk);
    }
}

#[test]
fn an_empty_unit_is_not_searched() {
    assert_takes([], arrive(1), OPERATION);
    assert_takes((1..=9).map(post), post(10), OPERATION);
}

#[test]
fn a_wildcard_in_a_cell_costs_nothing() {
    assert_takes((1..=20).map(post).chain([post_any(21)]), arrive(99), IN_UNIT);
}

#[test]
fn a_hole_is_refilled_with_the_oldest_of_the_rest() {
    let mut engine = engine(&BASE);
    fill(&mut engine, (1..=40).map(post));
    assert_eq!(engine.service().occupied(), (32, 0));
    let first = answered(&mut engine, LATER, arrive(5));
    // The session: START, free cells, one INSERT, STOP. An arrival of receive 33 begins long before
    // the INSERT; it fails, is held, and finds the receive in the unit after STOP. Then 34 moves
    // in, and 36 is the second behind the unit.
    let stop = first + Picos(WRITE + READ + WRITE + WRITE);
    assert_eq!(answered(&mut engine, first, arrive(33)), stop + Picos(IN_UNIT));
    assert_eq!(engine.queue_lengths(), QueueLengths { posted: 38, unexpected: 0 });
    let later = LATER + LATER;
    assert_eq!(answered(&mut engine, later, arrive(36)), later + Picos(IN_UNIT + 2 * ENTRY_PICOS));
}

#[test]
fn a_success_in_a_session_is_reported_and_a_failure_is_held() {
    // The receive posted last is on its way into the unit while an arrival is searched for.
    let session = WRITE + READ + WRITE + WRITE;
    for (number, expected) in [(3, session + READ + OPERATION), (0, session + IN_UNIT), (10, session + IN_UNIT)] {
        let mut engine = engine(&BASE);
        fill(&mut engine, (1..=9).map(post));
        let posted = answered(&mut engine, LATER, post(10));
        assert_eq!(answered(&mut engine, posted, arrive(number)), posted + Picos(expected), "message {number}");
    }
    // A search of the other unit is not held; the processor reads its answer after STOP.
    let mut engine = engine(&BASE);
    fill(&mut engine, (1..=9).map(post).chain((11..=12).map(arrive)));
    let posted = answered(&mut engine, LATER, post(10));
    assert_eq!(answered(&mut engine, posted, post(13)), posted + Picos(session + READ + OPERATION));
}

#[test]
fn an_entry_inserted_in_time_is_found_within_the_session() {
    let session = WRITE + READ + WRITE + WRITE;
    let inserted = WRITE + READ + WRITE;
    for (after, expected) in [(inserted - CYCLE, session + IN_UNIT), (inserted, inserted + SEARCH + READ + OPERATION)] {
        let mut engine = engine(&BASE);
        fill(&mut engine, (1..=9).map(post));
        let posted = answered(&mut engine, LATER, post(10));
        let now = posted + Picos(after);
        assert_eq!(answered(&mut engine, now, arrive(10)), posted + Picos(expected), "{after} ps into the session");
    }
}

#[test]
fn an_insert_waits_for_the_hole_to_reach_the_last_cell() {
    // With commands that cost nothing the session waits for the cells alone: entry 1 is removed at
    // `removed`, its hole is at the end of its block one edge later, passes the three blocks
    // behind, and the INSERT is obeyed at the edge after.
    let mut engine = engine(&AlpuParameters { write: Picos::ZERO, read: Picos::ZERO, operation: Picos::ZERO, ..BASE });
    fill(&mut engine, (1..=40).map(post));
    let removed = answered(&mut engine, LATER, arrive(1));
    assert_eq!(removed, LATER + Picos(SEARCH));
    let inserted = removed + Picos((1 + 3 + 1) * CYCLE);
    // A search that fails is held until then.
    assert_eq!(answered(&mut engine, removed, arrive(0)), inserted + Picos(SEARCH + 7 * ENTRY_PICOS));
}

#[test]
fn a_cancelled_receive_in_a_cell_costs_a_reset_and_a_new_fill() {
    let mut engine = engine(&BASE);
    fill(&mut engine, (1..=40).map(post));
    let reset = answered(&mut engine, LATER, Op::Cancel { recv: RecvId(7) });
    assert_eq!(reset, LATER + Picos(OPERATION + WRITE));
    // 32 INSERT and STOP; the other receives stay in order.
    let end = reset + Picos(32 * WRITE + WRITE);
    assert_eq!(answered(&mut engine, reset, arrive(0)), end + Picos(IN_UNIT + 7 * ENTRY_PICOS));
    // One that the processor holds, and one that is not posted, cost the processor's time alone.
    for recv in [40, 7] {
        let now = Picos(LATER.0 * (50 - recv));
        assert_eq!(answered(&mut engine, now, Op::Cancel { recv: RecvId(recv) }), now + Picos(OPERATION));
    }
    assert_eq!(engine.service().occupied(), (32, 1));
}

#[test]
fn entries_wait_for_a_batch() {
    let mut engine = engine(&AlpuParameters { batch: 5, ..BASE });
    fill(&mut engine, (1..=4).map(post));
    assert_eq!(engine.service().occupied(), (0, 0));
    assert_eq!(answered(&mut engine, LATER, arrive(3)), LATER + Picos(OPERATION + 3 * ENTRY_PICOS));
    let now = LATER + LATER;
    assert_eq!(engine.offer(LATER, post(5)), Accepted::Yes);
    engine.settle(&mut Vec::new());
    let posted = answered(&mut engine, now, post(6));
    let session = WRITE + READ + 5 * WRITE + WRITE;
    assert_eq!(answered(&mut engine, posted, arrive(0)), posted + Picos(session + IN_UNIT));
    assert_eq!(engine.service().occupied(), (5, 0));
}

#[test]
fn a_full_queue_of_operations_refuses_until_the_next_one_starts() {
    let mut engine = engine(&AlpuParameters { commands: 2, ..BASE });
    assert_eq!(engine.offer(Picos(1), post(1)), Accepted::Yes);
    assert_eq!(engine.offer(Picos(1), post(2)), Accepted::Yes);
    let Accepted::Yes = engine.offer(Picos(1), post(3)) else { panic!("the first has started at its offer") };
    assert_eq!(engine.offer(Picos(1), post(4)), Accepted::Busy { retry_at: Picos(1 + OPERATION) });
    assert_eq!(engine.offer(Picos(1 + OPERATION), post(4)), Accepted::Yes);
    assert_eq!(engine.queue_lengths(), QueueLengths { posted: 4, unexpected: 0 });
}

#[test]
fn the_way_to_the_processor_delays_answers_and_not_the_next_operation() {
    let mut engine = engine(&AlpuParameters { offload: Picos::from_ns(970), ..BASE });
    let mut done = Vec::new();
    for number in 1..=4 {
        engine.offer(Picos::ZERO, arrive(number));
    }
    engine.settle(&mut done);
    // The first finds both units empty; each later one searches no unit either, but the processor
    // inserts the one before it.
    let session = WRITE + READ + WRITE + WRITE;
    let ends: Vec<u64> = done.iter().map(|completion| completion.at.0).collect();
    assert_eq!(ends, [0, 1, 2, 3].map(|before| OPERATION + before * (session + OPERATION) + 970_000));
    assert_eq!(engine.busy(), Picos(ends[3]));
}

#[test]
fn cells_are_whole_blocks() {
    assert_eq!(
        Alpu::new(checked(&AlpuParameters { cells: 30, ..BASE })).unwrap_err().to_string(),
        "invalid parameters: 30 `cells` are not a whole number of blocks of 8"
    );
}

#[test]
fn outcomes_are_the_oracles_whatever_the_units_hold() {
    for parameters in [
        AlpuParameters { cells: 4, block: 2, commands: 3, ..BASE },
        AlpuParameters { cells: 6, block: 3, batch: 4, write: Picos::ZERO, read: Picos::ZERO, ..BASE },
        AlpuParameters { cells: 1, block: 1, clock: Clock::from_mhz(150), ..BASE },
    ] {
        let make = || Box::new(engine(&parameters)) as Box<dyn ReplayEngine>;
        assert_eq!(cases::run(&cases::corpus().unwrap(), &make, Visits::Own), Ok(()));
        assert_eq!(streams::outcomes_are_the_oracles(&make, Visits::Own), Ok(()));
    }
}

#[test]
fn the_presets_are_what_they_were_calibrated_on() {
    let cycles = |mhz, cycles| Clock::from_mhz(mhz).span(Cycles(cycles));
    let latency = |name: &str, depth: u64, op: fn(u64) -> Op, last: fn(u64) -> Op| {
        let mut engine = engine(&AlpuParameters { commands: 1_000_000, ..preset(&ENTRY, name) });
        fill(&mut engine, (1..=depth).map(op));
        (answered(&mut engine, LATER, last(depth)) - LATER).0
    };
    // Tanabe and Ohta: faster than DIMMnet-3, 30 ns per message, up to a depth of 600; always
    // faster than DIMMnet-2, 44.4 ns.
    let tanabe2013 = |depth| latency("tanabe2013", depth, arrive, post);
    assert!(tanabe2013(600) <= 600 * 30_000 && tanabe2013(601) > 601 * 30_000);
    for depth in [1, 2, 127, 128, 129, 600, 1024, 5000] {
        assert!(tanabe2013(depth) < depth * 44_400, "depth {depth}");
    }
    // Xiong et al.: 1 us more than its CAM, and 22 times its four lists at 1000, with 200 ns of network in both.
    let xiong2018 = |depth| latency("xiong2018", depth, post, arrive);
    let gap = xiong2018(256) - cycles(234, 1).0;
    assert!((999_000..=1_001_000).contains(&gap), "{gap} ps");
    let network = 200_000;
    let ratio = (xiong2018(1000) + network) as f64 / (cycles(234, 1 + 3 * 186).0 + network) as f64;
    assert!((ratio - 22.0).abs() < 0.001, "{ratio}");
}
