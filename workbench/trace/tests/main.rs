// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All tests of the crate in one program: what they share is compiled and linked once.

mod agreement;
mod columns;
mod common;
mod example;
mod file_defects;
mod generate;
mod properties;
mod record_defects;
mod round_trip;
mod state;
mod stats;
mod version_3;
