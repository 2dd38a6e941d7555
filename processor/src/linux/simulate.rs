// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program on a core model, from its start to its end.

use mb_core::{Cycles, ParameterError};

use super::any::AnyLinux;
use super::core_model::{CoreConfig, CoreModel};
use super::files::Files;
use super::{Linux, Process};
use crate::barrel::{self, Barrel, BarrelKanata, Stacks};
use crate::chip::{self, Chip, ChipKanata, hart_and_pc};
use crate::hierarchy::Hierarchy;
use crate::out_of_order::{self, OutOfOrder, PipelineKanata, pc_and_class};
use crate::shared_l2::SharedL2;
use crate::system::NoDevice;
use crate::{Fault, Hart, Memory, Program, Rv64, Step, SyscallHandler};

/// Why a program cannot continue: an instruction or a system call, with its address and symbol.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct GuestFailure(String);

enum Cores<F> {
    Functional { process: Box<Process<F>>, instructions: u64 },
    OutOfOrder { core: Box<OutOfOrder>, hierarchy: Box<Hierarchy>, process: Box<Process<F>> },
    Barrel { core: Box<Barrel<Rv64>>, linux: Box<Linux<F>> },
    Chip { chip: Box<Chip>, memory: Box<SharedL2<NoDevice>>, linux: Box<Linux<F>> },
}

/// A program on a core model.
pub struct Simulation<F> {
    program: Program,
    cores: Cores<F>,
}

impl<F: Files> Simulation<F> {
    /// A program at its start, in cycle 0.
    ///
    /// # Errors
    /// An invalid configuration.
    pub fn new(model: &CoreModel, program: Program, process: Process<F>) -> Result<Self, ParameterError> {
        let cores = match &model.config() {
            CoreConfig::Functional => Cores::Functional { process: Box::new(process), instructions: 0 },
            CoreConfig::OutOfOrder(parts) => Cores::OutOfOrder {
                core: Box::new(OutOfOrder::new(parts.core, 0)?),
                hierarchy: Box::new(Hierarchy::new(&parts.caches)?),
                process: Box::new(process),
            },
            CoreConfig::Barrel(config) => {
                let Process { hart, memory, linux } = process;
                // The core leaves 16 bytes above the stack pointer of a thread.
                let stacks = Stacks { top: hart.register(2) + 16, bytes: 16 };
                let mut core = Barrel::new(config, hart, memory, stacks)?;
                core.spawn(program.entry(), &[], Cycles::ZERO);
                Cores::Barrel { core: Box::new(core), linux: Box::new(linux) }
            }
            CoreConfig::Chip(parts) => {
                let Process { hart, memory, linux } = process;
                let mut chip = Chip::new(&parts.core, program.entry())?;
                for register in 0..32 {
                    chip.set_register(0, register, hart.register(register));
                }
                for other in 1..parts.core.harts() {
                    chip.halt(other);
                }
                let memory = SharedL2::new(&parts.caches, memory, NoDevice)?;
                Cores::Chip { chip: Box::new(chip), memory: Box::new(memory), linux: Box::new(linux) }
            }
        };
        Ok(Self { program, cores })
    }

    /// The next cycle; for functional execution, the number of instructions.
    #[must_use]
    pub fn now(&self) -> u64 {
        match &self.cores {
            Cores::Functional { instructions, .. } => *instructions,
            Cores::OutOfOrder { core, .. } => core.now().0,
            Cores::Barrel { core, .. } => core.now().0,
            Cores::Chip { chip, .. } => chip.now(),
        }
    }

    /// The handler of system calls.
    #[must_use]
    pub fn linux(&self) -> &Linux<F> {
        match &self.cores {
            Cores::Functional { process, .. } | Cores::OutOfOrder { process, .. } => &process.linux,
            Cores::Barrel { linux, .. } | Cores::Chip { linux, .. } => linux,
        }
    }

    /// Runs up to a cycle; returns the status if the program has ended.
    ///
    /// # Errors
    /// The program cannot continue.
    pub fn run(&mut self, until: u64) -> Result<Option<u64>, GuestFailure> {
        let result = self.cores.running().run(until);
        self.judge(result)
    }

