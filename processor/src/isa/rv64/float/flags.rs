// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values with the exceptions that they raise.

use crate::isa::rv64::csr::FloatStatus;

/// A value and the exceptions that it raises.
pub(super) type Flagged = (u64, u8);

pub(super) const INEXACT: u8 = FloatStatus::INEXACT;
pub(super) const INVALID: u8 = FloatStatus::INVALID;
