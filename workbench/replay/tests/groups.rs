// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collectives between two groups and among neighbours: closed formulas for small programs.

mod common;

use common::{engine, network, replayed, replayed_trace};
use mb_core::time::Picos;
use mb_replay::network::NetworkParameters;
use mb_replay::{ReplayConfig, Report};
use mb_trace::{CollectiveOp, RankBuilder, RankRun, Record, TopologyForm, Trace};

/// The network of these tests, in ns; a NIC that needs no time per message or byte.
const LATENCY: u64 = 1000;
const SEND: u64 = 100;
const RECV: u64 = 50;
/// From the start of a send until its receiver goes on.
const HOP: u64 = SEND + LATENCY + RECV;

fn config() -> ReplayConfig {
    network(NetworkParameters {
        latency: Picos::from_ns(LATENCY),
        send_overhead: Picos::from_ns(SEND),
        recv_overhead: Picos::from_ns(RECV),
        gap: Picos::ZERO,
        per_byte: Picos::ZERO,
        copy_per_byte: Picos::ZERO,
        eager_limit: 1000,
    })
}

/// World ranks 0 to `one` - 1 and the `two` after them are the groups of communicator 2, in which
/// each process does what `call` says: its rank, and whether it is in the first group.
fn groups(one: u32, two: u32, mut call: impl FnMut(&mut RankBuilder, u32, bool)) -> Vec<Vec<Record>> {
    let first = RankRun { first: 0, stride: 1, length: one };
    let second = RankRun { first: one, stride: 1, length: two };
    let run = |rank| {
        let mut program = RankBuilder::new(rank, one + two);
        let is_first = rank < one;
        let (own, other) = if is_first { (first, second) } else { (second, first) };
        let comm = program.comm(1 << 63 | 5, &[own], Some(&[other]));
        assert_eq!(comm, 2);
        call(&mut program, if is_first { rank } else { rank - one }, is_first);
        program.finalize()
    };
    (0..one + two).map(run).collect()
}

fn nanoseconds(report: &Report) -> Vec<u64> {
    assert_eq!(report.unfinished, []);
    assert_eq!((report.total.never_received, report.total.never_matched, report.total.collectives_skipped), (0, 0, 0));
    report.ranks.iter().map(|rank| rank.totals.time.0 / 1000).collect()
}

#[test]
fn a_broadcast_to_another_group_goes_to_its_leader_and_down_a_tree() {
    let ranks = groups(2, 3, |program, rank, is_first| match (is_first, rank) {
        (true, 1) => program.collective(CollectiveOp::Bcast, 2, -4, 8, 0, &[]),
        (true, _) => program.collective(CollectiveOp::Bcast, 2, -3, 0, 0, &[]),
        (false, _) => program.collective(CollectiveOp::Bcast, 2, 1, 0, 8, &[]),
    });
    let report = replayed(ranks, &engine("ideal:zero"), &config());
    // The leader sends to its rank 2 first, then to rank 1.
    assert_eq!(nanoseconds(&report), [0, SEND, HOP + 2 * SEND, HOP + SEND + HOP, HOP + HOP]);
    assert_eq!((report.total.sent, report.total.received, report.total.sent_bytes), (3, 3, 24));
}

#[test]
fn a_linear_broadcast_to_another_group_goes_to_each_of_its_processes() {
    let ranks = groups(1, 3, |program, _, is_first| {
        let (root, sent, received) = if is_first { (-4, 8, 0) } else { (0, 0, 8) };
        program.collective(CollectiveOp::Bcast, 2, root, sent, received, &[]);
    });
    let mut config = config();
    config.collectives.set("bcast", "linear").unwrap();
    let report = replayed(ranks, &engine("ideal:zero"), &config);
    assert_eq!(nanoseconds(&report), [3 * SEND, HOP, SEND + HOP, 2 * SEND + HOP]);
}

#[test]
fn an_allreduce_of_two_groups_goes_up_across_and_down() {
    let ranks = groups(2, 2, |program, _, _| program.collective(CollectiveOp::Allreduce, 2, -1, 8, 8, &[]));
    let report = replayed(ranks, &engine("ideal:zero"), &config());
    // Rank 1 of each group to its leader, the leaders to each other, the leader to rank 1.
    assert_eq!(nanoseconds(&report), [2 * HOP + SEND, 3 * HOP, 2 * HOP + SEND, 3 * HOP]);
    assert_eq!((report.total.sent, report.total.sent_bytes), (6, 48));
}

#[test]
fn a_search_that_takes_time_delays_a_collective_of_two_groups() {
    let ranks = || groups(1, 1, |program, _, _| program.collective(CollectiveOp::Allreduce, 2, -1, 8, 8, &[]));
    let slow = common::linear(|parameters| {
        (parameters.entry, parameters.operation) = (Picos::from_ns(30), Picos::from_ns(200));
    });
    let report = replayed(ranks(), &slow, &config());
    // The receive is posted long before the message: one search of one entry.
    assert_eq!(nanoseconds(&report), [HOP + 230; 2]);
    assert_eq!(report.total.received, 2);
}

