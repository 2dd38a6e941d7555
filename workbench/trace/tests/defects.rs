// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every broken rule is an error that names file, rank, record, what was found and what was expected, word for word.

mod common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use common::{Scratch, everything, identity, ping};
use mb_trace::{
    CollectiveOp, Flags, Form, Header, Kind, Meta, Origin, Program, RankEnd, Record, Run, Status, Trace, TraceWriter,
};
use zerocopy::{FromBytes, IntoBytes};

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

/// What the check says of these ranks.
fn check(ranks: Vec<Vec<Record>>) -> String {
    match Trace::in_memory(ranks).check(|_| ControlFlow::Continue(())) {
        Ok(_) => "no defect".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Rank 0 of a world of two after `body`; rank 1 does nothing. Its first record of its own has index 5.
fn of(body: impl FnOnce(&mut Program)) -> String {
    let mut program = Program::new(0, 2);
    body(&mut program);
    check(vec![program.finalize(), Program::new(1, 2).finalize()])
}

/// One record behind the communicators.
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
    let mut late = Program::new(0, 1);
    late.compute((1 << 53) + 1);
    assert_eq!(check(vec![late.finalize()]), at(5, "wall_ns is 9007199254740993, expected 0 to 2^53 (T-12)"));
    let back = |wall_ns, cpu_ns| {
        let mut ranks = ping();
        (ranks[0][6].wall_ns, ranks[0][6].cpu_ns) = (wall_ns, cpu_ns);
        check(ranks)
    };
    assert_eq!(back(999, 1_000), at(6, "wall_ns is 999, expected 1000 to 2^53 (T-12)"));
    assert_eq!(back(1_000, 999), at(6, "cpu_ns is 999, expected 1000 to 2^53 (T-12)"));
    // Another thread has times of its own.
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
fn fields_that_a_kind_does_not_use_are_zero() {
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
    assert_eq!(record(empty(Kind::Init)), at(5, "a second Init (T-11)"));
    assert_eq!(record(empty(Kind::Finalize)), at(5, "1 records behind Finalize, expected none (T-11)"));
    let mut ranks = ping();
    ranks[0].pop();
    assert_eq!(check(ranks), at(5, "the last record is Send, expected Finalize (T-11)"));
    assert_eq!(check(vec![Vec::new()]), "rank-00000.mbt: rank 0: the last record is nothing, expected Finalize (T-11)");
    let mut ranks = ping();
    ranks[0][0].aux = 4;
    assert_eq!(check(ranks), at(0, "the thread level is 4, expected 0 to 3 (T-6)"));
}

#[test]
fn sends() {
    let send =
        Record { kind: Kind::Send as u8, flags: Flags::BLOCKING, peer: 1, tag: 3, bytes: 8, ..Record::default() };
    assert_eq!(record(send), "no defect");
    for (broken, reason) in [
        (Record { peer: 2, ..send }, "peer is 2, expected a rank below 2 or -3 (MPI_PROC_NULL) (T-6)"),
        (Record { peer: -1, ..send }, "peer is -1, expected a rank below 2 or -3 (MPI_PROC_NULL) (T-6)"),
        (Record { tag: -2, ..send }, "tag is -2, expected one from 0 on (T-6)"),
        (Record { bytes: (1 << 48) + 1, ..send }, "size is 281474976710657 bytes, expected at most 2^48 (T-6)"),
        (Record { aux: 1, ..send }, "aux is 1, expected 0 earlier sends to peer 1 (T-6)"),
        (Record { request: 1, ..send }, "request of a blocking send is 1, expected 0 (T-8)"),
        (Record { comm: 2, ..send }, "comm is 2, expected one of the 2 so far (T-11)"),
        (Record { flags: 1 | 4 | 8, ..send }, "flags are 0x0d, expected at most one mode of sending (T-6)"),
        (Record { flags: 1 | 64, ..send }, "flags are 0x41, expected one of BLOCKING, PERSISTENT, SENDRECV (T-6)"),
        (Record { flags: 0, ..send }, "request is 0, expected 1 to 1029 (T-8)"),
        (Record { flags: 0, request: 1030, ..send }, "request is 1030, expected 1 to 1029 (T-8)"),
        (Record { flags: 0, request: u32::MAX, ..send }, "request is 4294967295, expected 1 to 1029 (T-8)"),
    ] {
        assert_eq!(record(broken), at(5, reason));
    }
    let nobody = Record { peer: -3, tag: -7, aux: 0, ..send };
    assert_eq!(record(nobody), "no defect", "the tag means nothing then");
}

#[test]
fn receives_and_probes() {
    let recv = Record { kind: Kind::Recv as u8, peer: 1, tag: 3, bytes: 8, request: 1, ..Record::default() };
    assert_eq!(record(recv), "no defect", "it need not finish");
    let expected_peer = "expected a rank below 2, -1 (MPI_ANY_SOURCE) or -3 (MPI_PROC_NULL)";
    for (broken, reason) in [
        (Record { peer: 2, ..recv }, format!("peer is 2, {expected_peer} (T-6)")),
        (Record { peer: -2, ..recv }, format!("peer is -2, {expected_peer} (T-6)")),
        (Record { tag: -1, ..recv }, "tag is -1, expected one from 0 on or -2 (MPI_ANY_TAG) (T-6)".to_owned()),
        (Record { bytes: 1 << 63, ..recv }, format!("size is {} bytes, expected at most 2^48 (T-6)", 1_u64 << 63)),
        (Record { request: 0, ..recv }, "request is 0, expected 1 to 1029 (T-8)".to_owned()),
        (Record { aux: 1, ..recv }, "aux is 1, expected 0 in Recv (T-6)".to_owned()),
        (
            Record { flags: Flags::MATCHED, aux: 1, ..recv },
            "aux is 1, expected a matched probe whose message is not received (T-8)".to_owned(),
        ),
        (
            Record { flags: Flags::MATCHED, aux: u64::MAX, ..recv },
            "aux is 18446744073709551615, expected a matched probe whose message is not received (T-8)".to_owned(),
        ),
    ] {
        assert_eq!(record(broken), at(5, &reason));
    }
    let twice = of(|program| {
        program.push(recv);
        program.push(recv);
    });
    assert_eq!(twice, at(6, "request 1 was used before (T-8)"));
    let status = Status { source: 1, tag: 3, bytes: 8 };
    let taken_twice = of(|program| {
        let probe = program.probe(Flags::MATCHED, 0, 1, 3, status);
        for _ in 0..2 {
            let received = program.mrecv(0, probe, 8).from(1, 3, 8);
            program.wait(&[received]);
        }
    });
    assert_eq!(taken_twice, at(10, "aux is 1, expected a matched probe whose message is not received (T-8)"));
    let elsewhere = of(|program| {
        let probe = program.probe(Flags::MATCHED, 0, 1, 3, status);
        let _ = program.mrecv(1, probe, 8);
    });
    assert_eq!(elsewhere, at(7, "comm, peer and tag are 1, -1 and -2, expected 0, -1 and -2 (T-8)"));
    let itself = of(|program| program.push(Record { flags: Flags::MATCHED, peer: -1, tag: -2, aux: 1, ..recv }));
    assert_eq!(itself, at(5, "aux is 1, expected a matched probe whose message is not received (T-8)"));
    for (calls, number) in [(0, "0"), ((1 << 48) + 1, "281474976710657"), (u64::MAX, "18446744073709551615")] {
        let miss = Record { aux: calls, ..empty(Kind::Miss) };
        assert_eq!(record(miss), at(5, &format!("aux is {number}, expected 1 to 2^48 calls (T-6)")));
    }
    let wait = Record { aux: 1 << 63, ..empty(Kind::Wait) };
    assert_eq!(record(wait), at(5, "aux is 9223372036854775808, expected at most the 5 records before (T-8)"));
}

#[test]
fn what_finishes_was_started() {
    let recv = |program: &mut Program| program.irecv(0, 1, 3, 8);
    let finished = |change: fn(&mut Record)| {
        let mut program = Program::new(0, 2);
        let request = recv(&mut program);
        program.wait(&[request]);
        let mut records = program.finalize();
        change(&mut records[7]);
        check(vec![records, Program::new(1, 2).finalize()])
    };
    assert_eq!(finished(|_| ()), "no defect");
    for (change, reason) in [
        ((|done| done.request = 2) as fn(&mut Record), "request 2 was not started (T-11)"),
        (|done| done.request = 0, "request 0 is finished (T-11)"),
        (|done| done.request = u32::MAX, "request 4294967295 was not started (T-11)"),
        (|done| done.peer = 0, "peer is 0, expected 1 (T-9)"),
        (|done| done.tag = 4, "tag is 4, expected 3 (T-9)"),
        (|done| done.bytes = 9, "bytes is 9, expected at most the room of 8 (T-9)"),
        (|done| done.bytes = 1 << 63, "size is 9223372036854775808 bytes, expected at most 2^48 (T-6)"),
        (|done| done.flags = Flags::CANCELLED, "peer, tag and bytes are (1, 3, 8), expected zeros (T-9)"),
        (|done| done.kind = Kind::Miss as u8, "record is Miss, expected the Done that thread 0 owes (T-8)"),
        (|done| done.thread = 1, "a Done without a Wait, a blocking receive or a probe before it in its thread (T-8)"),
    ] {
        assert_eq!(finished(change), at(7, reason));
    }
    assert_eq!(finished(|done| (done.flags, done.bytes) = (Flags::FAILED, 9)), "no defect", "truncated");
    let twice = of(|program| {
        let request = recv(program);
        program.wait(&[request, request]);
    });
    assert_eq!(twice, at(8, "request 1 is finished (T-11)"));
    let wild = of(|program| {
        let request = program.irecv(0, -1, -2, 8);
        program.wait(&[request]);
    });
    assert_eq!(wild, at(7, "peer is -1, expected a rank below 2 (T-9)"));
    let wild = of(|program| {
        let request = program.irecv(0, -1, -2, 8).from(1, -2, 8);
        program.wait(&[request]);
    });
    assert_eq!(wild, at(7, "tag is -2, expected one from 0 on (T-9)"));
    let nobody = of(|program| {
        let request = program.irecv(0, -3, 0, 8).from(-3, 0, 0);
        program.wait(&[request]);
    });
    assert_eq!(nobody, at(7, "peer, tag and bytes are (-3, 0, 0), expected (-3, -2, 0) (T-10)"));
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
    assert_eq!(blocking, at(7, "Done of request 1, expected 2 (T-8)"));
    let probe = of(|program| {
        let number = program.probe(0, 0, 1, 3, Status { source: 1, tag: 3, bytes: 8 });
        program.cancel(mb_trace::Request { number, status: Status::default(), foretold: None });
    });
    assert_eq!(probe, at(7, "request 1 is finished (T-11)"));
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
    assert_eq!(cancelled, at(7, "a Collective is cancelled, expected a Send or a Recv (T-9)"));
    let freed = of(|program| {
        let request = recv(program);
        program.free(request);
        program.wait(&[request]);
    });
    assert_eq!(freed, at(8, "request 1 is finished (T-11)"));
}

#[test]
fn a_done_of_several_ends_what_finished_as_foretold() {
    let several = |first: fn(&mut Program), done: Record| {
        of(|program| {
            first(program);
            _ = program.isend(0, 1, 3, 8);
            program.push(Record { aux: 1, ..empty(Kind::Wait) });
            program.push(done);
        })
    };
    let done = Record { request: 1, aux: 1, ..empty(Kind::Done) };
    let exact = |program: &mut Program| _ = program.irecv(0, 1, 3, 8);
    assert_eq!(several(exact, done), "no defect");
    assert_eq!(several(|program| _ = program.irecv(0, -3, -2, 8), done), "no defect");
    for (broken, reason) in [
        (Record { aux: 2, ..done }, "request 3 was not started (T-11)"),
        (Record { aux: u64::MAX, ..done }, "request 3 was not started (T-11)"),
        (Record { request: u32::MAX, ..done }, "request 4294967295 was not started (T-11)"),
        (Record { request: 0, ..done }, "request 0 is finished (T-11)"),
        (Record { bytes: 8, ..done }, "bytes is 8, expected 0 in Done (T-6)"),
        (Record { flags: Flags::FAILED, ..done }, "flags are 0x08, expected only some of 0x80 (T-6)"),
    ] {
        assert_eq!(several(exact, broken), at(8, reason));
    }
    let wildcard = at(8, "request 1 has a wildcard, expected a Done of its own (T-9)");
    assert_eq!(several(|program| _ = program.irecv(0, -1, 3, 8), done), wildcard);
    assert_eq!(several(|program| _ = program.irecv(0, 1, -2, 8), done), wildcard);
    let blocking = of(|program| {
        _ = program.irecv_with(Flags::BLOCKING, 0, 1, 3, 8);
        program.push(done);
    });
    assert_eq!(blocking, at(6, "Done of request 1 and 1 more, expected 1 alone (T-8)"));
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
        (Record { tag: 13, ..barrier }, "tag is 13, expected a collective, 1 to 12 (T-6)"),
        (Record { tag: -5, ..barrier }, "tag is -5, expected a collective, 1 to 12 (T-6)"),
        (Record { peer: 0, ..barrier }, "peer is 0, expected -1 (T-6)"),
        (Record { peer: 2, ..bcast }, "the root is 2, expected a rank below 2 (T-6)"),
        (Record { peer: -4, ..bcast }, "the root is -4, expected a rank below 2 (T-6)"),
        (Record { aux: 1 << 63, ..bcast }, "size is 9223372036854775808 bytes, expected at most 2^48 (T-6)"),
        (Record { request: 1, ..bcast }, "request of a blocking collective is 1, expected 0 (T-8)"),
        (Record { flags: 3, ..bcast }, "flags are 0x03, expected not BLOCKING and PERSISTENT (T-6)"),
        (Record { flags: 1 | Flags::VECTOR, ..bcast }, "Bcast has VECTOR, expected no counts here (T-16)"),
        (
            vector,
            "kind, flags, thread, words and request of the record 1 behind are (2, 0, 0, 0, 0), expected (14, 0, 0, 4, 0) (T-16)",
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
            "kind, flags, thread, words and request of the record 1 behind are (14, 0, 0, 3, 0), expected (14, 0, 0, 4, 0) (T-16)"
        )
    );
    let mut ranks = everything();
    let (index, _) =
        ranks[0].iter().enumerate().find(|(_, r)| r.kind == Kind::Extra as u8 && r.tag == 4).expect("counts");
    ranks[0][index].aux = 1;
    assert_eq!(check(ranks), at(index - 1, "the record 1 behind has more than its 4 words (T-16)"));
    let alone = of(|program| program.push(Record::extra(&[1])));
    assert_eq!(alone, at(5, "an Extra record stands alone, expected it behind a Comm or a Collective (T-16)"));
    assert_eq!(record(empty(Kind::Other)), at(5, "aux is 0, expected an index in the 0 other_calls (T-6)"));
}

#[test]
fn communicators() {
    let comm = |number: u64, local: &[Run], remote: Option<&[Run]>| {
        let mut program = Program::new(0, 4);
        program.comm(number, local, remote);
        let mut ranks = vec![program.finalize()];
        ranks.extend((1..4).map(|rank| Program::new(rank, 4).finalize()));
        check(ranks)
    };
    let run = |first, stride, length| Run { first, stride, length };
    assert_eq!(comm(identity(1), &[run(0, 2, 2)], None), "no defect");
    for (local, reason) in [
        (&[run(1, 2, 2)][..], "the local group does not list the rank itself, 0 (T-15)"),
        (&[run(0, 2, 3)], "a run goes from 0 to 4, expected ranks below 4 (T-15)"),
        (&[run(0, -1, 2)], "a run goes from 0 to -1, expected ranks below 4 (T-15)"),
        (&[run(0, 0, 2)], "a run lists world rank 0 2 times (T-15)"),
        (&[run(0, 1, 2), run(3, -2, 2)], "the group lists a world rank twice (T-15)"),
        (&[run(0, 3, 2), run(3, 0, 1)], "the group lists a world rank twice (T-15)"),
        (&[run(0, 1, 4), run(1, 1, 2)], "group sizes are 6 and -1, expected 1 to 4 (T-15)"),
    ] {
        assert_eq!(comm(identity(1), local, None), at(5, reason));
    }
    assert_eq!(comm(3, &[run(0, 1, 4)], None), at(5, "identity is 0000000000000003, expected 8000000000000003 (T-14)"));
    assert_eq!(
        comm(identity(1), &[run(0, 1, 2)], Some(&[run(0, 1, 2)])),
        at(5, "the two groups of an intercommunicator are the same (T-15)")
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
        (|record| record.tag = 3, "the runs list 2 ranks, expected 3 (T-15)"),
        (|record| record.bytes = 3, "3 words of runs, expected an even number (T-15)"),
        (
            |record| record.bytes = 4,
            "kind, flags, thread, words and request of the record 1 behind are (14, 0, 0, 2, 0), expected (14, 0, 0, 4, 0) (T-16)",
        ),
    ] {
        let (found, index) = with(change);
        assert_eq!(found, at(index, reason));
    }
    let (found, index) = with(|record| record.bytes = 1 << 60);
    assert!(found.starts_with(&at(index, "")), "{found}");
    assert!(found.ends_with("records follow, expected 1152921504606846976 words in Extra records (T-16)"), "{found}");

    let mut ranks = everything();
    ranks[1][1].tag = 3;
    assert_eq!(check(ranks), "rank-00001.mbt: rank 1, record 1: a run lists 4 ranks, expected 1 to 3 (T-15)");
    let mut differs = vec![Program::new(0, 2), Program::new(1, 2)];
    differs[0].comm(identity(5), &[Run::all(2)], None);
    differs[1].comm(identity(5), &[Run { first: 1, stride: -1, length: 2 }], None);
    assert_eq!(
        check(differs.into_iter().map(Program::finalize).collect()),
        "rank-00001.mbt: rank 1, record 5: the groups differ from those that another rank gave for identity 8000000000000005 (T-14)"
    );
    let used = of(|program| {
        let comm = program.comm(identity(1), &[Run::all(2)], None);
        program.comm_free(comm);
        program.send(comm, 1, 0, 0);
    });
    assert_eq!(used, at(8, "communicator 2 was freed (T-11)"));
    assert_eq!(of(|program| program.comm_free(1)), at(5, "communicator 1 is freed, expected one above 1 (T-11)"));
    let later = of(|program| {
        let comm = program.comm(identity(1), &[Run::all(2)], None);
        let request = program.irecv(comm, 1, 3, 8);
        program.comm_free(comm);
        program.wait(&[request]);
    });
    assert_eq!(later, "no defect", "what was started before the free may finish");
}

/// The bytes of a small trace, by name, as rank files or as a bundle.
fn bytes(form: Form) -> (Vec<u8>, Files) {
    let scratch = Scratch::new(&format!("defects-{form:?}-{:?}", std::thread::current().id()));
    let mut writer = TraceWriter::create(scratch.path(), Meta::new(Origin::Generated, 2, 77), form).unwrap();
    for records in ping() {
        writer.rank(&records).unwrap();
    }
    writer.finish().unwrap();
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(scratch.path()).unwrap() {
        let entry = entry.unwrap();
        files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    (files.remove("meta.json").expect("written"), files)
}

/// What opening and checking says.
fn read(meta: &[u8], files: &Files) -> Result<Trace, String> {
    let trace = Trace::from_bytes(meta, files).map_err(|error| error.to_string())?;
    trace.check(|_| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
    Ok(trace)
}

fn header(file: &mut [u8], change: impl FnOnce(&mut Header)) {
    let header = Header::mut_from_bytes(&mut file[..64]).unwrap();
    change(header);
    header.check = header.expected_check();
}

#[test]
fn headers_of_rank_files() {
    let with = |change: fn(&mut Header)| {
        let (meta, mut files) = bytes(Form::RankFiles);
        header(files.get_mut("rank-00001.mbt").unwrap(), change);
        read(&meta, &files).unwrap_err()
    };
    for (change, reason) in [
        (
            (|h| h.magic[7] = 2) as fn(&mut Header),
            "begins with [4d, 42, 54, 52, 41, 43, 45, 02], expected [4d, 42, 54, 52, 41, 43, 45, 01] (T-3)",
        ),
        (|h| h.version = 2, "version is 2, expected 1 (T-3)"),
        (|h| h.record_bytes = 128, "record_bytes is 128, expected 64 (T-3)"),
        (|h| h.flags = 4, "flags are 0x4, expected 0, 1 or 2 (T-3)"),
        (|h| h.flags = 3, "flags are 0x3, expected 0, 1 or 2 (T-3)"),
        (|h| h.flags = 0, "records is 8, expected 0 in a file that is not finalized (T-3)"),
        (|h| h.first_rank = 0, "first_rank is 0, expected 1 (T-1)"),
        (|h| h.segments = 2, "segments is 2, expected 1 (T-3)"),
        (|h| h.world = 3, "world is 3, expected 2 as in meta.json (T-1)"),
        (|h| h.reserved = 1, "the reserved field is 0x1, expected 0 (T-3)"),
        (|h| h.records = 9, "has 576 bytes, expected a header and 9 records of 64 (T-5)"),
        (|h| h.records = 1 << 63, "has 576 bytes, expected a header and 9223372036854775808 records of 64 (T-5)"),
        (|h| h.run_id = 78, "run_id is 000000000000004e, expected 000000000000004d as in meta.json (T-1)"),
    ] {
        assert_eq!(with(change), format!("rank-00001.mbt: {reason}"));
    }
    let (meta, mut files) = bytes(Form::RankFiles);
    files.get_mut("rank-00001.mbt").unwrap()[40] ^= 1;
    let error = read(&meta, &files).unwrap_err();
    assert!(error.starts_with("rank-00001.mbt: checksum of the header is "), "{error}");
    assert!(error.ends_with(" (T-13)"), "{error}");
}

#[test]
fn header_and_index_of_a_bundle() {
    let with = |change: fn(&mut Header)| {
        let (meta, mut files) = bytes(Form::Bundle);
        header(files.get_mut("bundle.mbt").unwrap(), change);
        read(&meta, &files).unwrap_err()
    };
    for (change, reason) in [
        ((|h| (h.flags, h.records) = (0, 0)) as fn(&mut Header), "flags are 0x0, expected a finalized bundle (T-4)"),
        (|h| h.first_rank = 1, "holds 2 segments from rank 1 on, expected 2 from rank 0 on (T-4)"),
        (|h| h.segments = u32::MAX, "holds 4294967295 segments from rank 0 on, expected 2 from rank 0 on (T-4)"),
        (|h| h.records = 14, "records is 14, expected the 15 of its segments (T-4)"),
    ] {
        assert_eq!(with(change), format!("bundle.mbt: {reason}"));
    }
    let index = |at: usize, value: u64| {
        let (meta, mut files) = bytes(Form::Bundle);
        files.get_mut("bundle.mbt").unwrap()[64 + 8 * at..][..8].copy_from_slice(&value.to_le_bytes());
        read(&meta, &files).unwrap_err()
    };
    assert_eq!(index(0, 64), "bundle.mbt: rank 0: segment begins at 64, expected 128 (T-4)");
    assert_eq!(index(2, u64::MAX), "bundle.mbt: rank 1: segment begins at 18446744073709551615, expected 576 (T-4)");
    assert_eq!(
        index(1, 1 << 63),
        "bundle.mbt: rank 0: segment has 9223372036854775808 records, expected at most 15 (T-4)"
    );
    assert_eq!(index(3, 7), "bundle.mbt: has 1088 bytes, expected its segments to end with it at 1024 (T-4)");
    assert_eq!(index(4, 1), "bundle.mbt: the index is followed by other bytes than zeros (T-4)");
    let (_, files) = bytes(Form::Bundle);
    let meta = serde_json::to_vec(&Meta::new(Origin::Generated, i32::MAX as u32, 77)).unwrap();
    let mut many = files;
    header(many.get_mut("bundle.mbt").unwrap(), |h| (h.world, h.segments) = (i32::MAX as u32, i32::MAX as u32));
    assert_eq!(
        read(&meta, &many).unwrap_err(),
        "bundle.mbt: has 1088 bytes, expected an index of 2147483647 entries (T-4)"
    );
}

#[test]
fn files_that_do_not_belong_together() {
    let (meta, files) = bytes(Form::RankFiles);
    let (_, bundle) = bytes(Form::Bundle);
    let with = |change: &dyn Fn(&mut Files)| {
        let mut files = files.clone();
        change(&mut files);
        read(&meta, &files).unwrap_err()
    };
    assert_eq!(
        with(&|files| drop(files.remove("rank-00001.mbt"))),
        "rank-00001.mbt: is missing, expected a file for each of the 2 ranks (T-1)"
    );
    assert_eq!(
        with(&|files| drop(files.insert("rank-00002.mbt".to_owned(), Vec::new()))),
        "rank-00002.mbt: does not belong to a trace of 2 ranks (T-1)"
    );
    assert_eq!(
        with(&|files| files.extend(bundle.clone())),
        "rank-00000.mbt: stands beside bundle.mbt, expected either rank files or a bundle (T-1)"
    );
    assert_eq!(
        with(&|files| {
            let first = files["rank-00000.mbt"].clone();
            files.insert("rank-00001.mbt".to_owned(), first);
        }),
        "rank-00001.mbt: first_rank is 0, expected 1 (T-1)"
    );
    assert_eq!(
        with(&|files| files.get_mut("rank-00000.mbt").unwrap().clear()),
        "rank-00000.mbt: has 0 bytes, expected a header of 64 (T-3)"
    );
}

#[test]
fn meta_json() {
    let (_, files) = bytes(Form::RankFiles);
    let with = |text: &str| read(text.as_bytes(), &files).unwrap_err();
    let good =
        r#"{"format":"matchbench-trace","version":1,"ranks":2,"run_id":"000000000000004d","origin":"generated"}"#;
    assert!(read(good.as_bytes(), &files).is_ok());
    for (from, to, reason) in [
        ("matchbench-trace", "trace", r#"`format` is "trace", expected "matchbench-trace""#),
        (r#""version":1"#, r#""version":2"#, "`version` is 2, expected 1"),
        (r#""ranks":2"#, r#""ranks":0"#, "`ranks` is 0, expected 1 to 2147483647"),
        (r#""ranks":2"#, r#""ranks":4294967295"#, "`ranks` is 4294967295, expected 1 to 2147483647"),
        ("000000000000004d", "4d", r#"`run_id` is "4d", expected 16 hexadecimal digits"#),
        ("000000000000004d", "+00000000000004d", r#"`run_id` is "+00000000000004d", expected 16 hexadecimal digits"#),
        ("generated", "guessed", "unknown variant `guessed`, expected `recorded` or `generated` at line 1 column 97"),
        (r#""version":1,"#, "", "missing field `version` at line 1 column 88"),
    ] {
        assert_eq!(with(&good.replace(from, to)), format!("meta.json: {reason} (section 2)"));
    }
    assert_eq!(with(""), "meta.json: EOF while parsing a value at line 1 column 0 (section 2)");
    let unknown = good.replace(r#""version":1"#, r#""version":1,"note":{"kept":[1]}"#);
    assert_eq!(read(unknown.as_bytes(), &files).unwrap().meta().more["note"]["kept"][0], 1);
}

#[test]
fn every_flipped_bit_of_a_small_trace_is_found() {
    for form in [Form::RankFiles, Form::Bundle] {
        let (meta, files) = bytes(form);
        assert!(read(&meta, &files).is_ok());
        for (name, content) in &files {
            for bit in 0..content.len() * 8 {
                let mut files = files.clone();
                files.get_mut(name).unwrap()[bit / 8] ^= 1 << (bit % 8);
                assert!(read(&meta, &files).is_err(), "{name}, bit {bit}");
            }
        }
    }
}

#[test]
fn every_cut_of_a_finalized_trace_is_found() {
    for form in [Form::RankFiles, Form::Bundle] {
        let (meta, files) = bytes(form);
        for (name, content) in &files {
            for length in 0..content.len() {
                let mut files = files.clone();
                files.get_mut(name).unwrap().truncate(length);
                assert!(read(&meta, &files).is_err(), "{name}, {length} bytes");
            }
            let mut files = files.clone();
            files.get_mut(name).unwrap().push(0);
            assert!(read(&meta, &files).is_err(), "{name}, a byte more");
        }
    }
}

/// A rank that was killed: not finalized, with reserved space behind its records.
fn killed(records: &[Record], reserved: usize) -> (Vec<u8>, Files) {
    let (meta, mut files) = bytes(Form::RankFiles);
    let file = files.get_mut("rank-00001.mbt").unwrap();
    file.truncate(64);
    header(file, |h| (h.flags, h.records) = (0, 0));
    for (index, record) in records.iter().enumerate() {
        file.extend(record.sealed(index as u64).as_bytes());
    }
    file.resize(file.len() + reserved, 0);
    (meta, files)
}

#[test]
fn a_killed_rank_ends_where_it_stopped_writing() {
    let all = &ping()[1];
    // Records and their Extra records are written together, so cuts fall between groups.
    for count in [0, 1, 3, 5, 6, 7, 8] {
        for reserved in [0, 10, 64, 6400] {
            let (meta, files) = killed(&all[..count], reserved);
            let trace = read(&meta, &files).unwrap();
            assert_eq!((trace.rank(1).len(), trace.end(1), trace.end(0)), (count, RankEnd::Cut, RankEnd::Finalized));
        }
    }
    // The one that was being written is left out.
    let (meta, mut files) = killed(&all[..6], 640);
    files.get_mut("rank-00001.mbt").unwrap()[64 + 5 * 64 + 20] ^= 4;
    assert_eq!(read(&meta, &files).unwrap().rank(1).len(), 5);
    // A wrong one before others of its thread is a defect.
    let (meta, mut files) = killed(&all[..7], 640);
    files.get_mut("rank-00001.mbt").unwrap()[64 + 5 * 64 + 20] ^= 4;
    let error = read(&meta, &files).unwrap_err();
    assert!(error.starts_with("rank-00001.mbt: rank 1, record 5: checksum is "), "{error}");
    // A disk that was full.
    let (meta, mut files) = killed(&all[..6], 0);
    header(files.get_mut("rank-00001.mbt").unwrap(), |h| h.flags = Header::STOPPED);
    assert_eq!(read(&meta, &files).unwrap().end(1), RankEnd::Stopped);
}

#[test]
fn a_killed_rank_ends_before_the_poll_that_was_being_counted() {
    let mut program = Program::new(1, 2);
    program.miss(3);
    program.probe_miss(0, -1, 7, 3);
    let torn = |records: &[Record]| {
        let (meta, mut files) = killed(records, 64);
        files.get_mut("rank-00001.mbt").unwrap()[64 + 5 * 64 + 56] ^= 2;
        read(&meta, &files).map(|trace| trace.rank(1).len())
    };
    assert_eq!(torn(program.records()), Ok(5), "only a Miss stands behind it");
    program.send(0, 0, 7, 0);
    let error = torn(program.records()).unwrap_err();
    assert!(error.starts_with("rank-00001.mbt: rank 1, record 5: checksum is "), "{error}");
}

#[test]
fn with_several_threads_a_killed_rank_ends_before_the_call_that_was_being_written() {
    let mut program = Program::new(1, 2);
    program.thread(1);
    program.send(0, 0, 7, 0);
    program.thread(0);
    program.send(0, 0, 8, 0);
    let (meta, mut files) = killed(program.records(), 64);
    files.get_mut("rank-00001.mbt").unwrap()[64 + 5 * 64 + 56] ^= 2;
    assert_eq!(read(&meta, &files).unwrap().rank(1).len(), 5, "thread 1 wrote nothing behind it");
}

#[test]
fn a_directory_is_opened_as_its_files_are() {
    let scratch = Scratch::new("defects-open");
    let error = |scratch: &Scratch| Trace::open(scratch.path()).unwrap_err().to_string();
    let path = scratch.path().display();
    assert_eq!(error(&scratch), format!("{path}/meta.json: No such file or directory (os error 2)"));
    std::fs::create_dir_all(scratch.path()).unwrap();
    std::fs::write(scratch.path().join("meta.json"), bytes(Form::Bundle).0).unwrap();
    assert_eq!(
        error(&scratch),
        format!("{path}/rank-00000.mbt: is missing, expected a file for each of the 2 ranks (T-1)")
    );
    std::fs::write(scratch.path().join("bundle.mbt"), b"").unwrap();
    assert_eq!(error(&scratch), format!("{path}/bundle.mbt: has 0 bytes, expected a header of 64 (T-3)"));
}

#[test]
fn a_writer_refuses_what_would_not_be_a_trace() {
    let scratch = Scratch::new("defects-writer");
    let path = scratch.path();
    let create = |ranks| TraceWriter::create(path, Meta::new(Origin::Generated, ranks, 1), Form::Bundle);
    let mut writer = create(1).unwrap();
    assert_eq!(
        create(1).map(drop).unwrap_err().to_string(),
        format!("{}: holds a trace already (meta.json)", path.display()).replace("meta.json", &first_name(path))
    );
    writer.rank(&ping()[0]).unwrap();
    assert_eq!(
        writer.rank(&ping()[1]).unwrap_err().to_string(),
        format!("{}: rank 1 does not belong to a world of 1", path.display())
    );
    drop(writer);
    let error = Trace::open(path).unwrap_err().to_string();
    assert!(error.contains("bundle.mbt: "), "{error}: no header was written");

    let scratch = Scratch::new("defects-writer-2");
    let writer = TraceWriter::create(scratch.path(), Meta::new(Origin::Generated, 2, 1), Form::RankFiles).unwrap();
    let reason = format!("{}: 0 of 2 ranks were written", scratch.path().display());
    assert_eq!(writer.finish().unwrap_err().to_string(), reason);
}

/// The name that a listing of the directory begins with.
fn first_name(path: &std::path::Path) -> String {
    let entry = std::fs::read_dir(path).unwrap().next().unwrap().unwrap();
    entry.file_name().into_string().unwrap()
}

#[test]
fn interrupted_work_says_so() {
    let trace = Trace::in_memory(ping());
    let stop = |_| ControlFlow::Break(());
    assert_eq!(trace.check(stop).unwrap_err().to_string(), "interrupted");
    let comms = trace.check(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(trace.stats(&comms, |_, _| ControlFlow::Break(())).unwrap_err().to_string(), "interrupted");
}
