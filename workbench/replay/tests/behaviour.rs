// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a replay promises whatever the numbers: every message once, order kept, the recording's
//! choices kept, deadlocks named.

mod common;

use std::ops::ControlFlow;

use common::{ANY, ANY_TAG, PLAIN, engine, network, plain, replayed, replayed_trace};
use mb_core::engine::Placement;
use mb_core::time::Picos;
use mb_replay::config::COLLECTIVE_ALGORITHMS;
use mb_replay::network::NetworkParameters;
use mb_replay::{ReplayConfig, ReplayError, Report, Wildcards, replay};
use mb_trace::{CollectiveOp, Flags, RankBuilder, Record, Status, Trace};

fn status(source: i32, tag: i32) -> Status {
    Status { source, tag, bytes: 8 }
}

#[test]
fn ranks_that_wait_for_each_other_are_named_with_their_calls() {
    let ranks = (0..3)
        .map(|rank| {
            let mut program = RankBuilder::new(rank, 3);
            program.recv(0, (rank as i32 + 1) % 3, 5, 8, status((rank as i32 + 1) % 3, 5));
            program.send(0, (rank as i32 + 2) % 3, 5, 8);
            program.finalize()
        })
        .collect();
    let report = replayed(ranks, &engine("ideal:zero"), &plain());
    let waits: Vec<_> = report.unfinished.iter().map(|rank| (rank.rank, rank.waits.as_str())).collect();
    let expected = [
        (0, "MPI_Recv with tag 5 from rank 1"),
        (1, "MPI_Recv with tag 5 from rank 2"),
        (2, "MPI_Recv with tag 5 from rank 0"),
    ];
    assert_eq!(waits, expected);
    assert_eq!(report.cycle, [0, 1, 2]);
    assert_eq!(report.total.never_matched, 3);
}

#[test]
fn a_wait_for_a_message_that_nobody_sends_names_what_it_misses() {
    let mut receiver = RankBuilder::new(0, 2);
    let there = receiver.irecv(0, 1, 1, 8);
    let missing = receiver.irecv(0, ANY, 2, 8);
    receiver.wait(&[there, missing.from(1, 2, 8)]);
    let mut sender = RankBuilder::new(1, 2);
    sender.send(0, 0, 1, 8);
    sender.send(0, 0, 3, 8);
    let report = replayed(vec![receiver.finalize(), sender.finalize()], &engine("ideal:zero"), &plain());
    assert_eq!(report.unfinished.len(), 1);
    assert_eq!(report.unfinished[0].waits, "MPI_Recv with tag 2 from MPI_ANY_SOURCE");
    assert!(report.cycle.is_empty());
    assert_eq!(report.total.never_received, 1);
    let notes = ["1 message was never received", "1 posted receive was never matched"];
    assert_eq!(report.notes, notes);
}

#[test]
fn a_large_blocking_send_that_nobody_receives_never_returns() {
    let mut sender = RankBuilder::new(0, 2);
    sender.send(0, 1, 1, 5000);
    let ranks = vec![sender.finalize(), RankBuilder::new(1, 2).finalize()];
    let report = replayed(ranks, &engine("ideal:zero"), &plain());
    assert_eq!(report.unfinished[0].waits, "MPI_Send of 5000 bytes with tag 1 to rank 1");
    assert_eq!(report.total.never_received, 1);
}

/// A master receives one message from each of `workers` with both wildcards, in the order of rank;
/// in the replay they come in the opposite order.
fn race(workers: u32) -> Vec<Vec<Record>> {
    let mut master = RankBuilder::new(0, workers + 1);
    for worker in 1..=workers as i32 {
        master.recv(0, ANY, ANY_TAG, 8, status(worker, worker));
    }
    let mut ranks = vec![master.finalize()];
    for worker in 1..=workers {
        let mut program = RankBuilder::new(worker, workers + 1);
        program.compute(u64::from(workers - worker) * 10_000);
        program.send(0, 0, worker as i32, 8);
        ranks.push(program.finalize());
    }
    ranks
}

