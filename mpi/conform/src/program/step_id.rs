// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of steps.

use crate::codes;

/// The number of a step, and of the message, receive or probe that it creates.
pub type StepId = u32;

/// Largest number of a step; message lengths differ by it.
pub const MAX_STEP: StepId = codes::MAX_STEPS as StepId - 1;
