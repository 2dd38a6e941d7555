// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A preset of an engine, which the first byte chooses: any text is read or refused.

use mb_catalog::{ENGINES, read_preset};

/// Runs the target on an input.
///
/// # Panics
/// The target does not accept the input.
pub fn preset(bytes: &[u8]) {
    let Some((&which, text)) = bytes.split_first() else { return };
    let entry = &ENGINES[usize::from(which) % ENGINES.len()];
    let Ok(text) = str::from_utf8(text) else { return };
    if let Ok(read) = read_preset(entry.parameters, entry.presets, "mine", text) {
        assert_eq!(read.iter().count(), entry.parameters.len());
    }
}
