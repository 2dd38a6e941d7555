// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that are lists of executed instructions, and what a core made of them.

use mb_core::Cycles;
use mb_processor::hierarchy::{Access, CacheStatistics, Hierarchy, HierarchyConfig};
use mb_processor::out_of_order::{Observer, OutOfOrder, OutOfOrderConfig, Passage, Statistics, Stop};
use mb_processor::{Answer, Call, Class, Control, Fault, Hart, Host, Memory, Register, Retired, Shape, Step};

/// Where programs begin, and where their data does.
pub(crate) const TEXT: u64 = 0x1000;
pub(crate) const DATA: u64 = 0x10_0000;

/// A thread that has executed everything already. System calls ask the host; after the last instruction it exits.
pub(crate) struct Script {
    pub(crate) instructions: Vec<Retired>,
    pub(crate) at: usize,
}

impl Hart for Script {
    fn pc(&self) -> u64 {
        self.instructions.get(self.at).or(self.instructions.last()).map_or(TEXT, |retired| retired.pc)
    }

    fn jump(&mut self, _: u64) {}

    fn set_thread(&mut self, _: u32) {}

    fn set_argument(&mut self, _: usize, _: u64) {}

    fn set_stack(&mut self, _: u64) {}

    fn shape(&self, pc: u64) -> Option<Shape> {
        self.instructions.get(self.at).filter(|retired| retired.pc == pc).map(|retired| retired.shape)
    }

    fn is_system(&self) -> bool {
        self.instructions.get(self.at).is_none_or(|retired| retired.shape.class == Class::System)
    }

    fn step<H: Host>(&mut self, memory: &mut Memory, host: &mut H) -> Result<Step, Fault> {
        let Some(&retired) = self.instructions.get(self.at) else { return Ok(Step::Exited(0)) };
        if retired.shape.class == Class::System {
            let call = Call { thread: 0, service: mb_processor::Service::Own(0), arguments: [0; 4] };
            match host.call(call, memory) {
                Answer::Value(_) => {}
                Answer::Wait => return Ok(Step::Waiting),
                Answer::Exit(status) => return Ok(Step::Exited(status)),
            }
        }
        self.at += 1;
        Ok(Step::Retired(retired))
    }
}

/// Answers each call, and notes when it was asked.
#[derive(Default)]
pub(crate) struct Clock {
    pub(crate) cycle: u64,
    pub(crate) calls: Vec<u64>,
    pub(crate) waits: bool,
}

impl Host for Clock {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, _: Call, _: &mut Memory) -> Answer {
        self.calls.push(self.cycle);
        if self.waits { Answer::Wait } else { Answer::Value(0) }
    }
}

/// Builds scripts. Registers are those of the instruction set, sources before destination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) instructions: Vec<Retired>,
    pc: u64,
}

const NOBODY: Register = Register::NONE;

impl Program {
    pub(crate) fn new() -> Self {
        Self { instructions: Vec::new(), pc: TEXT }
    }

    fn push(&mut self, class: Class, sources: [Register; 3], destination: Register, address: u64, access: u8) {
        let shape = Shape {
            class,
            control: Control::None,
            sources,
            destinations: [destination, NOBODY, NOBODY],
            bytes: 4,
            access,
        };
        self.instructions.push(Retired { pc: self.pc, next: self.pc + 4, address, taken: false, shape });
        self.pc += 4;
    }

    /// One operation of a unit from a register to another.
    pub(crate) fn compute(&mut self, class: Class, from: u8, to: u8) {
        self.push(class, [Register(from), NOBODY, NOBODY], Register(to), 0, 0);
    }

    /// One operation of a unit on nothing.
    pub(crate) fn constant(&mut self, class: Class, to: u8) {
        self.push(class, [NOBODY; 3], Register(to), 0, 0);
    }

    /// Eight bytes from an address in a register.
    pub(crate) fn load(&mut self, base: u8, to: u8, address: u64) {
        self.load_part(base, to, address, 8);
    }

