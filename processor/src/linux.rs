// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux for statically linked RV64 programs of one thread: the initial stack, and the system calls
//! of C, C++ and Fortran libraries.
//!
//! | module | contents |
//! |---|---|
//! | `start` | arguments, environment and auxiliary vector |
//! | `space` | brk, mmap and related calls, in one range of memory |
//! | `files` | calls on files, which [`Files`] performs |
//! | `core_model` | the core models by name, with their parameters: [`CoreModel`] |
//! | `simulate` | a program on a core model: [`Simulation`] |
//!
//! Functions and errors are those of Linux (`man 2`), with the numbers of the generic table
//! (`include/uapi/asm-generic/unistd.h`) and the older ones of newlib's libgloss. Nothing here reads
//! a clock or a file: time is the cycle counter at 1 GHz, random bytes follow from a seed, and
//! [`Files`] belongs to the caller.
//!
//! Not modelled: threads, other processes, delivery of signals, page protection. A call that is not
//! in the table ends the program; [`Linux::refused`] names it.

mod any;
mod core_model;
pub mod errno;
mod files;
mod numbers;
mod simulate;
mod space;
mod start;
mod user_memory;

use std::fmt;

use mb_core::random::Random;

use self::files::Descriptors;
use self::space::Space;
use self::user_memory::{CallResult, Shared, UserMemory};
use crate::chip::CallHandler;
use crate::system::MemorySystem;
use crate::{Hart, Memory, Program, Rv64, Service, Syscall, SyscallHandler, SyscallResult};

pub use core_model::CoreModel;
pub use files::{FileStatus, Files};
pub use simulate::{GuestFailure, Simulation};
pub use start::StartError;

/// The signal of a write to a pipe without a reader.
const SIGPIPE: u64 = 13;

/// A system call that ended the program because it is not in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Address of the calling instruction.
    pub pc: u64,
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = numbers::name(self.number).map_or(String::new(), |name| format!(" ({name})"));
        write!(f, "system call {}{name} is not implemented", self.number)
    }
}

/// The system calls of one program.
#[derive(Clone, Debug)]
pub struct Linux<F> {
    descriptors: Descriptors<F>,
    space: Space,
    /// The path of the program, as `/proc/self/exe` shows it.
    path: Vec<u8>,
    cycle: u64,
    random: Random,
    refused: Option<Refused>,
}

/// A program in memory, with its hart and its system calls.
pub struct Process<F> {
    /// The hart, at the entry of the program.
    pub hart: Rv64,
    /// The memory: the program, its heap, mapped areas and its stack.
    pub memory: Memory,
    /// The handler of its system calls.
    pub linux: Linux<F>,
}

impl<F: Files> Linux<F> {
    /// Loads a program into `bytes` bytes of memory, with arguments of which the first is its path,
    /// and environment variables `NAME=value`.
    ///
    /// # Errors
    /// The program is for another instruction set, or the memory is too small.
    pub fn start(
        program: &Program,
        arguments: &[Vec<u8>],
        environment: &[Vec<u8>],
        bytes: u64,
        files: F,
    ) -> Result<Process<F>, StartError> {
        let mut hart = Rv64::load(program, 1)?.remove(0);
        let mut random = Random::of(1, &[]);
        let (memory, space, stack) = start::memory(program, arguments, environment, bytes, &mut random)?;
        hart.set_stack(stack);
        // Links to programs are absolute.
        let mut path = arguments.first().cloned().unwrap_or_default();
        if path.first() != Some(&b'/') {
            path.insert(0, b'/');
        }
        let linux = Self { descriptors: Descriptors::new(files), space, path, cycle: 0, random, refused: None };
        Ok(Process { hart, memory, linux })
    }

    /// The call that ended the program, if one that is not in the table did.
    pub const fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// The files.
    pub const fn files(&self) -> &F {
        &self.descriptors.files
    }

    /// The files.
    pub const fn files_mut(&mut self) -> &mut F {
        &mut self.descriptors.files
    }

