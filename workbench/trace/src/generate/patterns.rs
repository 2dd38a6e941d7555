// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The patterns, one per file.
//!
//! Their parameters set the number, size and distance in time of the messages, and the depth of the
//! queues.
//!
//! The workloads on which other replay simulators were measured can be generated message for
//! message. All use the default sizes and times: 4 KiB and 10 us in the halo, 64 bytes and 10 us in
//! the all-to-all.
//!
//! | workload | pattern and parameters |
//! |---|---|
//! | w0, w1 | `halo3d`, 64 ranks, `iterations=260` / `2600` |
//! | w2 | `halo3d`, 64 ranks, `iterations=2000 all_to_all_every=50` |
//! | w3, w3s | `transpose`, 256 ranks, `iterations=16` / `2` |
//! | w4, w4s | the same with `order=reverse` |
//! | w5 | `halo3d`, 1024 ranks, `iterations=160` |
//! | w6 | `transpose`, 1024 ranks, `iterations=1 order=reverse` |
//! | w7 | `transpose`, 64 ranks, `iterations=250 order=reverse` |

mod depth;
mod exchange;
mod grid;
mod halo3d;
mod many_to_one;
mod random;
mod sweep;
mod tanabe2013_table1;
mod transpose;
mod xiong2018_depths;

pub use depth::{DepthParameters, Queue};
pub use exchange::PostOrder;
pub use halo3d::{Halo3dParameters, Neighbours};
pub use many_to_one::{ManyToOneParameters, ReceiveSource};
pub use random::RandomParameters;
pub use sweep::SweepParameters;
pub use tanabe2013_table1::{ApplicationRow, Tanabe2013Table1Parameters};
pub use transpose::TransposeParameters;
pub use xiong2018_depths::Xiong2018DepthsParameters;

use super::program::{CommunicationPattern, PatternParameters};

/// All patterns.
pub static PATTERNS: &[CommunicationPattern] = &[
    Halo3dParameters::PATTERN,
    SweepParameters::PATTERN,
    TransposeParameters::PATTERN,
    ManyToOneParameters::PATTERN,
    RandomParameters::PATTERN,
    DepthParameters::PATTERN,
    Tanabe2013Table1Parameters::PATTERN,
    Xiong2018DepthsParameters::PATTERN,
];
