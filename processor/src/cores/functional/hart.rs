// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A functional hart: its state, its counts, and how it continues after an instruction.

use super::translations::Translations;
use crate::isa::rv64::FloatStatus;
use crate::isa::rv64::supervisor::{Supervisor, TrapCause, Written};

/// The architectural state of a hart, as it moves between functional and timed execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HartState {
    /// Address of the next instruction.
    pub pc: u64,
    /// x0 to x31, then f0 to f31.
    pub registers: [u64; 64],
    /// Accrued exceptions and rounding mode.
    pub float: FloatStatus,
    /// Privilege mode and supervisor registers.
    pub supervisor: Supervisor,
    /// Executed instructions, as instret shows them.
    pub retired: u64,
    /// In wfi, until an interrupt is pending.
    pub waits: bool,
}

impl HartState {
    /// The start of the machine at `entry` in supervisor mode, with its number in a0 and an address
    /// in a1.
    #[must_use]
    pub fn new(entry: u64, number: u64, handover: u64) -> Self {
        let mut registers = [0; 64];
        registers[10] = number;
        registers[11] = handover;
        Self {
            pc: entry,
            registers,
            float: FloatStatus::default(),
            supervisor: Supervisor::new(),
            retired: 0,
            waits: false,
        }
    }
}

/// The counts of a hart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExecutedCounts {
    /// Instructions executed in user mode.
    pub user: u64,
    /// Instructions executed in supervisor mode.
    pub supervisor: u64,
    /// Exceptions taken.
    pub exceptions: u64,
    /// Interrupts taken.
    pub interrupts: u64,
    /// How often [`STRETCH`] instructions were executed without a wait among them: a `pause`, `wfi`,
    /// `wrs` or device access.
    pub stretches: u64,
}

/// Instructions without a wait that tell a hart that computes from one that only waits.
pub const STRETCH: u64 = 65_536;

#[derive(Clone, Debug)]
pub(super) struct Hart {
    pub(super) state: HartState,
    pub(super) counts: ExecutedCounts,
    pub(super) translations: Translations,
    /// Instructions since the last wait.
    pub(super) busy: u64,
}

/// How a hart continues after a step.
pub(super) enum Flow {
    Next,
    /// The turn ends.
    End,
    /// The turn ends because the hart waits or may wait.
    Wait,
    /// At an ecall of supervisor mode.
    Call,
    /// A trap whose handler, at this address, cannot be fetched.
    TrapLoop(u64),
}

impl Hart {
    /// Takes a trap before the next instruction.
    pub(super) fn take(&mut self, cause: TrapCause) {
        self.state.pc = self.state.supervisor.trap(cause, self.state.pc);
        self.translations.leave_code();
    }

    pub(super) fn mode_changed(&mut self, written: Written) -> Flow {
        match written {
            Written::Nothing => Flow::Next,
            Written::Interrupts => Flow::End,
            Written::Translation => {
                self.translations.clear();
                Flow::End
            }
        }
    }
}
