// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Closed-loop replay of traces. Every rank executes its own records, messages cross a network with
//! `LogGP` parameters, and each rank receives through one engine, whose completion times delay the
//! calls that depend on them.

mod assignment;
mod collective;
pub mod config;
pub mod network;
mod rank;
pub mod report;
mod requests;
mod sim;
pub mod sizing;
pub mod snapshot;
mod stats;

pub use config::{Algorithm, Collectives, Polls, ReplayConfig, Wildcards};
pub use network::{NETWORKS, Network};
pub use report::{
    DepthRow, Histogram, LatencyBin, RankReport, Report, TimeBin, Totals, Unfinished, VisitsRow, WatchedRank,
    WatchedRow,
};
pub use sim::{ReplayError, replay};
pub use sizing::{Sizer, Sizing};
pub use snapshot::{Cut, CutAt, CutOp, Deepest, MatchedEntry, Snapshots};
