// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Version 2 of the format: how ranks ended, what is left out, where ranks ran.

use crate::common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use common::ping;
use mb_trace::{CallSum, Flags, Header, Host, Kind, LeftOut, Meta, Omission, Record, Trace, TraceOrigin, TraceState};
use zerocopy::IntoBytes;

/// Opens and checks a trace of these ranks, in this version, with these flags in the header of rank
/// 1, after `change` of the records.
fn read(version: u16, flags: u32, change: impl FnOnce(&mut [Vec<Record>])) -> Result<Trace, String> {
    let mut ranks = ping();
    change(&mut ranks);
    let mut meta = Meta::new(TraceOrigin::Recorded, 2, 77);
    meta.other_calls = ["MPI_Put", "send on a communicator that is not recorded", "MPI_Comm_spawn", "MPI_Abort"]
        .map(str::to_owned)
        .to_vec();
    let files: BTreeMap<String, Vec<u8>> = ranks
        .iter()
        .enumerate()
        .map(|(rank, records)| {
            let mut header = Header::finalized(&meta, rank as u32, records.len() as u64);
            header.version = version;
            if rank == 1 {
                header.flags = flags;
                header.records *= u64::from(flags & Header::FINALIZED);
            }
            header.check = header.expected_check();
            let mut bytes = header.as_bytes().to_vec();
            records.iter().enumerate().for_each(|(at, record)| bytes.extend(record.sealed(at as u64).as_bytes()));
            (format!("rank-{rank:05}.mbt"), bytes)
        })
        .collect();
    let meta = serde_json::to_vec(&meta).unwrap();
    let trace = Trace::from_bytes(&meta, &files).map_err(|error| error.to_string())?;
    trace.check(|_| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
    Ok(trace)
}

fn other(aux: u64) -> Record {
    Record { kind: Kind::Other as u8, aux, ..Record::default() }
}

/// Inserts a record before the Finalize of a rank.
fn insert(records: &mut Vec<Record>, mut record: Record) {
    let last = *records.last().unwrap();
    (record.wall, record.cpu, record.thread) = (last.wall, last.cpu, last.thread);
    records.insert(records.len() - 1, record);
}

#[test]
fn every_end_has_one_word() {
    let state = |flags| {
        let trace = read(2, flags, |_| ()).unwrap();
        (trace.end(0).word(), trace.end(1).word(), trace.state().word())
    };
    assert_eq!(state(1), ("complete", "complete", "complete"));
    assert_eq!(state(2), ("complete", "stopped", "stopped"));
    assert_eq!(state(0), ("complete", "cut", "cut"));
    assert_eq!(state(4), ("complete", "aborted", "aborted"));
    assert_eq!(state(5), ("complete", "aborted", "aborted"), "MPI_Abort may return");
    assert_eq!(state(6), ("complete", "aborted", "aborted"), "it filled the disk");
    assert!(TraceState::ALL.is_sorted());
}

#[test]
fn what_is_left_out_is_counted_by_name() {
    let left_out = |version, all: &[u64]| {
        read(version, 1, |ranks| {
            all.iter().enumerate().for_each(|(at, aux)| insert(&mut ranks[at % 2], other(*aux)));
        })
        .map(|trace| trace.left_out())
    };
    let row = |omission, name: &str, calls, processes| LeftOut { omission, name: name.to_owned(), calls, processes };
    let send = "send on a communicator that is not recorded";
    assert_eq!(left_out(2, &[]), Ok(vec![]));
    assert_eq!(
        left_out(2, &[0, 1, 1, 2 | 5 << 32, 2, 3, 0, 1]),
        Ok(vec![
            row(Omission::Lost, send, 3, 0),
            row(Omission::Lost, "MPI_Comm_spawn", 2, 5),
            row(Omission::NotReplayed, "MPI_Put", 2, 0),
        ])
    );
    assert_eq!(left_out(1, &[1, 2]).unwrap().len(), 2);
    let reason = "expected an index below 4, the length of other_calls (T-6)";
    assert!(left_out(2, &[4]).unwrap_err().ends_with(&format!("aux is 4, {reason}")));
    assert!(left_out(1, &[1 << 32]).unwrap_err().ends_with(&format!("aux is 4294967296, {reason}")));
}

#[test]
fn calls_are_summed_by_what_a_replay_can_do_with_them() {
    let timed = |kind: Kind, flags, bytes, aux| Record {
        wall_span_ns: 7,
        flags,
        ..Record { kind: kind as u8, bytes, aux, ..Record::default() }
    };
    let calls = |others: &[u64]| {
        read(2, 1, |ranks| {
            insert(&mut ranks[0], timed(Kind::Miss, 0, 0, 5));
            insert(&mut ranks[1], Record { tag: 1, peer: -1, ..timed(Kind::Collective, Flags::BLOCKING, 0, 0) });
            for aux in others {
                insert(&mut ranks[1], timed(Kind::Other, 0, 0, *aux));
            }
        })
        .map(|trace| trace.calls())
        .unwrap()
    };
    let none = calls(&[]);
    // A send of 512 bytes, its receive, a barrier; the spans of unsuccessful tests are in the time.
    assert_eq!(none.detailed, CallSum { calls: 3, bytes: 512, wall_ns: 14 });
    assert_eq!((none.lost, none.one_sided, none.polls), (CallSum::default(), CallSum::default(), 5));
    // MPI_Put, two sends, MPI_Comm_spawn: to start processes takes no part in matching itself.
    let some = calls(&[0, 1, 1, 2]);
    assert_eq!(some.detailed, none.detailed);
    assert_eq!(some.lost, CallSum { calls: 2, bytes: 0, wall_ns: 14 });
    assert_eq!(some.one_sided, CallSum { calls: 1, bytes: 0, wall_ns: 7 });
}

#[test]
fn a_recording_says_where_its_ranks_ran() {
    let place = |version: u16, words: [&[u64]; 2]| {
        read(version, 1, |ranks| {
            for (records, words) in ranks.iter_mut().zip(words) {
                records[0].bytes = words.len() as u64;
                let extra = words.chunks(6).map(Record::extra);
                records.splice(1..1, extra);
            }
        })
        .map(|trace| trace.hosts())
    };
    let host = |ranks, processors| Host { ranks, processors };
    assert_eq!(place(2, [&[9, 0b11], &[9, 0b110]]), Ok(vec![host(2, 3)]));
    assert_eq!(place(2, [&[8, 0b11], &[9, 0b11, 0, 1]]), Ok(vec![host(1, 2), host(1, 3)]));
    assert_eq!(place(2, [&[9, 0b11], &[]]), Ok(vec![]), "one rank does not say");
    assert_eq!(place(2, [&[9, 0b11], &[9]]), Ok(vec![]), "one rank does not say");
    let error = place(1, [&[9, 1], &[9, 1]]).unwrap_err();
    assert!(error.ends_with("record 0: bytes is 2, expected 0 in Init (T-6)"), "{error}");
    let many: Vec<u64> = std::iter::once(9).chain(std::iter::repeat_n(u64::MAX, 20)).collect();
    assert_eq!(place(2, [&many, &many]), Ok(vec![host(2, 1280)]));
}

#[test]
fn a_recording_says_how_long_a_rank_waited_for_a_processor() {
    let delay =
        |version, aux| read(version, 1, |ranks| ranks[1].last_mut().unwrap().aux = aux).map(|trace| trace.delay_ns(1));
    assert_eq!(delay(2, 7), Ok(Some(7)));
    assert_eq!(delay(2, u64::MAX), Ok(None));
    assert_eq!(delay(1, 0), Ok(None));
    assert!(delay(1, 7).unwrap_err().ends_with("aux is 7, expected 0 in Finalize (T-6)"));
    let cut = read(2, 0, |ranks| ranks[1].truncate(6)).unwrap();
    assert_eq!(cut.delay_ns(1), None, "it has no Finalize");
}
