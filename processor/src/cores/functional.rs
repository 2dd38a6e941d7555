// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RV64 harts with supervisor mode and without timing: they boot a kernel and run its processes.
//!
//! Harts take turns of [`FunctionalParameters::quantum`] instructions; a turn ends early at an instruction
//! that waits (`pause`, `wfi`, `wrs`), at a device access and at a write that changes which
//! interrupts are taken. Time counts instructions of one hart: all harts of a round execute in the
//! same `quantum` units. Accesses are sequentially consistent.
//!
//! Instructions are decoded once for each physical page, for all harts; a fence.i of any hart drops
//! all of them. So a program that writes code and lacks a fence.i on one of its harts may work
//! here and fail on a chip. Translations are kept for each hart until it writes satp, SUM or MXR,
//! or executes sfence.vma, for all of its operands.
//!
//! `ecall` of supervisor mode goes to the [`SupervisorEnvironment`].

mod code;
mod execute;
mod hart;
mod translations;

use self::code::Code;
use self::hart::{Flow, Hart};
use self::translations::Translations;
use crate::isa::rv64::supervisor::TrapCause;
use crate::memory::Memory;
use crate::memory::system::{Device, NoDevice};

pub use self::hart::{ExecutedCounts, HartState, STRETCH};

/// A device whose accesses take no time, with an external interrupt for each hart.
pub trait SystemDevice: Device {
    /// Whether the external interrupt of a hart is pending.
    fn external(&self, hart: usize) -> bool;

    /// A hart writes satp: the physical address of its root page table, 0 without translation.
    fn page_table(&mut self, _hart: usize, _root: u64) {}

    /// Performs what accesses have caused. Called after each turn.
    fn settle(&mut self, _memory: &mut Memory) {}
}

impl SystemDevice for NoDevice {
    fn external(&self, _: usize) -> bool {
        false
    }
}

/// A call of supervisor mode to its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCall {
    /// The calling hart.
    pub hart: usize,
    /// a7.
    pub number: u64,
    /// a0 to a5.
    pub arguments: [u64; 6],
    /// The time of the call.
    pub time: u64,
}

/// The answer of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostAnswer {
    /// This value for a0.
    Value(u64),
    /// This value for a0; the run stops after the instruction with [`HartStop::Host`].
    Stop(u64),
    /// 0 for a0, and the software interrupt of this hart becomes pending; for a number without hart,
    /// -3 for a0 (ESRCH).
    Interrupt(u64),
    /// No answer yet: the hart stays at its call and repeats it.
    Wait,
    /// The simulation ends with this status.
    Exit(u64),
}

/// Memory as a host sees it: the performed values, by physical addresses.
pub trait HostMemory {
    /// The bytes at `address`, or `None` if one of them is not memory.
    fn get(&self, address: u64, length: usize) -> Option<&[u8]>;

    /// Writes bytes as an external agent. False: one of them is not memory, and nothing is written.
    fn set(&mut self, address: u64, bytes: &[u8]) -> bool;
}

impl HostMemory for Memory {
    fn get(&self, address: u64, length: usize) -> Option<&[u8]> {
        Self::get(self, address, length)
    }

    fn set(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.write(address, bytes).is_ok()
    }
}

/// Serves the calls of supervisor mode.
pub trait SupervisorEnvironment {
    /// Serves one call.
    fn call(&mut self, call: HostCall, memory: &mut dyn HostMemory) -> HostAnswer;
}

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HartStop {
    /// The time was reached.
    Until,
    /// The host asked for it at a call of this hart.
    Host(usize),
    /// The program ended with this status.
    Exited(u64),
    /// All harts wait for interrupts, and none can come.
    Idle,
    /// A hart takes traps without end: the first instruction of its handler cannot be fetched.
    TrapLoop {
        /// The hart.
        hart: usize,
        /// Address of the handler.
        handler: u64,
    },
}

/// Parameters of functional execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionalParameters {
    /// Instructions of a turn, 1 to 1,000,000.
    pub quantum: u32,
}

impl Default for FunctionalParameters {
    fn default() -> Self {
        Self { quantum: 64 }
    }
}

/// Harts without timing.
#[derive(Clone, Debug)]
pub struct Functional<D = NoDevice> {
    memory: Memory,
    device: D,
    code: Code,
    harts: Vec<Hart>,
    parameters: FunctionalParameters,
    time: u64,
    /// The hart whose turn is next, if a call stopped a round.
    next: usize,
}

impl<D: SystemDevice> Functional<D> {
    /// Harts in these states; `time` is what the time register shows first.
    #[must_use]
    pub fn new(memory: Memory, device: D, states: &[HartState], time: u64, parameters: FunctionalParameters) -> Self {
        let hart = |&state: &HartState| {
            let (counts, translations) = (ExecutedCounts::default(), Translations::new());
            Hart { state, counts, translations, busy: 0 }
        };
        Self {
            code: Code::new(&memory),
            harts: states.iter().map(hart).collect(),
            memory,
            device,
            parameters: FunctionalParameters { quantum: parameters.quantum.clamp(1, 1_000_000) },
            time,
            next: 0,
        }
    }

