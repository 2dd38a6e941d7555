// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Branch prediction: what the fetch of a pipeline believes that comes after an instruction.
//!
//! A direction predictor says whether a conditional branch is taken, a branch target buffer (BTB) where a change of the flow
//! leads, and a return stack where a call's return does. Tables are read at fetch and written at commit; the return stack
//! moves at fetch. Since nothing but the right path is ever fetched, it is never out of step.
//! Source: Burger and Austin, *The `SimpleScalar` Tool Set, Version 2.0* (1997), section 4.3 (`-bpred`), and Yeh and Patt's
//! two-level scheme in Mc`Farling`'s gshare form (WRL TN-36, 1993).
//! Cost on the host: some nanoseconds per change of the flow, none for other instructions.

use mb_core::ParameterError;

use super::{Control, Register, Retired};

/// How the direction of a conditional branch is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Everything is known: directions and all targets; BTB and return stack are not asked.
    Perfect,
    /// Never taken.
    NotTaken,
    /// Always taken.
    Taken,
    /// A table of counters of two bits.
    Bimodal {
        /// Counters, a power of two.
        entries: usize,
    },
    /// A table of counters of two bits, at the exclusive or of address and history.
    Gshare {
        /// Counters, a power of two.
        entries: usize,
        /// Branches that the history remembers, at most 32.
        history: u32,
    },
}

/// A predictor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PredictorConfig {
    /// For conditional branches.
    pub direction: Direction,
    /// Sets of the BTB, a power of two, or 0 for none.
    pub target_sets: usize,
    /// Ways of the BTB.
    pub target_ways: usize,
    /// Return addresses that are remembered, the oldest of which is overwritten, or 0 for none.
    pub return_stack: usize,
    /// Low bits of an instruction's address that tell nothing: 2 where each has 4 bytes, 1 where some have 2.
    pub address_shift: u32,
}

impl PredictorConfig {
    /// Most entries of a table.
    pub const MAX_ENTRIES: usize = 1 << 24;

    /// Entries of the table of counters.
    const fn counters(&self) -> usize {
        match self.direction {
            Direction::Bimodal { entries } | Direction::Gshare { entries, .. } => entries,
            Direction::Perfect | Direction::NotTaken | Direction::Taken => 0,
        }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        if let Direction::Bimodal { entries } | Direction::Gshare { entries, .. } = self.direction
            && !entries.is_power_of_two()
        {
            return refuse(format!("predictor: {entries} counters are no power of two"));
        }
        if let Direction::Gshare { history, .. } = self.direction
            && history > 32
        {
            return refuse(format!("predictor: a history of {history} branches is longer than 32"));
        }
        if self.target_sets > 0 && (!self.target_sets.is_power_of_two() || self.target_ways == 0) {
            return refuse(format!(
                "predictor: a branch target buffer of {} sets of {} ways: sets are a power of two, ways at least 1",
                self.target_sets, self.target_ways
            ));
        }
        let targets = self.target_sets.saturating_mul(self.target_ways);
        if self.counters().max(targets).max(self.return_stack) > Self::MAX_ENTRIES {
            return refuse(format!("predictor: a table of more than {} entries", Self::MAX_ENTRIES));
        }
        if self.address_shift > 16 {
            return refuse(format!("predictor: instructions of 2^{} bytes", self.address_shift));
        }
        Ok(())
    }
}

/// Whether fetch goes on at the right place, and if not, who finds out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Fetch goes on at the right place.
    Right,
    /// Rightly believed to be taken, but where to is first known when the instruction is decoded.
    Misfetched,
    /// First known when the instruction is executed.
    Mispredicted,
}

/// A prediction; it goes back to the predictor when its instruction commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prediction {
    /// How good it was.
    pub verdict: Verdict,
    counter: u32,
}

impl Prediction {
    /// That of an instruction that does not change the flow.
    pub(super) const RIGHT: Self = Self { verdict: Verdict::Right, counter: 0 };
}

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
    /// Sets one after the other, each from the newest used to the oldest.
    targets: Vec<Option<Target>>,
    returns: Vec<u64>,
    top: usize,
}

/// Counters from here on say taken.
const TAKEN: u8 = 2;

impl Predictor {
    /// Knows no branch: counters say weakly not taken.
    ///
    /// # Errors
    /// A configuration that cannot be built.
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

