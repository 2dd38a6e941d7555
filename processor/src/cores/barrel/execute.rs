// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Execution of one instruction in the slot of a core, and its time.

use mb_core::Cycles;

use super::Barrel;
use super::contexts::NEVER;
use super::observer::BarrelObserver;
use super::statistics::Wait;
use super::syscalls::{CoreSyscalls, Effect, WaitsFor};
use crate::hierarchy::{AccessKind, Reply};
use crate::{BranchKind, Fault, Hart, InstructionClass, Retired, Step};

impl<H: Hart + Clone> Barrel<H> {
    /// Gives the slot of a core in `cycle` to `thread`. Returns when the thread can have the next
    /// slot, and whether no other thread was affected.
    #[inline]
    pub(super) fn step<S: BarrelObserver>(
        &mut self,
        number: usize,
        thread: usize,
        cycle: u64,
        host: &mut S,
    ) -> Result<(u64, bool), Fault> {
        if let Some((access, address, bytes)) = self.threads[thread].again.take() {
            self.cores[number].count_wasted(Wait::Memory);
            return Ok((self.access(number, thread, access, address, bytes, cycle), true));
        }
        if let Some(retry) = self.fetch(number, thread, cycle) {
            self.cores[number].count_wasted(Wait::Memory);
            self.threads[thread].wait = Wait::Memory;
            return Ok((retry, true));
        }
        let mut syscalls = CoreSyscalls {
            cycle: Cycles(cycle),
            handler: host,
            locks: &mut self.locks,
            thread,
            core: number,
            alone: self.threads.len() - self.ended.len() == 1,
            full: self.ended.is_empty() && self.threads.len() >= self.config.threads,
            effect: Effect::None,
        };
        // Matched by reference: a copy would read the result in other widths than it was just
        // written in, and stall the store forwarding of the host's processor.
        let step = &self.threads[thread].hart.step(&mut self.memory, &mut syscalls);
        let effect = syscalls.effect;
        match step {
            Ok(Step::Retired(retired)) => {
                self.cores[number].statistics.instructions += 1;
                let next = self.next_slot(number, thread, retired, cycle);
                let next = if effect == Effect::None { next } else { self.apply_effect(effect, thread, cycle, host) };
                host.retired(number, thread, (Cycles(cycle), Cycles(next)), retired);
                // Only system calls wake other threads.
                Ok((next, retired.instruction.class != InstructionClass::System))
            }
            Ok(Step::Waiting) => {
                let Effect::Waits(wait, event) = effect else {
                    unreachable!("a waiting call sets the event that it waits for: {effect:?}")
                };
                self.cores[number].count_wasted(wait);
                self.threads[thread].wait = wait;
                match event {
                    WaitsFor::Handoff => {}
                    WaitsFor::Host => self.waiting_for_host.push_back(thread),
                    WaitsFor::ThreadSlot => self.waiting_for_slot.push_back(thread),
                    WaitsFor::OtherThreads => self.waiting_for_others.push(thread),
                }
                Ok((NEVER, false))
            }
            Ok(Step::Exited(status)) => {
                self.cores[number].statistics.instructions += 1;
                if effect == Effect::Ends {
                    self.end(thread, cycle);
                } else {
                    self.exited = Some(*status);
                }
                Ok((NEVER, false))
            }
            Err(fault) => Err(*fault),
        }
    }

    /// Fetches the next instruction of `thread`; on a miss, returns the cycle in which to fetch
    /// again.
    #[inline]
    fn fetch(&mut self, number: usize, thread: usize, cycle: u64) -> Option<u64> {
        let config = &self.config.hierarchy.instruction;
        let hart = &self.threads[thread].hart;
        let pc = hart.pc();
        // Instructions are aligned to two bytes: only one that begins in the last two bytes of a
        // line can cross it.
        let at_end = pc.wrapping_add(2) & (config.line - 1) == 0;
        let bytes =
            if at_end { hart.instruction_at(pc).map_or(2, |instruction| u64::from(instruction.bytes)) } else { 2 };
        let hit = config.hit;
        match self.hierarchy.access(number, AccessKind::Fetch, pc, bytes, Cycles(cycle)) {
            Reply::Ready(there) if there <= Cycles(cycle) + hit => None,
            Reply::Ready(there) => Some((there - hit).0),
            Reply::Retry(at) => Some(at.0),
        }
    }

