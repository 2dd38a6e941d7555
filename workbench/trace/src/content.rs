// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bytes of a trace file: mapped, or read if there are too many files.

use std::io::Read;
use std::path::Path;

use memmap2::Mmap;
use zerocopy::{FromBytes, IntoBytes};

use crate::error::TraceError;
use crate::record::{RECORD_BYTES, Record};

/// Largest file that is read instead of mapped when there are too many files.
const SMALL_FILE_BYTES: u64 = 1 << 20;

pub(crate) enum Content {
    Mapped(Mmap),
    /// Whole records, and the file's length in bytes.
    Owned(Vec<Record>, u64),
}

impl Content {
    pub(crate) fn owned(bytes: &[u8]) -> Self {
        let mut records = vec![Record::default(); bytes.len() / RECORD_BYTES];
        records.as_mut_bytes().copy_from_slice(&bytes[..bytes.len() / RECORD_BYTES * RECORD_BYTES]);
        Self::Owned(records, bytes.len() as u64)
    }

    pub(crate) fn read(path: &Path, map: bool) -> Result<Self, TraceError> {
        let (file, length) = mb_input::open(path).map_err(TraceError::input(path))?;
        if length == 0 || (!map && length <= SMALL_FILE_BYTES) {
            let mut bytes = Vec::new();
            file.take(length).read_to_end(&mut bytes).map_err(TraceError::io(path))?;
            return Ok(Self::owned(&bytes));
        }
        // SAFETY: the map is read-only and private to this process, and every bit pattern is a
        // valid `Record`. Trace files are written once. If another process truncates one while it
        // is open, this process receives SIGBUS, which no user of mmap can prevent (documented at
        // `Trace::open`).
        let mapped = unsafe { Mmap::map(&file) }.map_err(|error| TraceError::Refused {
            path: path.to_owned(),
            reason: format!("cannot be mapped ({error}); raise vm.max_map_count or store the trace as a bundle, which needs one mapping"),
        })?;
        Ok(Self::Mapped(mapped))
    }

    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Mapped(map) => map.len() as u64,
            Self::Owned(_, length) => *length,
        }
    }

    /// The complete 64-byte units of the file, header first.
    #[inline]
    pub(crate) fn units(&self) -> &[Record] {
        match self {
            Self::Mapped(map) => <[Record]>::ref_from_bytes(&map[..map.len() / RECORD_BYTES * RECORD_BYTES])
                .expect("pages are aligned and the length is a multiple"),
            Self::Owned(records, _) => records,
        }
    }
}
