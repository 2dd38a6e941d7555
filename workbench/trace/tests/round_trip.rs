// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was written comes back, in both forms, and passes the check.

use crate::common;

use std::ops::ControlFlow;

use common::{Scratch, everything, identity, ping};
use mb_trace::{CommView, Meta, Record, Trace, TraceForm, TraceOrigin, TraceState, TraceWriter};

fn write(path: &std::path::Path, ranks: &[Vec<Record>], form: TraceForm) {
    let meta = Meta::new(TraceOrigin::Generated, ranks.len() as u32, 77);
    let mut writer = TraceWriter::create(path, meta, form).unwrap();
    for records in ranks {
        writer.rank(records).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn both_forms_give_back_what_was_written() {
    for (name, form) in [("files", TraceForm::RankFiles), ("bundle", TraceForm::Bundle)] {
        for (ranks, which) in [(ping(), "ping"), (everything(), "everything")] {
            let scratch = Scratch::new(&format!("round-{name}-{which}"));
            write(scratch.path(), &ranks, form);
            let trace = Trace::open(scratch.path()).unwrap();
            trace.check(|_| ControlFlow::Continue(())).unwrap();
            assert_eq!(trace.ranks() as usize, ranks.len());
            for (rank, written) in ranks.iter().enumerate() {
                let read = trace.rank(rank as u32);
                assert_eq!(trace.end(rank as u32), TraceState::Complete);
                assert_eq!(read.len(), written.len());
                for (index, (read, written)) in read.iter().zip(written).enumerate() {
                    assert_eq!(*read, written.sealed(index as u64));
                }
            }
        }
    }
}

#[test]
fn communicators_are_global_and_their_groups_translate() {
    let trace = Trace::in_memory(everything());
    let comms = trace.check(|_| ControlFlow::Continue(())).unwrap();
    // World, four selves, the duplicate, two halves, the intercommunicator and the reversed one.
    assert_eq!(comms.count(), 1 + 4 + 5);
    assert_eq!(comms.local_count(2), 6);
    assert_eq!(comms.view(3, 0), CommView { comm: 0, local: 0, remote: 0, rank: 3 });
    assert_eq!(comms.view(3, 1), CommView { comm: 4, local: 4, remote: 4, rank: 0 });
    let duplicate = comms.view(1, 2);
    assert_eq!((duplicate.comm, duplicate.local), (5, 0), "a duplicate of the world shares its group");
    assert_eq!(comms.identity(duplicate.comm), identity(1));
    let (even, odd) = (comms.view(2, 4), comms.view(3, 4));
    assert!(even.is_inter() && odd.is_inter());
    assert_eq!((even.comm, even.local, even.remote), (odd.comm, odd.remote, odd.local));
    assert_eq!((0..2).map(|rank| comms.world_rank(even.remote, rank)).collect::<Vec<_>>(), [1, 3]);
    let reversed = comms.view(0, 5);
    assert_eq!(reversed.rank, 3);
    let members: Vec<u32> = (0..4).map(|rank| comms.world_rank(reversed.local, rank)).collect();
    assert_eq!(members, [3, 2, 1, 0]);
    for (rank, &member) in members.iter().enumerate() {
        assert_eq!(comms.rank_of(reversed.local, member), Some(rank as u32));
    }
    assert_eq!(comms.rank_of(even.local, 1), None);
}