#[test]
fn wildcards_take_what_they_took_in_the_recording() {
    let report = replayed(race(20), &engine("linear:qsnet2"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!(report.total.diverged, 0);
    assert_eq!(report.total.held_messages, 19);
    assert!(report.total.held > Picos::from_ns(10_000));
}

#[test]
fn a_watched_rank_has_its_own_queues_over_time() {
    let mut first = RankBuilder::new(0, 3);
    let requests: Vec<_> = (0..5).map(|tag| first.irecv(0, 1, tag, 8).from(1, tag, 8)).collect();
    first.wait(&requests);
    let mut second = RankBuilder::new(1, 3);
    second.compute(1_000_000);
    for tag in 0..5 {
        second.send(0, 0, tag, 8);
    }
    let ranks = || vec![first.clone().finalize(), second.clone().finalize(), RankBuilder::new(2, 3).finalize()];
    let config = ReplayConfig { watched: vec![0, 2], ..plain() };
    let watched = replayed(ranks(), &engine("linear:qsnet2"), &config);
    assert_eq!(watched.watched.iter().map(|of| of.rank).collect::<Vec<_>>(), [0, 2]);
    let longest = |at: usize| watched.watched[at].timeline.iter().map(|bin| bin.posted_max).max();
    assert_eq!((longest(0), longest(1)), (Some(5), None));
    assert_eq!(watched.watched[0].timeline, watched.timeline, "no other rank receives");
    let unwatched = replayed(ranks(), &engine("linear:qsnet2"), &plain());
    assert_eq!(Report { watched: Vec::new(), ..watched }, unwatched);
}

#[test]
fn free_wildcards_race_and_every_difference_is_counted() {
    let config = ReplayConfig { wildcards: Wildcards::Free, ..plain() };
    let report = replayed(race(20), &engine("linear:qsnet2"), &config);
    assert_eq!(report.unfinished, []);
    assert_eq!(report.total.diverged, 20);
    assert_eq!(report.total.held_messages, 0);
    assert_eq!(report.total.received, 20);
}

#[test]
fn a_receive_that_was_cancelled_takes_no_message_that_came_later() {
    let mut receiver = RankBuilder::new(0, 2);
    let cancelled = receiver.irecv(0, 1, 5, 8);
    receiver.compute(1_000_000);
    receiver.cancel(cancelled);
    receiver.push(Record { kind: mb_trace::Kind::Wait as u8, flags: Flags::BLOCKING, aux: 1, ..Record::default() });
    receiver.done_with(Flags::CANCELLED, cancelled.from(0, 0, 0));
    receiver.recv(0, 1, 5, 8, status(1, 5));
    let mut sender = RankBuilder::new(1, 2);
    sender.send(0, 0, 5, 8);
    let trace = Trace::in_memory(vec![receiver.finalize(), sender.finalize()]);
    let report = replayed_trace(&trace, &engine("ideal:zero"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!((report.total.cancelled, report.total.received, report.total.held_messages), (1, 1, 1));
}

#[test]
fn a_probe_waits_for_the_message_that_it_found_in_the_recording() {
    let mut receiver = RankBuilder::new(0, 3);
    receiver.probe_miss(0, ANY, ANY_TAG, 12);
    receiver.probe(Flags::BLOCKING, 0, ANY, ANY_TAG, status(2, 9));
    receiver.recv(0, 2, 9, 8, status(2, 9));
    receiver.probe(0, 0, 1, ANY_TAG, status(1, 4));
    receiver.recv(0, 1, 4, 8, status(1, 4));
    let mut first = RankBuilder::new(1, 3);
    first.send(0, 0, 4, 8);
    let mut second = RankBuilder::new(2, 3);
    second.compute(50_000);
    second.send(0, 0, 9, 8);
    let ranks = vec![receiver.finalize(), first.finalize(), second.finalize()];
    let report = replayed(ranks, &engine("linear:qsnet2"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!((report.total.received, report.total.unexpected), (2, 2));
    assert_eq!(report.total.probes_diverged, 1, "the first probe's search finds the other message first");
    assert!(report.ranks[0].totals.time > Picos::from_ns(50_000));
}

#[test]
fn every_collective_with_every_algorithm_finishes_on_any_number_of_ranks() {
    for &(op, name, algorithms) in COLLECTIVE_ALGORITHMS {
        for algorithm in algorithms {
            for ranks in [1_u32, 2, 3, 6, 8, 13] {
                let mut config = plain();
                config.collectives.set(name, algorithm.name()).unwrap();
                let rooted = matches!(
                    op,
                    CollectiveOp::Bcast | CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Scatter
                );
                let root = if rooted { ranks as i32 / 2 } else { -1 };
                let programs = (0..ranks).map(|rank| {
                    let mut program = RankBuilder::new(rank, ranks);
                    program.compute(u64::from(rank) * 1000);
                    for bytes in [0, 8, 5000] {
                        let bytes = if op == CollectiveOp::Barrier { 0 } else { bytes };
                        program.collective(op, 0, root, bytes, bytes, &[]);
                    }
                    program.finalize()
                });
                let trace = Trace::in_memory(programs.collect());
                let communicators = trace.check(|_| ControlFlow::Continue(()));
                if let Err(error) = &communicators {
                    panic!("{name}: {error}");
                }
                let report = replayed_trace(&trace, &engine("linear:qsnet2"), &config);
                assert_eq!(report.unfinished, [], "{name} {} on {ranks} ranks", algorithm.name());
                assert_eq!(report.total.never_received + report.total.never_matched, 0);
                assert_eq!(report.total.sent > 0, ranks > 1);
            }
        }
    }
}

#[test]
fn a_nonblocking_collective_runs_beside_the_program() {
    let programs = (0..4).map(|rank| {
        let mut program = RankBuilder::new(rank, 4);
        let request = program.icollective(CollectiveOp::Barrier, 0, -1, 0, 0, &[]);
        program.compute(1_000_000);
        program.wait(&[request]);
        program.finalize()
    });
    let report = replayed(programs.collect(), &engine("ideal:zero"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!(report.total.time, Picos::from_ns(1_000_000));
}

#[test]
fn threads_of_a_rank_wait_on_their_own() {
    let mut both = RankBuilder::new(0, 2);
    both.push(Record {
        kind: mb_trace::Kind::Recv as u8,
        flags: Flags::BLOCKING,
        peer: 1,
        tag: 1,
        bytes: 8,
        request: 1,
        ..Record::default()
    });
    both.thread(1);
    both.send(0, 1, 2, 8);
    both.push(Record { kind: mb_trace::Kind::Finalize as u8, ..Record::default() });
    let mut records = both.finalize();
    records.pop();
    let finalize = records.pop().unwrap();
    records.push(Record {
        kind: mb_trace::Kind::Done as u8,
        peer: 1,
        tag: 1,
        bytes: 8,
        request: 1,
        thread: 0,
        ..finalize
    });
    records.push(Record { thread: 0, ..finalize });
    let mut other = RankBuilder::new(1, 2);
    other.recv(0, 0, 2, 8, status(0, 2));
    other.send(0, 0, 1, 8);
    let report = replayed(vec![records, other.finalize()], &engine("ideal:zero"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!(report.total.received, 2);
}

#[test]
fn a_message_to_oneself_does_not_cross_the_network() {
    let mut program = RankBuilder::new(0, 1);
    let receive = program.irecv(0, 0, 3, 8);
    let send = program.isend(0, 0, 3, 8);
    program.wait(&[receive, send]);
    let big = program.irecv(0, 0, 3, 9000);
    let send = program.isend(0, 0, 3, 9000);
    program.wait(&[big, send]);
    let report = replayed(vec![program.finalize()], &engine("ideal:zero"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!(report.total.time, Picos::from_ns(2 * (100 + 50)));
}

#[test]
fn compute_time_scales_exactly() {
    let mut program = RankBuilder::new(0, 1);
    program.compute(1_000_003);
    let records = program.finalize();
    for (scale, expected) in [(0.0, 0), (0.5, 500_001_500), (1.0, 1_000_003_000), (2.0, 2_000_006_000)] {
        let config = ReplayConfig { cpu_scale: scale, ..plain() };
        let report = replayed(vec![records.clone()], &engine("ideal:zero"), &config);
        assert_eq!(report.total.time, Picos(expected));
        assert_eq!(report.total.compute, Picos(expected));
    }
}

#[test]
fn a_cpu_scale_that_makes_no_sense_is_refused() {
    let trace = Trace::in_memory(vec![RankBuilder::new(0, 1).finalize()]);
    let communicators = trace.check(|_| ControlFlow::Continue(())).unwrap();
    let config = ReplayConfig { cpu_scale: f64::NAN, ..plain() };
    let choice = engine("ideal:zero");
    let mut build = || choice.build().unwrap();
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let error = replay(&trace, &communicators, &mut build, Placement::Nic, &config, go_on).unwrap_err();
    assert!(matches!(error, ReplayError::BadParameter(_)));
    assert_eq!(error.to_string(), "cpu_scale: found NaN, expected 0 to 1000000");
}

#[test]
fn a_probe_finds_its_message_before_an_earlier_wildcard_receive_takes_its_own() {
    let mut receiver = RankBuilder::new(0, 2);
    receiver.probe(Flags::BLOCKING, 0, 1, 2, status(1, 2));
    receiver.recv(0, 1, ANY_TAG, 8, status(1, 1));
    receiver.recv(0, 1, 2, 8, status(1, 2));
    let mut sender = RankBuilder::new(1, 2);
    sender.send(0, 0, 1, 8);
    sender.send(0, 0, 2, 8);
    let report = replayed(vec![receiver.finalize(), sender.finalize()], &engine("linear:qsnet2"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!((report.total.received, report.total.diverged), (2, 0));
}

#[test]
fn a_receive_that_was_cancelled_too_late_waits_for_its_message() {
    let mut receiver = RankBuilder::new(0, 2);
    let request = receiver.irecv(0, 1, 5, 8);
    receiver.cancel(request);
    receiver.wait(&[request]);
    let mut sender = RankBuilder::new(1, 2);
    sender.compute(50_000);
    sender.send(0, 0, 5, 8);
    for spec in ["ideal:zero", "linear:software"] {
        let ranks = vec![receiver.clone().finalize(), sender.clone().finalize()];
        let report = replayed(ranks, &engine(spec), &plain());
        assert_eq!(report.unfinished, []);
        assert_eq!((report.total.received, report.total.cancelled, report.total.never_received), (1, 0, 0));
    }
}

#[test]
fn a_cancel_of_a_matched_large_receive_takes_no_other_receive_back() {
    let mut receiver = RankBuilder::new(0, 2);
    let large = receiver.irecv(0, 1, 1, 5000);
    receiver.compute(1500);
    let next = receiver.irecv(0, 1, 2, 8);
    receiver.cancel(large);
    receiver.wait(&[large, next]);
    let mut sender = RankBuilder::new(1, 2);
    let requests = [sender.isend(0, 0, 1, 5000)];
    sender.compute(20_000);
    sender.send(0, 0, 2, 8);
    sender.wait(&requests);
    let config = ReplayConfig { wildcards: Wildcards::Free, ..plain() };
    let report = replayed(vec![receiver.finalize(), sender.finalize()], &engine("ideal:zero"), &config);
    assert_eq!(report.unfinished, []);
    assert_eq!((report.total.received, report.total.cancelled), (2, 0));
}

#[test]
fn a_wildcard_receive_without_an_end_holds_nothing_back() {
    let mut receiver = RankBuilder::new(0, 2);
    let _never_completed = receiver.irecv(0, ANY, 1, 8);
    receiver.recv(0, 1, 1, 8, status(1, 1));
    let mut sender = RankBuilder::new(1, 2);
    sender.send(0, 0, 1, 8);
    sender.send(0, 0, 1, 8);
    let report = replayed(vec![receiver.finalize(), sender.finalize()], &engine("ideal:zero"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!((report.total.received, report.total.held_messages), (2, 0));
}

#[test]
fn what_another_thread_does_between_a_wait_and_its_done_records_is_replayed() {
    let mut both = RankBuilder::new(0, 2);
    let nothing = both.isend(0, mb_core::mpi::PROC_NULL, 1, 8);
    both.push(Record { kind: mb_trace::Kind::Wait as u8, flags: Flags::BLOCKING, aux: 1, ..Record::default() });
    both.thread(1);
    both.send(0, 1, 2, 8);
    both.thread(0);
    both.done(nothing);
    let mut other = RankBuilder::new(1, 2);
    other.recv(0, 0, 2, 8, status(0, 2));
    let report = replayed(vec![both.finalize(), other.finalize()], &engine("ideal:zero"), &plain());
    assert_eq!(report.unfinished, []);
    assert_eq!(report.total.received, 1);
}

#[test]
fn what_a_thread_does_after_anothers_call_has_returned_comes_later() {
    let mut both = RankBuilder::new(0, 2);
    both.thread(1);
    both.miss(1);
    both.thread(0);
    both.recv(0, 1, 1, 8, status(1, 1));
    both.thread(1);
    both.send(0, 1, 2, 8);
    both.thread(0);
    let mut other = RankBuilder::new(1, 2);
    other.compute(50_000);
    other.send(0, 0, 1, 8);
    other.recv(0, 0, 2, 8, status(0, 2));
    let report = replayed(vec![both.finalize(), other.finalize()], &engine("ideal:zero"), &plain());
    // There and back: two sends, two latencies, two receives; the first send may overlap with
    // nothing.
    assert_eq!(report.total.time, Picos::from_ns(50_000 + 2 * (100 + 1000 + 8 + 50)));
}

#[test]
fn the_last_thread_number_is_one_like_any_other() {
    let mut receiver = RankBuilder::new(0, 2);
    receiver.thread(u16::MAX);
    receiver.probe(Flags::BLOCKING, 0, ANY, ANY_TAG, status(1, 3));
    receiver.recv(0, ANY, 3, 8, status(1, 3));
    let request = receiver.irecv(0, 1, 4, 8);
    receiver.wait(&[request]);
    let mut sender = RankBuilder::new(1, 2);
    sender.compute(1000);
    sender.send(0, 0, 3, 8);
    sender.send(0, 0, 4, 8);
    for spec in ["ideal:zero", "linear:software"] {
        let ranks = vec![receiver.clone().finalize(), sender.clone().finalize()];
        let report = replayed(ranks, &engine(spec), &plain());
        assert_eq!(report.unfinished, [], "{spec}");
    }
}

#[test]
fn a_replay_that_gets_beyond_the_end_of_time_is_refused() {
    let outcome = |ranks: Vec<Vec<Record>>, cpu_scale: f64| {
        let trace = Trace::in_memory(ranks);
        let communicators = trace.check(|_| ControlFlow::Continue(())).unwrap();
        let byte = Picos::from_ns(1_000_000);
        let slow = NetworkParameters { per_byte: byte, copy_per_byte: byte, ..PLAIN };
        let config = ReplayConfig { cpu_scale, ..network(slow) };
        let choice = engine("linear:qsnet2");
        let mut build = || choice.build().unwrap();
        let go_on = &mut |_, _| ControlFlow::Continue(());
        replay(&trace, &communicators, &mut build, Placement::Nic, &config, go_on)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let mut late = RankBuilder::new(0, 1);
    for thread in 0..4 {
        late.thread(thread);
        late.miss(1);
        late.push(Record { kind: mb_trace::Kind::Miss as u8, aux: 1, cpu: 0, ..Record::default() });
    }
    late.thread(0);
    late.compute(1 << 53);
    late.miss(1);
    let refused = |record| {
        Err(format!(
            "rank 0, record {record}: found a simulated time beyond 2^62 ps, expected at most 53 days; reduce sizes, times or parameters"
        ))
    };
    let records = late.clone().records().len() - 1;
    assert_eq!(outcome(vec![late.clone().finalize()], 1.0), refused(records));
    assert_eq!(outcome(vec![late.clone().finalize()], 1e6), refused(records));
    assert_eq!(outcome(vec![late.finalize()], 1e-9), Ok(()));

    let (mut sender, mut receiver) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
    let sent: Vec<_> = (0..20).map(|tag| sender.isend(0, 1, tag, 1 << 48)).collect();
    let received: Vec<_> = (0..20).map(|tag| receiver.irecv(0, 0, tag, 1 << 48)).collect();
    sender.wait(&sent);
    receiver.wait(&received);
    let error = outcome(vec![sender.finalize(), receiver.finalize()], 1.0).unwrap_err();
    assert!(error.contains("found a simulated time beyond 2^62 ps"), "{error}");
}
