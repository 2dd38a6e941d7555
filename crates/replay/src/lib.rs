// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Closed-loop replay: every rank follows its own records, messages cross a network with `LogGP` parameters, and
//! each rank receives through one engine, whose completions delay what depends on them.

pub mod config;
pub mod network;
pub mod report;

pub use config::{Algorithm, Collectives, ReplayConfig, Wildcards};
pub use network::{NETWORKS, Network};
pub use report::{DepthBin, Histogram, RankReport, Report, TimeBin, Totals, Unfinished};
