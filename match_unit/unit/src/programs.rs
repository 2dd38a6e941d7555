// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match programs of `ucode/`, assembled.

use mb_asm::Program;

/// A program that comes with the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Builtin {
    /// 64 match bits under a mask, and the initiator or any.
    Mpi,
    /// The whole match function of hemmert2007 figure 1.
    PortalsHemmert2007,
    /// The same function in fewer words and cycles.
    PortalsLean,
    /// Match list entries of Portals 4.
    Portals4,
}

impl Builtin {
    /// Every program.
    pub const ALL: [Self; 4] = [Self::Mpi, Self::PortalsHemmert2007, Self::PortalsLean, Self::Portals4];

    /// Their names, in the order of [`Builtin::ALL`].
    pub const NAMES: &[&str] = &["mpi", "portals_hemmert2007", "portals_lean", "portals4"];

    /// Its name, which is that of its file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The program of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// Its text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Mpi => include_str!("../../ucode/mpi.mb"),
            Self::PortalsHemmert2007 => include_str!("../../ucode/portals_hemmert2007.mb"),
            Self::PortalsLean => include_str!("../../ucode/portals_lean.mb"),
            Self::Portals4 => include_str!("../../ucode/portals4.mb"),
        }
    }

    /// The program.
    ///
    /// # Panics
    /// When its file has an error, which a test excludes.
    #[must_use]
    pub fn assemble(self) -> Program {
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
