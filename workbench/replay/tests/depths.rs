// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Match latencies by search depth: closed formulas, and the same depths on every engine.

mod common;

use common::{ANY, ANY_TAG, engine, linear, plain, replayed, replayed_trace};
use mb_catalog::EngineChoice;
use mb_core::time::Picos;
use mb_replay::{LatencyBin, Report};
use mb_trace::generate::Plan;
use mb_trace::{Flags, Kind, RankBuilder, Record, Status};

fn ns(value: u64) -> Picos {
    Picos::from_ns(value)
}

const fn status(source: i32, tag: i32) -> Status {
    Status { source, tag, bytes: 0 }
}

const ENTRY: u64 = 7;
const OPERATION: u64 = 40;

/// A list walk with these times.
fn walk() -> EngineChoice {
    linear(|parameters| (parameters.entry, parameters.operation) = (ns(ENTRY), ns(OPERATION)))
}

fn by_depth(ranks: Vec<Vec<Record>>, choice: &EngineChoice) -> Report {
    let mut config = plain();
    config.depths = true;
    let report = replayed(ranks, choice, &config);
    assert_eq!(report.unfinished, []);
    report
}

/// The smallest and largest depth of each bin, and its matches.
fn counts(bins: &[LatencyBin]) -> Vec<(u32, u32, u64)> {
    bins.iter().map(|bin| (bin.from, bin.to, bin.matches)).collect()
}

/// Rank 1 receives one message at each of these positions of a queue of `length` entries, which are messages if
/// `unexpected`, and receives otherwise. Each match finds the queue full again, and operations never overlap.
fn at_positions(length: u64, positions: &[u64], unexpected: bool) -> Vec<Vec<Record>> {
    let (mut sender, mut receiver) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
    let tags = |round: u64| (0..length).map(move |entry| (1000 * round + entry) as i32);
    for (round, &position) in (0..).zip(positions) {
        let wanted = (1000 * round + position) as i32;
        let rest = || tags(round).filter(move |tag| *tag != wanted);
        // Half a millisecond apart, so that no operation waits for another one.
        let (first, second) = if unexpected { (0, 500_000) } else { (500_000, 0) };
        sender.compute(first);
        receiver.compute(second);
        if unexpected {
            for tag in tags(round) {
                sender.send(0, 1, tag, 0);
            }
            receiver.recv(0, 0, wanted, 0, status(0, wanted));
            for tag in rest() {
                receiver.compute(50_000);
                receiver.recv(0, 0, tag, 0, status(0, tag));
            }
        } else {
            let requests: Vec<_> = tags(round).map(|tag| receiver.irecv(0, 0, tag, 0)).collect();
            sender.send(0, 1, wanted, 0);
            for tag in rest() {
                sender.compute(50_000);
                sender.send(0, 1, tag, 0);
            }
            receiver.wait(&requests);
        }
        // Rank 1 tells rank 0 that the next round can begin.
        receiver.send(0, 0, 1, 0);
        sender.recv(0, 1, 1, 0, status(1, 1));
    }
    vec![sender.finalize(), receiver.finalize()]
}

#[test]
fn a_match_at_position_p_is_counted_at_depth_p_with_the_latency_of_its_search() {
    for unexpected in [false, true] {
        for position in [0, 1, 6, 7, 8, 99] {
            let report = by_depth(at_positions(100, &[position], unexpected), &walk());
            let wanted = report.depths.iter().find(|bin| bin.from <= position as u32 + 1 && bin.to > position as u32);
            let wanted = wanted.expect("the match is counted");
            assert_eq!(
                wanted.latency.max(),
                ns(OPERATION + (position + 1) * ENTRY),
                "position {position}, {unexpected}"
            );
            // All others are the oldest entry when they match; so is the message of rank 1.
            let others = report.depths.first().expect("the others");
            assert_eq!((others.from, others.to), (1, 1));
            assert_eq!(report.total.match_latency.count(), 101);
            let matches = report.depths.iter().map(|bin| bin.matches).sum::<u64>();
            assert_eq!(matches, 101, "every match has a depth");
            if position > 0 {
                assert_eq!(counts(&report.depths).len(), 2);
                assert_eq!((wanted.matches, others.matches), (1, 100));
            }
        }
    }
}

