// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An engine whose operations take measured times.
//!
//! Operations are numbered by receiver and kind: the third post of a receiver takes what was
//! measured for its third post. They are not numbered across kinds, because the times themselves
//! decide whether a post or an arrival comes first.

use std::sync::Arc;

use mb_core::{Completion, Op, Picos, QueueLengths, ReplayEngine};
use mb_kit::{InTurn, OperationServer, Served};

use crate::record::{OperationKind, Recorded, Recorder};
use crate::stopwatch::Spans;

/// The time of each operation. By default all are zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpTimes {
    /// By receiver and kind, in order of acceptance.
    spans: Vec<[Vec<Picos>; OperationKind::ALL.len()]>,
    /// The mean of each kind, for operations beyond these.
    mean: [Picos; OperationKind::ALL.len()],
}

impl OpTimes {
    /// The times `spans`, as measured for the operations `recorded`.
    #[must_use]
    pub fn new(recorded: &[Vec<Recorded>], spans: &Spans) -> Self {
        let mut times = Self::default();
        let mut sums = [(Picos::ZERO, 0_u64); OperationKind::ALL.len()];
        for (operations, spans) in recorded.iter().zip(spans) {
            let mut mine: [Vec<Picos>; OperationKind::ALL.len()] = Default::default();
            for (recorded, &span) in operations.iter().zip(spans) {
                let kind = OperationKind::of(&recorded.op) as usize;
                mine[kind].push(span);
                sums[kind] = (sums[kind].0 + span, sums[kind].1 + 1);
            }
            times.spans.push(mine);
        }
        let all = sums.iter().fold((Picos::ZERO, 0), |all, sum| (all.0 + sum.0, all.1 + sum.1));
        let mean = |(sum, count): (Picos, u64)| Picos(sum.0.checked_div(count).unwrap_or(0));
        times.mean = sums.map(|sum| mean(if sum.1 > 0 { sum } else { all }));
        times
    }

    /// The time of operation number `nth` of a kind.
    fn span(&self, receiver: usize, kind: OperationKind, nth: usize) -> Picos {
        let measured = self.spans.get(receiver).and_then(|kinds| kinds[kind as usize].get(nth));
        *measured.unwrap_or(&self.mean[kind as usize])
    }
}

/// A measured engine with its measured times: serves one operation after the other, and records the
/// operations.
pub(crate) struct TimedEngine {
    engine: Box<dyn ReplayEngine>,
    receiver: usize,
    times: Arc<OpTimes>,
    recorder: Recorder,
    /// Operations served so far, by kind.
    count: [usize; OperationKind::ALL.len()],
    turn: InTurn,
}

impl TimedEngine {
    pub(crate) fn new(engine: Box<dyn ReplayEngine>, receiver: usize, times: Arc<OpTimes>, recorder: Recorder) -> Self {
        Self { engine, receiver, times, recorder, count: Default::default(), turn: InTurn::new() }
    }
}

impl OperationServer for TimedEngine {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let completion = self.engine.answer(now, op);
        let Completion { outcome, visits, .. } =
            completion.expect("a measured engine completes an operation when it is offered");
        let kind = OperationKind::of(&op);
        let nth = self.count[kind as usize];
        self.count[kind as usize] += 1;
        self.recorder.add(Recorded { op, outcome });
        self.turn.serve(now, self.times.span(self.receiver, kind, nth), outcome, visits)
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.engine.queue_lengths()
    }
}
