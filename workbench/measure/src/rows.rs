// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rows of the table `measured`: what was measured on, and the times of each kind of operation.

use mb_core::Picos;
use mb_core::columns::Columns;

use crate::ClosedLoopResult;
use crate::record::OperationKind;
use crate::stopwatch::KindTimes;

/// What all rows of a measurement have.
#[derive(Debug, Columns)]
pub struct MeasuredOn {
    /// Rows measured on this host: name of its processor.
    pub host: String,
    /// Core that the thread was pinned to; null where the system does not allow pinning.
    pub core: Option<usize>,
    /// Clock that was read.
    pub clock: String,
    /// Cost of one timestamp, which was subtracted.
    pub reading: Picos,
    /// Rows measured on this host: number of repetitions; times are their medians.
    pub repetitions: u32,
    /// Share of operations that had the same position in their receiver's sequence in the replay and in the
    /// measurement, 0 to 1.
    pub same_order: f64,
}

/// The operations of one kind, or of all of them.
#[derive(Debug, Columns)]
pub struct MeasuredKind {
    /// `all`, `post`, `arrive`, `cancel`, `probe` or `matched_probe`.
    kind: &'static str,
    /// Operations measured.
    operations: u64,
    #[column(none)]
    #[computed(operation_ns: f64 = self.mean(self.times.time),
        meaning = "mean time of an operation, from the medians of 64 operations each")]
    #[computed(operation_low_ns: f64 = self.mean(self.times.low), meaning = "the same from the lower quartiles")]
    #[computed(operation_high_ns: f64 = self.mean(self.times.high), meaning = "the same from the upper quartiles")]
    times: KindTimes,
}

impl MeasuredKind {
    /// All operations, then each kind that occurred.
    pub fn rows<R>(found: &ClosedLoopResult<R>) -> impl Iterator<Item = Self> {
        let measurement = &found.measurement;
        let kinds = OperationKind::ALL.iter().map(|kind| kind.as_str()).zip(measurement.kinds);
        [("all", measurement.all())]
            .into_iter()
            .chain(kinds)
            .filter(|(_, times)| times.operations > 0)
            .map(|(kind, times)| Self { kind, operations: times.operations, times })
    }

    fn mean(&self, sum: Picos) -> f64 {
        sum.as_ns() / self.operations as f64
    }
}
