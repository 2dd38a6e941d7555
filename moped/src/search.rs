// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of a search.

/// A search that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(crate) ready: u64,
    pub(crate) end: End,
}

/// The result of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Nothing,
    Match { receive: usize, send: usize },
    Probe { probe: usize, found: Option<(u16, u32, u32)> },
}
