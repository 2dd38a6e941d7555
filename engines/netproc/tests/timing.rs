// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When operations are answered: formulas, from both sides, and what overlaps.

use mb_core::{
    Accepted, Completion, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, QueueLengths, RecvId,
    Shortcuts,
};
use mb_netproc_engine::parameters::NetprocParameters;
use mb_netproc_engine::{ENTRY, Netproc};
use mb_testkit::preset;

/// A cycle at 500 MHz.
const CYCLE: u64 = 2000;

fn engine(name: &str, change: impl FnOnce(&mut NetprocParameters)) -> Netproc {
    let mut parameters = preset(&ENTRY, name);
    change(&mut parameters);
    Netproc::new(&parameters).unwrap()
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

fn probe(number: u64) -> Op {
    Op::Probe { probe: ProbeId(number), pattern: Pattern::exactly(envelope(number)) }
}

fn drain(engine: &mut Netproc) -> Vec<Completion> {
    let mut done = Vec::new();
    while engine.next_event().is_some() {
        engine.run_to_completion(Picos::MAX, &mut done);
    }
    done
}

/// Performs `op` alone, long after whatever was before. Returns time and visits.
fn alone(engine: &mut Netproc, now: &mut Picos, op: Op) -> (u64, u32) {
    *now += Picos(100_000 * CYCLE);
    assert_eq!(engine.offer(*now, op), Accepted::Yes);
    let mut done = Vec::new();
    engine.run_to_completion(Picos::MAX, &mut done);
    assert_eq!(done.len(), 1);
    ((done[0].at - *now).0, done[0].visits)
}

/// As [`alone`], event by event: nothing is returned before it is due.
fn alone_by_events(engine: &mut Netproc, now: &mut Picos, op: Op) -> (u64, u32) {
    *now += Picos(100_000 * CYCLE);
    assert_eq!(engine.offer(*now, op), Accepted::Yes);
    let mut done = Vec::new();
    while done.is_empty() {
        let at = engine.next_event().expect("an answer is due");
        engine.run_until(Picos(at.0 - 1), &mut done);
        assert_eq!(done, [], "before it was due");
        engine.run_until(at, &mut done);
    }
    assert_eq!(engine.next_event(), None);
    ((done[0].at - *now).0, done[0].visits)
}

#[test]
fn a_visit_takes_two_accesses_to_the_l2_an_atomic_and_three_branches() {
    // With one worker, so that the list is in its cache. The locks of an entry are a load-reserved that hits, and a
    // store-conditional and an atomic swap that go to the L2; each of the two is awaited. Three branches depend on
    // what they return. `visit` has these at the latencies of the preset, and the instructions between them.
    type Change = fn(&mut NetprocParameters);
    let presets: [(&str, Change, u64); 4] = [
        ("cmp8", |p| p.processor.cores = 2, 49),
        ("cmp2_4", |p| p.processor.cores = 2, 44),
        ("cmp2_8", |p| p.processor.cores = 2, 44),
        ("smt8", |p| p.processor.contexts = 2, 43),
    ];
    let changes: [(Change, u64); 6] = [
        (|_| {}, 0),
        (|p| p.caches.l2_hit = 30, 2 * 20),
        (|p| p.processor.latencies.synchronisation = 9, 5),
        (|p| p.processor.latencies.branch = 5, 3 * 3),
        (|p| p.caches.memory = 500, 0),
        (
            |p| (p.caches.l2_hit, p.processor.latencies.synchronisation, p.processor.latencies.branch) = (20, 9, 5),
            2 * 10 + 5 + 3 * 3,
        ),
    ];
    for (name, one_worker, visit) in presets {
        for (change, more) in changes {
            let mut engine = engine(name, |parameters| {
                one_worker(parameters);
                change(parameters);
            });
            let mut now = Picos::ZERO;
            for number in 0..100 {
                alone(&mut engine, &mut now, arrive(number));
            }
            // The first rounds bring code and entries into the caches. What a branch predictor of short history does at
            // the end of a walk is the same from 20 entries on.
            for round in 0..3 {
                let [near, far] = [20, 100].map(|visits| {
                    let (time, found) = alone(&mut engine, &mut now, probe(visits - 1));
                    assert_eq!(u64::from(found), visits);
                    time
                });
                // Turns on the bus and the prediction of the last branch shift the end of a whole operation by some
                // cycles: less than half a cycle for each of the 80 visits.
                let (found, expected) = ((far - near) / CYCLE, 80 * (visit + more));
                assert!(round < 2 || found.abs_diff(expected) < 40, "{name}: {found}, expected {expected}");
            }
        }
    }
}

#[test]
fn nothing_is_answered_before_it_is_due_and_both_ways_give_the_same_time() {
    let [mut by_events, mut at_once] = [engine("cmp2_4", |_| {}), engine("cmp2_4", |_| {})];
    let [mut now, mut then] = [Picos::ZERO; 2];
    for number in 0..6 {
        for op in [arrive(number), probe(number), post(1000 + number)] {
            assert_eq!(alone_by_events(&mut by_events, &mut now, op), alone(&mut at_once, &mut then, op), "{op:?}");
        }
    }
}

#[test]
fn workers_overlap_in_a_list_and_wait_for_those_in_the_other() {
    const DEPTH: u64 = 64;
    let filled = |cores: usize| {
        let mut engine = engine("cmp8", |parameters| parameters.processor.cores = cores);
        let mut now = Picos::ZERO;
        for number in 0..DEPTH {
            alone(&mut engine, &mut now, arrive(number));
        }
        (engine, now)
    };
    // Probes that find nothing walk the whole list.
    let walk = |engine: &mut Netproc, now: &mut Picos, count: u64| {
        *now += Picos(100_000 * CYCLE);
        for number in 0..count {
            assert_eq!(engine.offer(*now, probe(1000 + number)), Accepted::Yes);
        }
        let done = drain(engine);
        assert!(done.iter().all(|completion| u64::from(completion.visits) == DEPTH));
        (done[done.len() - 1].at - *now).0
    };
    let [(mut one_worker, mut now), (mut seven, mut then)] = [2, 8].map(filled);
    walk(&mut one_worker, &mut now, 14);
    walk(&mut seven, &mut then, 14);
    let [alone, together] = [walk(&mut one_worker, &mut now, 14), walk(&mut seven, &mut then, 14)];
    // One after the other, a walk takes at least the instructions of its visits.
    assert!(alone > 14 * DEPTH * 49 * CYCLE, "{alone}");
    assert!(together * 2 < alone, "{together} and {alone}");
    // An arrival walks the other list, which is empty, and is answered after the probes before it.
    then += Picos(100_000 * CYCLE);
    let probes = [probe(2000), probe(2001), probe(2002)];
    for op in probes.into_iter().chain([arrive(3000)]) {
        assert_eq!(seven.offer(then, op), Accepted::Yes);
    }
    let done = drain(&mut seven);
    assert!(matches!(done[3].outcome, mb_core::Outcome::Unexpected(MsgId(3000))), "{done:?}");
    // A probe overtakes it no more than it overtakes the probes.
    then += Picos(100_000 * CYCLE);
    for op in [arrive(3001), probe(3001)] {
        assert_eq!(seven.offer(then, op), Accepted::Yes);
    }
    let done = drain(&mut seven);
    let found = mb_core::Outcome::Probed(ProbeId(3001), Some(MsgId(3001)));
    assert_eq!(done[1].outcome, found, "the probe finds the message that was accepted before it");
}

#[test]
fn an_operation_too_many_is_refused_until_another_is_answered() {
    let mut engine = engine("smt8", |parameters| parameters.operations = 2);
    let now = Picos(10 * CYCLE);
    assert_eq!(engine.offer(now, post(1)), Accepted::Yes);
    assert_eq!(engine.offer(now, post(2)), Accepted::Yes);
    let mut done = Vec::new();
    let mut at = now;
    while let Accepted::Busy { retry_at } = engine.offer(at, post(3)) {
        assert!(retry_at > at);
        assert_eq!(done, [], "an operation was answered");
        at = retry_at;
        engine.run_until(at, &mut done);
    }
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].at, at);
    assert_eq!(
        engine.queue_lengths(),
        QueueLengths { posted: 3, unexpected: 0 },
        "in order of acceptance, not of answers"
    );
    assert_eq!(drain(&mut engine).len(), 2);
}

