// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A structure whose operations take known times, on a clock that only its operations and
//! timestamps advance. The measured times equal the known ones, and the replay takes the measured
//! ones. No test reads the host's clock.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mb_core::{
    Accepted, BareRun, Completion, Delays, Engine, Envelope, Initiator, Measurable, MsgId, Op, Outcome, Pattern, Picos,
    ProbeId, QueueLengths, RecvId, ReplayEngine, Shortcuts,
};
use mb_kit::MatchLists;
use mb_measure::{
    Effort, HostMeasureError, NextEngine, OperationKind, PASSES, Recorded, TimestampSource, closed_loop, measure,
};
use mb_testkit::drive::{Fetch, Offer, Visits, judge};

/// A clock of 500 ps per tick, and a count of runs.
#[derive(Clone, Default)]
struct TestClock {
    now: Arc<AtomicU64>,
    runs: Arc<AtomicU64>,
    /// Whether the bare structure reports a match where there is none.
    wrong: bool,
}

const TIMESTAMP: u64 = 40;
const TICK_PS: u64 = 500;

impl TimestampSource for TestClock {
    fn read(&mut self) -> u64 {
        self.now.fetch_add(TIMESTAMP, Ordering::Relaxed)
    }

    fn tick_ps(&self) -> f64 {
        TICK_PS as f64
    }

    fn name(&self) -> String {
        "test clock".to_owned()
    }
}

/// The known ticks of an operation, mostly far less than a timestamp.
fn known_ticks(op: &Op) -> u64 {
    match op {
        Op::Post { recv, .. } => 3 + recv.0 % 5,
        Op::Arrive { msg, .. } => 11 + msg.0 % 17,
        Op::Cancel { .. } => 2,
        Op::Probe { .. } => 0,
        Op::MatchedProbe { .. } => 300,
    }
}

fn span(op: &Op) -> Picos {
    Picos(known_ticks(op) * TICK_PS)
}

/// The engine and its bare structure.
struct TestEngine {
    clock: TestClock,
    lists: MatchLists,
    ops: Vec<Op>,
    outcomes: Vec<Outcome>,
}

impl TestEngine {
    fn new(clock: &TestClock, ops: &[Op]) -> Self {
        Self { clock: clock.clone(), lists: MatchLists::new(), ops: ops.to_vec(), outcomes: Vec::new() }
    }
}

impl Engine for TestEngine {
    fn offer(&mut self, _: Picos, _: Op) -> Accepted {
        unreachable!("the engine completes an operation when it is offered")
    }

    fn next_event(&self) -> Option<Picos> {
        None
    }

    fn run_until(&mut self, _: Picos, _: &mut Vec<Completion>) {}

    fn queue_lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }

    fn busy(&self) -> Picos {
        Picos::ZERO
    }
}

impl Shortcuts for TestEngine {
    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        let (outcome, visits) = self.lists.apply(op);
        Some(Completion { at: now, outcome, visits, delays: Delays::default() })
    }
}

impl Measurable for TestEngine {
    fn bare_run(&self, ops: &[Op]) -> Option<Box<dyn BareRun>> {
        Some(Box::new(Self::new(&self.clock, ops)))
    }
}

impl BareRun for TestEngine {
    fn rewind(&mut self) {
        self.lists = MatchLists::new();
        self.outcomes.clear();
        self.clock.runs.fetch_add(1, Ordering::Relaxed);
        // Time passes outside of the measurement too.
        self.clock.now.fetch_add(12_345, Ordering::Relaxed);
    }

    fn perform(&mut self, count: usize) {
        for _ in 0..count {
            let done = self.outcomes.len();
            let Some(&op) = self.ops.get(done) else { return };
            let (outcome, _) = self.lists.apply(op);
            let wrong = self.clock.wrong && matches!(outcome, Outcome::Posted(_));
            self.outcomes.push(if wrong { Outcome::Matched(RecvId(0), MsgId(0)) } else { outcome });
            // A quarter of the runs are interrupted, each at a different operation.
            let run = self.clock.runs.load(Ordering::Relaxed);
            let interrupted = run.is_multiple_of(4) && (done as u64) % 7 == run / 4 % 7;
            self.clock.now.fetch_add(known_ticks(&op) + u64::from(interrupted) * 1_000_000, Ordering::Relaxed);
        }
    }

