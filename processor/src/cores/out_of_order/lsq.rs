// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of the load/store queue (LSQ).

use std::collections::VecDeque;

use super::config::{Disambiguation, OutOfOrderConfig};

/// The state of the queue; the entries are in the ROB.
#[derive(Clone, Debug)]
pub(super) struct Lsq {
    /// ROB slots of memory instructions, oldest first.
    pub(super) slots: VecDeque<u16>,
    /// Memory dependences are predicted: a load does not wait for unknown store addresses.
    pub(super) predicted: bool,
    /// Loads and atomics whose address is known and whose access is not yet ready.
    pub(super) blocked: u32,
    /// Something has changed that may unblock one of them.
    pub(super) changed: bool,
}

impl Lsq {
    pub(super) fn new(config: &OutOfOrderConfig) -> Self {
        Self {
            slots: VecDeque::with_capacity(config.lsq),
            predicted: config.disambiguation == Disambiguation::Predicted,
            blocked: 0,
            changed: false,
        }
    }
}
