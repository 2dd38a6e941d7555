// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traces that several tests share, and a directory that goes away with its test.

#![allow(dead_code, reason = "fuzz/targets uses some of it")]

pub(crate) mod expand_done;

use std::path::{Path, PathBuf};

use mb_trace::{CollectiveOp, Flags, RankBuilder, RankRun, Record, Status};

/// A directory of its own for each test, removed at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mb-trace-{}-{name}", std::process::id()));
        std::fs::remove_dir_all(&path).ok();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Identity of a communicator beyond world and self.
pub(crate) const fn identity(number: u64) -> u64 {
    number | 1 << 63
}

/// Two ranks, one message.
pub(crate) fn ping() -> Vec<Vec<Record>> {
    let mut sender = RankBuilder::new(0, 2);
    sender.compute(1_000);
    sender.send(0, 1, 7, 512);
    let mut receiver = RankBuilder::new(1, 2);
    receiver.recv(0, 0, 7, 512, Status { source: 0, tag: 7, bytes: 512 });
    vec![sender.finalize(), receiver.finalize()]
}

/// Four ranks that use every kind of record there is.
pub(crate) fn everything() -> Vec<Vec<Record>> {
    (0..4).map(everything_of).collect()
}

fn everything_of(rank: u32) -> Vec<Record> {
    let mut program = RankBuilder::new(rank, 4);
    let (me, next, before) = (rank as i32, (rank as i32 + 1) % 4, (rank as i32 + 3) % 4);
    let all = [RankRun::all(4)];
    let half = |of: u32| [RankRun { first: of, stride: 2, length: 2 }];
    let turned = [RankRun { first: 3, stride: -1, length: 3 }, RankRun::one(0)];

    // Nonblocking, in the ring; a barrier.
    let halves = [program.irecv(0, before, 1, 100), program.isend(0, next, 1, 100)];
    program.compute(5_000);
    program.wait(&halves);
    program.collective(CollectiveOp::Barrier, 0, -1, 0, 0, &[]);

    // A duplicate of the world, a half of it, the two halves as an intercommunicator, and one in
    // another order.
    let duplicate = program.comm(identity(1), &all, None);
    let mine = program.comm(identity(2 + u64::from(rank % 2)), &half(rank % 2), None);
    let inter = program.comm(identity(4), &half(rank % 2), Some(&half(1 - rank % 2)));
    let reversed = program.comm(identity(5), &turned, None);
    program.sendrecv(duplicate, 2, (next, 10), (before, 10));
    program.sendrecv(inter, 3, ((rank / 2) as i32, 8), ((rank / 2) as i32, 8));
    let _ = program.icollective(CollectiveOp::Alltoall, mine, -1, 0, 0, &[1, 2, 1, 2]);
    program.collective(CollectiveOp::Gather, mine, 0, 4, 8, if rank < 2 { &[4, 4] } else { &[] });
    let reduced = program.icollective(CollectiveOp::Allreduce, reversed, -1, 8, 8, &[]);
    program.miss(3);
    program.test(&[reduced]);
    program.comm_free(mine);

    // Wildcards, probes, a matched probe, a self message.
    let own = program.isend(1, 0, 9, 1);
    program.probe_miss(1, -1, -2, 2);
    program.probe(0, 1, -1, -2, Status { source: 0, tag: 9, bytes: 1 });
    let taken = program.probe(Flags::MATCHED | Flags::BLOCKING, 1, 0, 9, Status { source: 0, tag: 9, bytes: 1 });
    let received = program.mrecv(1, taken, 1).from(0, 9, 1);
    program.wait(&[own, received]);
    program.send(0, next, 4, 1 << 20);
    program.recv(0, -1, -2, 1 << 21, Status { source: before, tag: 4, bytes: 1 << 20 });

    // Nothing to talk to, given up, let go, never received.
    let proc_null = [program.irecv(0, -3, 0, 5), program.isend(0, -3, 0, 5)];
    program.wait(&proc_null);
    let unwanted = program.irecv(0, me, 11, 0);
    program.cancel(unwanted);
    program.push(Record { kind: 6, flags: Flags::BLOCKING, aux: 1, ..Record::default() });
    program.done_with(Flags::CANCELLED, unwanted.from(0, 0, 0));
    let forgotten = program.isend_with(Flags::SYNCHRONOUS, 0, next, 12, 3);
    program.free(forgotten);
    program.finalize()
}
