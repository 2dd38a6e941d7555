// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The chip with time, and the state that moves between it and functional execution.

use crate::kernel::AnyHost;
use mb_core::ParameterError;
use mb_processor::Memory;
use mb_processor::chip::{Chip, ChipFault, ChipKanata, ChipObserver, ChipStop, Passage};
use mb_processor::functional::{HartState, SupervisorEnvironment};
use mb_processor::rv64::supervisor::Supervisor;
use mb_processor::system::MemorySystem;

use super::account::Account;
use super::memory::ChipMemory;
use super::messages::Messages;
use super::results::MachineCounts;
use super::timing::TimingParameters;
use crate::device::Moped;

/// Cycles after which the caches and devices of halted cores are idle, unless a device waits for the kernel.
const SETTLE: u64 = 200_000;
/// Cycles for which the cores run on if they must.
const RETRY: u64 = 20_000;

/// Cores, caches and devices, cycle by cycle.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    pub(super) chip: Chip,
    pub(super) memory: ChipMemory,
    accesses: Vec<u64>,
    /// The diagram of the pipelines, and the cycle at which it ends.
    pub(super) diagram: Option<(u64, Diagram)>,
}

/// A diagram of pipelines.
pub(super) type Diagram = ChipKanata<fn(&Passage) -> String>;

/// The account and a diagram together.
struct Traced<'a> {
    account: &'a mut Account,
    diagram: &'a mut Diagram,
}

impl ChipObserver for Traced<'_> {
    fn committed(&mut self, passage: &Passage, cycle: u64) {
        self.diagram.committed(passage, cycle);
    }

    fn squashed(&mut self, passage: &Passage) {
        self.diagram.squashed(passage);
    }

    fn retired(&mut self, hart: usize, pc: u64, cycle: u64) {
        self.account.retired(hart, pc, cycle);
    }

    fn address_space(&mut self, hart: usize, asid: u16) {
        self.account.address_space(hart, asid);
    }
}

/// The result of an attempt to halt the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Settled {
    /// Nothing is under way.
    Idle,
    /// A device waits for the kernel: the cores have run on for some time.
    Busy,
    /// The run has ended with this status.
    Exited(u64),
}

/// The state with which functional execution continues.
pub(super) struct Parts {
    pub(super) memory: Memory,
    pub(super) moped: Moped,
    pub(super) messages: Messages,
    pub(super) states: Vec<HartState>,
    pub(super) time: u64,
    pub(super) diagram: Option<(u64, Diagram)>,
}

impl Timed {
    /// Continues with time, with empty caches, TLBs and predictors.
    pub(super) fn new(
        parameters: &TimingParameters,
        parts: Parts,
        account: &mut Account,
    ) -> Result<Self, ParameterError> {
        let Parts { memory, moped, messages, states, time, diagram } = parts;
        let harts = states.len();
        let mut memory = ChipMemory::new(&parameters.memory, memory, moped)?;
        memory.continue_messages(messages);
        let chip = Chip::with_supervisor(&parameters.core, &parameters.translation, &states, time)?;
        for (hart, state) in states.iter().enumerate() {
            account.start(hart, time, state.supervisor.asid());
        }
        Ok(Self { chip, memory, accesses: vec![0; harts], diagram })
    }

    /// Runs every cycle before `until`, or to a call that stops the run.
    pub(super) fn run(
        &mut self,
        until: u64,
        host: &mut dyn SupervisorEnvironment,
        account: &mut Account,
    ) -> Result<ChipStop, ChipFault> {
        let host = &mut AnyHost(host);
        let result = match &mut self.diagram {
            Some((to, diagram)) if self.chip.now() < *to => {
                let mut both = Traced { account, diagram };
                self.chip.run_supervised(until.min(*to), &mut self.memory, host, &mut both)
            }
            _ => self.chip.run_supervised(until, &mut self.memory, host, account),
        };
        for (hart, known) in self.accesses.iter_mut().enumerate() {
            let found = self.memory.accesses(hart);
            if found != *known {
                *known = found;
                account.touches_device(hart);
            }
        }
        result
    }

