// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host of the kernel: `moped/kernel/host.h` describes each call.

use mb_core::random::Random;
use mb_processor::chip::CallHandler;
use mb_processor::functional::{HostAnswer, HostCall, HostMemory, SupervisorEnvironment};
use mb_processor::linux::{FileStatus, Files, errno};
use mb_processor::rv64::sv39;
use mb_processor::system::MemorySystem;
use mb_processor::{Syscall, SyscallResult};

/// Numbers of the calls.
pub mod call {
    /// Ends the simulation.
    pub const EXIT: u64 = 0;
    /// A message of the kernel.
    pub const CONSOLE: u64 = 1;
    /// Opens a file.
    pub const OPEN: u64 = 2;
    /// Closes a file.
    pub const CLOSE: u64 = 3;
    /// Reads a file.
    pub const READ: u64 = 4;
    /// Writes a file.
    pub const WRITE: u64 = 5;
    /// Moves the position of a file.
    pub const SEEK: u64 = 6;
    /// Status of a file.
    pub const STAT: u64 = 7;
    /// A mode marker.
    pub const MARK: u64 = 8;
    /// Interrupts a hart.
    pub const INTERRUPT: u64 = 9;
    /// A process ended.
    pub const ENDED: u64 = 10;
    /// Removes a file.
    pub const UNLINK: u64 = 11;
    /// A random number.
    pub const RANDOM: u64 = 12;
    /// Sets the length of a file.
    pub const TRUNCATE: u64 = 13;
    /// The location of the process that the next message is about.
    pub const PLACE: u64 = 14;
}

/// Longest transfer of a call: a page.
const MOST_BYTES: u64 = 4096;
const STAT_BYTES: usize = 128;
/// Words of a stack that are kept with a [`ProcessLocation`].
const STACK_WORDS: u64 = 2048;

/// A mode marker of a program (`mb_mark`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// 0 functional, 1 warm-up, 2 timing.
    pub kind: u64,
    /// The program.
    pub program: u64,
    /// The rank.
    pub rank: u64,
    /// When.
    pub time: u64,
}

/// The end of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The program.
    pub program: u64,
    /// The rank.
    pub rank: u64,
    /// Its exit status, or 128 plus the number of a signal.
    pub status: u64,
    /// When.
    pub time: u64,
}

/// Where a process was when the kernel wrote a message about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessLocation {
    /// The hart.
    pub hart: usize,
    /// Address of the instruction.
    pub pc: u64,
    /// The return address, then the words of the stack from its top on.
    pub stack: Vec<u64>,
}

/// Serves the kernel and records what it reports.
#[derive(Clone, Debug)]
pub struct KernelHost<F> {
    files: F,
    random: Random,
    /// Whether a run stops at each marker.
    pub stops_at_marks: bool,
    messages: Vec<u8>,
    places: Vec<ProcessLocation>,
    marks: Vec<Mark>,
    ended: Vec<Ended>,
}

