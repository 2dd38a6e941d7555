// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The passage of an instruction through the pipeline, and what observes it.

use mb_core::Cycles;

use crate::predictor::PredictionOutcome;
use crate::{BranchKind, InstructionClass, RegisterNumber, Retired, StaticInstruction};

/// The cycles in which an instruction passed the stages of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionTiming {
    /// The instruction.
    pub retired: Retired,
    /// Whether the branch prediction was correct.
    pub outcome: PredictionOutcome,
    /// Fetch.
    pub fetched: Cycles,
    /// Dispatch: entry into the ROB.
    pub dispatched: Cycles,
    /// Issue of its first operation.
    pub issued: Cycles,
    /// Issue of its last operation: the memory access, if it has one.
    pub accessed: Cycles,
    /// End of its last operation.
    pub written: Cycles,
    /// Commit: removal from the ROB.
    pub committed: Cycles,
}

impl InstructionTiming {
    pub(super) const EMPTY: Self = Self {
        retired: Retired {
            pc: 0,
            next: 0,
            address: 0,
            taken: false,
            instruction: StaticInstruction {
                class: InstructionClass::Integer,
                branch: BranchKind::None,
                sources: [RegisterNumber::NONE; 3],
                destinations: [RegisterNumber::NONE; 3],
                bytes: 0,
                access: 0,
            },
        },
        outcome: PredictionOutcome::Correct,
        fetched: Cycles::ZERO,
        dispatched: Cycles::ZERO,
        issued: Cycles::ZERO,
        accessed: Cycles::ZERO,
        written: Cycles::ZERO,
        committed: Cycles::ZERO,
    };
}

/// Observes every commit, in program order.
pub trait CommitObserver {
    /// An instruction has committed.
    fn committed(&mut self, timing: &InstructionTiming);
}

impl CommitObserver for () {
    #[inline]
    fn committed(&mut self, _: &InstructionTiming) {}
}
