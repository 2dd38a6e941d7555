// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on the shared L2: a core that executes one instruction after the other takes
//! instructions and values from the memory system, and ends with the registers and the memory of
//! functional execution. Generated code needs fence.i.

use std::path::Path;

use mb_processor::rv64::{AtomicKind, Effect, Operation, Rounding, extend};
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::{
    CompletedKind, CompletedRequest, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice, RequestKind,
};
use mb_processor::{FixedLatency, Hart, Memory, Program, Rv64, Service, Step, Syscall, SyscallHandler, SyscallResult};

use super::BASE;

/// The results of system calls: exit ends, and write accepts everything.
struct Calls;

impl SyscallHandler for Calls {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        match call.service {
            Service::Exit => SyscallResult::Exit(call.arguments[0]),
            _ => SyscallResult::Value(call.arguments[2]),
        }
    }
}

/// A core with one context.
struct Core<M> {
    memory: M,
    cycle: u64,
    pc: u64,
    registers: [u64; 32],
    instructions: u64,
    completed: Vec<CompletedRequest>,
}

impl<M: MemorySystem> Core<M> {
    fn new(memory: M, pc: u64) -> Self {
        Self { memory, cycle: 1, pc, registers: [0; 32], instructions: 0, completed: Vec::new() }
    }

    fn wait_until(&mut self, cycle: u64) {
        self.cycle = cycle;
        self.memory.advance(cycle, &mut self.completed);
    }

    /// Two bytes of code, and the cycle from which they are usable.
    fn parcel(&mut self, address: u64) -> u16 {
        loop {
            match self.memory.fetch(self.cycle, 0, 0, address) {
                FetchAnswer::Ready { at, .. } => {
                    let parcel = self.memory.code(0, address).expect("a copy of a line that is ready");
                    self.wait_until(at);
                    return parcel;
                }
                FetchAnswer::Pending => {
                    while !self.completed.iter().any(|done| done.source == CompletedKind::Fetch) {
                        self.wait_until(self.memory.next_event().expect("a line on its way"));
                    }
                    self.completed.clear();
                }
                FetchAnswer::Retry => self.wait_until(self.cycle + 1),
                FetchAnswer::Fault => panic!("{address:#x} is not memory"),
            }
        }
    }

    fn access(&mut self, address: u64, width: u8, kind: RequestKind) -> u64 {
        let request = MemoryRequest { core: 0, context: 0, tag: 1, address, width, kind };
        loop {
            match self.memory.request(self.cycle, request) {
                MemoryAnswer::Ready { at, value } => {
                    self.wait_until(at);
                    return value;
                }
                MemoryAnswer::Retry => self.wait_until(self.cycle + 1),
                MemoryAnswer::Pending => loop {
                    if let Some(done) = self.completed.pop() {
                        assert_eq!(done.source, CompletedKind::Data);
                        return done.value;
                    }
                    self.wait_until(self.memory.next_event().expect("an access on its way"));
                },
                MemoryAnswer::Fault => panic!("{request:x?} is not in memory"),
            }
        }
    }

    fn drain(&mut self) {
        while !self.memory.drained(0, 0) {
            self.wait_until(self.memory.next_event().expect("a store on its way"));
        }
    }

    /// Executes one instruction; false at an exit or an illegal instruction.
    fn step(&mut self) -> bool {
        let low = self.parcel(self.pc);
        let high = if low & 3 == 3 { self.parcel(self.pc + 2) } else { 0 };
        let op = Operation::decode(u32::from(low) | u32::from(high) << 16, self.pc);
        let operands = op.sources().map(|register| self.registers[usize::from(register)]);
        let mut next = self.pc + u64::from(op.instruction().bytes);
        let value = match op.evaluate(self.pc, operands, Rounding::NearestEven) {
            Effect::Value(value) | Effect::Float { value, .. } => value,
            Effect::Branch { next: target, link, .. } => {
                next = target;
                link
            }
            Effect::Load { address, width, extension } => {
                extension.extend(self.access(address, width, RequestKind::Load), width)
            }
            Effect::Store { address, width, value } => self.access(address, width, RequestKind::Store { value }),
            Effect::Atomic { address, width, kind, operand } => {
                let kind = match kind {
                    AtomicKind::LoadReserved => RequestKind::LoadReserved,
                    AtomicKind::StoreConditional => RequestKind::StoreConditional { value: operand },
                    _ => RequestKind::Atomic { kind, operand },
                };
                extend(self.access(address, width, kind), width, true)
            }
            Effect::FenceInstruction => {
                self.drain();
                self.memory.invalidate_instructions(0);
                0
            }
            // Counters are 0, as the handler returns them to functional execution.
            Effect::Csr(_) | Effect::Fence(_) | Effect::Pause | Effect::WaitOnReservation { .. } => 0,
            Effect::Call if matches!(self.registers[17], 93 | 94) => return false,
            Effect::Call => self.registers[12],
            Effect::Illegal(_) => return false,
        };
        if op.destination() != 0 {
            self.registers[usize::from(op.destination())] = value;
        }
        self.pc = next;
        self.instructions += 1;
        true
    }
}