impl<F: Files> KernelHost<F> {
    /// A host with these files. `seed` determines the random numbers of programs.
    #[must_use]
    pub fn new(files: F, seed: u64) -> Self {
        let random = Random::of(seed, &[]);
        let (messages, places) = (Vec::new(), Vec::new());
        Self { files, random, stops_at_marks: false, messages, places, marks: Vec::new(), ended: Vec::new() }
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &F {
        &self.files
    }

    /// The output of the kernel to the console: one line for each fault that ended a program.
    #[must_use]
    pub fn messages(&self) -> String {
        String::from_utf8_lossy(&self.messages).into_owned()
    }

    /// Where the processes were about which messages were written, in order of time.
    #[must_use]
    pub fn places(&self) -> &[ProcessLocation] {
        &self.places
    }

    /// The markers, in order of time.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The processes that ended, in order of time.
    #[must_use]
    pub fn ended(&self) -> &[Ended] {
        &self.ended
    }

    fn file_call(&mut self, call: &HostCall, memory: &mut dyn HostMemory) -> Result<u64, u16> {
        let [first, second, third, fourth, ..] = call.arguments;
        let file = || u32::try_from(first).map_err(|_| errno::EBADF);
        let length = |bytes: u64| if bytes > MOST_BYTES { Err(errno::EINVAL) } else { Ok(bytes as usize) };
        match call.number {
            call::OPEN => {
                let path = memory.get(first, length(second)?).ok_or(errno::EFAULT)?;
                self.files.open(path, third, fourth as u32).map(u64::from)
            }
            call::UNLINK => {
                let path = memory.get(first, length(second)?).ok_or(errno::EFAULT)?;
                self.files.remove(path).map(|()| 0)
            }
            call::CLOSE => {
                self.files.close(file()?);
                Ok(0)
            }
            call::READ => {
                let mut buffer = vec![0; length(third)?];
                let count = self.files.read(file()?, &mut buffer)?.min(buffer.len());
                if memory.set(second, &buffer[..count]) { Ok(count as u64) } else { Err(errno::EFAULT) }
            }
            call::WRITE => {
                let bytes = memory.get(second, length(third)?).ok_or(errno::EFAULT)?;
                self.files.write(file()?, bytes).map(|count| count as u64)
            }
            call::SEEK => {
                let from = u32::try_from(third).map_err(|_| errno::EINVAL)?;
                self.files.seek(file()?, second as i64, from)
            }
            call::STAT => {
                let status = self.files.status(file()?)?;
                if memory.set(second, &stat_bytes(status)) { Ok(0) } else { Err(errno::EFAULT) }
            }
            call::TRUNCATE => self.files.truncate(file()?, second).map(|()| 0),
            _ => Err(errno::ENOSYS),
        }
    }
}

/// Words of a process's stack from `top` on, up to an unmapped page; `root` is the address of its page table.
fn stack(memory: &dyn HostMemory, top: u64, root: u64) -> impl Iterator<Item = u64> {
    let word = |address| {
        let bytes = memory.get(address, 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    (0..STACK_WORDS).map_while(move |index| {
        let address = (top & !7).wrapping_add(index * 8);
        let leaf = sv39::walk(root / sv39::PAGE_BYTES, address, word).ok()?;
        word(leaf.physical(address))
    })
}

/// `struct stat` of Linux on 64-bit RISC-V (include/uapi/asm-generic/stat.h).
fn stat_bytes(stat: FileStatus) -> [u8; STAT_BYTES] {
    let mut bytes = [0; STAT_BYTES];
    let mut put = |offset: usize, value: &[u8]| bytes[offset..offset + value.len()].copy_from_slice(value);
    put(8, &stat.number.to_le_bytes());
    put(16, &stat.mode.to_le_bytes());
    put(20, &1_u32.to_le_bytes()); // links
    put(48, &stat.bytes.to_le_bytes());
    put(56, &4096_u32.to_le_bytes()); // block size
    put(64, &stat.bytes.div_ceil(512).to_le_bytes());
    bytes
}

/// The memory of a chip.
struct SystemMemory<'a, M>(&'a mut M);

impl<M: MemorySystem> HostMemory for SystemMemory<'_, M> {
    fn get(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.0.bytes(address, length)
    }

    fn set(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.0.set_bytes(address, bytes)
    }
}

/// A host of any type, so that cores are compiled once for all.
pub struct AnyHost<'a>(pub &'a mut dyn SupervisorEnvironment);

impl CallHandler for AnyHost<'_> {
    /// Harts without supervisor mode have no kernel: no call exists.
    fn call<M: MemorySystem>(&mut self, _: u64, _: Syscall, _: &mut M) -> SyscallResult {
        SyscallResult::Value(u64::from(errno::ENOSYS).wrapping_neg())
    }

    fn supervisor_call<M: MemorySystem>(&mut self, call: HostCall, memory: &mut M) -> HostAnswer {
        self.0.call(call, &mut SystemMemory(memory))
    }
}

impl SupervisorEnvironment for AnyHost<'_> {
    fn call(&mut self, call: HostCall, memory: &mut dyn HostMemory) -> HostAnswer {
        self.0.call(call, memory)
    }
}

impl<F: Files> CallHandler for KernelHost<F> {
    fn call<M: MemorySystem>(&mut self, cycle: u64, call: Syscall, memory: &mut M) -> SyscallResult {
        CallHandler::call(&mut AnyHost(self), cycle, call, memory)
    }

    fn supervisor_call<M: MemorySystem>(&mut self, call: HostCall, memory: &mut M) -> HostAnswer {
        AnyHost(self).supervisor_call(call, memory)
    }
}

impl<F: Files> SupervisorEnvironment for KernelHost<F> {
    fn call(&mut self, call: HostCall, memory: &mut dyn HostMemory) -> HostAnswer {
        let [first, second, third, ..] = call.arguments;
        match call.number {
            call::EXIT => HostAnswer::Exit(first),
            call::CONSOLE => {
                let bytes = memory.get(first, second.min(MOST_BYTES) as usize).unwrap_or(b"kernel: bad message\n");
                self.messages.extend_from_slice(bytes);
                HostAnswer::Value(0)
            }
            call::PLACE => {
                let stack = stack(memory, second, third).collect();
                self.places.push(ProcessLocation {
                    hart: call.hart,
                    pc: first,
                    stack: [vec![call.arguments[3]], stack].concat(),
                });
                HostAnswer::Value(0)
            }
            call::MARK => {
                self.marks.push(Mark { kind: first, program: second, rank: third, time: call.time });
                if self.stops_at_marks { HostAnswer::Stop(0) } else { HostAnswer::Value(0) }
            }
            call::INTERRUPT => HostAnswer::Interrupt(first),
            call::ENDED => {
                self.ended.push(Ended { program: first, rank: second, status: third, time: call.time });
                HostAnswer::Value(0)
            }
            call::RANDOM => HostAnswer::Value(self.random.next()),
            _ => match self.file_call(&call, memory) {
                Ok(value) => HostAnswer::Value(value),
                Err(number) => HostAnswer::Value(u64::from(number).wrapping_neg()),
            },
        }
    }
}