    /// The state of a hart.
    #[must_use]
    pub fn state(&self, hart: usize) -> &HartState {
        &self.harts[hart].state
    }

    /// The counts of a hart.
    #[must_use]
    pub fn counts(&self, hart: usize) -> ExecutedCounts {
        self.harts[hart].counts
    }

    /// The value of the time register.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Number of harts.
    #[must_use]
    pub fn harts(&self) -> usize {
        self.harts.len()
    }

    /// The memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The device.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// Memory, device, the states of all harts and the time, for another kind of execution.
    #[must_use]
    pub fn into_parts(self) -> (Memory, D, Vec<HartState>, u64) {
        let states = self.harts.iter().map(|hart| hart.state).collect();
        (self.memory, self.device, states, self.time)
    }

    /// Runs until the time is `until` or more, or something else stops the run. Another run goes on
    /// there.
    pub fn run<H: SupervisorEnvironment>(&mut self, host: &mut H, until: u64) -> HartStop {
        loop {
            if self.next == 0 {
                if self.time >= until {
                    return HartStop::Until;
                }
                if !self.skip_waiting(until) {
                    return HartStop::Idle;
                }
            }
            while self.next < self.harts.len() {
                let number = self.next;
                self.next += 1;
                let stop = self.turn(number, host);
                self.device.settle(&mut self.memory);
                if let Some(stop) = stop {
                    return stop;
                }
            }
            self.next = 0;
            self.time += u64::from(self.parameters.quantum);
        }
    }

    /// Advances the time to the next timer interrupt if all harts wait; false if none can come.
    fn skip_waiting(&mut self, until: u64) -> bool {
        let mut timer = u64::MAX;
        for (number, hart) in self.harts.iter_mut().enumerate() {
            hart.state.supervisor.set_external(self.device.external(number));
            if !hart.state.waits || hart.state.supervisor.wakes(self.time) {
                return true;
            }
            timer = timer.min(hart.state.supervisor.next_timer());
        }
        if timer == u64::MAX {
            return false;
        }
        self.time = self.time.max(timer.min(until));
        true
    }

    /// The turn of a hart.
    fn turn<H: SupervisorEnvironment>(&mut self, number: usize, host: &mut H) -> Option<HartStop> {
        let hart = &mut self.harts[number];
        let supervisor = &mut hart.state.supervisor;
        supervisor.set_external(self.device.external(number));
        if hart.state.waits {
            if !supervisor.wakes(self.time) {
                return None;
            }
            hart.state.waits = false;
        }
        if let Some(interrupt) = supervisor.interrupt(self.time) {
            hart.counts.interrupts += 1;
            hart.take(TrapCause::Interrupt(interrupt));
        }
        let quantum = u64::from(self.parameters.quantum);
        let mut executed = 0;
        while executed < quantum {
            match self.step(number, self.time + executed) {
                Flow::Next => executed += 1,
                Flow::End => break,
                Flow::Wait => {
                    self.harts[number].busy = 0;
                    return None;
                }
                Flow::TrapLoop(handler) => return Some(HartStop::TrapLoop { hart: number, handler }),
                Flow::Call => return self.call(number, self.time + executed, host),
            }
        }
        let hart = &mut self.harts[number];
        hart.busy += executed;
        if hart.busy >= STRETCH {
            hart.busy = 0;
            hart.counts.stretches += 1;
        }
        None
    }

    /// A call of supervisor mode. It ends the turn.
    fn call<H: SupervisorEnvironment>(&mut self, number: usize, time: u64, host: &mut H) -> Option<HartStop> {
        let registers = &self.harts[number].state.registers;
        let arguments = [10, 11, 12, 13, 14, 15].map(|index| registers[index]);
        let call = HostCall { hart: number, number: registers[17], arguments, time };
        let (value, stop) = match host.call(call, &mut self.memory) {
            HostAnswer::Value(value) => (value, None),
            HostAnswer::Stop(value) => (value, Some(HartStop::Host(number))),
            HostAnswer::Interrupt(target) => match usize::try_from(target).ok().and_then(|at| self.harts.get_mut(at)) {
                Some(target) => {
                    target.state.supervisor.raise_software();
                    (0, None)
                }
                None => (3_u64.wrapping_neg(), None),
            },
            HostAnswer::Wait => return None,
            HostAnswer::Exit(status) => return Some(HartStop::Exited(status)),
        };
        let hart = &mut self.harts[number];
        hart.state.registers[10] = value;
        hart.state.pc = hart.state.pc.wrapping_add(4);
        hart.state.retired += 1;
        hart.counts.supervisor += 1;
        stop
    }
}
