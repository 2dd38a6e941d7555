// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether the ranks of a communicator call the same collectives in the same order, as MPI requires (T-24).
//!
//! Compared are the operation, the root, and the sizes that are equal on all ranks. Persistent collectives are
//! not: MPI fixes the order in which they are initialized, and their records are those of starts.
//! Memory: 80 bytes for each collective of a communicator, of at most [`MOST`].

use std::collections::BTreeMap;

use mb_core::mpi::PROC_NULL;

use crate::communicators::Communicators;
use crate::record::{CollectiveOp, Flags, Record};

/// Collectives of a communicator that are compared.
const MOST: usize = 1 << 20;

/// `MPI_ROOT`.
const ROOT: i32 = -4;

/// Where a rank called a collective.
#[derive(Clone, Copy)]
struct Place {
    rank: u32,
    record: usize,
}

/// A collective, by the first rank that says so.
struct Call {
    op: CollectiveOp,
    place: Place,
    root: Option<(Place, u32)>,
    bytes: Option<(Place, u64)>,
}

/// Collectives by communicator.
#[derive(Default)]
pub(crate) struct Agreement {
    calls: BTreeMap<u32, Vec<Call>>,
    /// How many the current rank has entered.
    entered: BTreeMap<u32, usize>,
}

impl Agreement {
    pub(crate) fn next_rank(&mut self) {
        self.entered.clear();
    }

    /// `rank` calls the collective of its record `index`.
    ///
    /// # Errors
    /// When another rank calls another collective there: what was found and expected, with the other's place.
    pub(crate) fn enter(
        &mut self,
        known: &Communicators,
        rank: u32,
        index: usize,
        record: &Record,
        op: CollectiveOp,
    ) -> Result<(), String> {
        let view = known.view_so_far(rank, record.comm);
        let is_alone = !view.is_inter() && known.size(view.local) == 1;
        if is_alone || record.has(Flags::PERSISTENT) {
            return Ok(());
        }
        let at = self.entered.entry(view.comm).or_default();
        let number = *at;
        *at += 1;
        let root = match record.peer {
            peer if peer >= 0 => Some(known.world_rank(view.remote, peer as u32)),
            ROOT => Some(rank),
            _ => None,
        };
        let place = Place { rank, record: index };
        let mine = Call {
            op,
            place,
            root: root.map(|root| (place, root)),
            bytes: common_bytes(record, op, view.is_inter()).map(|bytes| (place, bytes)),
        };
        let calls = self.calls.entry(view.comm).or_default();
        let Some(call) = calls.get_mut(number) else {
            if number < MOST {
                calls.push(mine);
            }
            return Ok(());
        };
        let (root, bytes) = (differ(&mut call.root, mine.root), differ(&mut call.bytes, mine.bytes));
        let (found, other, expected) = if call.op != op {
            (op.name().to_owned(), call.place, call.op.name().to_owned())
        } else if let Some((found, other, expected)) = root {
            (format!("{} from rank {found} of the world", op.name()), other, format!("rank {expected}"))
        } else if let Some((found, other, expected)) = bytes {
            (format!("{} of {found} bytes", op.name()), other, format!("{expected} bytes"))
        } else {
            return Ok(());
        };
        let name = match record.comm {
            0 => "MPI_COMM_WORLD".to_owned(),
            local => format!("communicator {local}"),
        };
        Err(format!(
            "collective {} on {name} is {found}, expected {expected} as on rank {}, record {}; correct the program",
            number + 1,
            other.rank,
            other.record
        ))
    }
}

/// What is mine, and what another call says and its place, if they differ; `known` is set by the first that says it.
fn differ<T: Copy + PartialEq>(known: &mut Option<(Place, T)>, mine: Option<(Place, T)>) -> Option<(T, Place, T)> {
    match (&known, mine) {
        (Some((place, expected)), Some((_, found))) => (*expected != found).then_some((found, *place, *expected)),
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
