// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The statistics of small traces, counted by hand, and of patterns, by formula.

use crate::common;

use std::ops::ControlFlow;

use common::{everything, ping};
use mb_trace::generate::{
    ApplicationRow, DepthParameters, ManyToOneParameters, PatternParameters, Plan, PostOrder, Queue, ReceiveSource,
    Tanabe2013Table1Parameters, TransposeParameters, Xiong2018DepthsParameters,
};
use mb_trace::{RankBuilder, Record, Stats, Status, Trace};

fn stats(trace: &Trace) -> (Vec<Stats>, Stats) {
    let comms = trace.check(|_| ControlFlow::Continue(())).unwrap();
    let mut ranks = Vec::new();
    let total = trace.stats(&comms, |_, stats| {
        ranks.push(stats.clone());
        ControlFlow::Continue(())
    });
    (ranks, total.unwrap())
}

fn of_pattern(parameters: &impl PatternParameters, ranks: u32) -> (Vec<Stats>, Stats) {
    stats(&Plan::of(parameters, ranks, 7).unwrap().in_memory())
}

#[test]
fn one_message_into_a_posted_receive() {
    let (ranks, total) = stats(&Trace::in_memory(ping()));
    assert_eq!((ranks[0].sent, ranks[0].sent_bytes, ranks[0].received), (1, 512, 0));
    assert_eq!((ranks[1].sent, ranks[1].received_bytes, ranks[1].received), (0, 512, 1));
    assert_eq!((total.unexpected, total.posted_depth.sum, total.posted_max), (0, 1, 1));
    assert_eq!(total.unexpected_length.ranges().collect::<Vec<_>>(), [(0, 0, 1)], "the receive found no message");
    assert_eq!(total.wall_ns, 1_000);
}

