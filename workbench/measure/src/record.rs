// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The operations of each receiver's engine, in order of acceptance.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mb_core::{Op, Outcome};

/// The most operations recorded of one replay, 64 bytes each. Later ones take the mean time of
/// their kind.
pub(crate) const MOST: usize = 1 << 22;

/// A kind of operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OperationKind {
    /// A receive is posted.
    Post,
    /// A message arrives.
    Arrive,
    /// A receive is cancelled.
    Cancel,
    /// A probe.
    Probe,
    /// A matched probe.
    MatchedProbe,
}

impl OperationKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Post, Self::Arrive, Self::Cancel, Self::Probe, Self::MatchedProbe];

    /// The name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Post => "post",
            Self::Arrive => "arrive",
            Self::Cancel => "cancel",
            Self::Probe => "probe",
            Self::MatchedProbe => "matched_probe",
        }
    }

    /// The kind of `op`.
    #[must_use]
    pub const fn of(op: &Op) -> Self {
        match op {
            Op::Post { .. } => Self::Post,
            Op::Arrive { .. } => Self::Arrive,
            Op::Cancel { .. } => Self::Cancel,
            Op::Probe { .. } => Self::Probe,
            Op::MatchedProbe { .. } => Self::MatchedProbe,
        }
    }
}

/// An operation and its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The operation.
    pub op: Op,
    /// Its outcome.
    pub outcome: Outcome,
}

const _: () = assert!(size_of::<Recorded>() <= 64, "`MOST` states the size of a record");

impl Recorded {
    /// Whether both are the same operation. Identifiers are reused and therefore not compared; a
    /// cancel has nothing else.
    fn is_same_operation(&self, other: &Self) -> bool {
        match (self.op, other.op) {
            (Op::Post { pattern, .. }, Op::Post { pattern: theirs, .. })
            | (Op::Probe { pattern, .. }, Op::Probe { pattern: theirs, .. })
            | (Op::MatchedProbe { pattern, .. }, Op::MatchedProbe { pattern: theirs, .. }) => pattern == theirs,
            (Op::Arrive { envelope, .. }, Op::Arrive { envelope: theirs, .. }) => envelope == theirs,
            (Op::Cancel { .. }, Op::Cancel { .. }) => true,
            _ => false,
        }
    }
}

/// The records of all receivers of a replay while it runs.
pub(crate) struct Records {
    receivers: Mutex<Vec<Arc<Mutex<Vec<Recorded>>>>>,
    left: Arc<AtomicUsize>,
}

/// The record of one receiver, for its engine to append to.
pub(crate) struct Recorder {
    record: Arc<Mutex<Vec<Recorded>>>,
    left: Arc<AtomicUsize>,
    full: bool,
}

impl Records {
    pub(crate) fn new() -> Self {
        Self { receivers: Mutex::default(), left: Arc::new(AtomicUsize::new(MOST)) }
    }

    /// The recorder of the next receiver.
    pub(crate) fn of(&self, receiver: usize) -> Recorder {
        let record = Arc::default();
        let mut receivers = self.receivers.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert_eq!(receiver, receivers.len());
        receivers.push(Arc::clone(&record));
        Recorder { record, left: Arc::clone(&self.left), full: false }
    }

    /// The records, by receiver.
    pub(crate) fn take(self) -> Vec<Vec<Recorded>> {
        let receivers = self.receivers.into_inner().unwrap_or_else(PoisonError::into_inner);
        let taken = |record: Arc<Mutex<Vec<Recorded>>>| {
            std::mem::take(&mut *record.lock().unwrap_or_else(PoisonError::into_inner))
        };
        receivers.into_iter().map(taken).collect()
    }
}

impl Recorder {
    /// Records one operation. Records nothing once they are full, so that each record is a prefix
    /// without gaps.
    pub(crate) fn add(&mut self, recorded: Recorded) {
        if self.full
            || self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
        {
            self.full = true;
            return;
        }
        self.record.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
    }
}

/// The share of operations that are at the same position in `replayed` and in `measured`.
pub(crate) fn share_at_same_position(measured: &[Vec<Recorded>], replayed: &[Vec<Recorded>]) -> f64 {
    let (mut same, mut all) = (0_u64, 0_u64);
    for (measured, replayed) in measured.iter().zip(replayed) {
        same += measured.iter().zip(replayed).filter(|(one, other)| one.is_same_operation(other)).count() as u64;
        all += measured.len().max(replayed.len()) as u64;
    }
    if all == 0 { 1.0 } else { same as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mb_core::{Envelope, Initiator, MsgId, Pattern, RecvId};

    fn arrive(id: u64, tag: u64) -> Recorded {
        let envelope = Envelope { bits: tag, initiator: Initiator(1) };
        Recorded { op: Op::Arrive { msg: MsgId(id), envelope }, outcome: Outcome::Unexpected(MsgId(id)) }
    }

    #[test]
    fn positions_are_compared_by_operation_and_not_by_identifier() {
        let pattern = Pattern { bits: 7, ignore: 0, initiator: None };
        let post = Recorded { op: Op::Post { recv: RecvId(3), pattern }, outcome: Outcome::Posted(RecvId(3)) };
        let one = [vec![arrive(1, 7), arrive(2, 8), post], vec![]];
        assert!((share_at_same_position(&one, &[vec![arrive(5, 7), arrive(1, 8), post], vec![]]) - 1.0).abs() < 1e-12);
        assert!(
            (share_at_same_position(&one, &[vec![arrive(5, 8), arrive(1, 7), post], vec![]]) - 1.0 / 3.0).abs() < 1e-12
        );
        assert!((share_at_same_position(&one, &[vec![arrive(1, 7), arrive(1, 8)], vec![post]]) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_full_record_is_a_prefix_without_gaps() {
        let records = Records { left: Arc::new(AtomicUsize::new(3)), ..Records::new() };
        let (mut first, mut second) = (records.of(0), records.of(1));
        for tag in 0..3 {
            first.add(arrive(tag, tag));
            second.add(arrive(tag, tag));
        }
        let found: Vec<_> = records.take().iter().map(Vec::len).collect();
        assert_eq!(found, [2, 1]);
    }
}
