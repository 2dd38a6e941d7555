// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Closed formulas: for small programs the replay's times are known to the picosecond.

mod common;

use common::{ANY, engine, linear, network, replayed};
use mb_catalog::EngineChoice;
use mb_core::engine::Placement;
use mb_core::time::Picos;
use mb_replay::ReplayConfig;
use mb_replay::network::NetworkParameters;
use mb_trace::{CollectiveOp, Flags, RankBuilder, Record, Status};

/// The network of these tests, in ns: latency, sender's and receiver's overhead, gap, per byte,
/// copy per byte.
const LATENCY: u64 = 1000;
const SEND: u64 = 100;
const RECV: u64 = 50;
const GAP: u64 = 20;
const BYTE: u64 = 2;
const COPY: u64 = 3;
/// Eager up to this size.
const EAGER: u64 = 1000;

fn ns(value: u64) -> Picos {
    Picos::from_ns(value)
}

fn config() -> ReplayConfig {
    network(NetworkParameters {
        latency: ns(LATENCY),
        send_overhead: ns(SEND),
        recv_overhead: ns(RECV),
        gap: ns(GAP),
        per_byte: ns(BYTE),
        copy_per_byte: ns(COPY),
        eager_limit: EAGER,
    })
}

/// The bound, which takes no time.
fn ideal() -> EngineChoice {
    engine("ideal:zero")
}

/// A list walk with these times in ns.
fn walk(entry: u64, operation: u64) -> EngineChoice {
    linear(|parameters| (parameters.entry, parameters.operation) = (ns(entry), ns(operation)))
}

fn times(ranks: Vec<Vec<Record>>, choice: &EngineChoice) -> Vec<Picos> {
    let report = replayed(ranks, choice, &config());
    assert_eq!(report.unfinished, []);
    report.ranks.iter().map(|rank| rank.totals.time).collect()
}

/// Rank 1 posts `depth` receives that nothing matches before the barrier-free end, then the wanted
/// one; rank 0 sends after `late` ns.
fn preposted(depth: u64, bytes: u64, late: u64) -> Vec<Vec<Record>> {
    let mut sender = RankBuilder::new(0, 2);
    sender.compute(late);
    sender.send(0, 1, 7, bytes);
    for other in 0..depth {
        sender.send(0, 1, 1000 + other as i32, 0);
    }
    let mut receiver = RankBuilder::new(1, 2);
    let others: Vec<_> = (0..depth).map(|other| receiver.irecv(0, 0, 1000 + other as i32, 0)).collect();
    let wanted = receiver.irecv(0, 0, 7, bytes);
    receiver.wait(&[wanted]);
    receiver.compute(1_000_000);
    receiver.wait(&others);
    vec![sender.finalize(), receiver.finalize()]
}

#[test]
fn a_preposted_receive_at_depth_d_takes_latency_plus_the_engines_search() {
    // linear: a fixed time per operation and per entry. The wait ends after o_s + L + op + (d + 1)
    // * entry + o_r.
    for depth in [0_u64, 1, 5, 16, 17, 100, 700] {
        let (entry, operation, late) = (7, 40, 1_000_000);
        let report = replayed(preposted(depth, 0, late), &walk(entry, operation), &config());
        let wait = late + SEND + LATENCY + operation + (depth + 1) * entry + RECV;
        // Then it computes for a millisecond; the others have long arrived, each found at the head,
        // and cost o_r each.
        let expected = ns(wait + 1_000_000 + depth * RECV);
        assert_eq!(report.ranks[1].totals.time, expected, "depth {depth}");
        assert_eq!(u64::from(report.total.visits_max), depth + 1);
    }
}

#[test]
fn an_engine_that_takes_no_time_leaves_the_network_alone() {
    assert_eq!(
        times(preposted(300, 0, 1_000_000), &ideal())[1],
        ns(1_000_000 + SEND + LATENCY + RECV + 1_000_000 + 300 * RECV)
    );
}

#[test]
fn an_eager_message_is_there_when_its_last_byte_is() {
    let time = times(preposted(0, EAGER, 1_000_000), &ideal())[1];
    assert_eq!(time, ns(1_000_000 + SEND + LATENCY + EAGER * BYTE + RECV + 1_000_000));
}

#[test]
fn a_slow_search_hides_behind_the_data_of_its_message() {
    // 100 ns of search, 2000 ns of data.
    let time = times(preposted(0, EAGER, 1_000_000), &walk(100, 0))[1];
    assert_eq!(time, ns(1_000_000 + SEND + LATENCY + EAGER * BYTE + RECV + 1_000_000));
}

#[test]
fn a_large_message_crosses_three_times_and_matching_delays_it() {
    let bytes = EAGER + 1;
    let entry = 100;
    let times = times(preposted(0, bytes, 1_000_000), &walk(entry, 0));
    let begin = 1_000_000 + SEND + LATENCY + entry + LATENCY;
    assert_eq!(times[0], ns(begin + bytes * BYTE), "the blocking send returns when its buffer is free");
    assert_eq!(times[1], ns(begin + LATENCY + bytes * BYTE + RECV + 1_000_000));
}

