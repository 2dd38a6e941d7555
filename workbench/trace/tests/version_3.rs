// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Version 3 of the format: call sites, threads without limit, gaps of polls, topologies.

use std::ops::ControlFlow;

use mb_core::mpi::{ANY_SOURCE, ANY_TAG};
use mb_trace::{CollectiveOp, Flags, Kind, Omission, RankBuilder, RankRun, Record, TopologyForm, Trace};

use crate::common::identity;

/// The result of the check of rank 0 of two, which runs `body`, in this version; its first record has index 5.
fn check(version: u16, body: impl FnOnce(&mut RankBuilder)) -> String {
    let mut program = RankBuilder::new(0, 2);
    body(&mut program);
    let ranks = vec![program.finalize(), RankBuilder::new(1, 2).finalize()];
    match Trace::in_version(version, ranks).check(|_| ControlFlow::Continue(())) {
        Ok(_) => "no defect".to_owned(),
        Err(error) => error.to_string().replace("rank-00000.mbt: rank 0, ", ""),
    }
}

fn of(kind: Kind) -> Record {
    Record { kind: kind as u8, ..Record::default() }
}

#[test]
fn a_new_kind_occurs_in_version_3_only() {
    let thread = |version| check(version, |program| program.push(of(Kind::Thread)));
    assert_eq!(thread(2), "record 5: kind is 16, expected 1 to 15 (T-6)");
    assert_eq!(thread(3), "no defect");
    let unknown = check(3, |program| program.push(Record { kind: 20, ..Record::default() }));
    assert_eq!(unknown, "record 5: kind is 20, expected 1 to 19 (T-6)");
}

#[test]
fn a_call_site_is_declared_before_it_is_named() {
    let named = |version, site: u64, declared: bool| {
        check(version, |program| {
            if declared {
                program.push_with(Record { aux: 1, ..of(Kind::Site) }, &[0x1234, 0x5678]);
            }
            program.push(Record { wall: site << 54, cpu: site >> 10 << 54, ..of(Kind::Wait) });
        })
    };
    assert_eq!(named(3, 1, true), "no defect");
    assert_eq!(named(3, 1, false), "record 5: call site is 1, expected at most 0 (T-19)");
    assert_eq!(named(3, 0xf_ffff, true), "record 7: call site is 1048575, expected at most 1 (T-19)");
    assert_eq!(named(2, 1, false), "record 5: wall_ns is 18014398509481984, expected at most 2^53 (T-12)");
    assert_eq!(named(2, 1 << 10, false), "record 5: cpu_ns is 18014398509481984, expected at most 2^53 (T-12)");
    let skipped = check(3, |program| program.push_with(Record { aux: 2, ..of(Kind::Site) }, &[1]));
    assert_eq!(skipped, "record 5: call site and words are (2, 1), expected 1 and at least 1 (T-19)");
}

#[test]
fn a_thread_that_takes_a_slot_has_its_own_cpu_time() {
    let back = |version| {
        check(version, |program| {
            program.compute(1_000);
            program.push(of(Kind::Wait));
            program.thread_begins(70_000);
            program.push(of(Kind::Wait));
            program.compute(1_000);
        })
    };
    assert_eq!(back(3), "no defect");
    let mut ranks = vec![RankBuilder::new(0, 1)];
    ranks[0].compute(1_000);
    ranks[0].push(of(Kind::Wait));
    ranks[0].thread_begins(70_000);
    let mut records = ranks.remove(0).finalize();
    records.remove(6);
    let error = Trace::in_version(3, vec![records]).check(|_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().ends_with("cpu_ns is 0, expected 1000 to 2^53 (T-12)"), "{error}");
}

#[test]
fn a_miss_has_the_gaps_of_its_polls() {
    let miss = |version, record: Record| check(version, |program| program.push(Record { aux: 4, ..record }));
    let gaps = |least: u64, median: u64| Record { bytes: least | median << 32, ..of(Kind::Miss) };
    assert_eq!(gaps(20, 30).gaps_ns(), (20, 30));
    assert_eq!(miss(3, gaps(20, 30)), "no defect");
    assert_eq!(
        miss(3, gaps(31, 30)),
        "record 5: minimum and median gap are 31 and 30 ns, expected them in order (T-21)"
    );
    assert_eq!(miss(2, gaps(0, 30)), "record 5: bytes is 128849018880, expected 0 in Miss (T-6)");
    let of_requests = |peer, request| miss(3, Record { peer, request, ..of(Kind::Miss) });
    assert_eq!(of_requests(2, 0), "no defect");
    assert_eq!(of_requests(-1, 0), "record 5: peer is -1, expected the number of requests tested (T-21)");
    assert_eq!(of_requests(1, 9), "record 5: request 9 was never started, expected one that was (T-21)");
    let tested = check(3, |program| {
        let request = program.irecv(0, 1, 7, 8);
        program.push(Record { aux: 4, request: 1, peer: 1, ..of(Kind::Miss) });
        program.wait(&[request]);
    });
    assert_eq!(tested, "no defect");
}

