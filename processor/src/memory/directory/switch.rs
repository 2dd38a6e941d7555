// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hierarchical switch: a tree whose leaves are the nodes.
//!
//! A message goes up to the smallest subtree with both nodes, and down. Its head takes `hop` cycles
//! of the switch for a link, and occupies the link for one cycle for each `link` bytes. A switch
//! buffers whole messages. Links are granted in the order in which messages enter the switch, for all
//! links of the path at once; this keeps the order for each pair of nodes.

use super::config::SwitchConfig;

#[derive(Clone, Debug)]
pub(super) struct Switch {
    config: SwitchConfig,
    /// The cycle from which each link is free: by level, up then down, then by subtree.
    free: Vec<u64>,
    nodes: usize,
}

impl Switch {
    pub(super) fn new(config: SwitchConfig, nodes: usize) -> Self {
        let (mut levels, mut reach) = (0, 1);
        while reach < nodes {
            reach *= config.fan_out;
            levels += 1;
        }
        Self { config, free: vec![0; 2 * levels * nodes], nodes }
    }

    /// Sends a message of `bytes` without its header. Returns the cycle of its arrival, and the core
    /// cycles for which it occupies links, summed over them.
    pub(super) fn send(&mut self, cycle: u64, from: usize, to: usize, bytes: u64) -> (u64, u64) {
        let SwitchConfig { fan_out, link, period, hop, header, local } = self.config;
        if from == to {
            return (cycle + local, 0);
        }
        let length = (header + bytes).div_ceil(link) * period;
        let mut head = cycle.next_multiple_of(period);
        let mut top = 1;
        let mut size = fan_out;
        while from / size != to / size {
            size *= fan_out;
            top += 1;
        }
        let mut take = |place: usize| {
            let start = head.max(self.free[place]);
            self.free[place] = start + length;
            head = start + hop * period;
        };
        let mut size = 1;
        for level in 0..top {
            take(2 * level * self.nodes + from / size);
            size *= fan_out;
        }
        for level in (0..top).rev() {
            size /= fan_out;
            take((2 * level + 1) * self.nodes + to / size);
        }
        (head + length - period, 2 * top as u64 * length)
    }
}
