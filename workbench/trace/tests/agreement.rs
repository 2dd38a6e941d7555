// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collectives that contradict each other are refused; correct ones are not.

use std::ops::ControlFlow;

use mb_trace::{CollectiveOp, RankBuilder, RankRun, Record, Trace};

use crate::common::identity;

/// What is said about two ranks of which each calls its collectives: operation, root, bytes sent and received.
fn said(calls: [&[(CollectiveOp, i32, u64, u64)]; 2]) -> String {
    let ranks = (0..2).map(|rank| {
        let mut program = RankBuilder::new(rank, 2);
        for &(op, root, sent, received) in calls[rank as usize] {
            program.collective(op, 0, root, sent, received, &[]);
        }
        program.finalize()
    });
    checked(ranks.collect())
}

/// The defect of a trace; empty if there is none.
fn checked(ranks: Vec<Vec<Record>>) -> String {
    Trace::in_memory(ranks)
        .check(|_| ControlFlow::Continue(()))
        .map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn another_collective_root_or_size_on_another_rank_is_refused() {
    use CollectiveOp::{Allgather, Allreduce, Barrier, Bcast, Gather, Scatter};
    let barrier = (Barrier, -1, 0, 0);
    assert_eq!(said([&[barrier, (Allreduce, -1, 8, 8)], &[barrier, (Allreduce, -1, 8, 8)]]), "");
    assert_eq!(said([&[(Bcast, 0, 8, 0)], &[(Bcast, 0, 0, 8)]]), "");
    // Sizes that vector forms may give.
    assert_eq!(said([&[(Gather, 0, 8, 8), (Scatter, 0, 8, 8)], &[(Gather, 0, 16, 0), (Scatter, 0, 0, 16)]]), "");
    // A rank whose records end early contradicts nobody.
    assert_eq!(said([&[barrier, barrier], &[barrier]]), "");
    assert_eq!(
        said([&[barrier, barrier], &[barrier, (Allreduce, -1, 8, 8)]]),
        "rank-00001.mbt: rank 1, record 6: collective 2 on MPI_COMM_WORLD is allreduce, expected barrier as on rank 0, \
         record 6; correct the program (T-24)"
    );
    assert_eq!(
        said([&[(Bcast, 0, 8, 0)], &[(Bcast, 1, 8, 0)]]),
        "rank-00001.mbt: rank 1, record 5: collective 1 on MPI_COMM_WORLD is bcast from rank 1 of the world, expected \
         rank 0 as on rank 0, record 5; correct the program (T-24)"
    );
    assert_eq!(
        said([&[(Allgather, -1, 8, 8)], &[(Allgather, -1, 16, 16), barrier]]),
        "rank-00001.mbt: rank 1, record 5: collective 1 on MPI_COMM_WORLD is allgather of 16 bytes, expected 8 bytes as \
         on rank 0, record 5; correct the program (T-24)"
    );
}

#[test]
fn the_two_groups_of_an_intercommunicator_agree_on_a_root() {
    let said = |roots: [i32; 3]| {
        let ranks = (0..3).map(|rank: u32| {
            let mut program = RankBuilder::new(rank, 3);
            let (one, two) = ([RankRun::one(0)], [RankRun { first: 1, stride: 1, length: 2 }]);
            if rank == 0 {
                program.comm(identity(1), &one, Some(&two));
            } else {
                program.comm(identity(1), &two, Some(&one));
            }
            let root = roots[rank as usize];
            let (sent, received) = if root == -4 { (8, 0) } else { (0, if root == -3 { 0 } else { 8 }) };
            program.collective(CollectiveOp::Bcast, 2, root, sent, received, &[]);
            program.finalize()
        });
        checked(ranks.collect())
    };
    assert_eq!(said([1, -3, -4]), "");
    assert_eq!(
        said([0, -3, -4]),
        "rank-00002.mbt: rank 2, record 7: collective 1 on communicator 2 is bcast from rank 2 of the world, expected rank \
         1 as on rank 0, record 7; correct the program (T-24)"
    );
}
