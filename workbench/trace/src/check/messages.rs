// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records of point-to-point operations and probes, and their Done records (T-6, T-8 to T-11).

use mb_core::mpi::{ANY_SOURCE, ANY_TAG, PROC_NULL};

use super::fields::{Fields, MAX_CALLS, one_call_form, only, size_of_message};
use super::requests::Stage;
use super::{Owed, RankCheck, Violation, expected_rank, violation};
use crate::counts::destination;
use crate::record::{Flags, Kind, Record};

impl RankCheck<'_> {
    #[inline]
    pub(super) fn send(&mut self, index: usize, record: &Record) -> Result<(), Violation> {
        const MODES: u8 = Flags::SYNCHRONOUS | Flags::BUFFERED | Flags::READY;
        const FIELDS: Fields = Fields::ENVELOPE.and(Fields::BYTES).and(Fields::REQUEST).and(Fields::AUX);
        only(record, FIELDS, Flags::BLOCKING | Flags::PERSISTENT | MODES | Flags::SENDRECV | self.partitioned())?;
        if (record.flags & MODES).count_ones() > 1 {
            return violation(6, format!("flags are {:#04x}, expected at most one send mode", record.flags));
        }
        one_call_form(record)?;
        let size = self.peers(record.comm)?;
        let count = if record.has(Flags::PARTITIONED) {
            self.partitioned_start(record)?;
            record.aux
        } else if record.peer == PROC_NULL {
            0
        } else {
            if record.peer < 0 || record.peer as u32 >= size {
                let expected = expected_rank(size, " or -3 (MPI_PROC_NULL)");
                return violation(6, format!("peer is {}, {expected}", record.peer));
            }
            if record.tag < 0 {
                return violation(6, format!("tag is {}, expected at least 0", record.tag));
            }
            self.scratch.sends.next(destination(record.comm, record.peer))
        };
        if record.aux != count {
            return violation(
                6,
                format!("aux is {}, expected {count} earlier sends to peer {}", record.aux, record.peer),
            );
        }
        size_of_message(record.bytes)?;
        if record.has(Flags::BLOCKING) {
            if record.request != 0 {
                return violation(8, format!("request of a blocking send is {}, expected 0", record.request));
            }
            return Ok(());
        }
        self.start(index, record.request)
    }

    /// [`Flags::PARTITIONED`] from version 3 on.
    const fn partitioned(&self) -> u8 {
        if self.version < 3 { 0 } else { Flags::PARTITIONED }
    }

    /// T-23: a start of a partitioned request.
    #[cold]
    fn partitioned_start(&self, record: &Record) -> Result<(), Violation> {
        let flags = record.flags & !Flags::CPU_CARRIED;
        if flags != Flags::PARTITIONED | Flags::PERSISTENT {
            return violation(23, format!("flags are {flags:#04x}, expected PERSISTENT and PARTITIONED alone"));
        }
        if record.partitions() == 0 {
            return violation(23, "a message has 0 partitions, expected at least 1");
        }
        let size = self.peers(record.comm)?;
        let is_rank = record.peer >= 0 && (record.peer as u32) < size && record.tag >= 0;
        if !is_rank && record.peer != PROC_NULL {
            let reason = format!("peer and tag are {} and {}, ", record.peer, record.tag);
            return violation(23, reason + &expected_rank(size, " or -3 (MPI_PROC_NULL), and a tag without wildcard"));
        }
        Ok(())
    }

    /// T-23.
    pub(super) fn partition(&self, record: &Record) -> Result<(), Violation> {
        only(record, Fields::REQUEST.and(Fields::AUX), 0)?;
        let (_, begun, _) = self.active(record.request, &[Kind::Send, Kind::Recv])?;
        if !begun.has(Flags::PARTITIONED) {
            return violation(23, format!("request {} is not partitioned, expected one that is", record.request));
        }
        let (first, count, all) = (u64::from(record.aux as u32), record.partitions(), begun.partitions());
        if count == 0 || first + u64::from(count) > u64::from(all) {
            return violation(23, format!("partitions are {first} and {count} from it on, expected some of {all}"));
        }
        Ok(())
    }

    /// Checks the source and tag of a receive or probe.
    #[inline]
    pub(super) fn pattern(&mut self, record: &Record) -> Result<(), Violation> {
        let size = self.peers(record.comm)?;
        if !(record.peer >= 0 && (record.peer as u32) < size || matches!(record.peer, ANY_SOURCE | PROC_NULL)) {
            let expected = expected_rank(size, ", -1 (MPI_ANY_SOURCE) or -3 (MPI_PROC_NULL)");
            return violation(6, format!("peer is {}, {expected}", record.peer));
        }
        if record.tag < 0 && record.tag != ANY_TAG && record.peer != PROC_NULL {
            return violation(6, format!("tag is {}, expected at least 0 or -2 (MPI_ANY_TAG)", record.tag));
        }
        if record.peer == ANY_SOURCE || record.tag == ANY_TAG {
            self.builder.may_race();
        }
        Ok(())
    }

    #[inline]
    pub(super) fn recv(&mut self, index: usize, record: &Record) -> Result<(), Violation> {
        const FIELDS: Fields = Fields::ENVELOPE.and(Fields::BYTES).and(Fields::REQUEST);
        let matched = record.has(Flags::MATCHED);
        let is_partitioned = record.has(self.partitioned());
        let fields = if matched || is_partitioned { FIELDS.and(Fields::AUX) } else { FIELDS };
        let flags = Flags::BLOCKING | Flags::PERSISTENT | Flags::MATCHED | Flags::SENDRECV | self.partitioned();
        only(record, fields, flags)?;
        one_call_form(record)?;
        if is_partitioned {
            self.partitioned_start(record)?;
        }
        self.pattern(record)?;
        size_of_message(record.bytes)?;
        if matched {
            let probe = u32::try_from(record.aux).map_or(Stage::Unused, |number| self.scratch.requests.stage(number));
            let Stage::Probed(found) = probe else {
                let reason =
                    format!("aux is {}, expected a matched probe whose message is not yet received", record.aux);
                return violation(8, reason);
            };
            let comm = self.records[found].comm;
            if (record.comm, record.peer, record.tag) != (comm, ANY_SOURCE, ANY_TAG) {
                let reason = format!(
                    "comm, peer and tag are {}, {} and {}, expected {comm}, -1 and -2",
                    record.comm, record.peer, record.tag
                );
                return violation(8, reason);
            }
            self.scratch.requests.set(record.aux as u32, Stage::Completed);
        }
        self.start(index, record.request)?;
        if record.has(Flags::BLOCKING) {
            self.owe(record, Owed::DoneOf(record.request));
        }
        Ok(())
    }

    pub(super) fn probe(&mut self, index: usize, record: &Record) -> Result<(), Violation> {
        only(record, Fields::ENVELOPE.and(Fields::REQUEST), Flags::BLOCKING | Flags::MATCHED)?;
        self.pattern(record)?;
        self.start(index, record.request)?;
        self.owe(record, Owed::DoneOf(record.request));
        Ok(())
    }

    pub(super) fn miss(&mut self, record: &Record) -> Result<(), Violation> {
        let gaps = if self.version < 3 { Fields::NONE } else { Fields::BYTES };
        if record.has(Flags::PROBE) {
            only(record, Fields::ENVELOPE.and(Fields::AUX).and(gaps), Flags::PROBE | Flags::MATCHED)?;
            self.pattern(record)?;
        } else if self.version < 3 {
            only(record, Fields::AUX, 0)?;
        } else {
            only(record, Fields::AUX.and(gaps).and(Fields::PEER).and(Fields::REQUEST), 0)?;
            if record.peer < 0 {
                return violation(21, format!("peer is {}, expected the number of requests tested", record.peer));
            }
            if record.request != 0 && self.scratch.requests.stage(record.request) == Stage::Unused {
                return violation(21, format!("request {} was never started, expected one that was", record.request));
            }
        }
        let (least, median) = record.gaps_ns();
        if least > median {
            return violation(
                21,
                format!("minimum and median gap are {least} and {median} ns, expected them in order"),
            );
        }
        if record.aux == 0 || record.aux > MAX_CALLS {
            return violation(6, format!("aux is {}, expected 1 to 2^48 calls", record.aux));
        }
        Ok(())
    }

    #[inline]
    pub(super) fn done(&mut self, record: &Record) -> Result<(), Violation> {
        const FIELDS: Fields = Fields::PEER.and(Fields::TAG).and(Fields::BYTES).and(Fields::REQUEST).and(Fields::AUX);
        if record.aux > 0 {
            return self.done_of_several(record);
        }
        let unknown = if self.version < 3 { 0 } else { Flags::UNKNOWN };
        only(record, FIELDS, Flags::CANCELLED | Flags::FAILED | unknown)?;
        let kinds = [Kind::Recv, Kind::Send, Kind::Probe, Kind::Collective];
        let (index, begun, kind) = self.active(record.request, &kinds)?;
        let stage = if kind == Kind::Probe && begun.has(Flags::MATCHED) && record.peer != PROC_NULL {
            Stage::Probed(index)
        } else {
            Stage::Completed
        };
        self.scratch.requests.set(record.request, stage);
        let status = (record.peer, record.tag, record.bytes);
        let cancelled = record.has(Flags::CANCELLED);
        if cancelled || matches!(kind, Kind::Send | Kind::Collective) {
            if status != (0, 0, 0) {
                return violation(9, format!("peer, tag and bytes are {status:?}, expected zeros"));
            }
            if cancelled && !matches!(kind, Kind::Send | Kind::Recv) {
                return violation(9, format!("a {kind:?} is cancelled, expected a Send or Recv"));
            }
            return Ok(());
        }
        if begun.peer == PROC_NULL {
            if status != (PROC_NULL, ANY_TAG, 0) {
                return violation(10, format!("peer, tag and bytes are {status:?}, expected (-3, -2, 0)"));
            }
            return Ok(());
        }
        // The communicator may have been freed since; its group is still available.
        let size = self.builder.size(self.builder.view(self.rank, begun.comm).remote);
        if record.peer < 0 || record.peer as u32 >= size || (begun.peer != ANY_SOURCE && begun.peer != record.peer) {
            let expected =
                if begun.peer == ANY_SOURCE { expected_rank(size, "") } else { format!("expected {}", begun.peer) };
            return violation(9, format!("peer is {}, {expected}", record.peer));
        }
        if record.tag < 0 || (begun.tag != ANY_TAG && begun.tag != record.tag) {
            let expected = if begun.tag == ANY_TAG { "at least 0".to_owned() } else { begun.tag.to_string() };
            return violation(9, format!("tag is {}, expected {expected}", record.tag));
        }
        size_of_message(record.bytes)?;
        if kind == Kind::Recv && record.bytes > begun.bytes && !record.has(Flags::FAILED) {
            return violation(9, format!("bytes is {}, expected at most the buffer of {}", record.bytes, begun.bytes));
        }
        Ok(())
    }

    /// A Done of several requests. The loop ends at the first inactive one, so a large `aux` costs
    /// nothing.
    pub(super) fn done_of_several(&mut self, record: &Record) -> Result<(), Violation> {
        only(record, Fields::REQUEST.and(Fields::AUX), 0)?;
        for number in u64::from(record.request)..=u64::from(record.request).saturating_add(record.aux) {
            let Ok(number) = u32::try_from(number) else {
                return violation(11, format!("request {number} was never started, expected an active request"));
            };
            let (_, begun, kind) = self.active(number, &[Kind::Send, Kind::Recv, Kind::Collective])?;
            let is_wild = begun.peer == ANY_SOURCE || begun.tag == ANY_TAG;
            if kind == Kind::Recv && is_wild && begun.peer != PROC_NULL {
                return violation(9, format!("request {number} has a wildcard, expected a Done record of its own"));
            }
            self.scratch.requests.set(number, Stage::Completed);
        }
        Ok(())
    }
}