#[test]
fn a_topology_names_ranks_of_the_newest_communicator() {
    let topology = |comm, sides: (i32, i32), form, words: &[u64]| {
        check(3, |program| {
            program.comm(identity(1), &[RankRun::all(2)], None);
            let record = Record { comm, peer: sides.0, tag: sides.1, aux: form, ..of(Kind::Topology) };
            program.push_with(record, words);
        })
    };
    let null = u64::from((-3_i32) as u32);
    assert_eq!(topology(2, (1, 2), 1, &[1, 0, null]), "no defect");
    assert_eq!(
        topology(1, (1, 2), 1, &[1, 0, null]),
        "record 7: comm is 1, expected 2, the newest communicator (T-22)"
    );
    assert_eq!(topology(2, (1, 2), 4, &[1, 0, null]), "record 7: aux is 4, expected 1 to 3 (a topology) (T-22)");
    assert_eq!(
        topology(2, (1, 2), 1, &[1, 2, null]),
        "record 7: a neighbour is 2, expected a rank below 2 or 2^32 - 3 (MPI_PROC_NULL) (T-22)"
    );
    assert_eq!(
        topology(2, (1, 1), 1, &[1, 0, null]),
        "record 7: sources, destinations and words are (1, 1) and 3, expected the sum (T-22)"
    );
}

#[test]
fn a_neighbourhood_collective_needs_a_topology_and_has_its_sizes() {
    let collective = |op: CollectiveOp, with: bool, words: &[u64]| {
        check(3, |program| {
            program.comm(identity(1), &[RankRun::all(2)], None);
            if with {
                program.topology(TopologyForm::DistributedGraph, &[1], &[0, 1]);
            }
            program.collective(op, 2, -1, words.iter().sum(), 8, words);
        })
    };
    let (gather, all) = (CollectiveOp::NeighborAllgather, CollectiveOp::NeighborAlltoall);
    assert_eq!(collective(all, true, &[]), "no defect");
    assert_eq!(collective(all, true, &[8, 16, 8]), "no defect");
    assert_eq!(collective(gather, true, &[8]), "no defect");
    assert_eq!(
        collective(all, false, &[]),
        "record 7: NeighborAlltoall on communicator 2, expected one with a topology (T-22)"
    );
    assert_eq!(
        collective(gather, true, &[8, 16, 8]),
        "record 9: kind, flags, thread, words and request of Extra record 1 are (14, 0, 0, 3, 0), expected \
         (14, 0, 0, 1, 0) (T-16)"
    );
    let older = check(2, |program| program.collective(all, 0, -1, 8, 8, &[]));
    assert_eq!(older, "record 5: tag is 14, expected 1 to 12 (a collective) (T-6)");
    assert_eq!(check(2, |program| program.collective(CollectiveOp::Neighbor, 0, -1, 8, 8, &[])), "no defect");
}

#[test]
fn the_neighbours_of_a_rank_are_those_of_its_topology() {
    let mut program = RankBuilder::new(0, 2);
    program.comm(identity(1), &[RankRun::all(2)], None);
    program.topology(TopologyForm::Cartesian, &[1, -3], &[1, -3]);
    let ranks = vec![program.finalize(), RankBuilder::new(1, 2).finalize()];
    let trace = Trace::in_version(3, ranks);
    let communicators = trace.check(|_| ControlFlow::Continue(())).unwrap();
    let found = communicators.neighbours(0, 2).unwrap();
    assert_eq!(
        (found.form, &*found.sources, &*found.destinations),
        (TopologyForm::Cartesian, &[Some(1), None][..], &[Some(1), None][..])
    );
    assert_eq!(communicators.neighbours(0, 0), None);
    assert_eq!(communicators.neighbours(1, 2), None);
}

