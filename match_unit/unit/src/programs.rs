// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match programs of `ucode/`, assembled.

use mb_asm::MatchProgram;

/// A built-in match program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BuiltinProgram {
    /// MPI: 64 match bits with ignore bits, and one initiator or any.
    Mpi,
    /// The complete match function of hemmert2007 figure 1.
    PortalsHemmert2007,
    /// The same function with fewer words and cycles.
    PortalsLean,
    /// Match list entries of Portals 4.
    Portals4,
}

impl BuiltinProgram {
    /// Every built-in program.
    pub const ALL: [Self; 4] = [Self::Mpi, Self::PortalsHemmert2007, Self::PortalsLean, Self::Portals4];

    /// The names, in the order of [`BuiltinProgram::ALL`].
    pub const NAMES: &[&str] = &["mpi", "portals_hemmert2007", "portals_lean", "portals4"];

    /// The name, which is also the file name without `.mb`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The program with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// The source text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Mpi => include_str!("../../ucode/mpi.mb"),
            Self::PortalsHemmert2007 => include_str!("../../ucode/portals_hemmert2007.mb"),
            Self::PortalsLean => include_str!("../../ucode/portals_lean.mb"),
            Self::Portals4 => include_str!("../../ucode/portals4.mb"),
        }
    }

    /// The assembled program.
    ///
    /// # Panics
    /// When the source does not assemble; tests cover every program.
    #[must_use]
    pub fn assemble(self) -> MatchProgram {
        let file = format!("{}.mb", self.name());
        match mb_asm::assemble(&file, self.text()) {
            Ok(program) => program,
            Err(diagnostics) => {
                let messages: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
                panic!("{}", messages.join("\n"))
            }
        }
    }
}
