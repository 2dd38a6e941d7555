// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads and checks the header of a trace file (`spec/trace.md`, T-3 and T-13).

use std::path::Path;

use zerocopy::FromBytes;

use crate::error::{FileLocation, TraceError};
use crate::meta::{BUNDLE_FILE, Meta};
use crate::record::{Header, MAGIC, NEWEST, RECORD_BYTES, Record, VERSION};
use crate::trace_state::TraceState;

impl Header {
    /// How the records of the file's rank end.
    pub(crate) fn state(&self) -> TraceState {
        if self.flags & Self::ABORTED != 0 {
            TraceState::Aborted
        } else if self.flags & Self::STOPPED != 0 {
            TraceState::Stopped
        } else if self.flags & Self::FINALIZED != 0 {
            TraceState::Complete
        } else {
            TraceState::Cut
        }
    }

    /// The header in the first 64 bytes of the file `path`.
    ///
    /// # Errors
    /// When it is not a header, or has another version or a wrong checksum (T-3, T-13).
    pub(crate) fn parse(path: &Path, first: &Record) -> Result<Self, TraceError> {
        let defect = |rule, reason| Err(TraceError::defect(path, FileLocation::File, rule, reason));
        let header: Self = zerocopy::transmute!(*first);
        if header.magic != MAGIC {
            return defect(
                3,
                format!("first bytes are {:02x?}, expected {MAGIC:02x?}; this is not a trace file", header.magic),
            );
        }
        if !(VERSION..=NEWEST).contains(&header.version) {
            return defect(
                3,
                format!(
                    "version is {}, expected {VERSION} to {NEWEST}; read it with the release that wrote it",
                    header.version
                ),
            );
        }
        if header.check != header.expected_check() {
            let expected = header.expected_check();
            return defect(
                13,
                format!(
                    "checksum of the header is {:016x}, expected {expected:016x}; copy or record this file again",
                    header.check
                ),
            );
        }
        if usize::from(header.record_bytes) != RECORD_BYTES {
            return defect(3, format!("record_bytes is {}, expected {RECORD_BYTES}", header.record_bytes));
        }
        let is_both = header.flags & (Self::FINALIZED | Self::STOPPED) == Self::FINALIZED | Self::STOPPED;
        let most = if header.version == 1 { Self::STOPPED } else { Self::ABORTED | Self::STOPPED };
        if header.flags > most || is_both {
            let also = if header.version == 1 { "0, 1 or 2" } else { "0, 1, 2, 4, 5 or 6" };
            return defect(3, format!("flags are {:#x}, expected {also}", header.flags));
        }
        if header.reserved != 0 {
            return defect(3, format!("reserved field is {:#x}, expected 0", header.reserved));
        }
        if header.flags & Self::FINALIZED == 0 && header.records != 0 {
            return defect(3, format!("records is {}, expected 0 in a file that is not finalized", header.records));
        }
        Ok(header)
    }

    /// The header of a rank that ended before it wrote one (T-5): no record follows.
    pub(crate) fn unwritten(meta: &Meta, rank: u32) -> Self {
        let header = Self { flags: 0, ..Self::finalized(meta, rank, 0) };
        Self { check: header.expected_check(), ..header }
    }

    /// The header of the file of `rank`, which has `records` and ends with Finalize.
    #[must_use]
    pub fn finalized(meta: &Meta, rank: u32, records: u64) -> Self {
        let header = Self {
            magic: MAGIC,
            version: VERSION,
            record_bytes: RECORD_BYTES as u16,
            flags: Self::FINALIZED,
            first_rank: rank,
            segments: 1,
            world: meta.ranks,
            reserved: 0,
            records,
            epoch_ns: 0,
            run_id: meta.run_id(),
            check: 0,
        };
        Self { check: header.expected_check(), ..header }
    }
}

/// Whether `first`, the first 64 bytes of the file `path` or all that it has, say that its rank ended before it wrote a
/// header (T-5).
pub(crate) fn is_unwritten(path: &Path, first: &[u8]) -> bool {
    first.iter().all(|&byte| byte == 0) && path.file_name().is_none_or(|name| name != BUNDLE_FILE)
}

/// The length in bytes of the finalized trace file `path` by its header; None for a rank that did not finish, whose
/// header does not say. The file of a packed trace is checked with it before it is unpacked.
///
/// # Errors
/// When `first` is shorter than a header, or not the header of a trace file (T-3, T-13).
pub fn file_bytes(path: impl AsRef<Path>, first: &[u8]) -> Result<Option<u64>, TraceError> {
    let path = path.as_ref();
    if is_unwritten(path, &first[..first.len().min(RECORD_BYTES)]) {
        return Ok(None);
    }
    let Ok((record, _)) = Record::read_from_prefix(first) else {
        let reason = format!("found a file of {} bytes, expected at least a header of {RECORD_BYTES}", first.len());
        return Err(TraceError::defect(path, FileLocation::File, 3, reason));
    };
    let header = Header::parse(path, &record)?;
    if header.flags & Header::FINALIZED == 0 {
        return Ok(None);
    }
    let is_bundle = path.file_name().is_some_and(|name| name == BUNDLE_FILE);
    let index_units = if is_bundle { u64::from(header.world).div_ceil(4) } else { 0 };
    Ok(Some(header.records.saturating_add(1 + index_units).saturating_mul(RECORD_BYTES as u64)))
}