    /// When `thread` can continue after an instruction without an effect.
    #[inline]
    fn next_slot(&mut self, number: usize, thread: usize, retired: &Retired, cycle: u64) -> u64 {
        let instruction = &retired.instruction;
        self.threads[thread].wait = Wait::Execution;
        let next = match instruction.class {
            InstructionClass::Integer | InstructionClass::System => cycle + 1,
            InstructionClass::Multiply => cycle + self.config.multiply.0,
            InstructionClass::Divide => cycle + self.config.divide.0,
            class @ (InstructionClass::FloatMove
            | InstructionClass::FloatConvert
            | InstructionClass::FloatAdd
            | InstructionClass::FloatMultiply
            | InstructionClass::FloatFused
            | InstructionClass::FloatDivide
            | InstructionClass::FloatSquareRoot) => cycle + self.config.float.of(class).unwrap_or(1),
            InstructionClass::Fence => {
                self.threads[thread].wait = Wait::Memory;
                self.threads[thread].stored.max(cycle + 1)
            }
            InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic if instruction.access == 0 => {
                cycle + 1
            }
            InstructionClass::Load => {
                self.access(number, thread, AccessKind::Load, retired.address, instruction.access, cycle)
            }
            InstructionClass::Store => {
                self.access(number, thread, AccessKind::Store, retired.address, instruction.access, cycle)
            }
            InstructionClass::Atomic => {
                self.access(number, thread, AccessKind::Atomic, retired.address, instruction.access, cycle)
            }
        };
        if instruction.branch != BranchKind::None && retired.taken {
            return next.max(cycle + self.config.taken.0);
        }
        next
    }

    /// Accesses memory for `thread`; returns when the thread can continue.
    #[inline]
    fn access(&mut self, number: usize, thread: usize, access: AccessKind, address: u64, bytes: u8, cycle: u64) -> u64 {
        let reply = self.hierarchy.access(number, access, address, u64::from(bytes), Cycles(cycle));
        let state = &mut self.threads[thread];
        state.wait = Wait::Memory;
        match reply {
            Reply::Ready(there) if access == AccessKind::Store => {
                state.stored = state.stored.max(there.0);
                cycle + 1
            }
            Reply::Ready(there) => there.0.max(cycle + 1),
            Reply::Retry(at) => {
                state.again = Some((access, address, bytes));
                at.0
            }
        }
    }

    /// Applies the effect of a system call; returns when its thread can continue.
    fn apply_effect<S: BarrelObserver>(&mut self, effect: Effect, thread: usize, cycle: u64, host: &mut S) -> u64 {
        match effect {
            Effect::Takes(cycles) => {
                self.threads[thread].wait = Wait::Lock;
                cycle + cycles.0
            }
            Effect::Handoff { lock, thread: next } => {
                let costs = self.config.calls;
                let other = self.locks.core(lock) != self.threads[next].location.core();
                let transfer = if other { costs.transfer } else { Cycles::ZERO };
                self.activate(next, cycle + (costs.handoff + transfer).0);
                self.threads[thread].wait = Wait::Lock;
                cycle + costs.release.0
            }
            Effect::Starts { entry, argument } => {
                if let Some(started) = self.spawn(entry, &[argument], Cycles(cycle)) {
                    host.started(started, argument);
                }
                cycle + self.config.calls.create.0
            }
            Effect::None | Effect::Waits(..) | Effect::Ends => {
                unreachable!("a call that returns neither waits nor ends: {effect:?}")
            }
        }
    }
}
