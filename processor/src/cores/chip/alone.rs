// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions that execute alone, when they are the oldest of their context: atomics, fences, waits,
//! accesses to registers of the hart, and calls.

use super::access::Known;
use super::code::Kind;
use super::context::{Context, Full};
use super::core::Shared;
use super::in_flight::bit;
use super::interface::{CallHandler, ChipObserver};
use super::setting::{Environment, Setting};
use crate::isa::rv64::supervisor::number::SATP;
use crate::isa::{AtomicKind, Effect, Rounding};
use crate::memory::system::{MemoryAnswer, MemorySystem, RequestKind};
use crate::{Service, Syscall, SyscallResult};

/// Longest wait of wrs.sto, in cycles.
const SHORT_WAIT: u64 = 64;

impl Shared {
    /// Executes the oldest instruction of a context, which has been issued and executes alone, if it
    /// may.
    pub(super) fn execute_alone<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let number = context.head;
        let entry = *context.entry(number);
        let drained = |memory: &S::Memory| memory.drained(self.number, index as u8);
        let end = now + u64::from(entry.decoded.latency);
        let operands = entry.sources.map(|source| self.registers.file[source].value);
        let may_execute = match entry.decoded.operation.evaluate(entry.pc, operands, Rounding::NearestEven) {
            Effect::Atomic { width, kind, .. } => {
                self.execute_atomic(context, index, width, kind, now, environment);
                return;
            }
            Effect::Load { .. } => {
                self.execute_across(context, index, None, now, environment);
                return;
            }
            Effect::Store { value, .. } => {
                self.execute_across(context, index, Some(value), now, environment);
                return;
            }
            Effect::Fence(order) => {
                let may_execute = !order.writes_before_reads() || drained(environment.memory);
                self.draining |= u8::from(!may_execute) << index;
                may_execute
            }
            Effect::FenceInstruction => {
                let drained = drained(environment.memory);
                self.draining |= u8::from(!drained) << index;
                if drained {
                    environment.memory.invalidate_instructions(self.number);
                    self.drops_blocks = true;
                }
                drained
            }
            Effect::WaitOnReservation { short } => {
                if short && entry.address == 0 {
                    context.entry_mut(number).address = now + SHORT_WAIT;
                }
                let deadline = if short { context.entry(number).address } else { u64::MAX };
                let ends = now >= deadline || !environment.memory.reserved(self.number, index as u8);
                if !ends {
                    self.reserving |= 1 << index;
                    self.deadline = self.deadline.min(deadline);
                }
                context.waits = !ends;
                ends
            }
            Effect::Csr(access) => {
                let value = context.control(&access, now);
                if value.is_none() {
                    context.entry_mut(number).decoded.kind = Kind::Illegal;
                } else if access.writes && access.number == SATP {
                    self.report_address_space(context, index, environment);
                }
                self.registers.file[entry.physical].value = value.unwrap_or(0);
                true
            }
            _ => {
                if !drained(environment.memory) {
                    self.draining |= 1 << index;
                    return;
                }
                environment.active = true;
                if context.supervisor.is_some() {
                    let Some(value) = self.supervisor_call(context, index, now, environment) else { return };
                    self.registers.file[entry.physical].value = value;
                    context.serial &= !bit(number);
                    context.entry_mut(number).accessed = now;
                    self.schedule::<S>(context, index, (number, entry.physical), now, end);
                    return;
                }
                match self.call(context, index, now, environment) {
                    SyscallResult::Value(value) => {
                        self.registers.file[entry.physical].value = value;
                        context.waits = false;
                        true
                    }
                    SyscallResult::Wait => {
                        context.waits = true;
                        self.retry = true;
                        false
                    }
                    SyscallResult::Exit(status) => {
                        self.exits.push((index, status));
                        environment.ended = true;
                        self.squash(context, index, number, now, environment.config, environment.observer);
                        context.fetch.pc = entry.pc;
                        context.halted = true;
                        context.waits = false;
                        context.full = Full::Nothing;
                        return;
                    }
                }
            }
        };
        if may_execute {
            context.serial &= !bit(number);
            context.entry_mut(number).accessed = now;
            self.schedule::<S>(context, index, (number, entry.physical), now, end);
        }
    }

    fn execute_atomic<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        width: u8,
        kind: AtomicKind,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let number = context.head;
        let entry = context.entry(number);
        if !entry.address.is_multiple_of(width.into()) {
            self.fail::<S>(context, index, number, now);
            return;
        }
        let (pc, address) = (entry.pc, entry.address);
        let hart = self.number * environment.config.contexts + index;
        let writes = kind != AtomicKind::LoadReserved;
        if writes && !environment.observer.may_write(hart, pc, address, width) {
            self.fail::<S>(context, index, number, now);
            return;
        }
        let entry = context.entry(number);
        let b = self.registers.file[entry.sources[1]].value;
        let operand = if width == 4 { b as i32 as u64 } else { b };
        let kind = match kind {
            AtomicKind::LoadReserved => RequestKind::LoadReserved,
            AtomicKind::StoreConditional => RequestKind::StoreConditional { value: operand },
            kind => RequestKind::Atomic { kind, operand },
        };
        match self.request(context, index, number, kind, now, environment) {
            MemoryAnswer::Ready { at, value } => {
                context.serial &= !bit(number);
                self.bind(context, index, number, Known { value, at }, now, environment);
            }
            MemoryAnswer::Pending => {
                context.serial &= !bit(number);
                context.pending |= bit(number);
            }
            MemoryAnswer::Retry => self.retry = true,
            MemoryAnswer::Fault => self.fail::<S>(context, index, number, now),
        }
    }

    /// Makes the system call of the oldest instruction of a context; nothing younger is renamed.
    fn call<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> SyscallResult {
        let service = match self.register(context, 17) {
            93 | 94 => Service::Exit,
            64 => Service::Write,
            number => Service::of(number),
        };
        let arguments = [10, 11, 12, 13, 14, 15].map(|register| self.register(context, register));
        let thread = (self.number * environment.config.contexts + index) as u32;
        environment.host.call(now, Syscall { thread, pc: context.pc(), service, arguments }, environment.memory)
    }
}
