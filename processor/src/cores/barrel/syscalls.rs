// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System calls that the cores serve themselves: threads and hardware locks. All others go to the
//! program's handler.

use mb_core::Cycles;

use super::locks::Locks;
use super::statistics::Wait;
use crate::{Memory, Service, Syscall, SyscallHandler, SyscallResult};

/// Numbers of [`Service::Custom`] that the cores serve; `processor/firmware/host.h` has the same numbers.
pub mod service {
    /// Waits until the lock named by the first argument is free, and takes it. Result 0.
    pub const ACQUIRE: u16 = 4;
    /// Releases the lock named by the first argument; the caller need not hold it. Result 0.
    pub const RELEASE: u16 = 5;
    /// Starts a thread at the address in the first argument, and passes it the second argument.
    /// Result 0.
    pub const THREAD: u16 = 6;
    /// Ends the calling thread.
    pub const END: u16 = 7;
    /// Waits until all threads but the caller have ended. Result 0.
    pub const JOIN: u16 = 8;
}

/// The effect of a system call besides its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    None,
    /// It takes these cycles.
    Takes(Cycles),
    /// Its thread waits.
    Waits(Wait, WaitsFor),
    /// It starts a thread.
    Starts {
        entry: u64,
        argument: u64,
    },
    /// It ends its thread.
    Ends,
    /// It releases a lock that `thread` was waiting for and now holds.
    Handoff {
        lock: u64,
        thread: usize,
    },
}

/// The event that a waiting thread needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WaitsFor {
    /// The handoff of a lock by its holder.
    Handoff,
    /// A call of [`super::Barrel::wake`].
    Host,
    /// The end of any thread, because the maximum number of threads exists.
    ThreadSlot,
    /// The end of all other threads.
    OtherThreads,
}

/// The system-call handler of one step: serves calls for threads and locks, and forwards the
/// others.
pub(super) struct CoreSyscalls<'a, S> {
    pub(super) cycle: Cycles,
    /// The handler of the program.
    pub(super) handler: &'a mut S,
    pub(super) locks: &'a mut Locks,
    /// The calling thread.
    pub(super) thread: usize,
    /// Its core.
    pub(super) core: usize,
    /// There is no other thread.
    pub(super) alone: bool,
    /// The maximum number of threads exists.
    pub(super) full: bool,
    pub(super) effect: Effect,
}

impl<S: SyscallHandler> SyscallHandler for CoreSyscalls<'_, S> {
    fn set_cycle(&mut self, _cycle: u64) {}

    #[inline]
    fn cycle(&self) -> u64 {
        self.cycle.0
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        let [first, second, ..] = call.arguments;
        match call.service {
            Service::Custom(service::ACQUIRE) => match self.locks.acquire(first, self.thread, self.core) {
                Some(cycles) => {
                    self.effect = Effect::Takes(cycles);
                    SyscallResult::Value(0)
                }
                None => self.wait(Wait::Lock, WaitsFor::Handoff),
            },
            Service::Custom(service::RELEASE) => {
                self.effect = match self.locks.release(first) {
                    Some(thread) => Effect::Handoff { lock: first, thread },
                    None => Effect::Takes(self.locks.release_cycles()),
                };
                SyscallResult::Value(0)
            }
            Service::Custom(service::THREAD) if self.full => self.wait(Wait::Host, WaitsFor::ThreadSlot),
            Service::Custom(service::THREAD) => {
                self.effect = Effect::Starts { entry: first, argument: second };
                SyscallResult::Value(0)
            }
            Service::Custom(service::END) => {
                self.effect = Effect::Ends;
                SyscallResult::Exit(0)
            }
            Service::Custom(service::JOIN) if !self.alone => self.wait(Wait::Host, WaitsFor::OtherThreads),
            Service::Custom(service::JOIN) => SyscallResult::Value(0),
            _ => {
                self.handler.set_cycle(self.cycle.0);
                let result = self.handler.call(call, memory);
                if result == SyscallResult::Wait {
                    self.effect = Effect::Waits(Wait::Host, WaitsFor::Host);
                }
                result
            }
        }
    }
}

impl<S> CoreSyscalls<'_, S> {
    fn wait(&mut self, wait: Wait, event: WaitsFor) -> SyscallResult {
        self.effect = Effect::Waits(wait, event);
        SyscallResult::Wait
    }
}