#[test]
fn an_unexpected_message_is_copied_when_its_receive_comes() {
    let mut sender = RankBuilder::new(0, 2);
    sender.send(0, 1, 7, 10);
    let mut receiver = RankBuilder::new(1, 2);
    receiver.compute(1_000_000);
    receiver.recv(0, 0, 7, 10, Status { source: 0, tag: 7, bytes: 10 });
    let ranks = vec![sender.finalize(), receiver.finalize()];
    assert_eq!(times(ranks, &walk(100, 30))[1], ns(1_000_000 + 130 + 10 * COPY + RECV));
}

#[test]
fn one_sender_cannot_inject_faster_than_its_nic() {
    let count = 50;
    let mut sender = RankBuilder::new(0, 2);
    let mut receiver = RankBuilder::new(1, 2);
    let receives: Vec<_> = (0..count).map(|tag| receiver.irecv(0, 0, tag, 900)).collect();
    for tag in 0..count {
        sender.send(0, 1, tag, 900);
    }
    receiver.wait(&receives);
    let time = times(vec![sender.finalize(), receiver.finalize()], &ideal())[1];
    // 1800 ns of wire per message is more than the 100 ns that the sender's processor takes.
    assert_eq!(time, ns(SEND + count as u64 * 900 * BYTE + LATENCY + RECV));
}

#[test]
fn many_senders_queue_at_the_receivers_nic() {
    let senders = 30;
    let mut ranks = vec![];
    let mut receiver = RankBuilder::new(0, senders + 1);
    let receives: Vec<_> = (1..=senders).map(|rank| receiver.irecv(0, rank as i32, 0, 900)).collect();
    receiver.wait(&receives);
    ranks.push(receiver.finalize());
    for rank in 1..=senders {
        let mut sender = RankBuilder::new(rank, senders + 1);
        sender.send(0, 0, 0, 900);
        ranks.push(sender.finalize());
    }
    assert_eq!(times(ranks, &ideal())[0], ns(SEND + LATENCY + u64::from(senders) * 900 * BYTE + RECV));
}

#[test]
fn a_dissemination_barrier_takes_its_rounds() {
    for ranks in [2_u32, 3, 4, 7, 8, 33] {
        let programs = (0..ranks).map(|rank| {
            let mut program = RankBuilder::new(rank, ranks);
            program.collective(CollectiveOp::Barrier, 0, -1, 0, 0, &[]);
            program.finalize()
        });
        let rounds = u64::from(ranks.next_power_of_two().ilog2());
        for time in times(programs.collect(), &ideal()) {
            assert_eq!(time, ns(rounds * (SEND + LATENCY + RECV)), "{ranks} ranks");
        }
    }
}

#[test]
fn a_matched_probe_takes_the_message_and_its_receive_searches_nothing() {
    let mut sender = RankBuilder::new(0, 2);
    sender.send(0, 1, 7, 10);
    let mut receiver = RankBuilder::new(1, 2);
    let probe = receiver.probe(Flags::BLOCKING | Flags::MATCHED, 0, ANY, 7, Status { source: 0, tag: 7, bytes: 10 });
    let receive = receiver.mrecv(0, probe, 10);
    receiver.wait(&[receive.from(0, 7, 10)]);
    let ranks = vec![sender.finalize(), receiver.finalize()];
    let (entry, operation) = (100, 30);
    // The first probe visits nothing, the message finds no receive, the second probe visits one
    // entry; the data are there by then.
    let found = SEND + LATENCY + operation + operation + entry;
    let end = found + 10 * COPY + RECV;
    assert_eq!(times(ranks, &walk(100, 30))[1], ns(end));
}

#[test]
fn a_post_on_the_host_keeps_its_caller_busy() {
    let depth = 10;
    let mut sender = RankBuilder::new(0, 2);
    sender.compute(1_000_000);
    let mut receiver = RankBuilder::new(1, 2);
    for tag in 0..depth {
        sender.send(0, 1, tag, 0);
    }
    let receives: Vec<_> = (0..depth).map(|tag| receiver.irecv(0, 0, tag, 0)).collect();
    receiver.compute(5_000_000);
    receiver.wait(&receives);
    let ranks = || vec![sender.clone().finalize(), receiver.clone().finalize()];
    let on = |placement| {
        let choice = linear(|p| (p.entry, p.operation, p.placement) = (ns(100), ns(30), placement));
        times(ranks(), &choice)[1]
    };
    let received = depth as u64 * RECV;
    assert_eq!(on(Placement::Nic), ns(5_000_000 + received));
    assert_eq!(on(Placement::Host), ns(depth as u64 * 30 + 5_000_000 + received));
}
