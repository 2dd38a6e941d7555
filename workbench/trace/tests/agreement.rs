// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collectives that contradict each other are told; correct ones are not.

use std::ops::ControlFlow;

use mb_trace::{CollectiveOp, RankBuilder, RankRun, Trace};

use crate::common::identity;

/// What is said about two ranks of which each calls its collectives: operation, root, bytes sent and received.
fn said(calls: [&[(CollectiveOp, i32, u64, u64)]; 2]) -> Vec<String> {
    let ranks = (0..2).map(|rank| {
        let mut program = RankBuilder::new(rank, 2);
        for &(op, root, sent, received) in calls[rank as usize] {
            program.collective(op, 0, root, sent, received, &[]);
        }
        program.finalize()
    });
    let checked = Trace::in_memory(ranks.collect()).check(|_| ControlFlow::Continue(()));
    checked.expect("no defect").disagreements().to_vec()
}

#[test]
fn another_collective_root_or_size_on_another_rank_is_told() {
    use CollectiveOp::{Allgather, Allreduce, Barrier, Bcast, Gather, Scatter};
    let barrier = (Barrier, -1, 0, 0);
    assert_eq!(said([&[barrier, (Allreduce, -1, 8, 8)], &[barrier, (Allreduce, -1, 8, 8)]]), [""; 0]);
    assert_eq!(said([&[(Bcast, 0, 8, 0)], &[(Bcast, 0, 0, 8)]]), [""; 0]);
    // Sizes that vector forms may give.
    assert_eq!(said([&[(Gather, 0, 8, 8), (Scatter, 0, 8, 8)], &[(Gather, 0, 16, 0), (Scatter, 0, 0, 16)]]), [""; 0]);
    // A rank whose records end early contradicts nobody.
    assert_eq!(said([&[barrier, barrier], &[barrier]]), [""; 0]);
    assert_eq!(
        said([&[barrier, barrier], &[barrier, (Allreduce, -1, 8, 8)]]),
        ["collective 2 on MPI_COMM_WORLD is barrier and allreduce on ranks 0 and 1"]
    );
    assert_eq!(
        said([&[(Bcast, 0, 8, 0)], &[(Bcast, 1, 8, 0)]]),
        ["collective 1 on MPI_COMM_WORLD has as root the ranks 0 and 1 of the world on ranks 0 and 1"]
    );
    assert_eq!(
        said([&[(Allgather, -1, 8, 8)], &[(Allgather, -1, 16, 16), barrier]]),
        ["collective 1 on MPI_COMM_WORLD has 8 and 16 bytes on ranks 0 and 1"]
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
        let checked = Trace::in_memory(ranks.collect()).check(|_| ControlFlow::Continue(()));
        checked.expect("no defect").disagreements().to_vec()
    };
    assert_eq!(said([1, -3, -4]), [""; 0]);
    assert_eq!(
        said([0, -3, -4]),
        ["collective 1 on communicator 2 of rank 2 has as root the ranks 1 and 2 of the world on ranks 0 and 2"]
    );
}