    fn outcomes(&self) -> Vec<Outcome> {
        self.outcomes.clone()
    }
}

fn envelope(tag: u64) -> Envelope {
    Envelope { bits: tag, initiator: Initiator(0) }
}

/// Posts, arrivals, probes and cancels, some of them unsuccessful.
fn operations(count: u64) -> Vec<Op> {
    let op = |at: u64| {
        let (recv, msg, probe) = (RecvId(at), MsgId(at), ProbeId(at));
        let pattern = Pattern::exactly(envelope(at / 3 % 19));
        match at % 8 {
            0 | 3 | 5 => Op::Post { recv, pattern },
            1 | 2 | 4 => Op::Arrive { msg, envelope: envelope(at / 4 % 19) },
            6 if at.is_multiple_of(3) => Op::Cancel { recv: RecvId(at - 3) },
            6 => Op::Probe { probe, pattern },
            _ => Op::MatchedProbe { probe, pattern },
        }
    };
    (0..count).map(op).collect()
}

fn record(ops: &[Op]) -> Vec<Recorded> {
    let mut lists = MatchLists::new();
    ops.iter().map(|&op| Recorded { op, outcome: lists.apply(op).0 }).collect()
}

fn go_on() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn measured_times_equal_the_known_times_despite_interrupts() {
    let mut clock = TestClock::default();
    let engine = clock.clone();
    let build = || Box::new(TestEngine::new(&engine, &[])) as Box<dyn ReplayEngine>;
    // One segment and a part of one; no operation; one operation.
    let recorded: Vec<_> = [100, 0, 1].map(|count| record(&operations(count))).into();
    let effort = Effort { segment: 64, warm_up: 1, least: 9, most: 9, budget: Picos::ZERO };
    let (spans, measurement) = measure(&build, &recorded, &effort, &mut clock, &mut go_on).unwrap();
    for (operations, spans) in recorded.iter().zip(&spans) {
        let expected: Vec<_> = operations.iter().map(|recorded| span(&recorded.op)).collect();
        assert_eq!(spans, &expected);
    }
    assert_eq!((measurement.timestamp, measurement.repetitions), (Picos(TIMESTAMP * TICK_PS), 9));
    let all = measurement.all();
    assert_eq!(all.operations, 101);
    assert_eq!(all.time, spans.iter().flatten().copied().sum());
    assert_eq!(measurement.kinds[OperationKind::Cancel as usize].time, Picos(2 * TICK_PS) * 4);
    // A quarter of the repetitions are interrupted, which the lower quartile does not show.
    assert!(all.low == all.time && all.high <= Picos(all.time.0 + 7_000_000 * TICK_PS), "{all:?}");
}

#[test]
fn the_budget_sets_the_repetitions_between_minimum_and_maximum() {
    let repetitions = |budget| {
        let mut clock = TestClock::default();
        let engine = clock.clone();
        let build = || Box::new(TestEngine::new(&engine, &[])) as Box<dyn ReplayEngine>;
        let effort = Effort { segment: 64, warm_up: 1, least: 3, most: 5, budget };
        measure(&build, &[record(&operations(64))], &effort, &mut clock, &mut go_on).unwrap().1.repetitions
    };
    assert_eq!(repetitions(Picos::ZERO), 3);
    assert_eq!(repetitions(Picos(1_000_000_000_000)), 5);
}

#[test]
fn errors_of_a_measurement_are_reported() {
    let mut clock = TestClock { wrong: true, ..TestClock::default() };
    let engine = clock.clone();
    let build = || Box::new(TestEngine::new(&engine, &[])) as Box<dyn ReplayEngine>;
    let recorded = [record(&operations(8))];
    let wrong = measure(&build, &recorded, &Effort::default(), &mut clock, &mut go_on).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "receiver 0, operation 1: `receive 0 matched message 0` found when measured, `receive 0 posted` expected from the \
         replay"
    );
    let mut stop = || ControlFlow::Break(());
    let stopped = measure(&build, &recorded, &Effort::default(), &mut clock, &mut stop).unwrap_err();
    assert_eq!(stopped, HostMeasureError::Interrupted);
    let model = || mb_catalog::find("linear").unwrap().build().unwrap();
    let model = measure(&model, &recorded, &Effort::default(), &mut clock, &mut go_on).unwrap_err();
    assert_eq!(model, HostMeasureError::NothingToMeasure);
}

