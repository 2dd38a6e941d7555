// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Crowley et al. (`crowley2000`): claims without a model so far.

use crate::registry::Paper;

/// What the paper registers.
pub static PAPER: Paper<()> = Paper::without_models("crowley2000", "s4");
