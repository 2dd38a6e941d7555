// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the papers claim, measured on the models.
//!
//! - [`ledger`]: the claims, read strictly from `spec/claims.toml`.
//! - [`verdict`]: ours against theirs.

mod formula;
pub mod ledger;
pub mod verdict;
