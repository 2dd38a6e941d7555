// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lists and operations of a snapshot against the oracle.

mod common;

use common::{engine, plain, replayed_trace};
use mb_core::{MsgId, Op, Outcome, RecvId};
use mb_oracle::Oracle;
use mb_replay::{Cut, CutAt, CutOp, Deepest, MatchedEntry, Report, Snapshots};
use mb_trace::generate::Plan;
use mb_trace::{Flags, Kind, RankBuilder, RankRun, Record, Trace};

fn trace(pattern: &str, settings: &[(&str, &str)]) -> Trace {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Plan::new(pattern, 8, 7, &settings).expect("the settings fit").in_memory()
}

fn watched(trace: &Trace, communicator: Option<u32>, cut: Option<CutAt>) -> Report {
    let mut config = plain();
    config.snapshots = Some(Snapshots { communicator, cut });
    replayed_trace(trace, &engine("linear:qsnet2"), &config)
}

fn cut_of(trace: &Trace, communicator: Option<u32>, rank: u32, first: u64, count: usize) -> Cut {
    watched(trace, communicator, Some(CutAt { rank, first, count })).cut.expect("the rank has operations")
}

/// Names of what was in the lists before the operations: these numbers and the position.
const LISTED: u64 = 1 << 40;

/// The operation under a name of its own, its number.
fn renamed(op: Op, number: u64) -> Op {
    match op {
        Op::Post { pattern, .. } => Op::Post { recv: RecvId(number), pattern },
        Op::Arrive { envelope, .. } => Op::Arrive { msg: MsgId(number), envelope },
        other => other,
    }
}

/// What the oracle finds for each operation, with the depth of each search.
fn judged(cut: &Cut) -> Vec<(MatchedEntry, u32)> {
    let mut oracle = Oracle::new();
    for (position, pattern) in (0..).zip(&cut.posted) {
        let posted = oracle.apply(Op::Post { recv: RecvId(LISTED + position), pattern: *pattern }).0;
        assert!(matches!(posted, Outcome::Posted(_)), "no message of the cut matches a receive of it");
    }
    for (position, envelope) in (0..).zip(&cut.unexpected) {
        let arrived = oracle.apply(Op::Arrive { msg: MsgId(LISTED + position), envelope: *envelope }).0;
        assert!(matches!(arrived, Outcome::Unexpected(_)), "no receive of the cut matches a message of it");
    }
    let found = |name: u64| {
        if name >= LISTED { MatchedEntry::Listed((name - LISTED) as usize) } else { MatchedEntry::Left(name as usize) }
    };
    (0..)
        .zip(&cut.operations)
        .map(|(number, CutOp { op, .. })| {
            let (outcome, depth) = oracle.apply(renamed(*op, number));
            let matched = match (op, outcome) {
                (Op::Arrive { .. }, Outcome::Matched(recv, _)) => found(recv.0),
                (_, Outcome::Matched(_, msg) | Outcome::Probed(_, Some(msg))) => found(msg.0),
                _ => MatchedEntry::Nothing,
            };
            (matched, depth)
        })
        .collect()
}

/// Patterns with long lists of receives, of messages, and with wildcards.
fn patterns() -> Vec<Trace> {
    vec![
        trace("depth", &[("depth", "9"), ("iterations", "4")]),
        trace("many_to_one", &[("messages", "6")]),
        trace("halo3d", &[("iterations", "3")]),
        trace("random", &[]),
    ]
}

