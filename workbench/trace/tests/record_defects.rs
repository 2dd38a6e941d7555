// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every violated rule of records is an error with file, rank, record, what was found and what was
//! expected, word for word.

use crate::common;

use std::ops::ControlFlow;

use common::{everything, identity, ping};
use mb_trace::{CollectiveOp, Flags, Kind, RankBuilder, RankRun, Record, Status, Trace};

/// The result of the check of these ranks, as text.
fn check(ranks: Vec<Vec<Record>>) -> String {
    match Trace::in_memory(ranks).check(|_| ControlFlow::Continue(())) {
        Ok(_) => "no defect".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Checks two ranks: rank 0 runs `body`, whose first record has index 5; rank 1 does nothing.
fn of(body: impl FnOnce(&mut RankBuilder)) -> String {
    let mut program = RankBuilder::new(0, 2);
    body(&mut program);
    check(vec![program.finalize(), RankBuilder::new(1, 2).finalize()])
}

/// Checks one record after those of the communicators.
fn record(record: Record) -> String {
    of(|program| program.push(record))
}

fn at(index: usize, reason: &str) -> String {
    format!("rank-00000.mbt: rank 0, record {index}: {reason}")
}

fn empty(kind: Kind) -> Record {
    Record { kind: kind as u8, ..Record::default() }
}

#[test]
fn common_fields() {
    assert_eq!(record(Record { kind: 16, ..Record::default() }), at(5, "kind is 16, expected 1 to 15 (T-6)"));
    assert_eq!(record(Record { kind: 0, ..Record::default() }), at(5, "kind is 0, expected 1 to 15 (T-6)"));
    let mut late = RankBuilder::new(0, 1);
    late.compute((1 << 53) + 1);
    assert_eq!(check(vec![late.finalize()]), at(5, "wall_ns is 9007199254740993, expected 0 to 2^53 (T-12)"));
    let back = |wall_ns, cpu_ns| {
        let mut ranks = ping();
        (ranks[0][6].wall, ranks[0][6].cpu) = (wall_ns, cpu_ns);
        check(ranks)
    };
    assert_eq!(back(999, 1_000), at(6, "wall_ns is 999, expected 1000 to 2^53 (T-12)"));
    assert_eq!(back(1_000, 999), at(6, "cpu_ns is 999, expected 1000 to 2^53 (T-12)"));
    // The times of another thread are independent.
    let other = of(|program| {
        program.compute(100);
        program.miss(1);
        program.thread(40_000);
        program.push(empty(Kind::Wait));
        program.thread(0);
    });
    assert_eq!(other, "no defect");
}

#[test]
fn unused_fields_are_zero() {
    let wait = empty(Kind::Wait);
    for (record_with, name) in [
        (Record { comm: 3, ..wait }, "comm is 3, expected 0 in Wait"),
        (Record { peer: -1, ..wait }, "peer is -1, expected 0 in Wait"),
        (Record { tag: 9, ..wait }, "tag is 9, expected 0 in Wait"),
        (Record { bytes: 1 << 63, ..wait }, "bytes is 9223372036854775808, expected 0 in Wait"),
        (Record { request: 1, ..wait }, "request is 1, expected 0 in Wait"),
        (Record { flags: 2, ..wait }, "flags are 0x02, expected only some of 0x81"),
        (Record { kind: Kind::CommFree as u8, comm: 1, aux: 7, ..wait }, "aux is 7, expected 0 in CommFree"),
    ] {
        assert_eq!(record(record_with), at(5, &format!("{name} (T-6)")));
    }
}

#[test]
fn begin_and_end() {
    let cut = |from: usize| {
        let mut ranks = ping();
        ranks[0].drain(..from);
        check(ranks)
    };
    assert_eq!(cut(1), at(0, "record is Comm, expected Init (T-11)"));
    let mut ranks = ping();
    ranks[0].drain(3..5);
    assert_eq!(check(ranks), at(3, "record is Send, expected Comm (T-11)"));
    assert_eq!(record(empty(Kind::Init)), at(5, "found a second Init record, expected one (T-11)"));
    assert_eq!(record(empty(Kind::Finalize)), at(5, "1 records found after Finalize, expected 0 (T-11)"));
    let mut ranks = ping();
    ranks[0].pop();
    assert_eq!(check(ranks), at(5, "last record: found Send, expected Finalize (T-11)"));
    assert_eq!(check(vec![Vec::new()]), "rank-00000.mbt: rank 0: last record: found none, expected Finalize (T-11)");
    let mut ranks = ping();
    ranks[0][0].aux = 4;
    assert_eq!(check(ranks), at(0, "thread level is 4, expected 0 to 3 (T-6)"));
}

#[test]
fn sends() {
    let send =
        Record { kind: Kind::Send as u8, flags: Flags::BLOCKING, peer: 1, tag: 3, bytes: 8, ..Record::default() };
    assert_eq!(record(send), "no defect");
    for (broken, reason) in [
        (Record { peer: 2, ..send }, "peer is 2, expected a rank below 2 or -3 (MPI_PROC_NULL) (T-6)"),
        (Record { peer: -1, ..send }, "peer is -1, expected a rank below 2 or -3 (MPI_PROC_NULL) (T-6)"),
        (Record { tag: -2, ..send }, "tag is -2, expected at least 0 (T-6)"),
        (Record { bytes: (1 << 48) + 1, ..send }, "size is 281474976710657 bytes, expected at most 2^48 (T-6)"),
        (Record { aux: 1, ..send }, "aux is 1, expected 0 earlier sends to peer 1 (T-6)"),
        (Record { request: 1, ..send }, "request of a blocking send is 1, expected 0 (T-8)"),
        (Record { comm: 2, ..send }, "comm is 2, expected a number below 2 (T-11)"),
        (Record { flags: 1 | 4 | 8, ..send }, "flags are 0x0d, expected at most one send mode (T-6)"),
        (Record { flags: 1 | 64, ..send }, "flags are 0x41, expected one of BLOCKING, PERSISTENT, SENDRECV (T-6)"),
        (Record { flags: 0, ..send }, "request is 0, expected 1 to 1029 (T-8)"),
        (Record { flags: 0, request: 1030, ..send }, "request is 1030, expected 1 to 1029 (T-8)"),
        (Record { flags: 0, request: u32::MAX, ..send }, "request is 4294967295, expected 1 to 1029 (T-8)"),
    ] {
        assert_eq!(record(broken), at(5, reason));
    }
    let proc_null = Record { peer: -3, tag: -7, aux: 0, ..send };
    assert_eq!(record(proc_null), "no defect", "the tag means nothing then");
}

#[test]
fn receives_and_probes() {
    let recv = Record { kind: Kind::Recv as u8, peer: 1, tag: 3, bytes: 8, request: 1, ..Record::default() };
    assert_eq!(record(recv), "no defect", "it need not finish");
    let expected_peer = "expected a rank below 2, -1 (MPI_ANY_SOURCE) or -3 (MPI_PROC_NULL)";
    for (broken, reason) in [
        (Record { peer: 2, ..recv }, format!("peer is 2, {expected_peer} (T-6)")),
        (Record { peer: -2, ..recv }, format!("peer is -2, {expected_peer} (T-6)")),
        (Record { tag: -1, ..recv }, "tag is -1, expected at least 0 or -2 (MPI_ANY_TAG) (T-6)".to_owned()),
        (Record { bytes: 1 << 63, ..recv }, format!("size is {} bytes, expected at most 2^48 (T-6)", 1_u64 << 63)),
        (Record { request: 0, ..recv }, "request is 0, expected 1 to 1029 (T-8)".to_owned()),
        (Record { aux: 1, ..recv }, "aux is 1, expected 0 in Recv (T-6)".to_owned()),
        (
            Record { flags: Flags::MATCHED, aux: 1, ..recv },
            "aux is 1, expected a matched probe whose message is not yet received (T-8)".to_owned(),
        ),
        (
            Record { flags: Flags::MATCHED, aux: u64::MAX, ..recv },
            "aux is 18446744073709551615, expected a matched probe whose message is not yet received (T-8)".to_owned(),
        ),
    ] {
        assert_eq!(record(broken), at(5, &reason));
    }
    let twice = of(|program| {
        program.push(recv);
        program.push(recv);
    });
    assert_eq!(twice, at(6, "request 1 was used before, expected a new number (T-8)"));
    let status = Status { source: 1, tag: 3, bytes: 8 };
    let taken_twice = of(|program| {
        let probe = program.probe(Flags::MATCHED, 0, 1, 3, status);
        for _ in 0..2 {
            let received = program.mrecv(0, probe, 8).from(1, 3, 8);
            program.wait(&[received]);
        }
    });
    assert_eq!(taken_twice, at(10, "aux is 1, expected a matched probe whose message is not yet received (T-8)"));
    let elsewhere = of(|program| {
        let probe = program.probe(Flags::MATCHED, 0, 1, 3, status);
        let _ = program.mrecv(1, probe, 8);
    });
    assert_eq!(elsewhere, at(7, "comm, peer and tag are 1, -1 and -2, expected 0, -1 and -2 (T-8)"));
    let itself = of(|program| program.push(Record { flags: Flags::MATCHED, peer: -1, tag: -2, aux: 1, ..recv }));
    assert_eq!(itself, at(5, "aux is 1, expected a matched probe whose message is not yet received (T-8)"));
    for (calls, number) in [(0, "0"), ((1 << 48) + 1, "281474976710657"), (u64::MAX, "18446744073709551615")] {
        let miss = Record { aux: calls, ..empty(Kind::Miss) };
        assert_eq!(record(miss), at(5, &format!("aux is {number}, expected 1 to 2^48 calls (T-6)")));
    }
    let wait = Record { aux: 1 << 63, ..empty(Kind::Wait) };
    assert_eq!(record(wait), at(5, "aux is 9223372036854775808, expected at most the 5 records before (T-8)"));
}

#[test]
fn a_completed_request_was_started() {
    let recv = |program: &mut RankBuilder| program.irecv(0, 1, 3, 8);
    let finished = |change: fn(&mut Record)| {
        let mut program = RankBuilder::new(0, 2);
        let request = recv(&mut program);
        program.wait(&[request]);
        let mut records = program.finalize();
        change(&mut records[7]);
        check(vec![records, RankBuilder::new(1, 2).finalize()])
    };
    assert_eq!(finished(|_| ()), "no defect");
    for (change, reason) in [
        (
            (|done| done.request = 2) as fn(&mut Record),
            "request 2 was never started, expected an active request (T-11)",
        ),
        (|done| done.request = 0, "request 0 is completed, expected an active request (T-11)"),
        (|done| done.request = u32::MAX, "request 4294967295 was never started, expected an active request (T-11)"),
        (|done| done.peer = 0, "peer is 0, expected 1 (T-9)"),
        (|done| done.tag = 4, "tag is 4, expected 3 (T-9)"),
        (|done| done.bytes = 9, "bytes is 9, expected at most the buffer of 8 (T-9)"),
        (|done| done.bytes = 1 << 63, "size is 9223372036854775808 bytes, expected at most 2^48 (T-6)"),
        (|done| done.flags = Flags::CANCELLED, "peer, tag and bytes are (1, 3, 8), expected zeros (T-9)"),
        (|done| done.kind = Kind::Miss as u8, "record is Miss, expected the outstanding Done of thread 0 (T-8)"),
        (
            |done| done.thread = 1,
            "found a Done record, expected only after a Wait, blocking receive or probe of its thread (T-8)",
        ),
    ] {
        assert_eq!(finished(change), at(7, reason));
    }
    assert_eq!(finished(|done| (done.flags, done.bytes) = (Flags::FAILED, 9)), "no defect", "truncated");
    let twice = of(|program| {
        let request = recv(program);
        program.wait(&[request, request]);
    });
    assert_eq!(twice, at(8, "request 1 is completed, expected an active request (T-11)"));
    let wild = of(|program| {
        let request = program.irecv(0, -1, -2, 8);
        program.wait(&[request]);
    });
    assert_eq!(wild, at(7, "peer is -1, expected a rank below 2 (T-9)"));
    let wild = of(|program| {
        let request = program.irecv(0, -1, -2, 8).from(1, -2, 8);
        program.wait(&[request]);
    });
    assert_eq!(wild, at(7, "tag is -2, expected at least 0 (T-9)"));
    let proc_null = of(|program| {
        let request = program.irecv(0, -3, 0, 8).from(-3, 0, 0);
        program.wait(&[request]);
    });
    assert_eq!(proc_null, at(7, "peer, tag and bytes are (-3, 0, 0), expected (-3, -2, 0) (T-10)"));
    let sent = of(|program| {
        let request = program.isend(0, 1, 3, 8).from(1, 3, 8);
        program.wait(&[request]);
    });
    assert_eq!(sent, at(7, "peer, tag and bytes are (1, 3, 8), expected zeros (T-9)"));
    let blocking = of(|program| {
        let first = recv(program);
        let _second = program.irecv_with(Flags::BLOCKING, 0, 1, 3, 8);
        program.done(first);
    });
    assert_eq!(blocking, at(7, "Done of request 1, expected request 2 (T-8)"));
    let probe = of(|program| {
        let number = program.probe(0, 0, 1, 3, Status { source: 1, tag: 3, bytes: 8 });
        program.cancel(mb_trace::Request { number, status: Status::default(), implied: None });
    });
    assert_eq!(probe, at(7, "request 1 is completed, expected an active request (T-11)"));
    let collective = of(|program| {
        let request = program.icollective(CollectiveOp::Barrier, 0, -1, 0, 0, &[]);
        program.cancel(request);
    });
    assert_eq!(collective, at(6, "request 1 is a Collective, expected one of [Send, Recv] (T-11)"));
    let cancelled = of(|program| {
        let request = program.icollective(CollectiveOp::Barrier, 0, -1, 0, 0, &[]);
        program.push(Record { kind: Kind::Wait as u8, aux: 1, ..Record::default() });
        program.done_with(Flags::CANCELLED, request);
    });
    assert_eq!(cancelled, at(7, "a Collective is cancelled, expected a Send or Recv (T-9)"));
    let freed = of(|program| {
        let request = recv(program);
        program.free(request);
        program.wait(&[request]);
    });
    assert_eq!(freed, at(8, "request 1 is completed, expected an active request (T-11)"));
}

#[test]
fn a_done_of_several_needs_requests_without_wildcards() {
    let several = |first: fn(&mut RankBuilder), done: Record| {
        of(|program| {
            first(program);
            _ = program.isend(0, 1, 3, 8);
            program.push(Record { aux: 1, ..empty(Kind::Wait) });
            program.push(done);
        })
    };
    let done = Record { request: 1, aux: 1, ..empty(Kind::Done) };
    let exact = |program: &mut RankBuilder| _ = program.irecv(0, 1, 3, 8);
    assert_eq!(several(exact, done), "no defect");
    assert_eq!(several(|program| _ = program.irecv(0, -3, -2, 8), done), "no defect");
    for (broken, reason) in [
        (Record { aux: 2, ..done }, "request 3 was never started, expected an active request (T-11)"),
        (Record { aux: u64::MAX, ..done }, "request 3 was never started, expected an active request (T-11)"),
        (
            Record { request: u32::MAX, ..done },
            "request 4294967295 was never started, expected an active request (T-11)",
        ),
        (Record { request: 0, ..done }, "request 0 is completed, expected an active request (T-11)"),
        (Record { bytes: 8, ..done }, "bytes is 8, expected 0 in Done (T-6)"),
        (Record { flags: Flags::FAILED, ..done }, "flags are 0x08, expected only some of 0x80 (T-6)"),
    ] {
        assert_eq!(several(exact, broken), at(8, reason));
    }
    let wildcard = at(8, "request 1 has a wildcard, expected a Done record of its own (T-9)");
    assert_eq!(several(|program| _ = program.irecv(0, -1, 3, 8), done), wildcard);
    assert_eq!(several(|program| _ = program.irecv(0, 1, -2, 8), done), wildcard);
    let blocking = of(|program| {
        _ = program.irecv_with(Flags::BLOCKING, 0, 1, 3, 8);
        program.push(done);
    });
    assert_eq!(blocking, at(6, "Done of request 1 and 1 more, expected request 1 alone (T-8)"));
}

#[test]
fn collectives() {
    let barrier = Record {
        kind: Kind::Collective as u8,
        flags: Flags::BLOCKING,
        peer: -1,
        tag: CollectiveOp::Barrier as i32,
        ..Record::default()
    };
    let bcast = Record { tag: CollectiveOp::Bcast as i32, peer: 1, ..barrier };
    let vector = Record { tag: CollectiveOp::Alltoall as i32, flags: Flags::BLOCKING | Flags::VECTOR, ..barrier };
    assert_eq!((record(barrier), record(bcast)), ("no defect".to_owned(), "no defect".to_owned()));
    for (broken, reason) in [
        (Record { tag: 13, ..barrier }, "tag is 13, expected 1 to 12 (a collective) (T-6)"),
        (Record { tag: -5, ..barrier }, "tag is -5, expected 1 to 12 (a collective) (T-6)"),
        (Record { peer: 0, ..barrier }, "peer is 0, expected -1 (T-6)"),
        (Record { peer: 2, ..bcast }, "root is 2, expected a rank below 2 (T-6)"),
        (Record { peer: -4, ..bcast }, "root is -4, expected a rank below 2 (T-6)"),
        (Record { aux: 1 << 63, ..bcast }, "size is 9223372036854775808 bytes, expected at most 2^48 (T-6)"),
        (Record { request: 1, ..bcast }, "request of a blocking collective is 1, expected 0 (T-8)"),
        (Record { flags: 3, ..bcast }, "flags are 0x03, expected at most one of BLOCKING and PERSISTENT (T-6)"),
        (
            Record { flags: 1 | Flags::VECTOR, ..bcast },
            "Bcast has the VECTOR flag, expected it only in forms with counts per peer (T-16)",
        ),
        (
            vector,
            "kind, flags, thread, words and request of Extra record 1 are (2, 0, 0, 0, 0), expected (14, 0, 0, 4, 0) (T-16)",
        ),
    ] {
        assert_eq!(record(broken), at(5, reason));
    }
    let words = |words: &[u64]| of(|program| program.collective(CollectiveOp::Alltoall, 0, -1, 0, 0, words));
    assert_eq!(words(&[1, 2, 3, 4]), "no defect");
    assert_eq!(words(&[1, 2, 3, 1 << 63]), at(5, "size is 9223372036854775808 bytes, expected at most 2^48 (T-6)"));
    assert_eq!(
        words(&[1, 2, 3]),
        at(
            5,
            "kind, flags, thread, words and request of Extra record 1 are (14, 0, 0, 3, 0), expected (14, 0, 0, 4, 0) (T-16)"
        )
    );
    let mut ranks = everything();
    let (index, _) =
        ranks[0].iter().enumerate().find(|(_, r)| r.kind == Kind::Extra as u8 && r.tag == 4).expect("counts");
    ranks[0][index].aux = 1;
    assert_eq!(check(ranks), at(index - 1, "Extra record 1 has non-zero words after its 4, expected zeros (T-16)"));
    let alone = of(|program| program.push(Record::extra(&[1])));
    assert_eq!(alone, at(5, "found an Extra record, expected only directly after a record with words (T-16)"));
    assert_eq!(
        record(empty(Kind::Other)),
        at(5, "aux is 0, expected an index below 0, the length of other_calls (T-6)")
    );
}

#[test]
fn communicators() {
    let comm = |number: u64, local: &[RankRun], remote: Option<&[RankRun]>| {
        let mut program = RankBuilder::new(0, 4);
        program.comm(number, local, remote);
        let mut ranks = vec![program.finalize()];
        ranks.extend((1..4).map(|rank| RankBuilder::new(rank, 4).finalize()));
        check(ranks)
    };
    let run = |first, stride, length| RankRun { first, stride, length };
    assert_eq!(comm(identity(1), &[run(0, 2, 2)], None), "no defect");
    for (local, reason) in [
        (&[run(1, 2, 2)][..], "found a local group without rank 0, expected the rank itself in it (T-15)"),
        (&[run(0, 2, 3)], "a run goes from 0 to 4, expected ranks below 4 (T-15)"),
        (&[run(0, -1, 2)], "a run goes from 0 to -1, expected ranks below 4 (T-15)"),
        (&[run(0, 0, 2)], "a run lists world rank 0 2 times, expected once (T-15)"),
        (&[run(0, 1, 2), run(3, -2, 2)], "group lists a world rank twice, expected distinct ranks (T-15)"),
        (&[run(0, 3, 2), run(3, 0, 1)], "group lists a world rank twice, expected distinct ranks (T-15)"),
        (&[run(0, 1, 4), run(1, 1, 2)], "group sizes are 6 and -1, expected 1 to 4 (T-15)"),
    ] {
        assert_eq!(comm(identity(1), local, None), at(5, reason));
    }
    assert_eq!(comm(3, &[run(0, 1, 4)], None), at(5, "identity is 0000000000000003, expected 8000000000000003 (T-14)"));
    assert_eq!(
        comm(identity(1), &[run(0, 1, 2)], Some(&[run(0, 1, 2)])),
        at(5, "both groups of an intercommunicator are the same, expected two groups (T-15)")
    );
    let with = |change: fn(&mut Record)| {
        let mut ranks = everything();
        let index = ranks[0].iter().position(|record| record.aux == identity(2)).expect("a half");
        change(&mut ranks[0][index]);
        (check(ranks), index)
    };
    for (change, reason) in [
        ((|record| record.comm = 9) as fn(&mut Record), "comm is 9, expected 3 (T-11)"),
        (|record| record.tag = 0, "group sizes are 0 and -1, expected 1 to 4 (T-15)"),
        (|record| record.tag = i32::MAX, "group sizes are 2147483647 and -1, expected 1 to 4 (T-15)"),
        (|record| record.tag = 1, "a run lists 2 ranks, expected 1 to 1 (T-15)"),
        (|record| record.tag = 3, "runs list 2 ranks, expected 3 (T-15)"),
        (|record| record.bytes = 3, "3 words of runs, expected an even number (T-15)"),
        (
            |record| record.bytes = 4,
            "kind, flags, thread, words and request of Extra record 1 are (14, 0, 0, 2, 0), expected (14, 0, 0, 4, 0) (T-16)",
        ),
    ] {
        let (found, index) = with(change);
        assert_eq!(found, at(index, reason));
    }
    let (found, index) = with(|record| record.bytes = 1 << 60);
    assert!(found.starts_with(&at(index, "")), "{found}");
    assert!(found.ends_with("records follow, expected Extra records with 1152921504606846976 words (T-16)"), "{found}");

    let mut ranks = everything();
    ranks[1][1].tag = 3;
    assert_eq!(check(ranks), "rank-00001.mbt: rank 1, record 1: a run lists 4 ranks, expected 1 to 3 (T-15)");
    let mut differs = vec![RankBuilder::new(0, 2), RankBuilder::new(1, 2)];
    differs[0].comm(identity(5), &[RankRun::all(2)], None);
    differs[1].comm(identity(5), &[RankRun { first: 1, stride: -1, length: 2 }], None);
    assert_eq!(
        check(differs.into_iter().map(RankBuilder::finalize).collect()),
        "rank-00001.mbt: rank 1, record 5: groups differ from those of another rank, expected the same for identity 8000000000000005 (T-14)"
    );
    let used = of(|program| {
        let comm = program.comm(identity(1), &[RankRun::all(2)], None);
        program.comm_free(comm);
        program.send(comm, 1, 0, 0);
    });
    assert_eq!(used, at(8, "communicator 2 was freed before, expected a valid communicator (T-11)"));
    assert_eq!(of(|program| program.comm_free(1)), at(5, "communicator 1 is freed, expected a number above 1 (T-11)"));
    let later = of(|program| {
        let comm = program.comm(identity(1), &[RankRun::all(2)], None);
        let request = program.irecv(comm, 1, 3, 8);
        program.comm_free(comm);
        program.wait(&[request]);
    });
    assert_eq!(later, "no defect", "operations started before the free may complete");
}
