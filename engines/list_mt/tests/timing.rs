// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When operations are answered: formulas, from both sides, and what overlaps.

use mb_core::{
    Accepted, Completion, Cycles, Engine, Envelope, Initiator, MsgId, Op, Outcome, Pattern, Picos, ProbeId,
    QueueLengths, RecvId,
};
use mb_list_mt::parameters::{Delivery, Entries, InstructionSet, ListMtParameters, LockStyle, MatchFunction};
use mb_list_mt::{ENTRY, ListMt};
use mb_processor::barrel::CallCosts;
use mb_testkit::{checked, preset};

/// A cycle at 500 MHz.
const CYCLE: u64 = 2000;
const DEPTH: u64 = 64;

fn engine(parameters: &ListMtParameters) -> ListMt {
    ListMt::new(checked(parameters)).unwrap()
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

fn drain(engine: &mut ListMt) -> Vec<Completion> {
    let mut done = Vec::new();
    while let Some(at) = engine.next_event() {
        engine.run_until(at, &mut done);
    }
    done
}

/// Performs `op` alone, long after whatever was before, and is tight about when it is answered.
fn alone(engine: &mut ListMt, now: &mut Picos, op: Op) -> (u64, u32) {
    *now += Picos(1_000_000 * CYCLE);
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
fn an_operation_alone_takes_its_instructions_and_the_locks_of_its_visits() {
    // Of one visit: instructions of the compiled code, a branch or two among them that costs
    // nothing more, and two calls.
    let [mt1, mt2, mt16] = ["mt1", "mt2", "mt16"].map(|name| preset::<ListMtParameters>(&ENTRY, name));
    let with = |base: &ListMtParameters, change: fn(&mut CallCosts)| {
        let mut parameters = base.clone();
        change(&mut parameters.cores.calls);
        parameters
    };
    let slow_acquire = with(&mt1, |calls| calls.acquire = Cycles(5));
    let slow_locks = with(&slow_acquire, |calls| calls.release = Cycles(3));
    for (parameters, first, visit) in [
        (mt1.clone(), 161, 24),
        (slow_acquire, 161 + 3 * 4, 24 + 4),
        (slow_locks, 161 + 3 * 4 + 3 * 2, 24 + 4 + 2),
        (with(&mt1, |calls| calls.create = Cycles(32)), 161 + 30, 24),
        (ListMtParameters { header: Delivery::Cache, ..mt1.clone() }, 161 - 10, 24),
        (ListMtParameters { program: MatchFunction::Mpi, ..mt1.clone() }, 127, 22),
        (ListMtParameters { locks: LockStyle::Spin, ..mt1 }, 157, 26),
        // On another core than the thread that starts it, the operation misses the descriptor for itself.
        (mt2, 168, 24),
        (mt16.clone(), 166, 24),
        (ListMtParameters { instruction_set: InstructionSet::Rv64, ..mt16 }, 138, 17),
    ] {
        let mut engine = engine(&parameters);
        let mut now = Picos::ZERO;
        for number in 0..DEPTH {
            alone(&mut engine, &mut now, post(number));
        }
        let mut list: Vec<u64> = (0..DEPTH).collect();
        let mut take = |engine: &mut ListMt, visits: u64| {
            let number = list.remove(visits as usize - 1);
            list.push(number);
            let found = alone(engine, &mut now, arrive(number));
            alone(engine, &mut now, post(number));
            found
        };
        // The first round brings code and entries into the caches.
        for round in 0..2 {
            for visits in [1, 2, 3, 10, 33, DEPTH - 1] {
                let expected = (first + visit * (visits - 1)) * CYCLE;
                let found = take(&mut engine, visits);
                assert!(round == 0 || found == (expected, visits as u32), "{parameters:?}: {found:?}, {expected}");
            }
        }
    }
}

#[test]
fn a_cold_entry_costs_a_line_and_a_cold_descriptor_too() {
    for (line, beats) in [(32, 2), (64, 4)] {
        let search = |list_cache, visits: u64| {
            let mut parameters = ListMtParameters { list_cache, ..preset(&ENTRY, "mt1") };
            let caches = &mut parameters.cores.hierarchy;
            (caches.instruction.line, caches.data.line) = (line, line);
            let mut engine = engine(&parameters);
            let mut now = Picos::ZERO;
            for number in 0..DEPTH {
                alone(&mut engine, &mut now, arrive(number));
            }
            let pattern = Pattern::exactly(envelope(visits - 1));
            let probe = Op::Probe { probe: ProbeId(0), pattern };
            alone(&mut engine, &mut now, probe);
            alone(&mut engine, &mut now, probe).0 / CYCLE
        };
        // Ten cycles to the first bits, and one for each 16 bytes more, where a hit takes one.
        let miss = 10 + beats - 1 - 1;
        let [near, far] = [1, 33].map(|visits| search(Entries::Warm, visits));
        let [cold_near, cold_far] = [1, 33].map(|visits| search(Entries::Cold, visits));
        assert_eq!((cold_far - cold_near) - (far - near), 32 * miss, "line of {line}");
    }
}

#[test]
fn operations_of_one_kind_overlap_and_those_of_the_other_wait() {
    let mut engine = engine(&preset(&ENTRY, "mt16"));
    let mut now = Picos::ZERO;
    for number in 0..DEPTH {
        alone(&mut engine, &mut now, post(number));
    }
    let in_vain = |number: u64| arrive(1000 + number);
    for number in 0..3 {
        alone(&mut engine, &mut now, in_vain(number));
    }
    let (one, visits) = alone(&mut engine, &mut now, in_vain(3));
    assert_eq!(visits, DEPTH as u32);
    // The first rounds bring code and list into the caches of more cores than the last one uses.
    let mut done = Vec::new();
    for (round, count) in [(1, 15), (2, 15), (3, 10)] {
        now += Picos(1_000_000 * CYCLE);
        for number in 0..count {
            assert_eq!(engine.offer(now, in_vain(100 * round + number)), Accepted::Yes);
        }
        done = drain(&mut engine);
    }
    // Each enters the list when the one before has left its head, and all go on at one pace: none passes another.
    let entering = 62;
    for (place, completion) in (0..).zip(&done) {
        assert_eq!(completion.at, now + Picos(one + place * entering * CYCLE));
        assert_eq!(completion.outcome, Outcome::Unexpected(MsgId(1000 + 300 + place)));
    }
    // A post walks the other list, and begins when they are done.
    now += Picos(1_000_000 * CYCLE);
    let post_alone = alone(&mut engine, &mut now, post(2000)).0;
    now += Picos(1_000_000 * CYCLE);
    assert_eq!(engine.offer(now, in_vain(400)), Accepted::Yes);
    assert_eq!(engine.offer(now, post(2001)), Accepted::Yes);
    let done = drain(&mut engine);
    assert!(done[1].at - done[0].at > Picos(post_alone / 2), "{done:?}");
}

#[test]
fn an_operation_too_many_is_refused_until_another_is_answered() {
    let mut engine = engine(&ListMtParameters { operations: 2, ..preset(&ENTRY, "mt16") });
    let now = Picos(10 * CYCLE);
    assert_eq!(engine.offer(now, post(1)), Accepted::Yes);
    assert_eq!(engine.offer(now, post(2)), Accepted::Yes);
    let mut done = Vec::new();
    let mut at = now;
    while let Accepted::Busy { retry_at } = engine.offer(at, post(3)) {
        assert!(retry_at > at);
        assert_eq!(done, [], "a context was free");
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
    let mut engine = engine(&preset(&ENTRY, "mt1"));
    let mut answers = Vec::new();
    for offset in [0, 1, CYCLE - 1, CYCLE] {
        let mut now = Picos(offset);
        let mut fresh = self::engine(&preset(&ENTRY, "mt1"));
        alone(&mut fresh, &mut now, post(1));
        now += Picos(1000 * CYCLE);
        answers.push(alone(&mut fresh, &mut now, post(2)).0 + offset);
        engine = fresh;
    }
    assert_eq!(answers[0] + CYCLE, answers[1]);
    assert_eq!(answers[1..], [answers[1]; 3]);
    assert_eq!(engine.queue_lengths(), QueueLengths { posted: 2, unexpected: 0 });
}
