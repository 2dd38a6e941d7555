// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Properties of the processors that the paper does not give, and the values that a study can assume.

use mb_core::parameters::Choice;

use crate::error::MeasureError;
use crate::study::AssumptionSet;

/// An answer to everything that the paper leaves open; `studies/hemmert2007_figures/study.toml` says why it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumptions {
    /// Whether items stay in the first-level cache between headers.
    pub list: ListCache,
    /// Bytes in a line of the caches.
    pub line: LineBytes,
    /// Where the link of an item lies.
    pub link: LinkPosition,
    /// How branches are predicted.
    pub predictor: BranchPrediction,
    /// The kind of lock of an item.
    pub lock: Lock,
    /// The core of a new thread.
    pub placement: ThreadPlacement,
}

/// Whether items stay in the first-level cache between headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ListCache {
    /// They do.
    Warm,
    /// Each header finds every line of the list missing.
    Cold,
}

/// Bytes in a line of the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum LineBytes {
    /// 32 bytes.
    #[choice("32")]
    Short,
    /// 64 bytes.
    #[choice("64")]
    Long,
}

impl LineBytes {
    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Short => 32,
            Self::Long => 64,
        }
    }
}

/// Where the link of an item lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum LinkPosition {
    /// In the half that a failing visit reads anyway.
    First,
    /// In the last words.
    Last,
}

/// How branches are predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum BranchPrediction {
    /// By counters under the address.
    Bimodal,
    /// By counters under address and history.
    Gshare,
    /// As not taken.
    #[choice("not-taken")]
    NotTaken,
    /// Always right.
    Perfect,
}

/// The kind of lock of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Lock {
    /// A call that lock hardware serves in a cycle.
    Call,
    /// One instruction of a cycle.
    Instruction,
    /// One instruction, with ten cycles on top when the lock was last held on another core.
    Far,
    /// A word in the item that threads spin on.
    Spin,
    /// Such a word, with ten cycles to take its line from other cores and ten to get it back.
    #[choice("spin-coherent")]
    SpinCoherent,
}

/// The core of a new thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ThreadPlacement {
    /// The one with the most free contexts.
    Spread,
    /// The first that has a free context.
    Fill,
}

impl Assumptions {
    /// The answers of `set`.
    ///
    /// # Errors
    /// When an answer is unknown here.
    pub fn read(set: &AssumptionSet) -> Result<Self, MeasureError> {
        Ok(Self {
            list: answer(set, "list")?,
            line: answer(set, "line")?,
            link: answer(set, "link")?,
            predictor: answer(set, "predictor")?,
            lock: answer(set, "lock")?,
            placement: answer(set, "placement")?,
        })
    }
}

fn answer<C: Choice>(set: &AssumptionSet, name: &'static str) -> Result<C, MeasureError> {
    let value = set.value(name);
    C::ALL.iter().copied().find(|known| known.word() == value).ok_or_else(|| MeasureError::AssumptionValue {
        name,
        value: value.to_owned(),
        known: C::WORDS.join(", "),
    })
}