#[test]
fn percentiles_at_a_depth_are_those_of_the_latencies_at_this_depth() {
    // Behind seven receives are two that two ranks send to at the same time: one message waits for the search of the
    // other, and finds its receive at the same depth.
    let mut receiver = RankBuilder::new(1, 3);
    let mut senders = [RankBuilder::new(0, 3), RankBuilder::new(2, 3)];
    let others: Vec<_> = (0..7).map(|tag| receiver.irecv(0, 0, tag, 0)).collect();
    let wanted: Vec<_> = [0, 2].iter().map(|&source| receiver.irecv(0, source, 99, 0)).collect();
    for sender in &mut senders {
        sender.compute(1_000_000);
        sender.send(0, 1, 99, 0);
    }
    receiver.wait(&wanted);
    receiver.compute(5_000_000);
    for tag in 0..7 {
        senders[0].compute(50_000);
        senders[0].send(0, 1, tag, 0);
    }
    receiver.wait(&others);
    let [first, last] = senders;
    let report = by_depth(vec![first.finalize(), receiver.finalize(), last.finalize()], &walk());
    // The receive that was ninth is eighth once the other has left. The second message arrives a gap after the first.
    let one = OPERATION + 8 * ENTRY;
    let gap = 20;
    let both = report.depths.iter().find(|bin| bin.from == 8).expect("two matches");
    assert_eq!(both.matches, 2);
    assert_eq!(both.latency.max(), ns(2 * one - gap));
    assert_eq!(both.latency.sum(), ns(3 * one - gap));
    let near = |share: f64, exact: u64| {
        let found = both.latency.quantile(share);
        assert!(found >= ns(exact) && found.0 <= ns(exact).0 * 17 / 16 + 1, "{found:?} for {exact} ns");
    };
    near(0.5, one);
    near(0.99, 2 * one - gap);
    near(0.999, 2 * one - gap);
    let alone = report.depths.iter().find(|bin| bin.from == 1).expect("seven matches");
    assert_eq!((alone.matches, alone.latency.max()), (7, ns(OPERATION + ENTRY)));
}

#[test]
fn depths_are_the_same_on_every_engine_whatever_it_visits() {
    let ranks = || at_positions(40, &[0, 3, 17, 39], true);
    let reports: Vec<_> = mb_catalog::all()
        .unwrap()
        .into_iter()
        .filter(|choice| choice.breaks_order().is_none())
        .map(|choice| (choice.spec(), by_depth(ranks(), &choice)))
        .collect();
    let expected = counts(&reports[0].1.depths);
    assert_eq!(expected, [(1, 1, 161), (4, 4, 1), (16, 19, 1), (40, 47, 1)]);
    let mut others = 0;
    for (spec, report) in &reports {
        assert_eq!(counts(&report.depths), expected, "{spec}");
        others += usize::from(counts(&report.visits) != expected);
    }
    assert!(others > 3, "hash tables and CAMs visit other numbers of entries");
}

#[test]
fn wildcards_cancels_and_probes_change_the_queue_and_not_what_a_depth_is() {
    let (mut sender, mut receiver) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
    // Three receives, the oldest cancelled: the any-tag receive is second, then first.
    let gone = receiver.irecv(0, 0, 5, 0);
    let other = receiver.irecv(0, 0, 6, 0);
    let any = receiver.irecv(0, ANY, ANY_TAG, 0);
    receiver.cancel(gone);
    receiver.push(Record { kind: Kind::Wait as u8, flags: Flags::BLOCKING, aux: 1, ..Record::default() });
    receiver.done_with(Flags::CANCELLED, gone.from(0, 0, 0));
    sender.compute(1_000_000);
    sender.send(0, 1, 7, 0);
    receiver.wait(&[any.from(0, 7, 0)]);
    sender.compute(1_000_000);
    sender.send(0, 1, 6, 0);
    receiver.wait(&[other]);
    // Four messages; a matched probe takes the second, so that the last is third.
    for tag in 10..14 {
        sender.send(0, 1, tag, 0);
    }
    receiver.compute(10_000_000);
    let probe = receiver.probe(Flags::MATCHED, 0, 0, 11, status(0, 11));
    let taken = receiver.mrecv(0, probe, 0);
    receiver.wait(&[taken]);
    for tag in [13, 10, 12] {
        receiver.compute(100_000);
        receiver.recv(0, 0, tag, 0, status(0, tag));
    }
    let report = by_depth(vec![sender.finalize(), receiver.finalize()], &walk());
    assert_eq!(counts(&report.depths), [(1, 1, 3), (2, 2, 2), (3, 3, 1)]);
}

#[test]
fn every_match_of_a_pattern_has_a_depth_and_visits_of_a_list_are_depths() {
    for pattern in ["halo3d", "many_to_one", "random", "depth"] {
        let trace = Plan::new(pattern, 8, 7, &[].into()).expect("a known pattern").in_memory();
        let mut config = plain();
        config.depths = true;
        for choice in [walk(), engine("hash_buckets:xiong2018"), engine("list_mt:mt2")] {
            let report = replayed_trace(&trace, &choice, &config);
            let matches = |bins: &[LatencyBin]| bins.iter().map(|bin| bin.matches).sum::<u64>();
            assert_eq!(matches(&report.depths), report.total.match_latency.count(), "{pattern}, {}", choice.spec());
            assert_eq!(matches(&report.visits), report.total.match_latency.count());
            assert!(report.depths.iter().all(|bin| bin.from > 0), "a match has a position");
            if choice.entry.card.name == "linear" {
                assert_eq!(report.depths, report.visits, "{pattern}");
            }
        }
    }
}

#[test]
fn a_replay_that_is_not_asked_reports_no_depths_and_the_same_times() {
    let ranks = || at_positions(20, &[3, 19], false);
    let asked = by_depth(ranks(), &walk());
    let report = replayed(ranks(), &walk(), &plain());
    assert_eq!(report.depths, []);
    assert_eq!(report.total, asked.total);
    assert_eq!(report.visits, asked.visits);
}