/// A machine that is small enough to evict lines.
fn machine(memory: Memory) -> SharedL2 {
    let table = SharedL2Config::crowley2000(1, 1);
    let l1 = mb_processor::shared_l2::L1Config { bytes: 1 << 10, ..table.data };
    let config = SharedL2Config { data: l1, instruction: l1, l2: 4 << 10, ..table };
    SharedL2::new(&config, memory, NoDevice).expect("a valid configuration")
}

#[test]
fn a_guest_program_has_the_registers_and_the_memory_of_functional_execution() {
    for name in ["md5", "bench"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("firmware/elf/{name}.rv64.elf"));
        let program = Program::load(&std::fs::read(path).expect("a committed file")).expect("a program");
        let mut memory = program.memory(0);
        let mut hart = Rv64::load(&program, 1).expect("of RV64").remove(0);
        let mut count = 0;
        let limit = 60_000;
        while count < limit {
            match hart.step(&mut memory, &mut Calls).expect("no fault") {
                Step::Retired(_) => count += 1,
                _ => break,
            }
        }
        let registers: [u64; 32] = std::array::from_fn(|index| hart.register(index));
        let range = memory.range();
        let length = (range.end - range.start) as usize;

        let mut core = Core::new(machine(program.memory(0)), program.entry());
        while core.instructions < count && core.step() {}
        core.drain();
        assert_eq!((core.instructions, core.pc), (count, hart.pc()), "{name}");
        assert_eq!(core.registers, registers, "{name}");
        assert!(core.memory.bytes(range.start, length) == memory.get(range.start, length), "{name}: memory");
        let statistics = core.memory.statistics();
        assert!(statistics.data[0].misses > 40 && statistics.l2.misses > 40, "{name}: {statistics:?}");

        let mut core = Core::new(FixedLatency::new(program.memory(0), NoDevice, 1, 1, 3, 2), program.entry());
        while core.instructions < count && core.step() {}
        assert_eq!((core.instructions, core.pc, core.registers), (count, hart.pc(), registers), "{name}");
        assert!(core.memory.bytes(range.start, length) == memory.get(range.start, length), "{name}: memory");
    }
}

/// Calls a function at a0, replaces its first instruction by a1, executes `fence`, and calls it
/// again. Returns a3 and a2: the results of both calls.
fn replace_code(fence: u32) -> (u64, u64) {
    const CODE: u64 = BASE + 0x100;
    let program = [
        0x0005_00e7, // jalr ra, 0(a0)
        0x0006_06b3, // add a3, a2, zero
        0x00b5_2023, // sw a1, 0(a0)
        fence,
        0x0005_00e7, // jalr ra, 0(a0)
        0,
    ];
    // addi a2, zero, 7; jalr zero, 0(ra)
    let function = [0x0070_0613_u32, 0x0000_8067];
    let mut memory = Memory::new(BASE, 0x1000);
    for (address, words) in [(BASE, &program[..]), (CODE, &function[..])] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write(address, &bytes).expect("inside");
    }
    let mut core = Core::new(machine(memory), BASE);
    core.registers[10] = CODE;
    // addi a2, zero, 42
    core.registers[11] = 0x02a0_0613;
    while core.step() {}
    assert_eq!(core.pc, BASE + 20, "the illegal instruction at the end");
    (core.registers[13], core.registers[12])
}

#[test]
fn generated_code_is_executed_after_fence_i_and_only_then() {
    // fence.i, and fence iorw, iorw.
    assert_eq!(replace_code(0x0000_100f), (7, 42));
    assert_eq!(replace_code(0x0ff0_000f), (7, 7));
}