/// A process of the root's group that takes no part still counts the collective.
#[test]
fn collectives_of_two_groups_do_not_take_each_others_messages() {
    let ranks = groups(2, 2, |program, rank, is_first| {
        for root in [0, 1, 0, 1] {
            let (peer, sent, received) = match is_first {
                true if rank == root => (-4, 8, 0),
                true => (-3, 0, 0),
                false => (root as i32, 0, 8),
            };
            program.collective(CollectiveOp::Bcast, 2, peer, sent, received, &[]);
            program.collective(CollectiveOp::Barrier, 2, -1, 0, 0, &[]);
        }
    });
    let report = replayed(ranks, &engine("linear:qsnet2"), &config());
    nanoseconds(&report);
    assert_eq!((report.total.collectives_expanded, report.total.sent), (32, 4 * (2 + 6)));
}

/// `MPI_PROC_NULL`.
const NULL: i32 = -3;

/// Neighbours of a rank: sources, then destinations.
type Sides = (Vec<i32>, Vec<i32>);

/// As many ranks as `sides` has make communicator 2 with these neighbours, and each does what `call` says.
fn neighbours(form: TopologyForm, sides: &[Sides], mut call: impl FnMut(&mut RankBuilder, u32)) -> Trace {
    let world = sides.len() as u32;
    let run = |rank: u32| {
        let mut program = RankBuilder::new(rank, world);
        program.comm(1 << 63 | 5, &[RankRun::all(world)], None);
        let (sources, destinations) = &sides[rank as usize];
        program.topology(form, sources, destinations);
        call(&mut program, rank);
        program.finalize()
    };
    Trace::in_version(3, (0..world).map(run).collect())
}

/// The neighbours in a grid of 2 by 2, with rank 2 * x + y: below and above in x, then in y.
fn grid(periodic: bool) -> Vec<Sides> {
    let of = |rank: i32| {
        let (x, y) = (rank / 2, rank % 2);
        let at = |x: i32, y: i32| {
            let inside = (0..2).contains(&x) && (0..2).contains(&y);
            if inside || periodic { 2 * x.rem_euclid(2) + y.rem_euclid(2) } else { NULL }
        };
        vec![at(x - 1, y), at(x + 1, y), at(x, y - 1), at(x, y + 1)]
    };
    (0..4).map(|rank| (of(rank), of(rank))).collect()
}

#[test]
fn an_exchange_in_a_grid_takes_as_long_as_its_messages() {
    for (periodic, messages) in [(true, 4), (false, 2)] {
        for op in [CollectiveOp::NeighborAllgather, CollectiveOp::NeighborAlltoall] {
            let trace = neighbours(TopologyForm::Cartesian, &grid(periodic), |program, _| {
                program.collective(op, 2, -1, 16, 16, &[]);
            });
            let report = replayed_trace(&trace, &engine("ideal:zero"), &config());
            assert_eq!(nanoseconds(&report), [messages * (SEND + RECV) + LATENCY; 4], "{op:?}");
            let (sent, bytes) = (4 * messages, 4 * messages * 16);
            assert_eq!((report.total.sent, report.total.received, report.total.sent_bytes), (sent, sent, bytes));
        }
    }
}

/// Rank 0 sends to 1 and twice to 2, rank 1 to itself and to 2; nobody sends to 0, and 2 to nobody.
#[test]
fn edges_of_a_distributed_graph_need_not_be_symmetric() {
    let sides = [(vec![], vec![1, 2, 2]), (vec![1, 0], vec![1, 2]), (vec![0, 1, 0], vec![])];
    let words: [&[u64]; 3] = [&[8, 16, 24], &[40, 48, 40, 8], &[16, 48, 24]];
    let trace = neighbours(TopologyForm::DistributedGraph, &sides, |program, rank| {
        let sizes = words[rank as usize];
        let (sent, received) = sizes.split_at(sides[rank as usize].1.len());
        program.collective(CollectiveOp::NeighborAlltoall, 2, -1, sent.iter().sum(), received.iter().sum(), sizes);
    });
    let report = replayed_trace(&trace, &engine("ideal:zero"), &config());
    // A message of a rank to itself does not cross the network; rank 2 waits for the third of rank 0.
    let expected = [3 * SEND, SEND + LATENCY + 2 * RECV, 3 * SEND + LATENCY + 3 * RECV];
    assert_eq!(nanoseconds(&report), expected);
    assert_eq!((report.total.received, report.total.sent_bytes, report.total.truncated), (5, 136, 0));
}

/// In a ring of one or two ranks, the rank below is the rank above: what goes down comes from above.
#[test]
fn both_messages_of_a_rank_that_is_a_neighbour_twice_are_received_in_order() {
    for size in [1, 2] {
        let sides: Vec<Sides> =
            (0..size).map(|rank| (vec![(rank + 1) % size; 2], vec![(rank + 1) % size; 2])).collect();
        let trace = neighbours(TopologyForm::Cartesian, &sides, |program, _| {
            // 10 bytes go down and 900 up: 900 come from below and 10 from above.
            program.collective(CollectiveOp::NeighborAlltoall, 2, -1, 910, 910, &[10, 900, 900, 10]);
        });
        let report = replayed_trace(&trace, &engine("linear:qsnet2"), &config());
        assert_eq!((report.total.received, report.total.truncated), (2 * size as u64, 0), "{size} ranks");
    }
}

#[test]
fn neighbours_in_a_trace_without_topologies_take_no_time_and_are_counted() {
    let mut program = RankBuilder::new(0, 1);
    program.collective(CollectiveOp::Neighbor, 0, -1, 8, 8, &[]);
    let report = replayed(vec![program.finalize()], &engine("ideal:zero"), &config());
    assert_eq!((report.total.collectives_skipped, report.total.collectives_expanded, report.total.sent), (1, 0, 0));
}
