// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Validity rules of a single word.

use super::{Alu, Chain, Condition, Predicate, Register, Sections, Slot, Ternary, Word};
use crate::layout::{ComputeOp, Rule};

/// A violation of a word rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WordFault {
    /// A write to register 0.
    #[error("found a write of the constant {register}; expected another register")]
    ConstantWritten {
        /// The writing slot.
        slot: Slot,
        /// a0, t0 or p0.
        register: Register,
    },
    /// Two writes to one register.
    #[error("found {register} as destination of {} in one word; expected one writer", writers(*first, *second))]
    TwoWriters {
        /// The slot that comes first in [`Slot::ALL`].
        first: Slot,
        /// The other one.
        second: Slot,
        /// The register.
        register: Register,
    },
    /// The predicate unit writes a comparator's predicate.
    #[error("found {0}; expected p1 to p7, which the predicate unit writes")]
    PredicateReach(Predicate),
    /// A comparison result is taken from inside a group.
    #[error("found section {section}, which is not the highest of its group in {chain}; expected the highest")]
    InnerSection {
        /// The comparing slot.
        slot: Slot,
        /// The section.
        section: usize,
        /// The grouping.
        chain: Chain,
    },
    /// A comparison or copy that writes nothing.
    #[error("found the {0} slot without a destination; expected one")]
    NoTarget(Slot),
    /// A pop without the tag.
    #[error("found a pop of the input FIFO without `wait`; add `wait` to this word")]
    PopWithoutWait,
    /// A test of the head's tag without the tag.
    #[error("found a test of the head of the input FIFO without `wait`; add `wait` to this word")]
    HeadTestWithoutWait,
    /// A branch on p0 being zero.
    #[error("found `if !p0`, which never holds; expected another predicate")]
    ConstantTested,
    /// Sections named in an operation that has none.
    #[error("found sections of `{}`, which works on single bits; expected none", .0.text())]
    ChainInLogic(ComputeOp),
    /// Logic unit 1 without logic unit 0.
    #[error("found logic unit 1 in use and logic unit 0 idle; expected unit 0 in use")]
    SecondUnitAlone,
}

fn writers(first: Slot, second: Slot) -> String {
    if first == second {
        format!("both halves of the {first} slot")
    } else {
        format!("the {first} and the {second} slot")
    }
}

impl WordFault {
    /// The violated rule.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        match self {
            Self::ConstantWritten { .. } => Rule::ConstantRegister,
            Self::TwoWriters { .. } => Rule::TwoWriters,
            Self::PredicateReach(_) => Rule::PredicateReach,
            Self::InnerSection { .. } => Rule::InnerSection,
            Self::PopWithoutWait | Self::HeadTestWithoutWait => Rule::MissingWait,
            Self::NoTarget(_) | Self::ConstantTested | Self::ChainInLogic(_) | Self::SecondUnitAlone => Rule::Slot,
        }
    }

    /// The violating slot; of two writers the second one.
    #[must_use]
    pub const fn slot(&self) -> Slot {
        match *self {
            Self::ConstantWritten { slot, .. } | Self::InnerSection { slot, .. } | Self::NoTarget(slot) => slot,
            Self::TwoWriters { second, .. } => second,
            Self::PredicateReach(_) | Self::SecondUnitAlone => Slot::Predicate,
            Self::PopWithoutWait => Slot::Input,
            Self::HeadTestWithoutWait | Self::ConstantTested => Slot::Branch,
            Self::ChainInLogic(_) => Slot::Alu,
        }
    }
}

impl Word {
    /// Every violation of a word rule, in the order of the slots.
    #[must_use]
    pub fn faults(&self) -> Vec<WordFault> {
        let mut faults = Vec::new();
        let writes = self.writes();
        for (place, &(slot, register)) in writes.iter().enumerate() {
            let constant = match register {
                Register::Alu(reg) => reg.is_constant(),
                Register::Ternary(reg) => reg.is_constant(),
                Register::Predicate(reg) => reg.is_constant(),
            };
            if constant {
                faults.push(WordFault::ConstantWritten { slot, register });
            } else if let Some(&(first, _)) = writes[..place].iter().find(|write| write.1 == register) {
                faults.push(WordFault::TwoWriters { first, second: slot, register });
            }
        }
        if self.input.pop.is_some() && !self.input.needs_input {
            faults.push(WordFault::PopWithoutWait);
        }
        match self.alu {
            Some(Alu::Compute { op, chain, .. }) if op.is_logic() && chain != Chain::SPLIT => {
                faults.push(WordFault::ChainInLogic(op));
            }
            Some(Alu::Compare { chain, enable, .. }) => comparison_faults(&mut faults, Slot::Alu, chain, enable),
            _ => {}
        }
        if let Some(Ternary { chain, enable, .. }) = self.ternary {
            comparison_faults(&mut faults, Slot::Ternary, chain, enable);
        }
        if matches!(self.predicate, [None, Some(_)]) {
            faults.push(WordFault::SecondUnitAlone);
        }
        for merge in self.predicate.into_iter().flatten() {
            if !merge.rd.is_free() && !merge.rd.is_constant() {
                faults.push(WordFault::PredicateReach(merge.rd));
            }
        }
        if self.branch.is_some_and(|branch| branch.condition == Condition::NoItem) && !self.input.needs_input {
            faults.push(WordFault::HeadTestWithoutWait);
        }
        if self.branch.is_some_and(|branch| branch.condition == Condition::Unless(Predicate::TRUE)) {
            faults.push(WordFault::ConstantTested);
        }
        if self.copy.is_some_and(|copy| copy.ternary.is_none() && copy.output.is_none()) {
            faults.push(WordFault::NoTarget(Slot::Copy));
        }
        faults
    }
}

fn comparison_faults(faults: &mut Vec<WordFault>, slot: Slot, chain: Chain, enable: Sections) {
    if enable == Sections::default() {
        faults.push(WordFault::NoTarget(slot));
    }
    let inner = enable.iter().filter(|&section| !chain.ends_at(section));
    faults.extend(inner.map(|section| WordFault::InnerSection { slot, section, chain }));
}