#[test]
fn a_partitioned_message_has_partitions_and_no_wildcard() {
    let (full, all) = (Flags::PERSISTENT | Flags::PARTITIONED, 4_u64 << 32);
    let start = |version, kind: Kind, flags: u8, peer: i32, aux: u64| {
        check(version, |program| {
            program.push(Record { flags, peer, tag: 7, bytes: 8, request: 1, aux, ..of(kind) });
        })
    };
    assert_eq!(start(3, Kind::Send, full, 1, all), "no defect");
    assert_eq!(start(3, Kind::Recv, full, 1, all | 9), "no defect");
    assert_eq!(start(3, Kind::Recv, full, -3, all), "no defect");
    assert_eq!(start(2, Kind::Send, full, 1, all), "record 5: flags are 0x22, expected only some of 0xdf (T-6)");
    assert_eq!(start(2, Kind::Recv, full, 1, all), "record 5: flags are 0x22, expected only some of 0xd3 (T-6)");
    assert_eq!(
        start(3, Kind::Send, Flags::PARTITIONED, 1, all),
        "record 5: flags are 0x20, expected PERSISTENT and PARTITIONED alone (T-23)"
    );
    assert_eq!(start(3, Kind::Send, full, 1, 9), "record 5: a message has 0 partitions, expected at least 1 (T-23)");
    assert_eq!(
        start(3, Kind::Recv, full, -1, all),
        "record 5: peer and tag are -1 and 7, expected a rank below 2 or -3 (MPI_PROC_NULL), and a tag without \
         wildcard (T-23)"
    );
}

#[test]
fn a_partition_is_one_of_an_active_partitioned_message() {
    let partition = |first, count| {
        check(3, |program| {
            let request = program.start_partitioned(Kind::Send, 0, (1, 7), 8, 0, 4);
            program.partition(request, first, count);
        })
    };
    assert_eq!(partition(0, 4), "no defect");
    assert_eq!(partition(3, 2), "record 6: partitions are 3 and 2 from it on, expected some of 4 (T-23)");
    assert_eq!(partition(3, 0), "record 6: partitions are 3 and 0 from it on, expected some of 4 (T-23)");
    let plain = check(3, |program| {
        let request = program.isend(0, 1, 7, 8);
        program.partition(request, 0, 1);
    });
    assert_eq!(plain, "record 6: request 1 is not partitioned, expected one that is (T-23)");
    let over = check(3, |program| {
        let request = program.start_partitioned(Kind::Send, 0, (1, 7), 8, 0, 1);
        program.partition(request, 0, 1);
        program.wait(&[request]);
        program.partition(request, 0, 1);
    });
    assert_eq!(over, "record 9: request 1 is completed, expected an active request (T-11)");
}

#[test]
fn a_receive_that_mpi_does_not_report_takes_the_oldest_message_that_fits() {
    let program = || {
        let mut sender = RankBuilder::new(0, 2);
        for tag in [3, 4, 5] {
            sender.compute(100);
            sender.send(0, 1, tag, 8);
        }
        let mut receiver = RankBuilder::new(1, 2);
        let known = receiver.irecv(0, 0, 4, 8);
        for (request, tag) in [(receiver.irecv(0, ANY_SOURCE, ANY_TAG, 8), 0), (receiver.irecv(0, ANY_SOURCE, 5, 8), 5)]
        {
            receiver.compute(1_000);
            receiver.push(Record { aux: 1, flags: Flags::BLOCKING, ..of(Kind::Wait) });
            receiver.done_with(Flags::UNKNOWN, request.from(0, tag, 8));
        }
        receiver.wait(&[known]);
        vec![sender.finalize(), receiver.finalize()]
    };
    let trace = Trace::in_version(3, program());
    let communicators = trace.check(|_| ControlFlow::Continue(())).expect("no defect");
    let total = trace.stats(&communicators, |_, _| ControlFlow::Continue(())).expect("it has statistics");
    assert_eq!((total.received, total.never_received, total.without_send), (3, 0, 0));
    let left_out = trace.left_out();
    assert_eq!(left_out.iter().map(|each| (each.omission, each.calls)).collect::<Vec<_>>(), [(Omission::Unknown, 2)]);
    let error = Trace::in_version(2, program()).check(|_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("flags"), "{error}");
}
