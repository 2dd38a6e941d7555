// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much of the communication of a program a trace holds: calls, bytes and time by what a replay can do with them.

use mb_core::mpi::PROC_NULL;

use crate::open::Trace;
use crate::record::{Flags, Kind, Record};
use crate::state::other_parts;

/// Calls of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallSum {
    /// How many.
    pub calls: u64,
    /// Bytes sent, or contributed to a collective; 0 where the trace does not say.
    pub bytes: u64,
    /// Wall time within the calls, ns.
    pub wall_ns: u64,
}

impl CallSum {
    fn add(&mut self, calls: u64, bytes: u64, record: &Record) {
        self.calls = self.calls.saturating_add(calls);
        self.bytes = self.bytes.saturating_add(bytes);
        self.wall_ns = self.wall_ns.saturating_add(u64::from(record.wall_span_ns));
    }
}

/// The calls of a trace that communicate, of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Calls {
    /// Sends, receives, successful probes and collectives that are recorded in detail; calls with `MPI_PROC_NULL`,
    /// receives of matched probes and starts of partitioned requests are not counted. The time includes theirs, and
    /// that of waits and unsuccessful tests.
    pub detailed: CallSum,
    /// Calls that take part in matching and are in the trace by name and time only; their bytes are unknown.
    pub lost: CallSum,
    /// One-sided communication and its synchronization: no message of it is matched.
    pub one_sided: CallSum,
    /// Unsuccessful tests and probes.
    pub polls: u64,
}

/// The class of calls of an Other record.
enum Class {
    Lost,
    OneSided,
    None,
}

impl Class {
    /// That of a name in `other_calls` (`spec/trace.md`, section 9).
    fn of(name: &str) -> Self {
        const ONE_SIDED: [&str; 7] =
            ["Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Rput"];
        const REQUESTS: [&str; 3] = ["Rget", "Raccumulate", "Rget_accumulate"];
        const LOST: [&str; 6] = [
            "send on a communicator that is not recorded",
            "receive on a communicator that is not recorded",
            "probe on a communicator that is not recorded",
            "collective on a communicator that is not recorded",
            "start of a request that is not recorded",
            "call on a communicator of unknown origin",
        ];
        if LOST.contains(&name) {
            return Self::Lost;
        }
        let Some(name) = name.strip_prefix("MPI_") else { return Self::None };
        let name = name.strip_suffix("_c").unwrap_or(name);
        if name.starts_with("Pready") || name == "Parrived" {
            Self::Lost
        } else if name.starts_with("Win_") || ONE_SIDED.contains(&name) || REQUESTS.contains(&name) {
            Self::OneSided
        } else {
            Self::None
        }
    }
}

impl Trace {
    /// Counts the calls that communicate. One pass over the records.
    #[must_use]
    pub fn calls(&self) -> Calls {
        let mut all = Calls::default();
        let classes: Vec<Class> = self.meta().other_calls.iter().map(|name| Class::of(name)).collect();
        for rank in 0..self.ranks() {
            let version = self.version(rank);
            for record in self.rank(rank) {
                match record.kind() {
                    Some(Kind::Send) => {
                        let takes_part = record.peer != PROC_NULL && !record.has(Flags::PARTITIONED);
                        all.detailed.add(takes_part.into(), if takes_part { record.bytes } else { 0 }, record);
                    }
                    Some(Kind::Recv) => {
                        let matched_before = record.has(Flags::MATCHED) || record.has(Flags::PARTITIONED);
                        let takes_part = record.peer != PROC_NULL && !matched_before;
                        all.detailed.add(takes_part.into(), 0, record);
                    }
                    Some(Kind::Probe) => all.detailed.add((record.peer != PROC_NULL).into(), 0, record),
                    Some(Kind::Collective) => all.detailed.add(1, record.bytes, record),
                    Some(Kind::Wait) => all.detailed.add(0, 0, record),
                    Some(Kind::Miss) => {
                        all.detailed.add(0, 0, record);
                        all.polls = all.polls.saturating_add(record.aux);
                    }
                    Some(Kind::Other) => {
                        let (name, _) = other_parts(version, record);
                        match usize::try_from(name).ok().and_then(|name| classes.get(name)) {
                            Some(Class::Lost) => all.lost.add(1, 0, record),
                            Some(Class::OneSided) => all.one_sided.add(1, 0, record),
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
        }
        all
    }
}
