// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs as files for viewers: Kanata 0004 for Konata, VCD for `GTKWave` and Surfer.
//!
//! Contract: both are observers that produce text. `take` returns the text written since the last call, so that callers
//! can write it to disk piece by piece; `finish` closes the file. Equal runs produce equal bytes.
//! Cost: about 200 bytes per word in Kanata, about 100 in VCD.
//! Source: the formats as documented by their viewers; the crate `vcd` writes the syntax of VCD.

mod kanata;
mod waveform;

pub use kanata::Kanata;
pub use waveform::Vcd;