#[test]
fn a_replay_takes_the_times_measured_for_its_order_of_operations() {
    let mut clock = TestClock::default();
    let engine = clock.clone();
    let build = || Box::new(TestEngine::new(&engine, &[])) as Box<dyn ReplayEngine>;
    let mut passes = 0;
    let mut replay = |number: u32, build: &mut NextEngine<'_>| {
        assert_eq!(number, passes);
        passes += 1;
        let mut receivers = [build(), build()];
        let ops = operations(50);
        let mut done = Vec::new();
        // The second receiver swaps a post and an arrival once operations take time.
        let mut swapped = ops.clone();
        swapped.swap(3, 4);
        for (receiver, (ops, late)) in receivers.iter_mut().zip([(&ops, &ops), (&ops, &swapped)]) {
            let ops = if number == 0 { ops } else { late };
            let mut expected = Picos(7);
            for &op in ops {
                let completion = receiver.answer(expected, op).unwrap();
                if number > 1 {
                    expected += span(&op);
                    assert_eq!(completion.at, expected);
                }
                expected = completion.at;
            }
            done.push(receiver.busy());
        }
        Ok::<_, HostMeasureError>(done)
    };
    let found = closed_loop(&build, &Effort::default(), &mut clock, &mut replay, &mut go_on).unwrap();
    assert_eq!(passes, PASSES);
    assert!((found.same_order - 1.0).abs() < 1e-12);
    // The measured times, the applied times and the busy time of the replay have the same sum.
    assert_eq!(found.replay.iter().copied().sum::<Picos>(), found.measurement.all().time);
}

#[test]
fn an_order_that_still_changes_lowers_the_reported_share() {
    let mut clock = TestClock::default();
    let engine = clock.clone();
    let build = || Box::new(TestEngine::new(&engine, &[])) as Box<dyn ReplayEngine>;
    let mut replay = |number: u32, build: &mut NextEngine<'_>| {
        let mut ops = operations(20);
        if number == 2 {
            ops.swap(9, 11);
        }
        let mut receiver = build();
        for op in ops {
            receiver.answer(Picos::ZERO, op).unwrap();
        }
        Ok::<_, HostMeasureError>(())
    };
    let found = closed_loop(&build, &Effort::default(), &mut clock, &mut replay, &mut go_on).unwrap();
    assert!((found.same_order - 0.9).abs() < 1e-12, "{}", found.same_order);
}

#[test]
fn a_timed_engine_keeps_the_contract_of_an_engine() {
    let mut clock = TestClock::default();
    let engine = clock.clone();
    let build = || Box::new(TestEngine::new(&engine, &[])) as Box<dyn ReplayEngine>;
    let at = |(number, op)| Offer { at: Picos(number as u64 / 5 * 20_000), op };
    let offers: Vec<Offer> = operations(200).into_iter().enumerate().map(at).collect();
    let mut replay = |_: u32, build: &mut NextEngine<'_>| {
        let mut answers = Vec::new();
        for fetch in [Fetch::RunUntil, Fetch::Settle, Fetch::Answer] {
            let mut engine = build();
            answers.push(judge(&mut *engine, &offers, fetch, Visits::OfAWalk).unwrap());
        }
        Ok::<_, HostMeasureError>(answers)
    };
    let found = closed_loop(&build, &Effort::default(), &mut clock, &mut replay, &mut go_on).unwrap();
    let mut free = Picos::ZERO;
    for (offer, answer) in offers.iter().zip(&found.replay[0]) {
        free = free.max(offer.at) + span(&offer.op);
        assert_eq!(answer.completion.at, free);
    }
    assert!(found.replay.iter().all(|answers| answers == &found.replay[0]));
}
