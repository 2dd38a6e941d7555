// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What executes an instruction: the last column of the table.

use super::effect::AtomicKind as A;
use super::float::FloatOp as F;
use super::table::instructions;

macro_rules! kinds {
    ($($name:literal $bits:literal $class:ident $format:ident $($own:ident)? $(= $shared:ident $(($of:expr))?)?;)*) => {
        /// What executes an instruction. `a`, `b` and `imm` are fields of [`Operation`](super::Operation).
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Kind {
            /// An illegal instruction; `imm` is the word.
            Illegal,
            Atomic(A),
            /// Operations of F and D. `imm` is the word.
            Single(F),
            Double(F),
            /// Shifts `a` and adds `b`.
            ShiftAdd(u8),
            ShiftAddUnsignedWord(u8),
            /// Whether the wait is short.
            WaitOnReservation(bool),
            $($($own,)?)*
        }
    };
}

instructions!(kinds);
