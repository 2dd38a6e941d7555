// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The busy time of an engine whose operations overlap.

use mb_core::Picos;

/// The union of intervals that are added in the order of their ends.
#[derive(Clone, Debug, Default)]
pub struct BusyTime {
    /// Before all that can still grow together.
    before: Picos,
    /// Disjoint and in order.
    open: Vec<(Picos, Picos)>,
}

impl BusyTime {
    /// Adds the time from `start` to `end`, which is not before any end that was added.
    pub fn add(&mut self, mut start: Picos, end: Picos) {
        while let Some(&(first, _)) = self.open.last().filter(|(_, last)| *last >= start) {
            start = start.min(first);
            self.open.pop();
        }
        self.open.push((start, end));
    }

    /// Drops the single intervals: nothing that is added later begins before the end of one.
    pub fn fold(&mut self) {
        self.before = self.total();
        self.open.clear();
    }

    /// The time covered by all intervals.
    #[must_use]
    pub fn total(&self) -> Picos {
        self.before + self.open.iter().map(|&(start, end)| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_counts_what_overlaps_once() {
        let mut busy = BusyTime::default();
        busy.add(Picos(50), Picos(60));
        busy.add(Picos(70), Picos(80));
        assert_eq!(busy.total(), Picos(20));
        busy.add(Picos(55), Picos(90));
        assert_eq!(busy.total(), Picos(40));
        busy.fold();
        busy.add(Picos(100), Picos(101));
        assert_eq!(busy.total(), Picos(41));
    }
}
