// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions that execute alone, when they are the oldest of their context: atomics, fences, waits,
//! accesses to registers of the hart, and calls.

use super::access::{Access, Known};
use super::code::Kind;
use super::context::Full;
use super::in_flight::bit;
use super::interface::{CallHandler, ChipObserver};
use super::setting::Setting;
use crate::isa::rv64::supervisor::number::SATP;
use crate::isa::{AtomicKind, Effect, Rounding};
use crate::memory::system::{MemoryAnswer, MemorySystem, RequestKind};
use crate::{Service, Syscall, SyscallResult};

/// Longest wait of wrs.sto, in cycles.
const SHORT_WAIT: u64 = 64;

impl<S: Setting> Access<'_, '_, S> {
    /// Executes the oldest instruction of a context, which has been issued and executes alone, if it
    /// may.
    pub(super) fn execute_alone(&mut self) {
        let (index, number, now) = (self.index, self.number, self.now);
        let entry = *self.context.entry(number);
        let drained = |memory: &S::Memory| memory.drained(self.shared.number, index as u8);
        let end = now + u64::from(entry.decoded.latency);
        let operands = entry.sources.map(|source| self.shared.registers.file[source].value);
        let may_execute = match entry.decoded.operation.evaluate(entry.pc, operands, Rounding::NearestEven) {
            Effect::Atomic { width, kind, .. } => {
                self.execute_atomic(width, kind);
                return;
            }
            Effect::Load { .. } => {
                self.execute_across(None);
                return;
            }
            Effect::Store { value, .. } => {
                self.execute_across(Some(value));
                return;
            }
            Effect::Fence(order) => {
                let may_execute = !order.writes_before_reads() || drained(self.environment.memory);
                self.shared.draining |= u8::from(!may_execute) << index;
                may_execute
            }
            Effect::FenceInstruction => {
                let drained = drained(self.environment.memory);
                self.shared.draining |= u8::from(!drained) << index;
                if drained {
                    self.environment.memory.invalidate_instructions(self.shared.number);
                    self.shared.drops_blocks = true;
                }
                drained
            }
            Effect::WaitOnReservation { short } => {
                if short && entry.address == 0 {
                    self.context.entry_mut(number).address = now + SHORT_WAIT;
                }
                let deadline = if short { self.context.entry(number).address } else { u64::MAX };
                let ends = now >= deadline || !self.environment.memory.reserved(self.shared.number, index as u8);
                if !ends {
                    self.shared.reserving |= 1 << index;
                    self.shared.deadline = self.shared.deadline.min(deadline);
                }
                self.context.waits = !ends;
                ends
            }
            Effect::Csr(access) => {
                let value = self.context.control(&access, now);
                if value.is_none() {
                    self.context.entry_mut(number).decoded.kind = Kind::Illegal;
                } else if access.writes && access.number == SATP {
                    self.shared.report_address_space(self.context, index, self.environment);
                }
                self.shared.registers.file[entry.physical].value = value.unwrap_or(0);
                true
            }
            _ => {
                if !drained(self.environment.memory) {
                    self.shared.draining |= 1 << index;
                    return;
                }
                self.environment.active = true;
                if self.context.supervisor.is_some() {
                    let Some(value) = self.shared.supervisor_call(self.context, index, now, self.environment) else {
                        return;
                    };
                    self.shared.registers.file[entry.physical].value = value;
                    self.context.serial &= !bit(number);
                    self.context.entry_mut(number).accessed = now;
                    self.shared.schedule::<S>(self.context, index, (number, entry.physical), now, end);
                    return;
                }
                match self.call() {
                    SyscallResult::Value(value) => {
                        self.shared.registers.file[entry.physical].value = value;
                        self.context.waits = false;
                        true
                    }
                    SyscallResult::Wait => {
                        self.context.waits = true;
                        self.shared.retry = true;
                        false
                    }
                    SyscallResult::Exit(status) => {
                        self.shared.exits.push((index, status));
                        self.environment.ended = true;
                        self.squash(number);
                        self.context.fetch.pc = entry.pc;
                        self.context.halted = true;
                        self.context.waits = false;
                        self.context.full = Full::Nothing;
                        return;
                    }
                }
            }
        };
        if may_execute {
            self.context.serial &= !bit(number);
            self.context.entry_mut(number).accessed = now;
            self.shared.schedule::<S>(self.context, index, (number, entry.physical), now, end);
        }
    }

    fn execute_atomic(&mut self, width: u8, kind: AtomicKind) {
        let number = self.number;
        let entry = self.context.entry(number);
        if !entry.address.is_multiple_of(width.into()) {
            self.fail();
            return;
        }
        let (pc, address) = (entry.pc, entry.address);
        let hart = self.shared.number * self.environment.config.contexts + self.index;
        let writes = kind != AtomicKind::LoadReserved;
        if writes && !self.environment.observer.may_write(hart, pc, address, width) {
            self.fail();
            return;
        }
        let entry = self.context.entry(number);
        let b = self.shared.registers.file[entry.sources[1]].value;
        let operand = if width == 4 { b as i32 as u64 } else { b };
        let kind = match kind {
            AtomicKind::LoadReserved => RequestKind::LoadReserved,
            AtomicKind::StoreConditional => RequestKind::StoreConditional { value: operand },
            kind => RequestKind::Atomic { kind, operand },
        };
        match self.request(kind) {
            MemoryAnswer::Ready { at, value } => {
                self.context.serial &= !bit(number);
                self.bind(Known { value, at });
            }
            MemoryAnswer::Pending => {
                self.context.serial &= !bit(number);
                self.context.pending |= bit(number);
            }
            MemoryAnswer::Retry => self.shared.retry = true,
            MemoryAnswer::Fault => self.fail(),
        }
    }

    /// Makes the system call of the oldest instruction of a context; nothing younger is renamed.
    fn call(&mut self) -> SyscallResult {
        let service = match self.shared.register(self.context, 17) {
            93 | 94 => Service::Exit,
            64 => Service::Write,
            other => Service::of(other),
        };
        let arguments = [10, 11, 12, 13, 14, 15].map(|register| self.shared.register(self.context, register));
        let thread = (self.shared.number * self.environment.config.contexts + self.index) as u32;
        self.environment.host.call(
            self.now,
            Syscall { thread, pc: self.context.pc(), service, arguments },
            self.environment.memory,
        )
    }
}
