// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets on their way to a rank or waiting at its NIC, in order of arrival.
//!
//! Other ranks push in any order of time; the packets of one source are in order. The rank sorts
//! before it runs. Cost: a sort of the new packets, which are nearly sorted, and a merge with older
//! ones where their times overlap.

use mb_core::time::Picos;

use super::packet::Packet;

#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Not yet sorted.
    new: Vec<Packet>,
    /// Sorted from `head` on; packets before it are already received.
    sorted: Vec<Packet>,
    head: usize,
}

impl Arrivals {
    /// Adds a packet from another rank.
    #[inline]
    pub(crate) fn push(&mut self, item: Packet) {
        self.new.push(item);
    }

    /// Sorts the pushed packets; packets with equal keys keep their order.
    #[inline]
    pub(super) fn sort(&mut self) {
        if self.new.is_empty() {
            return;
        }
        self.new.sort_by_key(Packet::key);
        if self.head == self.sorted.len() {
            self.sorted.clear();
            self.head = 0;
            std::mem::swap(&mut self.new, &mut self.sorted);
            return;
        }
        if self.head > self.sorted.len() / 2 {
            self.sorted.drain(..self.head);
            self.head = 0;
        }
        let first = self.new[0].key();
        let overlap = self.head + self.sorted[self.head..].partition_point(|item| item.key() <= first);
        self.sorted.append(&mut self.new);
        self.sorted[overlap..].sort_by_key(Packet::key);
    }

    /// Adds a packet that the rank sends to itself while it runs.
    pub(super) fn insert(&mut self, item: Packet) {
        let after = self.head + self.sorted[self.head..].partition_point(|earlier| earlier.key() <= item.key());
        self.sorted.insert(after, item);
    }

    /// When the first byte of the next packet arrives.
    #[inline]
    pub(super) fn next_at(&self) -> Picos {
        self.sorted.get(self.head).map_or(Picos::MAX, |item| item.at)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet> {
        let item = *self.sorted.get(self.head)?;
        self.head += 1;
        Some(item)
    }

    /// All packets not yet received.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.sorted[self.head..].iter().chain(&self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::packet::PacketKind;
    use mb_core::mpi::Traffic;
    use proptest::prelude::*;

    fn item(at: u64, source: u32, tag: u32) -> Packet {
        Packet {
            at: Picos(at),
            bytes: 0,
            source,
            comm: 0,
            tag,
            token: 0,
            kind: PacketKind::Eager,
            traffic: Traffic::User,
        }
    }

    proptest! {
        #[test]
        fn packets_come_out_in_order_of_time_then_source_then_push(
            windows in prop::collection::vec((prop::collection::vec((0_u64..30, 0_u32..4), 0..20), 0_usize..25), 1..20)
        ) {
            let (mut arrivals, mut model, mut tag) = (Arrivals::default(), Vec::new(), 0);
            for (window, (pushes, pops)) in windows.into_iter().enumerate() {
                for (at, source) in pushes {
                    tag += 1;
                    // Packets pushed in a window may overlap with older ones.
                    let item = item(at + 10 * window as u64, source, tag);
                    arrivals.push(item);
                    model.push(item);
                }
                arrivals.sort();
                model.sort_by_key(|item| (item.at, item.source, item.tag));
                for _ in 0..pops.min(model.len()) {
                    prop_assert_eq!(arrivals.next_at(), model[0].at);
                    prop_assert_eq!(arrivals.pop().unwrap().tag, model.remove(0).tag);
                }
                prop_assert_eq!(arrivals.iter().count(), model.len());
            }
        }
    }
}
