// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Branch prediction: direction predictors, a branch target buffer (BTB) and a return stack.
//!
//! The direction predictor predicts whether a conditional branch is taken, the BTB predicts
//! targets, and the return stack predicts targets of returns. Counters and BTB are read at fetch
//! and updated at commit; the return stack is updated at fetch. It needs no repair, because only
//! the correct path is fetched; [`chip`](super::chip) fetches wrong paths, and keeps histories and
//! return stacks itself. Source: Burger and Austin, *The `SimpleScalar` Tool Set, Version
//! 2.0* (1997), section 4.3 (`-bpred`), and Yeh and Patt's two-level scheme in Mc`Farling`'s gshare
//! form (WRL TN-36, 1993). Cost on the host: a few nanoseconds per branch, none for other
//! instructions.

use mb_core::ParameterError;
use mb_core::parameters::{Choice, ParameterSpec, Parameters, Value};

use crate::isa::{BranchKind, RegisterNumber, Retired};

/// How the direction of a conditional branch is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Directions and targets are always predicted correctly; BTB and return stack are not used.
    Perfect,
    /// Never taken.
    NotTaken,
    /// Always taken.
    Taken,
    /// A table of two-bit counters, indexed by the address.
    Bimodal {
        /// Counters, a power of two.
        entries: usize,
    },
    /// A table of two-bit counters, indexed by the exclusive or of address and global history.
    Gshare {
        /// Counters, a power of two.
        entries: usize,
        /// Length of the global history in branches, at most 32.
        history: u32,
    },
}

/// The words of [`Direction`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
enum Kind {
    Perfect,
    NotTaken,
    Taken,
    Bimodal,
    Gshare,
}

/// The parameters of [`Direction`].
#[derive(mb_core::Parameters)]
struct DirectionParameters {
    /// Prediction of conditional branches.
    #[parameter]
    predictor: Kind,
    /// Two-bit counters of the predictors `bimodal` and `gshare`, a power of two.
    #[parameter(range = 1..=PredictorConfig::MAX_ENTRIES as u64)]
    predictor_counters: usize,
    /// Branches of global history of `gshare`.
    #[parameter(range = 0..=32)]
    predictor_history: u32,
}

impl Parameters for Direction {
    const SPECS: &'static [ParameterSpec] = DirectionParameters::SPECS;

    fn from_values(values: &[Value]) -> Self {
        let DirectionParameters { predictor, predictor_counters: entries, predictor_history: history } =
            Parameters::from_values(values);
        match predictor {
            Kind::Perfect => Self::Perfect,
            Kind::NotTaken => Self::NotTaken,
            Kind::Taken => Self::Taken,
            Kind::Bimodal => Self::Bimodal { entries },
            Kind::Gshare => Self::Gshare { entries, history },
        }
    }

    fn values(&self) -> Vec<Value> {
        let (predictor, predictor_counters, predictor_history) = match *self {
            Self::Perfect => (Kind::Perfect, 1, 0),
            Self::NotTaken => (Kind::NotTaken, 1, 0),
            Self::Taken => (Kind::Taken, 1, 0),
            Self::Bimodal { entries } => (Kind::Bimodal, entries, 0),
            Self::Gshare { entries, history } => (Kind::Gshare, entries, history),
        };
        DirectionParameters { predictor, predictor_counters, predictor_history }.values()
    }
}

/// Configuration of a predictor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct PredictorConfig {
    /// Prediction of conditional branches.
    #[parameter(nested)]
    pub direction: Direction,
    /// Sets of the branch target buffer (BTB), a power of two, or 0 for none.
    #[parameter(range = 0..=65_536, key = "btb_sets")]
    pub target_sets: usize,
    /// Ways of the branch target buffer.
    #[parameter(range = 0..=64, key = "btb_ways")]
    pub target_ways: usize,
    /// Entries of the return stack, or 0 for none; a push onto a full stack overwrites the oldest entry.
    #[parameter(range = 0..=1024)]
    pub return_stack: usize,
    /// Low address bits that are always zero: 2 for instructions of 4 bytes, 1 where some have 2.
    #[parameter(range = 0..=16)]
    pub address_shift: u32,
}

impl PredictorConfig {
    /// Most entries of a table.
    pub const MAX_ENTRIES: usize = 1 << 24;