    fn serve(&mut self, call: Syscall, memory: &mut dyn UserMemory) -> SyscallResult {
        let number = match call.service {
            Service::Exit => return SyscallResult::Exit(call.arguments[0] & 0xff),
            Service::Write => numbers::WRITE,
            Service::Unknown(number) => number,
            Service::Custom(number) => Service::CUSTOM + u64::from(number),
        };
        let [a, b, c, d, ..] = call.arguments;
        let signalled = |signal: u64| SyscallResult::Exit(128 + (signal & 127));
        let outcome = match number {
            numbers::KILL | numbers::TKILL | numbers::TGKILL => {
                // A signal to the process itself; without delivery it ends the process.
                let signal = if number == numbers::TGKILL { c } else { b };
                return signalled(signal);
            }
            numbers::BRK => Ok(self.space.set_break(a, memory)),
            numbers::MMAP => self.map(call.arguments, memory),
            numbers::MUNMAP => self.space.unmap(a, b),
            numbers::MREMAP => self.space.remap(a, b, c, d, memory),
            numbers::CLOCK_GETTIME => memory.set(b, &self.time(1_000_000_000)).map(|()| 0),
            numbers::GETTIMEOFDAY => memory.set(a, &self.time(1_000_000)).map(|()| 0),
            numbers::CLOCK_GETRES => resolution(b, memory),
            numbers::TIME => Ok(self.cycle / 1_000_000_000),
            numbers::TIMES => memory.set(a, &[0; 32]).map(|()| self.cycle / 10_000_000),
            numbers::GETRUSAGE => self.usage(b, memory),
            numbers::UNAME => memory.set(a, &start::system_name()).map(|()| 0),
            numbers::SYSINFO => self.system(a, memory),
            numbers::GETCPU => cpu(a, b, memory),
            numbers::GETRANDOM => self.random_bytes(a, b, memory),
            numbers::READLINKAT => self.read_link(b, c, d, memory),
            numbers::PRLIMIT64 => limits(b, d, memory),
            numbers::GETRLIMIT => limits(a, b, memory),
            numbers::RT_SIGACTION => actions(c, memory),
            numbers::RT_SIGPROCMASK => {
                if c == 0 {
                    Ok(0)
                } else {
                    memory.set(c, &[0; 8]).map(|()| 0)
                }
            }
            numbers::FUTEX => futex(b, a, c, memory),
            numbers::SCHED_GETAFFINITY => memory.set(c, &1_u64.to_le_bytes()).map(|()| 8),
            numbers::SET_TID_ADDRESS | numbers::GETPID | numbers::GETTID => Ok(start::PROCESS),
            numbers::GETPPID => Ok(1),
            numbers::GETUID | numbers::GETEUID | numbers::GETGID | numbers::GETEGID => Ok(start::USER),
            numbers::MPROTECT
            | numbers::MADVISE
            | numbers::SET_ROBUST_LIST
            | numbers::SCHED_YIELD
            | numbers::SIGALTSTACK
            | numbers::NANOSLEEP
            | numbers::CLOCK_NANOSLEEP
            | numbers::FLUSH_ICACHE
            | numbers::PRCTL => Ok(0),
            // Libraries do without these.
            numbers::RSEQ | numbers::HWPROBE | numbers::STATX => Err(errno::ENOSYS),
            _ => {
                let Some(outcome) = self.descriptors.call(number, call.arguments, memory) else {
                    self.refused = Some(Refused { pc: call.pc, number, arguments: call.arguments });
                    return SyscallResult::Exit(1);
                };
                outcome
            }
        };
        match outcome {
            Err(errno::EPIPE) => signalled(SIGPIPE),
            outcome => SyscallResult::Value(outcome.unwrap_or_else(|error| u64::from(error).wrapping_neg())),
        }
    }

    fn map(&mut self, [address, length, _, flags, file, offset]: [u64; 6], memory: &mut dyn UserMemory) -> CallResult {
        const ANONYMOUS: u64 = 0x20;
        let at = self.space.map(address, length, flags, memory)?;
        if flags & ANONYMOUS == 0 {
            let bytes = self.descriptors.content(file, offset, length as usize)?;
            memory.set(at, &bytes)?;
        }
        Ok(at)
    }