    /// Counts at the start of this cycle.
    pub(super) fn snapshot(&self, account: &mut Account) -> MachineCounts {
        let cycle = self.chip.now();
        account.account_until(cycle, |hart| self.chip.pc(hart));
        let harts = self.accesses.len();
        let moped = self.memory.moped();
        let messages = self.memory.messages();
        MachineCounts {
            cycle,
            cores: (0..harts).map(|hart| *self.chip.statistics(hart)).collect(),
            instructions: (0..harts).map(|hart| account.instructions(hart)).collect(),
            memory: self.memory.statistics(),
            devices: (0..harts).map(|node| moped.counters(node)).collect(),
            processes: account.cycles(),
            unused: account.unused(),
            moved: (messages.moved(), messages.bytes()),
        }
    }

    /// The state of a hart after its last committed instruction.
    pub(super) fn state(&self, hart: usize) -> HartState {
        self.chip.state(hart).unwrap_or_else(|| {
            let mut registers = [0; 64];
            for (index, value) in registers.iter_mut().enumerate() {
                *value = self.chip.register(hart, index);
            }
            HartState {
                pc: self.chip.pc(hart),
                registers,
                float: self.chip.float_status(hart),
                supervisor: self.chip.supervisor(hart).map_or_else(Supervisor::new, |supervisor| *supervisor),
                retired: 0,
                waits: false,
            }
        })
    }

    /// Halts the cores and lets caches and devices end what is under way.
    pub(super) fn settle(
        &mut self,
        host: &mut dyn SupervisorEnvironment,
        account: &mut Account,
    ) -> Result<Settled, ChipFault> {
        let harts = self.accesses.len();
        let end = self.chip.now() + SETTLE;
        loop {
            for hart in 0..harts {
                if !self.chip.is_halted(hart) && self.chip.state(hart).is_some() {
                    self.chip.halt(hart);
                }
            }
            if (0..harts).all(|hart| self.chip.is_halted(hart)) {
                break;
            }
            let now = self.chip.now();
            if now >= end {
                return self.run_on(host, account);
            }
            if let ChipStop::Exited { status, .. } = self.run(now + 1, host, account)? {
                return Ok(Settled::Exited(status));
            }
        }
        let mut now = self.chip.now();
        while !self.memory.is_idle() && now < end {
            now = self.memory.next_event().unwrap_or(now).max(now + 1);
            self.memory.advance(now, &mut Vec::new());
        }
        self.chip.skip_to(now + 1);
        if self.memory.is_idle() { Ok(Settled::Idle) } else { self.run_on(host, account) }
    }

    fn run_on(&mut self, host: &mut dyn SupervisorEnvironment, account: &mut Account) -> Result<Settled, ChipFault> {
        for hart in 0..self.accesses.len() {
            self.chip.resume(hart);
        }
        let until = self.chip.now() + RETRY;
        while self.chip.now() < until {
            match self.run(until, host, account)? {
                ChipStop::Exited { status, .. } => return Ok(Settled::Exited(status)),
                ChipStop::Halted => break,
                ChipStop::Until | ChipStop::Host(_) | ChipStop::Transfer => {}
            }
        }
        Ok(Settled::Busy)
    }

    /// The state of a machine in which nothing is under way.
    pub(super) fn into_parts(self) -> Result<Parts, Box<Self>> {
        let Self { chip, memory, accesses, diagram } = self;
        let states: Option<Vec<_>> = (0..accesses.len()).map(|hart| chip.state(hart)).collect();
        let time = chip.now();
        match (states, memory.into_parts()) {
            (Some(states), Ok((memory, moped, messages))) => {
                Ok(Parts { memory, moped, messages, states, time, diagram })
            }
            (None, Ok(_)) => unreachable!("halted harts have a state"),
            (_, Err(memory)) => Err(Box::new(Self { chip, memory: *memory, accesses, diagram })),
        }
    }
}