    /// Number of two-bit counters.
    const fn counters(&self) -> usize {
        match self.direction {
            Direction::Bimodal { entries } | Direction::Gshare { entries, .. } => entries,
            Direction::Perfect | Direction::NotTaken | Direction::Taken => 0,
        }
    }

    /// Checks values that are in their ranges.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        if let Direction::Bimodal { entries } | Direction::Gshare { entries, .. } = self.direction
            && !entries.is_power_of_two()
        {
            return refuse(format!("predictor: found {entries} counters, expected a power of two"));
        }
        if self.target_sets > 0 && (!self.target_sets.is_power_of_two() || self.target_ways == 0) {
            return refuse(format!(
                "predictor: found btb_sets {} and btb_ways {}, expected a power of two of sets and at least 1 way",
                self.target_sets, self.target_ways
            ));
        }
        Ok(())
    }
}

/// Whether a branch was predicted correctly, and if not, in which stage that is detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PredictionOutcome {
    /// Fetch continues at the correct address.
    Correct,
    /// Correctly predicted taken, but the target is known only when the instruction is decoded.
    Misfetched,
    /// Predicted wrongly; detected when the instruction is executed.
    Mispredicted,
}

/// A prediction; [`Predictor::learn`] takes it when the instruction commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prediction {
    /// Whether it was correct.
    pub outcome: PredictionOutcome,
    /// Index of the counter that predicted the direction.
    counter: u32,
}

impl Prediction {
    /// The prediction for an instruction that is not a branch.
    pub(super) const CORRECT: Self = Self { outcome: PredictionOutcome::Correct, counter: 0 };
}

/// An entry of the BTB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Target {
    pc: u64,
    to: u64,
}

/// The state of a predictor.
#[derive(Clone, Debug)]
pub struct Predictor {
    config: PredictorConfig,
    counters: Vec<u8>,
    history: u64,
    /// The BTB, set by set; each set is ordered from the newest to the oldest entry.
    targets: Vec<Option<Target>>,
    returns: Vec<u64>,
    top: usize,
}

/// Counters of at least this value predict taken.
const TAKEN: u8 = 2;

impl Predictor {
    /// A predictor with empty tables: all counters are weakly not taken.
    ///
    /// # Errors
    /// An invalid configuration.
    pub fn new(config: PredictorConfig) -> Result<Self, ParameterError> {
        config.check()?;
        Ok(Self {
            config,
            counters: vec![TAKEN - 1; config.counters()],
            history: 0,
            targets: vec![None; config.target_sets * config.target_ways],
            returns: vec![0; config.return_stack],
            top: 0,
        })
    }

    /// Predicts the address after a branch, and compares it with the executed one.
    pub fn predict(&mut self, retired: &Retired) -> Prediction {
        if self.config.direction == Direction::Perfect || retired.instruction.branch == BranchKind::None {
            return Prediction::CORRECT;
        }
        let mut counter = 0;
        let taken = match self.config.direction {
            _ if !is_conditional(retired) => true,
            Direction::Taken | Direction::Perfect => true,
            Direction::NotTaken => false,
            Direction::Bimodal { .. } | Direction::Gshare { .. } => {
                counter = self.counter_of(retired.pc, self.history);
                self.counters[counter as usize] >= TAKEN
            }
        };
        let target = self.target_outcome(retired);
        let outcome = match (taken, retired.taken) {
            (false, false) => PredictionOutcome::Correct,
            (true, true) => target,
            _ => PredictionOutcome::Mispredicted,
        };
        Prediction { outcome, counter }
    }

    /// The outcome for a branch that is predicted taken, if it is taken. Updates the return stack.
    fn target_outcome(&mut self, retired: &Retired) -> PredictionOutcome {
        if !retired.taken {
            return PredictionOutcome::Correct;
        }
        let otherwise = match retired.instruction.branch {
            BranchKind::None | BranchKind::Conditional | BranchKind::Jump => PredictionOutcome::Misfetched,
            BranchKind::Call => {
                if !self.returns.is_empty() {
                    self.top = (self.top + 1) % self.returns.len();
                    self.returns[self.top] = retired.pc.wrapping_add(u64::from(retired.instruction.bytes));
                }
                if reads_target(retired) { PredictionOutcome::Mispredicted } else { PredictionOutcome::Misfetched }
            }
            BranchKind::Return | BranchKind::ConditionalReturn if !self.returns.is_empty() => {
                let to = self.returns[self.top];
                self.top = (self.top + self.returns.len() - 1) % self.returns.len();
                return if to == retired.next { PredictionOutcome::Correct } else { PredictionOutcome::Mispredicted };
            }
            BranchKind::Return | BranchKind::ConditionalReturn | BranchKind::Indirect => {
                PredictionOutcome::Mispredicted
            }
        };
        if self.target(retired.pc) == Some(retired.next) { PredictionOutcome::Correct } else { otherwise }
    }