#[test]
fn an_operation_begins_at_the_next_edge_of_the_clock() {
    let answers = [0, 1, CYCLE - 1, CYCLE].map(|offset| {
        let mut engine = engine("cmp8", |_| {});
        let mut now = Picos(offset);
        alone(&mut engine, &mut now, post(1)).0 + offset
    });
    // The cores take turns in the use of the bus, so that a cycle later is not always one later in the end.
    assert!(answers[0] < answers[1] + 10 * CYCLE && answers[1] < answers[0] + 10 * CYCLE, "{answers:?}");
    assert_eq!(answers[1..], [answers[1]; 3]);
}

#[test]
fn lists_grow_without_limit_and_answers_come_after_any_idle_time() {
    const COUNT: u64 = 2500;
    let mut engine = engine("cmp2_8", |_| {});
    let mut now = Picos::ZERO;
    let mut done = Vec::new();
    for number in 0..COUNT {
        while let Accepted::Busy { .. } = engine.offer(now, post(number)) {
            let before = done.len();
            engine.run_to_completion(Picos::MAX, &mut done);
            now = done[before].at;
        }
    }
    done.extend(drain(&mut engine));
    assert_eq!(done.len() as u64, COUNT);
    // A second of idle time takes none on the host: 500 million cycles.
    now += Picos(1_000_000_000_000);
    assert_eq!(engine.offer(now, arrive(COUNT - 1)), Accepted::Yes);
    let last = drain(&mut engine);
    assert_eq!(last[0].outcome, mb_core::Outcome::Matched(RecvId(COUNT - 1), MsgId(COUNT - 1)));
    assert_eq!(u64::from(last[0].visits), COUNT);
    assert!(last[0].at - now > Picos(COUNT * 44 * CYCLE));
}
