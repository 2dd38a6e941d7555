// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a run ended early: which hart, where, with which packet.

use std::fmt;

use mb_core::parameters::Choice;

use crate::contract::{Application, Phase};
use crate::controller::Misuse;
use crate::processor::HartError;

/// The cause that stopped a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunErrorCause {
    /// A hart cannot continue.
    Hart(HartError),
    /// A use of the controller that the contract excludes.
    Misuse(Misuse),
    /// SPINE found an error of a handler or of the configuration.
    Software {
        /// `NP_ERROR_*`.
        code: u32,
        /// What it means.
        text: String,
    },
    /// A hart has worked on one packet for more than this number of cycles.
    Loop(u64),
    /// Reception has not begun within this number of instructions of a hart.
    Setup(u64),
    /// Every hart waits, and the controller has nothing to do.
    Deadlock,
    /// The caller ended the run.
    Interrupted,
}

/// Where a run stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StopLocation {
    /// The cycle.
    pub cycle: u64,
    /// The hart; none if it is about all of them.
    pub hart: Option<u32>,
    /// The packet on which the hart worked.
    pub packet: Option<u64>,
    /// The application whose handler it called last.
    pub application: Option<Application>,
    /// Its phase.
    pub phase: Option<Phase>,
    /// Address of the instruction.
    pub pc: Option<u64>,
    /// The function of `pc` and the distance from its start.
    pub symbol: Option<(String, u64)>,
}

/// Why a run ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunError {
    /// Where.
    pub place: StopLocation,
    /// Why.
    pub cause: RunErrorCause,
}

impl fmt::Display for RunError {
    /// `hart 3, packet 17 (httpmon, handler), pc 0x1014 (np_handler+0x1c), cycle 9: what was found`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        if let Some(hart) = place.hart {
            write!(f, "hart {hart}, ")?;
        }
        if let Some(packet) = place.packet {
            let application = place.application.map_or("no handler", Choice::word);
            write!(f, "packet {packet} ({application}, {}), ", place.phase.map_or("unknown phase", Choice::word))?;
        }
        if let Some(pc) = place.pc {
            write!(f, "pc {pc:#x}")?;
            match &place.symbol {
                Some((name, offset)) => write!(f, " ({name}+{offset:#x}), ")?,
                None => f.write_str(" (no function), ")?,
            }
        }
        write!(f, "cycle {}: {}", place.cycle, self.cause)
    }
}

impl std::error::Error for RunError {}

impl fmt::Display for RunErrorCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hart(HartError::Fault(fault)) => {
                let text = fault.to_string();
                // The place is named before the cause.
                f.write_str(text.split_once(": ").map_or(&text, |(_, rest)| rest))
            }
            Self::Hart(HartError::DeviceLoad { address, .. }) => {
                write!(f, "load from register {address:#x} of the controller; expected stores only")
            }
            Self::Hart(HartError::Exit { status, .. }) => {
                write!(f, "the program ends with status {status}; expected a program that never ends")
            }
            Self::Hart(HartError::ForeignStore { address, width, target, .. }) => write!(
                f,
                "the handler stores {width} bytes at {address:#x}, {target}; expected its own data, its stack, \
                 np_hart_state, memory of np_allocate, the state of a flow that it holds, or frame and record of its \
                 packet"
            ),
            Self::Hart(HartError::Call { number, .. }) => {
                write!(f, "system call {number}; expected 64 (write) or 93 (exit)")
            }
            Self::Misuse(misuse) => write!(f, "{misuse}"),
            Self::Software { text, .. } => f.write_str(text),
            Self::Loop(cycles) => write!(
                f,
                "more than {cycles} cycles for one packet; expected an end; correct the loop, or raise handler_limit"
            ),
            Self::Setup(cycles) => write!(
                f,
                "more than {cycles} instructions of hart 0 before the first packet; expected a store to NP_REG_READY; correct \
                 np_handler_init, or raise setup_limit"
            ),
            Self::Deadlock => f.write_str(
                "every hart waits and no packet can arrive; expected a hart that works; look for a lock that is never \
                 released",
            ),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
