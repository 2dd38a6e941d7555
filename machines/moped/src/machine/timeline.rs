// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What cores and devices did when, for a viewer.

use super::account::Shown;

/// Intervals of cores and devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    /// By core: what it does, and since when.
    current: Vec<Option<(Shown, u64)>>,
    cores: Vec<(usize, Shown, u64, u64)>,
}

impl Timeline {
    /// A core does this since a cycle.
    pub(super) fn core(&mut self, core: usize, since: u64, shown: Shown) {
        if self.current.len() <= core {
            self.current.resize(core + 1, None);
        }
        match self.current[core] {
            Some((before, _)) if before == shown => {}
            Some((before, begun)) => {
                self.cores.push((core, before, begun, since));
                self.current[core] = Some((shown, since));
            }
            None => self.current[core] = Some((shown, since)),
        }
    }
}