    /// Updates counters, history and BTB with a branch that commits.
    pub fn learn(&mut self, retired: &Retired, prediction: Prediction) {
        let branch = retired.instruction.branch;
        if is_conditional(retired) && !self.counters.is_empty() {
            self.train(prediction.counter, retired.taken);
            self.history = self.history << 1 | u64::from(retired.taken);
        }
        let by_stack = matches!(branch, BranchKind::Return | BranchKind::ConditionalReturn) && !self.returns.is_empty();
        if retired.taken && branch != BranchKind::None && !by_stack && !self.targets.is_empty() {
            self.update_target(retired.pc, retired.next);
        }
    }

    /// The predicted direction of the conditional branch at `pc` after `history`, for cores that
    /// keep the history themselves; and the counter that predicted it, for
    /// [`train`](Self::train).
    #[inline]
    pub(super) fn direction(&self, pc: u64, history: u64) -> (bool, u32) {
        match self.config.direction {
            Direction::Taken | Direction::Perfect => (true, 0),
            Direction::NotTaken => (false, 0),
            Direction::Bimodal { .. } | Direction::Gshare { .. } => {
                let counter = self.counter_of(pc, history);
                (self.counters[counter as usize] >= TAKEN, counter)
            }
        }
    }

    /// Updates a counter with the direction of a branch.
    #[inline]
    pub(super) fn train(&mut self, counter: u32, taken: bool) {
        if let Some(counter) = self.counters.get_mut(counter as usize) {
            *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        }
    }

    /// Updates the BTB with the target of a taken branch.
    #[inline]
    pub(super) fn learn_target(&mut self, pc: u64, to: u64) {
        if !self.targets.is_empty() {
            self.update_target(pc, to);
        }
    }

    /// Index of the counter of the branch at `pc`.
    fn counter_of(&self, pc: u64, history: u64) -> u32 {
        let history = match self.config.direction {
            Direction::Gshare { history: length, .. } => history & ((1 << length) - 1),
            _ => 0,
        };
        ((pc >> self.config.address_shift ^ history) & (self.counters.len() as u64 - 1)) as u32
    }

    /// Index of the first way of the BTB set of `pc`.
    fn set_of(&self, pc: u64) -> usize {
        let set = (pc >> self.config.address_shift) as usize & self.config.target_sets.wrapping_sub(1);
        set * self.config.target_ways
    }

    /// The target of the branch at `pc` in the BTB.
    pub(super) fn target(&self, pc: u64) -> Option<u64> {
        if self.targets.is_empty() {
            return None;
        }
        let set = self.set_of(pc);
        let ways = &self.targets[set..set + self.config.target_ways];
        ways.iter().flatten().find(|target| target.pc == pc).map(|target| target.to)
    }

    /// Makes a target the newest of its set; a new one replaces the oldest.
    fn update_target(&mut self, pc: u64, to: u64) {
        let set = self.set_of(pc);
        let ways = &mut self.targets[set..set + self.config.target_ways];
        if ways[0] == Some(Target { pc, to }) {
            return;
        }
        let way = ways.iter().position(|way| way.is_none_or(|way| way.pc == pc)).unwrap_or(ways.len() - 1);
        ways[..=way].rotate_right(1);
        ways[0] = Some(Target { pc, to });
    }
}

fn is_conditional(retired: &Retired) -> bool {
    matches!(retired.instruction.branch, BranchKind::Conditional | BranchKind::ConditionalReturn)
}

/// Whether a call reads its target from a register.
fn reads_target(retired: &Retired) -> bool {
    retired.instruction.sources.iter().any(|&source| source != RegisterNumber::NONE)
}