#[test]
fn a_snapshot_has_the_lists_and_outcomes_of_the_oracle() {
    let (mut listed, mut left, mut nothing) = (0, 0, 0);
    for trace in patterns() {
        let deepest = watched(&trace, None, None).deepest;
        assert_eq!(deepest.len(), trace.ranks() as usize);
        for (rank, Deepest { operation, depth, operations, at }) in (0..).zip(deepest) {
            if operations == 0 {
                continue;
            }
            let worst = cut_of(&trace, None, rank, operation, 40);
            let judged = judged(&worst);
            assert_eq!(
                worst.operations.iter().map(|of| of.found).collect::<Vec<_>>(),
                judged.iter().map(|of| of.0).collect::<Vec<_>>()
            );
            assert_eq!((worst.operations[0].at, judged[0].1), (at, depth), "the first search is the deepest");
            assert!(judged.iter().all(|of| of.1 <= depth));
            assert!(worst.operations.is_sorted_by_key(|of| of.at));
            for of in &worst.operations {
                match of.found {
                    MatchedEntry::Listed(_) => listed += 1,
                    MatchedEntry::Left(_) => left += 1,
                    MatchedEntry::Nothing => nothing += 1,
                }
            }
            let whole = cut_of(&trace, None, rank, 0, usize::MAX);
            assert_eq!((whole.posted.len(), whole.unexpected.len()), (0, 0), "lists are empty at the start");
            assert_eq!(whole.operations.len() as u64, operations);
            let from_it = &whole.operations[operation as usize..];
            let kept = &from_it[..worst.operations.len()];
            assert!(kept.iter().zip(&worst.operations).all(|(one, other)| (one.at, one.op) == (other.at, other.op)));
        }
    }
    assert!(listed > 0 && left > 0 && nothing > 0, "{listed} listed, {left} left, {nothing} nothing");
}

#[test]
fn a_communicator_alone_has_its_own_entries_and_operations() {
    // The same tags from the same rank on two communicators; those of the second arrive first.
    let whole = RankRun { first: 0, stride: 1, length: 2 };
    let mut receiver = RankBuilder::new(0, 2);
    let mut sender = RankBuilder::new(1, 2);
    let other = receiver.comm(1 << 63 | 1, &[whole], None);
    assert_eq!(sender.comm(1 << 63 | 1, &[whole], None), other);
    let requests: Vec<_> = (0..6)
        .map(|at| (if at % 2 == 0 { 0 } else { other }, at / 2))
        .map(|(comm, tag)| receiver.irecv(comm, 1, tag, 8).from(1, tag, 8))
        .collect();
    receiver.wait(&requests);
    sender.compute(1_000_000);
    for comm in [other, 0] {
        for tag in 0..3 {
            sender.send(comm, 0, tag, 8);
        }
    }
    let trace = Trace::in_memory(vec![receiver.finalize(), sender.finalize()]);
    let all = cut_of(&trace, None, 0, 0, usize::MAX);
    let communicator = |of: &CutOp| match of.op {
        Op::Post { pattern, .. } | Op::Probe { pattern, .. } | Op::MatchedProbe { pattern, .. } => pattern.bits >> 33,
        Op::Arrive { envelope, .. } => envelope.bits >> 33,
        Op::Cancel { .. } => unreachable!("a cut has no cancels"),
    };
    let mut seen: Vec<u64> = all.operations.iter().map(communicator).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 2);
    for each in &seen {
        let alone = cut_of(&trace, Some(*each as u32), 0, 0, usize::MAX);
        let expected = all.operations.iter().filter(|of| communicator(of) == *each).count();
        assert_eq!(alone.operations.len(), expected);
        assert_eq!(
            judged(&alone).iter().map(|of| of.0).collect::<Vec<_>>(),
            alone.operations.iter().map(|of| of.found).collect::<Vec<_>>()
        );
    }
    let none = watched(&trace, Some(1000), None).deepest;
    assert!(none.iter().all(|deepest| deepest.operations == 0));
}

#[test]
fn a_cancel_that_takes_a_receive_back_ends_the_operations() {
    let mut receiver = RankBuilder::new(0, 2);
    let first = receiver.irecv(0, 1, 4, 8);
    let cancelled = receiver.irecv(0, 1, 5, 8);
    receiver.cancel(cancelled);
    receiver.push(Record { kind: Kind::Wait as u8, flags: Flags::BLOCKING, aux: 1, ..Record::default() });
    receiver.done_with(Flags::CANCELLED, cancelled.from(0, 0, 0));
    receiver.wait(&[first.from(1, 4, 8)]);
    let mut sender = RankBuilder::new(1, 2);
    sender.compute(1_000_000);
    sender.send(0, 0, 4, 8);
    let trace = Trace::in_memory(vec![receiver.finalize(), sender.finalize()]);
    let cut = cut_of(&trace, None, 0, 0, 100);
    assert_eq!((cut.operations.len(), cut.cancelled), (2, true));
    let behind = cut_of(&trace, None, 0, 3, 100);
    assert_eq!((behind.posted.len(), behind.operations.len(), behind.cancelled), (1, 1, false));
    assert_eq!(behind.operations[0].found, MatchedEntry::Listed(0));
}
