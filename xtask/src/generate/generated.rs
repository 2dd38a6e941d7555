// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a generator makes.

/// A file and the text it must hold.
#[derive(Debug)]
pub(crate) struct Generated {
    /// Path from the root.
    pub(crate) path: String,
    /// Whole content.
    pub(crate) text: String,
}
