// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A rule of records that is violated.

/// The number of the violated rule, and what was found and expected.
pub(super) type Violation = (u8, String);

pub(super) fn violation<T>(rule: u8, reason: impl Into<String>) -> Result<T, Violation> {
    Err((rule, reason.into()))
}