    pub(crate) fn load_part(&mut self, base: u8, to: u8, address: u64, bytes: u8) {
        self.push(Class::Load, [Register(base), NOBODY, NOBODY], Register(to), address, bytes);
    }

    pub(crate) fn store(&mut self, base: u8, data: u8, address: u64) {
        self.store_part(base, data, address, 8);
    }

    pub(crate) fn store_part(&mut self, base: u8, data: u8, address: u64, bytes: u8) {
        self.push(Class::Store, [Register(base), NOBODY, Register(data)], NOBODY, address, bytes);
    }

    pub(crate) fn atomic(&mut self, base: u8, data: u8, to: u8, address: u64) {
        self.push(Class::Atomic, [Register(base), NOBODY, Register(data)], Register(to), address, 8);
    }

    pub(crate) fn alone(&mut self, class: Class) {
        self.push(class, [NOBODY; 3], NOBODY, 0, 0);
    }

    /// A change of the flow that reads a register, or none; `to` is where it leads if it is taken.
    pub(crate) fn change(&mut self, control: Control, from: Option<u8>, to: u64, taken: bool) {
        self.push(Class::Integer, [from.map_or(NOBODY, Register), NOBODY, NOBODY], NOBODY, 0, 0);
        let last = self.instructions.last_mut().expect("it was just pushed");
        last.shape.control = control;
        if taken {
            last.next = to;
            self.pc = to;
        }
        last.taken = taken;
    }

    pub(crate) fn pc(&self) -> u64 {
        self.pc
    }

    pub(crate) fn jump(&mut self, pc: u64) {
        self.pc = pc;
    }
}

/// A core and its caches.
pub(crate) type Machine = (OutOfOrderConfig, HierarchyConfig);

/// A core, its caches, and what it has committed.
pub(crate) struct Bench {
    pub(crate) core: OutOfOrder,
    pub(crate) hierarchy: Hierarchy,
    pub(crate) host: Clock,
    pub(crate) passages: Vec<Passage>,
}

struct Log<'a>(&'a mut Vec<Passage>);

impl Observer for Log<'_> {
    fn committed(&mut self, passage: &Passage) {
        self.0.push(*passage);
    }
}

impl Bench {
    pub(crate) fn new((core, caches): &Machine) -> Self {
        Self {
            core: OutOfOrder::new(*core, 0).unwrap(),
            hierarchy: Hierarchy::new(caches).unwrap(),
            host: Clock::default(),
            passages: Vec::new(),
        }
    }

    /// Instruction cache warm; the data cache for these bytes from `DATA` on.
    pub(crate) fn warm(config: &Machine, data: u64) -> Self {
        let mut bench = Self::new(config);
        bench.hierarchy.touch(0, Access::Fetch, 0, 0x8000);
        if data > 0 {
            bench.hierarchy.touch(0, Access::Load, DATA, data);
        }
        bench
    }

    /// Runs to the end, `step` cycles at a time.
    pub(crate) fn run_by(&mut self, program: &Program, step: u64) {
        let mut hart = Script { instructions: program.instructions.clone(), at: 0 };
        let mut memory = Memory::new(0, 0);
        loop {
            let until = Cycles(self.core.now().0.saturating_add(step));
            let stop = self.core.run_observed(
                &mut hart,
                &mut memory,
                &mut self.host,
                &mut self.hierarchy,
                until,
                &mut Log(&mut self.passages),
            );
            match stop.unwrap() {
                Stop::Until => assert!(self.core.now().0 < 10_000_000, "the pipeline is stuck"),
                Stop::Exited(0) => return,
                stop => panic!("{stop:?}"),
            }
        }
    }

    /// Runs to the end; the cycle in which the last instruction committed.
    pub(crate) fn run(&mut self, program: &Program) -> u64 {
        self.run_by(program, 1 << 40);
        self.passages.last().unwrap().committed.0
    }

    pub(crate) fn statistics(&self) -> &Statistics {
        self.core.statistics()
    }

    pub(crate) fn data(&self) -> CacheStatistics {
        self.hierarchy.data_statistics(0)
    }
}
