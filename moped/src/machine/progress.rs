// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known of the progress of processes.

/// Where a process is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The program.
    pub program: u32,
    /// The rank.
    pub rank: u32,
    /// The hart.
    pub hart: usize,
    /// Address of the next instruction; in the kernel if it is not an address of user mode.
    pub pc: u64,
    /// Function and offset, if the program's file has symbols.
    pub symbol: Option<String>,
    /// The innermost call of MPI of which a return address is on the stack.
    pub call: Option<String>,
    /// Function and offset where the program made this call.
    pub caller: Option<String>,
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "program {} rank {} core {}: pc {:#x}", self.program, self.rank, self.hart, self.pc)?;
        if let Some(symbol) = &self.symbol {
            write!(f, " in {symbol}")?;
        }
        if let Some(call) = &self.call {
            write!(f, ", called from {call}")?;
        }
        if let Some(caller) = &self.caller {
            write!(f, " in {caller}")?;
        }
        Ok(())
    }
}

/// Values that change while there is progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    pub(super) calls: u64,
    pub(super) stretches: u64,
    pub(super) descriptors: u64,
    pub(super) shared: u64,
}

/// The last progress.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) sample: Sample,
    pub(super) still: u64,
}
