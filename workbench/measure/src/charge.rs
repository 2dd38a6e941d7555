// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An engine whose operations take measured times.
//!
//! An operation takes what was measured for the operation of its receiver and kind with the same number: the third post for
//! the third post. Numbers by kind, because measured times themselves decide which of a post and an arrival comes first.

use std::sync::Arc;

use mb_core::{Completion, Engine, Op, Picos};
use mb_kit::{InTurn, Served, Service};

use crate::record::{Kind, Recorded, Recorder};
use crate::stopwatch::Spans;

/// What each operation takes. The default charges nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Charges {
    /// By receiver and kind, in order of acceptance.
    spans: Vec<[Vec<Picos>; Kind::ALL.len()]>,
    /// For operations beyond these.
    mean: [Picos; Kind::ALL.len()],
}

impl Charges {
    /// `spans` as measured for the operations in `recorded`.
    #[must_use]
    pub fn new(recorded: &[Vec<Recorded>], spans: &Spans) -> Self {
        let mut charges = Self::default();
        let mut sums = [(Picos::ZERO, 0_u64); Kind::ALL.len()];
        for (operations, spans) in recorded.iter().zip(spans) {
            let mut mine: [Vec<Picos>; Kind::ALL.len()] = Default::default();
            for (recorded, &span) in operations.iter().zip(spans) {
                let kind = Kind::of(&recorded.op) as usize;
                mine[kind].push(span);
                sums[kind] = (sums[kind].0 + span, sums[kind].1 + 1);
            }
            charges.spans.push(mine);
        }
        let all = sums.iter().fold((Picos::ZERO, 0), |all, sum| (all.0 + sum.0, all.1 + sum.1));
        let mean = |(sum, count): (Picos, u64)| Picos(sum.0.checked_div(count).unwrap_or(0));
        charges.mean = sums.map(|sum| mean(if sum.1 > 0 { sum } else { all }));
        charges
    }

    /// What the operation of `receiver` that is number `nth` of its `kind` takes.
    fn span(&self, receiver: usize, kind: Kind, nth: usize) -> Picos {
        let measured = self.spans.get(receiver).and_then(|kinds| kinds[kind as usize].get(nth));
        *measured.unwrap_or(&self.mean[kind as usize])
    }
}

/// A measured engine that takes its time, serves one operation after the other, and has its operations written down.
pub(crate) struct Charged {
    engine: Box<dyn Engine>,
    receiver: usize,
    charges: Arc<Charges>,
    recorder: Recorder,
    /// Operations so far, by kind.
    count: [usize; Kind::ALL.len()],
    turn: InTurn,
}

impl Charged {
    pub(crate) fn new(engine: Box<dyn Engine>, receiver: usize, charges: Arc<Charges>, recorder: Recorder) -> Self {
        Self { engine, receiver, charges, recorder, count: Default::default(), turn: InTurn::new() }
    }
}

impl Service for Charged {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let answer = self.engine.answer(now, op);
        let Completion { outcome, visits, .. } = answer.expect("a measured engine answers at the offer");
        let kind = Kind::of(&op);
        let nth = self.count[kind as usize];
        self.count[kind as usize] += 1;
        self.recorder.add(Recorded { op, outcome });
        self.turn.serve(now, self.charges.span(self.receiver, kind, nth), outcome, visits)
    }

    fn queue_lengths(&self) -> (usize, usize) {
        self.engine.queue_lengths()
    }
}
