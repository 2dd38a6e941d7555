// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The receive engine stepped from cycle to cycle: every slot of the CAMs, every element of the
//! lists with its link, the two machines that search, the data movers, the data memory and the completion unit.
//!
//! ```text
//!  command --> [fifo] --> command machine --searches--> unexpected messages: CAM <- mover <- lists
//!  <- mover <- host memory
//!                                 |      \_miss: inserts_
//!                                 v                      \
//!                          completion unit                X        the miss of each goes into the queue of the other
//!                                 ^       _miss: inserts_/
//!                                 |      /
//!  network --> [fifo] --> network machine --searches--> posted receives:     CAM <- mover <- lists
//!  <- mover <- host memory
//! ```
//! With all [`Corrections`] this is [`crate::CamList`], which calculates the same cycles without
//! stepping. With one left out the design does there what the paper says, and MPI's order breaks;
//! without any it is the preset `paper_literal`. Cost: each cycle is stepped, each entry compared;
//! for tests and studies.

mod machine;
mod queue;

pub use machine::{Done, SteppedHardware};

/// A place where the design as published does not keep MPI's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hazard {
    /// Of several matches in the CAM the one in the lowest slot wins, and new entries go to the first empty slot.
    CamSlots,
    /// A new entry goes into the CAM whenever it has an empty slot, past older entries in the lists.
    CamBeforeLists,
    /// Of several lists the one that finds a match first wins.
    ParallelLists,
    /// The data mover takes the first entry of one list after the other, not the oldest.
    Refill,
    /// A request that searches the unexpected messages and a message that searches the posted
    /// receives at the same time pass each other.
    Race,
}

impl Hazard {
    /// Every hazard.
    pub const ALL: [Self; 5] = [Self::CamSlots, Self::CamBeforeLists, Self::ParallelLists, Self::Refill, Self::Race];

    /// The correction.
    #[must_use]
    pub const fn correction(self) -> &'static str {
        match self {
            Self::CamSlots => "an age matrix beside the CAM",
            Self::CamBeforeLists => "insertions go to the lists while one is not empty, and wait for the mover",
            Self::ParallelLists => "an age in each element, the next one's beside its link; the oldest match wins",
            Self::Refill => "the mover takes the head with the smallest age",
            Self::Race => "results take effect in order of acceptance; a comparator watches insertions",
        }
    }
}

/// Which hazards are corrected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Corrections([bool; Hazard::ALL.len()]);

impl Corrections {
    /// All: MPI's order is kept.
    pub const ALL: Self = Self([true; Hazard::ALL.len()]);
    /// None: the design as published.
    pub const NONE: Self = Self([false; Hazard::ALL.len()]);

    /// These corrections but that of `hazard`.
    #[must_use]
    pub const fn without(mut self, hazard: Hazard) -> Self {
        self.0[hazard as usize] = false;
        self
    }

    /// These corrections and that of `hazard`.
    #[must_use]
    pub const fn with(mut self, hazard: Hazard) -> Self {
        self.0[hazard as usize] = true;
        self
    }

    /// Whether `hazard` is corrected.
    #[must_use]
    pub const fn has(self, hazard: Hazard) -> bool {
        self.0[hazard as usize]
    }
}