    /// Predicts what follows an instruction that changes the flow, and compares.
    pub fn predict(&mut self, instruction: &Retired) -> Prediction {
        if self.config.direction == Direction::Perfect || instruction.shape.control == Control::None {
            return Prediction::RIGHT;
        }
        let mut counter = 0;
        let taken = match self.config.direction {
            _ if !is_conditional(instruction) => true,
            Direction::Taken | Direction::Perfect => true,
            Direction::NotTaken => false,
            Direction::Bimodal { .. } | Direction::Gshare { .. } => {
                counter = self.counter_of(instruction.pc);
                self.counters[counter as usize] >= TAKEN
            }
        };
        let target = self.target_verdict(instruction);
        let verdict = match (taken, instruction.taken) {
            (false, false) => Verdict::Right,
            (true, true) => target,
            _ => Verdict::Mispredicted,
        };
        Prediction { verdict, counter }
    }

    /// What becomes of the belief that this instruction is taken, if it is; moves the return stack.
    fn target_verdict(&mut self, instruction: &Retired) -> Verdict {
        if !instruction.taken {
            return Verdict::Right;
        }
        let otherwise = match instruction.shape.control {
            Control::None | Control::Branch | Control::Jump => Verdict::Misfetched,
            Control::Call => {
                if !self.returns.is_empty() {
                    self.top = (self.top + 1) % self.returns.len();
                    self.returns[self.top] = instruction.pc.wrapping_add(u64::from(instruction.shape.bytes));
                }
                if reads_target(instruction) { Verdict::Mispredicted } else { Verdict::Misfetched }
            }
            Control::Return | Control::ConditionalReturn if !self.returns.is_empty() => {
                let to = self.returns[self.top];
                self.top = (self.top + self.returns.len() - 1) % self.returns.len();
                return if to == instruction.next { Verdict::Right } else { Verdict::Mispredicted };
            }
            Control::Return | Control::ConditionalReturn | Control::Indirect => Verdict::Mispredicted,
        };
        if self.target(instruction.pc) == Some(instruction.next) { Verdict::Right } else { otherwise }
    }

    /// Learns from an instruction that commits.
    pub fn learn(&mut self, instruction: &Retired, prediction: Prediction) {
        let control = instruction.shape.control;
        if is_conditional(instruction) && !self.counters.is_empty() {
            let counter = &mut self.counters[prediction.counter as usize];
            *counter = if instruction.taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
            self.history = self.history << 1 | u64::from(instruction.taken);
        }
        let by_stack = matches!(control, Control::Return | Control::ConditionalReturn) && !self.returns.is_empty();
        if instruction.taken && control != Control::None && !by_stack && !self.targets.is_empty() {
            self.remember(instruction.pc, instruction.next);
        }
    }

    fn counter_of(&self, pc: u64) -> u32 {
        let history = match self.config.direction {
            Direction::Gshare { history, .. } => self.history & ((1 << history) - 1),
            _ => 0,
        };
        ((pc >> self.config.address_shift ^ history) & (self.counters.len() as u64 - 1)) as u32
    }

    fn set_of(&self, pc: u64) -> usize {
        let set = (pc >> self.config.address_shift) as usize & self.config.target_sets.wrapping_sub(1);
        set * self.config.target_ways
    }

    fn target(&self, pc: u64) -> Option<u64> {
        if self.targets.is_empty() {
            return None;
        }
        let set = self.set_of(pc);
        let ways = &self.targets[set..set + self.config.target_ways];
        ways.iter().flatten().find(|target| target.pc == pc).map(|target| target.to)
    }

    /// Makes a target the newest of its set, in place of the oldest if it is not there.
    fn remember(&mut self, pc: u64, to: u64) {
        let set = self.set_of(pc);
        let ways = &mut self.targets[set..set + self.config.target_ways];
        let place = ways.iter().position(|way| way.is_none_or(|way| way.pc == pc)).unwrap_or(ways.len() - 1);
        ways[..=place].rotate_right(1);
        ways[0] = Some(Target { pc, to });
    }
}

fn is_conditional(instruction: &Retired) -> bool {
    matches!(instruction.shape.control, Control::Branch | Control::ConditionalReturn)
}

/// Whether a call finds its target in a register.
fn reads_target(instruction: &Retired) -> bool {
    instruction.shape.sources.iter().any(|&source| source != Register::NONE)
}
