// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gu et al. (`gu2011`): claims without a model so far.

use crate::registry::Paper;

/// What the paper registers.
pub static PAPER: Paper<()> = Paper::without_models("gu2011", "s3");
