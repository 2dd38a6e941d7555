// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Partitioned messages: closed formulas for small programs, and what a replay says that does not end.

mod common;

use common::{engine, network, replayed_trace};
use mb_core::time::Picos;
use mb_replay::network::NetworkParameters;
use mb_replay::{ReplayConfig, Report};
use mb_trace::{Kind, RankBuilder, Record, Trace};

/// The network of these tests, in ns.
const LATENCY: u64 = 1000;
const SEND: u64 = 100;
const RECV: u64 = 50;
const BYTE: u64 = 2;

fn config() -> ReplayConfig {
    network(NetworkParameters {
        latency: Picos::from_ns(LATENCY),
        send_overhead: Picos::from_ns(SEND),
        recv_overhead: Picos::from_ns(RECV),
        gap: Picos::ZERO,
        per_byte: Picos::from_ns(BYTE),
        copy_per_byte: Picos::from_ns(3),
        eager_limit: 1000,
    })
}

/// Rank 0 does what `send` says, rank 1 what `receive` says.
fn replayed(send: impl FnOnce(&mut RankBuilder), receive: impl FnOnce(&mut RankBuilder)) -> Report {
    let (mut first, mut second) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
    send(&mut first);
    receive(&mut second);
    let trace = Trace::in_version(3, vec![first.finalize(), second.finalize()]);
    // An engine would show in the times.
    replayed_trace(&trace, &engine("linear:software"), &config())
}

fn nanoseconds(report: &Report) -> Vec<u64> {
    assert_eq!(report.unfinished, []);
    assert_eq!((report.total.sent, report.total.operations), (0, 0), "nothing is matched");
    report.ranks.iter().map(|rank| rank.totals.time.0 / 1000).collect()
}

#[test]
fn a_message_is_complete_when_its_last_partition_is() {
    let report = replayed(
        |sender| {
            let request = sender.start_partitioned(Kind::Send, 0, (1, 7), 4000, 0, 4);
            sender.partition(request, 3, 1);
            sender.compute(5_000);
            sender.partition(request, 0, 2);
            sender.partition(request, 2, 1);
            sender.wait(&[request]);
        },
        |receiver| {
            let request = receiver.start_partitioned(Kind::Recv, 0, (0, 7), 4000, 0, 8);
            receiver.wait(&[request]);
        },
    );
    // The first partition has left long before the next two, of 2000 bytes, are ready; the last waits for the NIC.
    let ready = SEND + 5_000 + SEND;
    let left = ready + 3000 * BYTE;
    assert_eq!(nanoseconds(&report), [left, left + LATENCY + RECV]);
    assert_eq!(report.total.partitioned, 1);
}

#[test]
fn a_message_that_is_there_first_completes_its_receive_when_it_starts() {
    let report = replayed(
        |sender| {
            let request = sender.start_partitioned(Kind::Send, 0, (1, 7), 0, 0, 1);
            sender.partition(request, 0, 1);
            sender.wait(&[request]);
        },
        |receiver| {
            receiver.compute(50_000);
            let request = receiver.start_partitioned(Kind::Recv, 0, (0, 7), 0, 0, 1);
            receiver.wait(&[request]);
        },
    );
    assert_eq!(nanoseconds(&report), [SEND, 50_000 + RECV]);
}

/// The second request starts first, with a message of its own size.
#[test]
fn requests_belong_together_in_the_order_of_their_inits_and_starts_in_theirs() {
    let report = replayed(
        |sender| {
            for (bytes, earlier) in [(1000, 1), (10, 0), (10, 0)] {
                let request = sender.start_partitioned(Kind::Send, 0, (1, 7), bytes, earlier, 1);
                sender.partition(request, 0, 1);
                sender.wait(&[request]);
            }
        },
        |receiver| {
            for _ in 0..2 {
                let request = receiver.start_partitioned(Kind::Recv, 0, (0, 7), 10, 0, 1);
                receiver.wait(&[request]);
            }
            let request = receiver.start_partitioned(Kind::Recv, 0, (0, 7), 1000, 1, 1);
            receiver.wait(&[request]);
        },
    );
    // The third receive finds its message, which was sent first, there.
    let left = SEND + 1000 * BYTE + 2 * (SEND + 10 * BYTE);
    assert_eq!(nanoseconds(&report), [left, left + LATENCY + 2 * RECV]);
    assert_eq!(report.total.partitioned, 3);
}

#[test]
fn a_partition_that_had_arrived_is_waited_for() {
    let report = replayed(
        |sender| {
            let request = sender.start_partitioned(Kind::Send, 0, (1, 7), 400, 0, 4);
            sender.partition(request, 0, 1);
            sender.compute(9_000);
            sender.partition(request, 1, 3);
            sender.wait(&[request]);
        },
        |receiver| {
            let request = receiver.start_partitioned(Kind::Recv, 0, (0, 7), 400, 0, 2);
            // Its first partition is the first two of the sender.
            receiver.partition(request, 0, 1);
            receiver.compute(300);
            receiver.wait(&[request]);
        },
    );
    let second = SEND + 9_000 + SEND;
    let there = second + LATENCY + 300 * BYTE;
    assert_eq!(nanoseconds(&report), [second + 300 * BYTE, there + 300 + RECV]);
}

#[test]
fn partitions_that_never_come_are_named() {
    let report = replayed(
        |sender| {
            let request = sender.start_partitioned(Kind::Send, 0, (1, 7), 400, 0, 4);
            sender.partition(request, 0, 3);
            sender.wait(&[request]);
        },
        |receiver| {
            let request = receiver.start_partitioned(Kind::Recv, 0, (0, 7), 400, 0, 4);
            receiver.wait(&[request]);
        },
    );
    let waits: Vec<_> = report.unfinished.iter().map(|rank| rank.waits.as_str()).collect();
    let expected =
        ["1 of 4 partitions with tag 7 to rank 1 to be ready", "a partitioned message with tag 7 from rank 0"];
    assert_eq!(waits, expected);
    let report = replayed(
        |_| {},
        |receiver| {
            let request = receiver.start_partitioned(Kind::Recv, 0, (0, 7), 400, 0, 4);
            receiver.partition(request, 3, 1);
            receiver.push(Record { kind: Kind::Free as u8, request: request.number, ..Record::default() });
        },
    );
    assert_eq!(report.unfinished[0].waits, "MPI_Parrived of a message with tag 7 from rank 0");
}
