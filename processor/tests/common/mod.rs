// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An instruction set of a dozen instructions, whose programs are lists, so that a test of time says all that happens.

use std::sync::Arc;

use mb_processor::{Answer, Call, Class, Control, Fault, Hart, Host, Memory, Register, Retired, Service, Shape, Step};

/// Where instruction 0 is; each has four bytes.
pub(crate) const CODE: u64 = 0x1000;
/// Where data are.
pub(crate) const DATA: u64 = 0x10_0000;

/// One instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Do {
    Add,
    Multiply,
    Divide,
    /// Loads 4 bytes at `DATA` and this offset.
    Load(u64),
    Store(u64),
    /// Loads from the thread's own pointer, and moves it on by this.
    LoadNext(u64),
    Fence,
    /// Jumps to an instruction.
    Jump(u64),
    /// Swaps a 1 into the word at this offset; tries again at once if it was not 0.
    Spin(u64),
    /// Stores 0 at this offset.
    Clear(u64),
    /// Calls service `Own(.0)` with these arguments.
    Call(u16, u64, u64),
    Exit,
    Illegal,
}

/// A thread of that machine; its pointer is its first argument.
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

    fn shape(&self, pc: u64) -> Option<Shape> {
        let (class, access, control) = match self.at(pc)? {
            Do::Add => (Class::Integer, 0, Control::None),
            Do::Multiply => (Class::Multiply, 0, Control::None),
            Do::Divide => (Class::Divide, 0, Control::None),
            Do::Load(_) | Do::LoadNext(_) => (Class::Load, 4, Control::None),
            Do::Store(_) | Do::Clear(_) => (Class::Store, 4, Control::None),
            Do::Fence => (Class::Fence, 0, Control::None),
            Do::Jump(_) => (Class::Integer, 0, Control::Jump),
            Do::Spin(_) => (Class::Atomic, 4, Control::Branch),
            Do::Call(..) | Do::Exit => (Class::System, 0, Control::None),
            Do::Illegal => return None,
        };
        let none = [Register::NONE; 3];
        Some(Shape { class, control, sources: none, destinations: none, bytes: 4, access })
    }

    fn step<H: Host>(&mut self, memory: &mut Memory, host: &mut H) -> Result<Step, Fault> {
        let illegal = Fault::Illegal { pc: self.pc, word: 0 };
        let (Some(shape), Some(instruction)) = (self.shape(self.pc), self.at(self.pc)) else { return Err(illegal) };
        let mut retired = Retired { pc: self.pc, next: self.pc + 4, address: 0, taken: false, shape };
        match instruction {
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
                let call = Call { thread: self.thread, service: Service::Own(number), arguments: [a, b, 0, 0] };
                match host.call(call, memory) {
                    Answer::Value(_) => {}
                    Answer::Wait => return Ok(Step::Waiting),
                    Answer::Exit(status) => return Ok(Step::Exited(status)),
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
