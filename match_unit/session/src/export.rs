// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs as files for viewers: Kanata 0004 for Konata, VCD for `GTKWave` and Surfer.
//!
//! Contract: both are observers that produce text. `take` returns the text written since the last call, so that callers
//! can write it to disk piece by piece; `finish` closes the file. Equal runs produce equal bytes.
//! Cost: about 200 bytes per word in Kanata, about 100 in VCD.
//! Source: the formats as documented by their viewers; the crate `vcd` writes the syntax of VCD.

use mb_asm::MatchProgram;

mod kanata;
mod waveform;

pub use kanata::Kanata;
pub use waveform::Vcd;

/// The place of each word: label and distance, as `entry+3`, or the address before the first label.
fn places(program: &MatchProgram) -> Vec<String> {
    let mut label = None;
    let place = |address| {
        if let Some(name) = program.label_at(address) {
            label = Some((address, name));
        }
        match label {
            Some((first, name)) if first == address => name.to_owned(),
            Some((first, name)) => format!("{name}+{}", address - first),
            None => address.to_string(),
        }
    };
    (0..program.words.len()).map(place).collect()
}