    /// As [`run`](Self::run); also returns the instructions as a diagram in the Kanata format, of
    /// which functional execution has none. A program that cannot continue has one, too.
    pub fn record(&mut self, until: u64) -> (Result<Option<u64>, GuestFailure>, String) {
        let (result, diagram) = self.cores.running().record(until);
        (self.judge(result), diagram)
    }

    /// Names the instruction or the call that ended the program.
    fn judge(&self, result: Result<Option<u64>, Fault>) -> Result<Option<u64>, GuestFailure> {
        match (result, self.linux().refused()) {
            (Ok(Some(_)), Some(refused)) => {
                Err(GuestFailure(format!("pc {:#x}{}: {refused}", refused.pc, self.symbol(refused.pc))))
            }
            (Ok(status), _) => Ok(status),
            (Err(fault), _) => {
                let (Fault::Illegal { pc, .. } | Fault::Access { pc, .. } | Fault::Code { pc, .. }) = fault;
                let text = fault.to_string();
                let place = format!("pc {pc:#x}");
                Err(GuestFailure(text.replacen(&place, &format!("{place}{}", self.symbol(pc)), 1)))
            }
        }
    }

    /// The symbol of an address, in parentheses after a space, or nothing.
    fn symbol(&self, pc: u64) -> String {
        let inside = self
            .program
            .symbols()
            .filter(|(_, symbol)| pc.checked_sub(symbol.address).is_some_and(|offset| offset < symbol.bytes));
        inside.min_by_key(|(_, symbol)| symbol.bytes).map_or(String::new(), |(name, symbol)| {
            match pc - symbol.address {
                0 => format!(" ({name})"),
                offset => format!(" ({name}+{offset:#x})"),
            }
        })
    }

    /// Event counts, by name.
    #[must_use]
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        match &self.cores {
            Cores::Functional { instructions, .. } => vec![("instructions", *instructions)],
            Cores::OutOfOrder { core, hierarchy, .. } => {
                let found = core.statistics();
                let (fetch, data) = (hierarchy.instruction_statistics(0), hierarchy.data_statistics(0));
                vec![
                    ("instructions", found.instructions),
                    ("cycles", core.now().0),
                    ("loads", found.loads),
                    ("stores", found.stores),
                    ("branches", found.branches),
                    ("mispredicted", found.mispredicted),
                    ("instruction_misses", fetch.misses),
                    ("data_misses", data.misses),
                ]
            }
            Cores::Barrel { core, .. } => vec![
                ("instructions", core.statistics(0).instructions),
                ("cycles", core.statistics(0).cycles),
                ("instruction_misses", core.instruction_misses(0)),
                ("data_misses", core.data_misses(0)),
            ],
            Cores::Chip { chip, memory, .. } => {
                let (found, caches) = (chip.statistics(0), memory.statistics());
                vec![
                    ("instructions", found.committed),
                    ("cycles", chip.now()),
                    ("squashed", found.squashed),
                    ("branches", found.branches),
                    ("mispredicted", found.mispredicted),
                    ("instruction_misses", caches.instruction[0].misses),
                    ("data_misses", caches.data[0].misses),
                    ("l2_misses", caches.l2.misses),
                ]
            }
        }
    }
}

impl<F: Files> Cores<F> {
    fn running(&mut self) -> Running<'_> {
        match self {
            Self::Functional { process, instructions } => {
                let Process { hart, memory, linux } = &mut **process;
                Running::Functional { hart, memory, linux: AnyLinux::new(linux), instructions }
            }
            Self::OutOfOrder { core, hierarchy, process } => {
                let Process { hart, memory, linux } = &mut **process;
                Running::OutOfOrder { core, hierarchy, hart, memory, linux: AnyLinux::new(linux) }
            }
            Self::Barrel { core, linux } => Running::Barrel { core, linux: AnyLinux::new(&mut **linux) },
            Self::Chip { chip, memory, linux } => Running::Chip { chip, memory, linux: AnyLinux::new(&mut **linux) },
        }
    }
}

