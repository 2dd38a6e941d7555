// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host as a thread sees it: calls about threads and locks are the cores' own, the others go out.

use mb_core::Cycles;

use super::super::{Answer, Call, Host, Memory, Service};
use super::locks::Locks;
use super::statistics::Wait;

/// Numbers of [`Service::Own`] that the cores serve themselves; those of `guest/host.h`.
pub mod service {
    /// Waits until the lock of the name in the first argument is free, and takes it. Result 0.
    pub const ACQUIRE: u16 = 4;
    /// Frees the lock of that name, whoever took it. Result 0.
    pub const RELEASE: u16 = 5;
    /// Starts a thread at the address in the first argument, with the second one as its first. Result 0.
    pub const THREAD: u16 = 6;
    /// Ends the calling thread.
    pub const END: u16 = 7;
    /// Waits until all threads but the caller have ended. Result 0.
    pub const JOIN: u16 = 8;
}

/// What a call did besides giving a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    None,
    /// It takes these cycles.
    Takes(Cycles),
    /// Its thread waits.
    Waits(Wait, Whom),
    Starts {
        entry: u64,
        argument: u64,
    },
    Ends,
    /// It freed a lock that `thread` has now.
    HandsOver {
        lock: u64,
        thread: usize,
    },
}

/// Whom a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whom {
    /// For the lock's holder, who will hand it over.
    Holder,
    /// For whoever calls [`super::Barrel::wake`].
    Host,
    /// For the end of any thread, which makes room.
    Room,
    /// For the end of all others.
    Others,
}

pub(super) struct Door<'a, S> {
    pub(super) cycle: Cycles,
    pub(super) service: &'a mut S,
    pub(super) locks: &'a mut Locks,
    pub(super) thread: usize,
    pub(super) core: usize,
    /// There is no other thread.
    pub(super) alone: bool,
    /// There can be no more threads.
    pub(super) full: bool,
    pub(super) effect: Effect,
}

impl<S: Host> Host for Door<'_, S> {
    fn set_cycle(&mut self, _cycle: u64) {}

    #[inline]
    fn cycle(&self) -> u64 {
        self.cycle.0
    }

    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer {
        let [first, second, ..] = call.arguments;
        match call.service {
            Service::Own(service::ACQUIRE) => match self.locks.acquire(first, self.thread, self.core) {
                Some(cycles) => {
                    self.effect = Effect::Takes(cycles);
                    Answer::Value(0)
                }
                None => self.waits(Wait::Lock, Whom::Holder),
            },
            Service::Own(service::RELEASE) => {
                self.effect = match self.locks.release(first) {
                    Some(thread) => Effect::HandsOver { lock: first, thread },
                    None => Effect::Takes(self.locks.release_cycles()),
                };
                Answer::Value(0)
            }
            Service::Own(service::THREAD) if self.full => self.waits(Wait::Host, Whom::Room),
            Service::Own(service::THREAD) => {
                self.effect = Effect::Starts { entry: first, argument: second };
                Answer::Value(0)
            }
            Service::Own(service::END) => {
                self.effect = Effect::Ends;
                Answer::Exit(0)
            }
            Service::Own(service::JOIN) if !self.alone => self.waits(Wait::Host, Whom::Others),
            Service::Own(service::JOIN) => Answer::Value(0),
            _ => {
                self.service.set_cycle(self.cycle.0);
                let answer = self.service.call(call, memory);
                if answer == Answer::Wait {
                    self.effect = Effect::Waits(Wait::Host, Whom::Host);
                }
                answer
            }
        }
    }
}

impl<S> Door<'_, S> {
    fn waits(&mut self, wait: Wait, whom: Whom) -> Answer {
        self.effect = Effect::Waits(wait, whom);
        Answer::Wait
    }
}