#[test]
fn every_kind_is_counted() {
    let (ranks, total) = stats(&Trace::in_memory(everything()));
    // Per rank: ring, duplicate, inter, self, send, forgotten; the last one is never received.
    assert_eq!((total.sent, total.received, total.never_received), (4 * 6, 4 * 5, 4));
    // The fifth message is taken by a matched probe, and one receive is cancelled.
    assert_eq!((total.receives, total.matched_probes), (4 * 6, 4));
    assert_eq!((total.cancelled, total.unfinished), (4, 0));
    assert_eq!((total.any_source, total.any_tag, total.any_both), (0, 0, 4));
    assert_eq!((total.probes, total.probes_wildcard, total.probe_misses, total.test_misses), (4, 4, 8, 12));
    // Barrier, gather, allreduce and all-to-all: one each per rank.
    assert_eq!(total.collectives, [4, 0, 0, 4, 4, 0, 0, 4, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        (total.communicators, total.tags),
        (3 + 4, 5),
        "world, duplicate, inter and four selves; tags 1 2 3 9 4"
    );
    assert_eq!((ranks[1].sources, ranks[1].communicators), (2, 4), "the rank before it, and itself");
    assert_eq!(total.without_send, 0);
}

#[test]
fn receives_in_arrival_order_are_found_first_and_reversed_ones_last() {
    let (_, arrival) = of_pattern(&TransposeParameters::default(), 64);
    let (_, reverse) = of_pattern(&TransposeParameters { order: PostOrder::Reverse, ..Default::default() }, 64);
    assert_eq!(arrival.posted_depth.mean(), Some(1.0));
    assert_eq!(reverse.posted_depth.mean(), Some(32.0), "(63 + 1) / 2");
    for total in [arrival, reverse] {
        assert_eq!((total.unexpected, total.posted_max, total.sent), (0, 63, 64 * 63));
        assert_eq!(total.never_received, 0);
    }
}

#[test]
fn the_depth_pattern_searches_as_deep_as_it_says() {
    for (position, before) in [(0, 0), (50, 50), (100, 100)] {
        let parameters = DepthParameters { depth: 100, position, iterations: 3, ..Default::default() };
        let (ranks, _) = of_pattern(&parameters, 2);
        // The message sought, then a hundred others, each first in the list.
        let depth = &ranks[1].posted_depth;
        assert_eq!((depth.count, depth.max, depth.sum), (3 * 101, before + 1, 3 * (before + 1 + 100)), "{position} %");
        assert_eq!(ranks[1].unexpected, 0);

        let (ranks, _) = of_pattern(&DepthParameters { queue: Queue::Unexpected, ..parameters }, 2);
        let depth = &ranks[1].unexpected_depth;
        assert_eq!((depth.count, depth.max, depth.sum), (3 * 101, before + 1, 3 * (before + 1 + 100)), "{position} %");
        assert_eq!((ranks[1].unexpected, ranks[1].unexpected_max), (3 * 101, 101));
    }
}

/// Tanabe and Ohta, Table 1: average search depth of the unexpected messages; half of the messages
/// are unexpected.
#[test]
fn table_1_is_met_at_its_columns() {
    for (application, row) in [(ApplicationRow::Ft, [5.0, 10.0, 27.0]), (ApplicationRow::Its, [7.0, 13.0, 21.0])] {
        for (ranks, depth) in [32, 64, 128].into_iter().zip(row) {
            let parameters = Tanabe2013Table1Parameters { application, iterations: 2, ..Default::default() };
            let (_, total) = of_pattern(&parameters, ranks);
            assert_eq!(total.unexpected_depth.mean(), Some(depth), "{application:?} on {ranks}");
            assert_eq!(total.unexpected_share(), Some(0.5), "{application:?} on {ranks}");
        }
    }
}

#[test]
fn half_of_the_lists_are_below_128_and_three_quarters_below_512() {
    // Two ranks and many steps: the longest list of a step is the number of its messages.
    let mut lengths: Vec<u64> = Vec::new();
    let parameters = Xiong2018DepthsParameters { iterations: 1, ..Default::default() };
    for seed in 0..400 {
        let trace = Plan::of(&parameters, 2, seed).unwrap().in_memory();
        let (_, total) = stats(&trace);
        assert_eq!(total.posted_max, total.unexpected_max);
        lengths.push(total.posted_max);
    }
    let share = |limit| lengths.iter().filter(|&&length| length < limit).count() as f64 / 400.0;
    assert!((share(128) - 0.5).abs() < 0.06, "{}", share(128));
    assert!((share(512) - 0.75).abs() < 0.06, "{}", share(512));
    assert!(lengths.iter().max().is_some_and(|&length| (2048..=4096).contains(&length)));
}

#[test]
fn any_source_is_counted_and_named_receives_are_searched() {
    let named = ManyToOneParameters { messages: 5, ..Default::default() };
    let (ranks, _) = of_pattern(&ManyToOneParameters { source: ReceiveSource::Any, ..named }, 9);
    assert_eq!((ranks[0].any_source, ranks[0].posted_depth.mean()), (40, Some(1.0)));
    let (ranks, _) = of_pattern(&ManyToOneParameters { order: PostOrder::Reverse, ..named }, 9);
    assert_eq!((ranks[0].any_source, ranks[0].posted_depth.mean()), (0, Some(4.5)), "(8 + 1) / 2");
    let (ranks, _) = of_pattern(&ManyToOneParameters { ahead: 2, ..named }, 9);
    assert_eq!((ranks[0].unexpected, ranks[0].posted_max), (30, 2), "two of eight are posted in time");
}

/// Rank 0 sends before rank 1 posts; rank 1 posts before rank 2 sends.
#[test]
fn recorded_times_decide_what_was_unexpected() {
    let mut early = RankBuilder::new(0, 3);
    early.send(0, 1, 0, 8);
    let mut middle = RankBuilder::new(1, 3);
    middle.compute(100);
    let status = |source| Status { source, tag: 0, bytes: 8 };
    middle.recv(0, 0, 0, 8, status(0));
    let late = middle.irecv(0, 2, 0, 8);
    middle.compute(100);
    middle.wait(&[late]);
    let mut last = RankBuilder::new(2, 3);
    last.compute(150);
    last.send(0, 1, 0, 8);
    let (ranks, _) = stats(&Trace::in_memory(vec![early.finalize(), middle.finalize(), last.finalize()]));
    assert_eq!((ranks[1].unexpected, ranks[1].unexpected_depth.sum, ranks[1].posted_depth.sum), (1, 1, 1));
}

/// The sender's clock is late: the message must have arrived before its receive was done, and those
/// before it too.
#[test]
fn a_message_arrives_no_later_than_its_receive_finished() {
    let mut sender = RankBuilder::new(0, 2);
    sender.compute(1_000_000);
    sender.send(0, 1, 5, 8);
    sender.send(0, 1, 6, 8);
    let mut receiver = RankBuilder::new(1, 2);
    receiver.recv(0, 0, 6, 8, Status { source: 0, tag: 6, bytes: 8 });
    receiver.compute(10);
    receiver.recv(0, 0, 5, 8, Status { source: 0, tag: 5, bytes: 8 });
    let (ranks, _) = stats(&Trace::in_memory(vec![sender.finalize(), receiver.finalize()]));
    // Tag 6 finished at 0, so tag 5, sent before it, was there too and unexpected.
    assert_eq!((ranks[1].unexpected, ranks[1].posted_depth.sum, ranks[1].unexpected_depth.sum), (1, 1, 1));
}

#[test]
fn a_receive_without_a_send_and_a_send_without_a_receive_are_told() {
    let mut sender = RankBuilder::new(0, 2);
    sender.send(0, 1, 5, 8);
    let mut receiver = RankBuilder::new(1, 2);
    receiver.recv(0, 0, 6, 8, Status { source: 0, tag: 6, bytes: 8 });
    let open = receiver.irecv(0, 0, 7, 8);
    assert_eq!(open.number, 2);
    let (ranks, total) = stats(&Trace::in_memory(vec![sender.finalize(), receiver.finalize()]));
    assert_eq!((ranks[1].never_received, ranks[1].without_send, ranks[1].unfinished), (1, 1, 1));
    assert_eq!((total.never_received, total.without_send, total.unfinished), (1, 1, 1));
}

#[test]
fn an_empty_rank_has_empty_statistics() {
    let nothing: Vec<Record> = RankBuilder::new(0, 1).finalize();
    let (_, total) = stats(&Trace::in_memory(vec![nothing]));
    let expected = Stats { records: 6, ..Stats::default() };
    assert_eq!(total, expected);
    assert_eq!((total.unexpected_share(), total.posted_depth.mean()), (None, None));
}