    /// The time since the start, as two numbers: seconds and fractions of a second.
    fn time(&self, fractions: u64) -> [u8; 16] {
        let seconds = self.cycle / 1_000_000_000;
        let rest = self.cycle % 1_000_000_000 / (1_000_000_000 / fractions);
        pair(seconds, rest)
    }

    /// getrusage: user time alone.
    fn usage(&self, address: u64, memory: &mut dyn UserMemory) -> CallResult {
        let mut usage = [0; 144];
        usage[..16].copy_from_slice(&self.time(1_000_000));
        memory.set(address, &usage).map(|()| 0)
    }

    /// sysinfo: time, memory and one process. What is free is not counted.
    fn system(&self, address: u64, memory: &mut dyn UserMemory) -> CallResult {
        let mut found = [0; 112];
        let total = self.space.bytes().to_le_bytes();
        found[..8].copy_from_slice(&self.time(1)[..8]);
        found[32..40].copy_from_slice(&total);
        found[40..48].copy_from_slice(&total);
        found[80] = 1;
        found[104] = 1; // the unit of memory, in bytes
        memory.set(address, &found).map(|()| 0)
    }

    fn random_bytes(&mut self, address: u64, length: u64, memory: &mut dyn UserMemory) -> CallResult {
        let length = length.min(4096);
        let bytes: Vec<u8> = (0..length).map(|_| self.random.next() as u8).collect();
        memory.set(address, &bytes).map(|()| length)
    }

    /// readlinkat: only `/proc/self/exe` is a link.
    fn read_link(&self, path: u64, address: u64, length: u64, memory: &mut dyn UserMemory) -> CallResult {
        if memory.string(path)? != b"/proc/self/exe" {
            return Err(errno::EINVAL);
        }
        let bytes = &self.path[..self.path.len().min(length as usize)];
        memory.set(address, bytes).map(|()| bytes.len() as u64)
    }
}

/// `clock_getres`: a nanosecond.
fn resolution(address: u64, memory: &mut dyn UserMemory) -> CallResult {
    if address != 0 {
        memory.set(address, &pair(0, 1))?;
    }
    Ok(0)
}

/// `getcpu`: the first processor of the first node.
fn cpu(processor: u64, node: u64, memory: &mut dyn UserMemory) -> CallResult {
    for address in [processor, node] {
        if address != 0 {
            memory.set(address, &[0; 4])?;
        }
    }
    Ok(0)
}

/// Two numbers of eight bytes.
fn pair(first: u64, second: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    bytes
}

/// The limits of a resource: that of the stack, and none for the others. New limits are ignored.
fn limits(resource: u64, address: u64, memory: &mut dyn UserMemory) -> CallResult {
    const STACK: u64 = 3;
    if address != 0 {
        let soft = if resource == STACK { start::STACK_BYTES } else { u64::MAX };
        memory.set(address, &pair(soft, u64::MAX))?;
    }
    Ok(0)
}

/// `rt_sigaction`: the old action is the default one; new ones are never called.
fn actions(old: u64, memory: &mut dyn UserMemory) -> CallResult {
    if old != 0 {
        memory.set(old, &[0; 24])?;
    }
    Ok(0)
}

/// Waits find the value changed, as there is no other thread that could wake this one; a wait for a
/// value that is there would never end.
fn futex(operation: u64, address: u64, expected: u64, memory: &dyn UserMemory) -> CallResult {
    const WAIT: u64 = 0;
    const WAKE: u64 = 1;
    match operation & 0x7f {
        WAIT => {
            let found = memory.bytes(address, 4).and_then(|bytes| bytes.first_chunk()).ok_or(errno::EFAULT)?;
            Err(if u64::from(u32::from_le_bytes(*found)) == expected & 0xffff_ffff {
                errno::EPERM
            } else {
                errno::EAGAIN
            })
        }
        WAKE => Ok(0),
        _ => Err(errno::ENOSYS),
    }
}

impl<F: Files> SyscallHandler for Linux<F> {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        self.serve(call, memory)
    }
}

impl<F: Files> CallHandler for Linux<F> {
    fn call<M: MemorySystem>(&mut self, cycle: u64, call: Syscall, memory: &mut M) -> SyscallResult {
        self.cycle = cycle;
        self.serve(call, &mut Shared(memory))
    }
}
