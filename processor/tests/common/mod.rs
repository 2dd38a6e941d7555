// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A small instruction set whose programs are lists of operations, so that a timing test shows
//! every instruction.

use std::sync::Arc;

use mb_processor::{
    BranchKind, Fault, Hart, InstructionClass, Memory, RegisterNumber, Retired, Service, StaticInstruction, Step,
    Syscall, SyscallHandler, SyscallResult,
};

/// Address of instruction 0; each instruction has four bytes.
pub(crate) const CODE: u64 = 0x1000;
/// Address of the data.
pub(crate) const DATA: u64 = 0x10_0000;

/// One instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Do {
    Add,
    Multiply,
    Divide,
    /// Loads 4 bytes at `DATA` plus this offset.
    Load(u64),
    Store(u64),
    /// Loads from the pointer of the thread, and adds this to the pointer.
    LoadNext(u64),
    Fence,
    /// Jumps to an instruction.
    Jump(u64),
    /// Swaps a 1 into the word at this offset; repeats itself if the word was not 0.
    Spin(u64),
    /// Stores 0 at this offset.
    Clear(u64),
    /// Calls service `Custom(.0)` with these arguments.
    Call(u16, u64, u64),
    Exit,
    Illegal,
}

/// A thread of this instruction set; its pointer is its first argument.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    program: Arc<[Do]>,
    pc: u64,
    thread: u32,
    pointer: u64,
}

impl Script {
    pub(crate) fn new(program: &[Do]) -> Self {
        Self { program: program.into(), pc: CODE, thread: 0, pointer: 0 }
    }

    fn at(&self, pc: u64) -> Option<Do> {
        self.program.get(usize::try_from(pc.checked_sub(CODE)? / 4).ok()?).copied()
    }
}

/// Address of instruction `index`.
pub(crate) fn at(index: u64) -> u64 {
    CODE + 4 * index
}

impl Hart for Script {
    fn pc(&self) -> u64 {
        self.pc
    }

    fn jump(&mut self, pc: u64) {
        self.pc = pc;
    }

    fn set_argument(&mut self, _index: usize, value: u64) {
        self.pointer = value;
    }

    fn set_stack(&mut self, _address: u64) {}

    fn set_thread(&mut self, thread: u32) {
        self.thread = thread;
    }

    fn instruction_at(&self, pc: u64) -> Option<StaticInstruction> {
        let (class, access, branch) = match self.at(pc)? {
            Do::Add => (InstructionClass::Integer, 0, BranchKind::None),
            Do::Multiply => (InstructionClass::Multiply, 0, BranchKind::None),
            Do::Divide => (InstructionClass::Divide, 0, BranchKind::None),
            Do::Load(_) | Do::LoadNext(_) => (InstructionClass::Load, 4, BranchKind::None),
            Do::Store(_) | Do::Clear(_) => (InstructionClass::Store, 4, BranchKind::None),
            Do::Fence => (InstructionClass::Fence, 0, BranchKind::None),
            Do::Jump(_) => (InstructionClass::Integer, 0, BranchKind::Jump),
            Do::Spin(_) => (InstructionClass::Atomic, 4, BranchKind::Conditional),
            Do::Call(..) | Do::Exit => (InstructionClass::System, 0, BranchKind::None),
            Do::Illegal => return None,
        };
        let none = [RegisterNumber::NONE; 3];
        Some(StaticInstruction { class, branch, sources: none, destinations: none, bytes: 4, access })
    }

    fn step<H: SyscallHandler>(&mut self, memory: &mut Memory, host: &mut H) -> Result<Step, Fault> {
        let illegal = Fault::Illegal { pc: self.pc, word: 0 };
        let (Some(instruction), Some(operation)) = (self.instruction_at(self.pc), self.at(self.pc)) else {
            return Err(illegal);
        };
        let mut retired = Retired { pc: self.pc, next: self.pc + 4, address: 0, taken: false, instruction };
        match operation {
            Do::Load(offset) | Do::Store(offset) => retired.address = DATA + offset,
            Do::LoadNext(stride) => {
                retired.address = self.pointer;
                self.pointer += stride;
            }
            Do::Jump(target) => (retired.next, retired.taken) = (at(target), true),
            Do::Spin(offset) => {
                retired.address = DATA + offset;
                if memory.read::<4>(retired.address) == Some([0; 4]) {
                    memory.write(retired.address, &[1; 4]).unwrap();
                } else {
                    (retired.next, retired.taken) = (self.pc, true);
                }
            }
            Do::Clear(offset) => {
                retired.address = DATA + offset;
                memory.write(retired.address, &[0; 4]).unwrap();
            }
            Do::Call(number, a, b) => {
                let call = Syscall {
                    thread: self.thread,
                    pc: self.pc,
                    service: Service::Custom(number),
                    arguments: [a, b, 0, 0, 0, 0],
                };
                match host.call(call, memory) {
                    SyscallResult::Value(_) => {}
                    SyscallResult::Wait => return Ok(Step::Waiting),
                    SyscallResult::Exit(status) => return Ok(Step::Exited(status)),
                }
            }
            Do::Exit => return Ok(Step::Exited(0)),
            Do::Add | Do::Multiply | Do::Divide | Do::Fence => {}
            Do::Illegal => return Err(illegal),
        }
        self.pc = retired.next;
        Ok(Step::Retired(retired))
    }
}
