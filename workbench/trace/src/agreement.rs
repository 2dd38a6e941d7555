// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether the ranks of a communicator call the same collectives in the same order, as MPI requires.
//!
//! A recording of a program that does not is a recording all the same, so this is no defect. Compared
//! are the operation, the root, and the sizes that are equal on all ranks. Persistent collectives are
//! not: MPI fixes the order in which they are initialized, and their records are those of starts.
//! Memory: 48 bytes for each collective of a communicator, of at most [`MOST`].

use std::collections::BTreeMap;

use mb_core::mpi::PROC_NULL;

use crate::communicators::Communicators;
use crate::record::{CollectiveOp, Flags, Record};

/// Collectives of a communicator that are compared.
const MOST: usize = 1 << 20;

/// `MPI_ROOT`.
const ROOT: i32 = -4;

/// A collective, by the first rank that says so.
struct Call {
    op: CollectiveOp,
    rank: u32,
    root: Option<(u32, u32)>,
    bytes: Option<(u32, u64)>,
}

/// Collectives by communicator.
#[derive(Default)]
pub(crate) struct Agreement {
    calls: BTreeMap<u32, Vec<Call>>,
    /// How many the current rank has entered.
    entered: BTreeMap<u32, usize>,
    /// The first contradiction of each communicator.
    found: BTreeMap<u32, String>,
}

impl Agreement {
    pub(crate) fn next_rank(&mut self) {
        self.entered.clear();
    }

    pub(crate) fn finish(self) -> Vec<String> {
        self.found.into_values().collect()
    }

    /// `rank` calls the collective of `record`.
    pub(crate) fn enter(&mut self, known: &Communicators, rank: u32, record: &Record, op: CollectiveOp) {
        let view = known.view_so_far(rank, record.comm);
        let is_alone = !view.is_inter() && known.size(view.local) == 1;
        if is_alone || record.has(Flags::PERSISTENT) {
            return;
        }
        let at = self.entered.entry(view.comm).or_default();
        let number = *at;
        *at += 1;
        let root = match record.peer {
            peer if peer >= 0 => Some(known.world_rank(view.remote, peer as u32)),
            ROOT => Some(rank),
            _ => None,
        };
        let mine = Call {
            op,
            rank,
            root: root.map(|root| (rank, root)),
            bytes: common_bytes(record, op, view.is_inter()).map(|bytes| (rank, bytes)),
        };
        let calls = self.calls.entry(view.comm).or_default();
        let Some(call) = calls.get_mut(number) else {
            if number < MOST {
                calls.push(mine);
            }
            return;
        };
        let (root, bytes) = (differ(&mut call.root, mine.root), differ(&mut call.bytes, mine.bytes));
        let differs = if call.op != op {
            Some(format!("is {} and {}", call.op.name(), op.name()))
        } else if let Some((one, other)) = root {
            Some(format!("has as root the ranks {one} and {other} of the world"))
        } else {
            bytes.map(|(one, other)| format!("has {one} and {other} bytes"))
        };
        if let Some(text) = differs {
            let first = call.rank;
            let name = match record.comm {
                0 => "MPI_COMM_WORLD".to_owned(),
                local => format!("communicator {local} of rank {rank}"),
            };
            self.found
                .entry(view.comm)
                .or_insert_with(|| format!("collective {} on {name} {text} on ranks {first} and {rank}", number + 1));
        }
    }
}

/// Both values if they differ; `known` is set by the first that there is.
fn differ<T: Copy + PartialEq>(known: &mut Option<(u32, T)>, mine: Option<(u32, T)>) -> Option<(T, T)> {
    match (&known, mine) {
        (Some((_, one)), Some((_, other))) => (*one != other).then_some((*one, other)),
        (None, Some(_)) => {
            *known = mine;
            None
        }
        _ => None,
    }
}

/// The size in the record that all ranks must give, if there is one (`spec/trace.md`, T-17).
fn common_bytes(record: &Record, op: CollectiveOp, is_inter: bool) -> Option<u64> {
    match op {
        _ if is_inter && record.peer == PROC_NULL => None,
        CollectiveOp::Bcast => Some(record.bytes.max(record.aux)),
        CollectiveOp::Reduce if is_inter && record.peer == ROOT => Some(record.aux),
        CollectiveOp::Reduce
        | CollectiveOp::Allreduce
        | CollectiveOp::ReduceScatter
        | CollectiveOp::Scan
        | CollectiveOp::Exscan => Some(record.bytes),
        CollectiveOp::Allgather | CollectiveOp::Alltoall if !is_inter && !record.has(Flags::VECTOR) => {
            Some(record.bytes)
        }
        _ => None,
    }
}