/// The cores, whatever the type of the files.
enum Running<'a> {
    Functional {
        hart: &'a mut Rv64,
        memory: &'a mut Memory,
        linux: AnyLinux<'a>,
        instructions: &'a mut u64,
    },
    OutOfOrder {
        core: &'a mut OutOfOrder,
        hierarchy: &'a mut Hierarchy,
        hart: &'a mut Rv64,
        memory: &'a mut Memory,
        linux: AnyLinux<'a>,
    },
    Barrel {
        core: &'a mut Barrel<Rv64>,
        linux: AnyLinux<'a>,
    },
    Chip {
        chip: &'a mut Chip,
        memory: &'a mut SharedL2<NoDevice>,
        linux: AnyLinux<'a>,
    },
}

impl Running<'_> {
    fn run(self, until: u64) -> Result<Option<u64>, Fault> {
        match self {
            Self::Functional { hart, memory, mut linux, instructions } => {
                functional(hart, memory, &mut linux, instructions, until)
            }
            Self::OutOfOrder { core, hierarchy, hart, memory, mut linux } => {
                ended(core.run(hart, memory, &mut linux, hierarchy, Cycles(until)))
            }
            Self::Barrel { core, mut linux } => barrel_ended(core.run_until(Cycles(until), &mut linux)),
            Self::Chip { chip, memory, mut linux } => loop {
                if let Some(result) = chip_ended(chip.run_until(until, memory, &mut linux)) {
                    break result;
                }
            },
        }
    }

    /// Also returns the diagram.
    fn record(self, until: u64) -> (Result<Option<u64>, Fault>, String) {
        let mut diagram = String::new();
        // A string accepts everything that is written to it.
        let result = match self {
            Self::Functional { .. } => self.run(until),
            Self::OutOfOrder { core, hierarchy, hart, memory, mut linux } => {
                let mut observer = PipelineKanata::new(String::new(), pc_and_class);
                let result = core.run_observed(hart, memory, &mut linux, hierarchy, Cycles(until), &mut observer);
                diagram = observer.finish().unwrap_or_default();
                ended(result)
            }
            Self::Barrel { core, mut linux } => {
                let mut observer = BarrelKanata::new(&mut linux, String::new(), pc_and_class);
                let result = core.run_observed(Cycles(until), &mut observer);
                diagram = observer.finish().map(|finished| finished.1).unwrap_or_default();
                barrel_ended(result)
            }
            Self::Chip { chip, memory, mut linux } => {
                let mut observer = ChipKanata::new(chip.now()..until, hart_and_pc);
                let result = loop {
                    let result = chip.run_observed(until, memory, &mut linux, &mut observer);
                    if let Some(result) = chip_ended(result) {
                        break result;
                    }
                };
                let _ = observer.finish(&mut diagram);
                result
            }
        };
        (result, diagram)
    }
}

fn functional(
    hart: &mut Rv64,
    memory: &mut Memory,
    linux: &mut AnyLinux<'_>,
    instructions: &mut u64,
    until: u64,
) -> Result<Option<u64>, Fault> {
    while *instructions < until {
        linux.set_cycle(*instructions);
        match hart.step(memory, linux)? {
            Step::Retired(_) => *instructions += 1,
            Step::Exited(status) => return Ok(Some(status)),
            // The handler always has a result.
            Step::Waiting => {}
        }
    }
    Ok(None)
}

fn ended(result: Result<out_of_order::OutOfOrderStop, Fault>) -> Result<Option<u64>, Fault> {
    Ok(match result? {
        out_of_order::OutOfOrderStop::Exited(status) => Some(status),
        out_of_order::OutOfOrderStop::Until | out_of_order::OutOfOrderStop::Waiting => None,
    })
}

fn barrel_ended(result: Result<barrel::BarrelStop, barrel::Trap>) -> Result<Option<u64>, Fault> {
    match result {
        Ok(barrel::BarrelStop::Exited(status)) => Ok(Some(status)),
        Ok(_) => Ok(None),
        Err(trap) => Err(trap.fault),
    }
}

/// `None` to continue: harts that were idle from the start are not the program's end.
fn chip_ended(result: Result<chip::ChipStop, chip::ChipFault>) -> Option<Result<Option<u64>, Fault>> {
    match result {
        Ok(chip::ChipStop::Exited { status, .. }) => Some(Ok(Some(status))),
        Ok(chip::ChipStop::Until | chip::ChipStop::Halted) => Some(Ok(None)),
        Ok(chip::ChipStop::Transfer | chip::ChipStop::Host(_)) => None,
        Err(fault) => Some(Err(fault.fault)),
    }
}
