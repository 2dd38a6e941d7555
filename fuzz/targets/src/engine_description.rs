// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The description of an engine in a shared library: any bytes are read or refused.

use mb_own::description::Description;

/// Runs the target on an input.
///
/// # Panics
/// The target does not accept the input.
pub fn engine_description(bytes: &[u8]) {
    if let Ok(read) = Description::read(bytes) {
        assert!(!read.name().is_empty());
    }
}
