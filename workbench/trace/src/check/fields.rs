// SPDX-License-Identifier: Apache-2.0 OR MIT
//! T-6: which fields and flags a record of each kind may use, and their limits.

use super::violation::{Violation, violation};
use crate::record::{Flags, Record};

/// T-6: largest message and buffer (256 TiB).
pub(super) const MAX_BYTES: u64 = 1 << 48;

/// T-6: most calls collapsed into one record.
pub(super) const MAX_CALLS: u64 = 1 << 48;

/// A set of fields beyond the common ones. A kind of record uses some; the others must be zero.
#[derive(Clone, Copy)]
pub(super) struct Fields(u8);

impl Fields {
    pub(super) const NONE: Self = Self(0);
    pub(super) const COMM: Self = Self(1);
    pub(super) const PEER: Self = Self(2);
    pub(super) const TAG: Self = Self(4);
    pub(super) const BYTES: Self = Self(8);
    pub(super) const REQUEST: Self = Self(16);
    pub(super) const AUX: Self = Self(32);
    /// The fields that matching compares.
    pub(super) const ENVELOPE: Self = Self(1 | 2 | 4);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// T-6: only `fields` and `flags` (and `CPU_CARRIED`) may differ from zero.
#[inline]
pub(super) fn only(record: &Record, fields: Fields, flags: u8) -> Result<(), Violation> {
    let unused = |field: Fields| fields.0 & field.0 == 0;
    if record.flags & !(flags | Flags::CPU_CARRIED) != 0
        || unused(Fields::COMM) && record.comm != 0
        || unused(Fields::PEER) && record.peer != 0
        || unused(Fields::TAG) && record.tag != 0
        || unused(Fields::BYTES) && record.bytes != 0
        || unused(Fields::REQUEST) && record.request != 0
        || unused(Fields::AUX) && record.aux != 0
    {
        return unused_is_set(record, fields, flags);
    }
    Ok(())
}

#[cold]
fn unused_is_set(record: &Record, fields: Fields, flags: u8) -> Result<(), Violation> {
    if record.flags & !(flags | Flags::CPU_CARRIED) != 0 {
        let allowed = flags | Flags::CPU_CARRIED;
        return violation(6, format!("flags are {:#04x}, expected only some of {allowed:#04x}", record.flags));
    }
    let all = [
        (Fields::COMM, "comm", i128::from(record.comm)),
        (Fields::PEER, "peer", i128::from(record.peer)),
        (Fields::TAG, "tag", i128::from(record.tag)),
        (Fields::BYTES, "bytes", i128::from(record.bytes)),
        (Fields::REQUEST, "request", i128::from(record.request)),
        (Fields::AUX, "aux", i128::from(record.aux)),
    ];
    for (field, name, value) in all {
        if fields.0 & field.0 == 0 && value != 0 {
            let kind = record.kind().expect("checked before");
            return violation(6, format!("{name} is {value}, expected 0 in {kind:?}"));
        }
    }
    Ok(())
}

/// T-6: a call is at most one of blocking, persistent, and half of a send-receive.
#[inline]
pub(super) fn one_call_form(record: &Record) -> Result<(), Violation> {
    if (record.flags & (Flags::BLOCKING | Flags::PERSISTENT | Flags::SENDRECV)).count_ones() > 1 {
        let reason = format!("flags are {:#04x}, expected one of BLOCKING, PERSISTENT, SENDRECV", record.flags);
        return violation(6, reason);
    }
    Ok(())
}

#[inline]
pub(super) fn size_of_message(bytes: u64) -> Result<(), Violation> {
    if bytes > MAX_BYTES {
        return violation(6, format!("size is {bytes} bytes, expected at most 2^48"));
    }
    Ok(())
}
