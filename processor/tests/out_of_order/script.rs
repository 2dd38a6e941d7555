// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that are lists of executed instructions, and a core that runs them.

use mb_core::Cycles;
use mb_processor::hierarchy::{AccessKind, CacheStatistics, Hierarchy, HierarchyConfig};
use mb_processor::out_of_order::{
    CommitObserver, InstructionTiming, OutOfOrder, OutOfOrderConfig, OutOfOrderStatistics, OutOfOrderStop,
};
use mb_processor::{
    BranchKind, Fault, Hart, InstructionClass, Memory, RegisterNumber, Retired, StaticInstruction, Step, Syscall,
    SyscallHandler, SyscallResult,
};

/// Start addresses of programs and of their data.
pub(crate) const TEXT: u64 = 0x1000;
pub(crate) const DATA: u64 = 0x10_0000;

/// A thread that replays a list of executed instructions. It makes a system call for each
/// instruction of class System, and exits after the last one.
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

    fn instruction_at(&self, pc: u64) -> Option<StaticInstruction> {
        self.instructions.get(self.at).filter(|retired| retired.pc == pc).map(|retired| retired.instruction)
    }

    fn is_system(&self) -> bool {
        self.instructions.get(self.at).is_none_or(|retired| retired.instruction.class == InstructionClass::System)
    }

    fn step<H: SyscallHandler>(&mut self, memory: &mut Memory, host: &mut H) -> Result<Step, Fault> {
        let Some(&retired) = self.instructions.get(self.at) else { return Ok(Step::Exited(0)) };
        if retired.instruction.class == InstructionClass::System {
            let call =
                Syscall { thread: 0, pc: retired.pc, service: mb_processor::Service::Custom(0), arguments: [0; 6] };
            match host.call(call, memory) {
                SyscallResult::Value(_) => {}
                SyscallResult::Wait => return Ok(Step::Waiting),
                SyscallResult::Exit(status) => return Ok(Step::Exited(status)),
            }
        }
        self.at += 1;
        Ok(Step::Retired(retired))
    }
}

/// A handler that records the cycle of each call.
#[derive(Default)]
pub(crate) struct Clock {
    pub(crate) cycle: u64,
    pub(crate) calls: Vec<u64>,
    pub(crate) waits: bool,
}

impl SyscallHandler for Clock {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, _: Syscall, _: &mut Memory) -> SyscallResult {
        self.calls.push(self.cycle);
        if self.waits { SyscallResult::Wait } else { SyscallResult::Value(0) }
    }
}

/// Builds scripts. In the arguments, source registers come before destinations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) instructions: Vec<Retired>,
    pc: u64,
}

const NONE: RegisterNumber = RegisterNumber::NONE;

impl Program {
    pub(crate) fn new() -> Self {
        Self { instructions: Vec::new(), pc: TEXT }
    }

    fn push(
        &mut self,
        class: InstructionClass,
        sources: [RegisterNumber; 3],
        destination: RegisterNumber,
        address: u64,
        access: u8,
    ) {
        let instruction = StaticInstruction {
            class,
            branch: BranchKind::None,
            sources,
            destinations: [destination, NONE, NONE],
            bytes: 4,
            access,
        };
        self.instructions.push(Retired { pc: self.pc, next: self.pc + 4, address, taken: false, instruction });
        self.pc += 4;
    }

    /// An operation of a functional unit with one source.
    pub(crate) fn compute(&mut self, class: InstructionClass, from: u8, to: u8) {
        self.push(class, [RegisterNumber(from), NONE, NONE], RegisterNumber(to), 0, 0);
    }

    /// An operation of a functional unit without sources.
    pub(crate) fn constant(&mut self, class: InstructionClass, to: u8) {
        self.push(class, [NONE; 3], RegisterNumber(to), 0, 0);
    }

    /// A load of eight bytes from an address in a register.
    pub(crate) fn load(&mut self, base: u8, to: u8, address: u64) {
        self.load_part(base, to, address, 8);
    }

    pub(crate) fn load_part(&mut self, base: u8, to: u8, address: u64, bytes: u8) {
        self.push(InstructionClass::Load, [RegisterNumber(base), NONE, NONE], RegisterNumber(to), address, bytes);
    }

    pub(crate) fn store(&mut self, base: u8, data: u8, address: u64) {
        self.store_part(base, data, address, 8);
    }

    pub(crate) fn store_part(&mut self, base: u8, data: u8, address: u64, bytes: u8) {
        self.push(InstructionClass::Store, [RegisterNumber(base), NONE, RegisterNumber(data)], NONE, address, bytes);
    }

    pub(crate) fn atomic(&mut self, base: u8, data: u8, to: u8, address: u64) {
        self.push(
            InstructionClass::Atomic,
            [RegisterNumber(base), NONE, RegisterNumber(data)],
            RegisterNumber(to),
            address,
            8,
        );
    }

    pub(crate) fn alone(&mut self, class: InstructionClass) {
        self.push(class, [NONE; 3], NONE, 0, 0);
    }

    /// A branch that reads a register, or none; `to` is its target if it is taken.
    pub(crate) fn branch(&mut self, branch: BranchKind, from: Option<u8>, to: u64, taken: bool) {
        self.push(InstructionClass::Integer, [from.map_or(NONE, RegisterNumber), NONE, NONE], NONE, 0, 0);
        let last = self.instructions.last_mut().expect("it was just pushed");
        last.instruction.branch = branch;
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

/// Configuration of a core and its caches.
pub(crate) type CoreConfig = (OutOfOrderConfig, HierarchyConfig);

/// A core, its caches, and the timing of every commit.
pub(crate) struct Bench {
    pub(crate) core: OutOfOrder,
    pub(crate) hierarchy: Hierarchy,
    pub(crate) host: Clock,
    pub(crate) timings: Vec<InstructionTiming>,
}

struct Log<'a>(&'a mut Vec<InstructionTiming>);

impl CommitObserver for Log<'_> {
    fn committed(&mut self, timing: &InstructionTiming) {
        self.0.push(*timing);
    }
}

impl Bench {
    pub(crate) fn new((core, caches): &CoreConfig) -> Self {
        Self {
            core: OutOfOrder::new(*core, 0).unwrap(),
            hierarchy: Hierarchy::new(caches).unwrap(),
            host: Clock::default(),
            timings: Vec::new(),
        }
    }

    /// Warm caches: the instruction cache, and `data` bytes from `DATA` on in the data cache.
    pub(crate) fn warm(config: &CoreConfig, data: u64) -> Self {
        let mut bench = Self::new(config);
        bench.hierarchy.warm(0, AccessKind::Fetch, 0, 0x8000);
        if data > 0 {
            bench.hierarchy.warm(0, AccessKind::Load, DATA, data);
        }
        bench
    }

    /// Runs to the end in parts of `step` cycles.
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
                &mut Log(&mut self.timings),
            );
            match stop.unwrap() {
                OutOfOrderStop::Until => assert!(self.core.now().0 < 10_000_000, "the pipeline is stuck"),
                OutOfOrderStop::Exited(0) => return,
                stop => panic!("{stop:?}"),
            }
        }
    }

    /// Runs to the end; returns the cycle of the last commit.
    pub(crate) fn run(&mut self, program: &Program) -> u64 {
        self.run_by(program, 1 << 40);
        self.timings.last().unwrap().committed.0
    }

    pub(crate) fn statistics(&self) -> &OutOfOrderStatistics {
        self.core.statistics()
    }

    pub(crate) fn data(&self) -> CacheStatistics {
        self.hierarchy.data_statistics(0)
    }
}
