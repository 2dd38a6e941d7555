// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One instruction of a functional hart.

use super::code::Decoded;
use super::hart::{Flow, Hart};
use super::{Functional, SystemDevice};
use crate::isa::rv64::supervisor::{Exception, HartCounters, Privilege, Privileged, TrapCause};
use crate::isa::rv64::sv39::{Access, PAGE_BYTES};
use crate::isa::rv64::{AtomicKind, CsrAccess, Effect, Extension};
use crate::memory::system::DeviceAnswer;
use crate::memory::{Memory, WriteError};

/// Number of the CSR with the root page table.
const SATP: u16 = 0x180;

/// Why an instruction is not executed.
enum Denied {
    /// An exception with the value for stval.
    Trap(Exception, u64),
    /// A device has no answer yet.
    Wait,
}

fn trap(exception: Exception, value: u64) -> Denied {
    Denied::Trap(exception, value)
}

fn load_bytes(memory: &Memory, physical: u64, width: u8) -> Option<u64> {
    Some(match width {
        1 => u8::from_le_bytes(memory.read(physical)?).into(),
        2 => u16::from_le_bytes(memory.read(physical)?).into(),
        4 => u32::from_le_bytes(memory.read(physical)?).into(),
        _ => u64::from_le_bytes(memory.read(physical)?),
    })
}

fn store_bytes(memory: &mut Memory, hart: u32, physical: u64, width: u8, value: u64) -> Result<(), WriteError> {
    match width {
        1 => memory.store(hart, physical, (value as u8).to_le_bytes()),
        2 => memory.store(hart, physical, (value as u16).to_le_bytes()),
        4 => memory.store(hart, physical, (value as u32).to_le_bytes()),
        _ => memory.store(hart, physical, value.to_le_bytes()),
    }
}

/// Whether an access has bytes in two pages.
#[inline]
const fn crosses(address: u64, width: u8) -> bool {
    address % PAGE_BYTES + width as u64 > PAGE_BYTES
}

impl<D: SystemDevice> Functional<D> {
    /// Executes one instruction of a hart, or takes its trap.
    #[inline]
    pub(super) fn step(&mut self, number: usize, time: u64) -> Flow {
        match self.execute(number, time) {
            Ok(flow) => flow,
            Err(Denied::Wait) => Flow::Wait,
            Err(Denied::Trap(exception, value)) => {
                let hart = &mut self.harts[number];
                let handler = hart.state.supervisor.handler();
                let fetch = matches!(exception, Exception::FetchAccess | Exception::FetchPage);
                let supervisor = hart.state.supervisor.privilege() == Privilege::Supervisor;
                if fetch && supervisor && hart.state.pc == handler {
                    return Flow::TrapLoop(handler);
                }
                hart.counts.exceptions += 1;
                hart.take(TrapCause::Exception(exception, value));
                Flow::Next
            }
        }
    }

    /// The instruction at `pc`.
    #[inline]
    fn fetch(&mut self, number: usize, pc: u64) -> Result<Decoded, Denied> {
        let (page, index) = self.harts[number].translations.code;
        if page == pc / PAGE_BYTES
            && let Some(&decoded) = self.code.get(index, pc)
        {
            return Ok(decoded);
        }
        self.decode(number, pc)
    }

    #[cold]
    fn decode(&mut self, number: usize, pc: u64) -> Result<Decoded, Denied> {
        let Self { harts, memory, code, .. } = self;
        let hart = &mut harts[number];
        let mut half = |address: u64| -> Result<(u64, u16), Denied> {
            let physical = hart
                .translations
                .physical(memory, &hart.state.supervisor, address, Access::Fetch)
                .map_err(|exception| trap(exception, address))?;
            let bytes = memory.read(physical).ok_or(trap(Exception::FetchAccess, address))?;
            Ok((physical, u16::from_le_bytes(bytes)))
        };
        let (physical, low) = half(pc)?;
        let mut word = u32::from(low);
        if low & 3 == 3 {
            word |= u32::from(half(pc.wrapping_add(2))?.1) << 16;
        }
        let decoded = Decoded::new(word, pc);
        // An instruction in two pages depends on both translations and is not kept.
        if let Some(index) = code.open(physical, pc / PAGE_BYTES) {
            hart.translations.code = (pc / PAGE_BYTES, index);
            if !(low & 3 == 3 && crosses(pc, 4)) {
                code.set(index, pc, decoded);
            }
        }
        Ok(decoded)
    }

    #[inline]
    fn execute(&mut self, number: usize, time: u64) -> Result<Flow, Denied> {
        let pc = self.harts[number].state.pc;
        let decoded = self.fetch(number, pc)?;
        let hart = &mut self.harts[number];
        if decoded.float && !hart.state.supervisor.has_float() {
            return Err(trap(Exception::Illegal, decoded.word.into()));
        }
        let user = hart.state.supervisor.privilege() == Privilege::User;
        let operands = decoded.sources.map(|source| hart.state.registers[usize::from(source & 63)]);
        let mut next = pc.wrapping_add(decoded.operation.instruction().bytes.into());
        let mut flow = Flow::Next;
        let result = match decoded.operation.evaluate(pc, operands, hart.state.float.rounding) {
            Effect::Value(value) => value,
            Effect::Float { value, flags } => {
                hart.state.float.flags |= flags;
                hart.state.supervisor.touch_float();
                value
            }
            Effect::Branch { next: target, link, .. } => {
                next = target;
                link
            }
            Effect::Load { address, width, extension } => {
                let value = self.load(number, time, address, width, &mut flow)?;
                extension.extend(value, width)
            }
            Effect::Store { address, width, value } => {
                self.store(number, time, address, width, value, &mut flow)?;
                0
            }
            Effect::Atomic { address, width, kind, operand } => self.atomic(number, address, width, kind, operand)?,
            Effect::Fence(_) => 0,
            Effect::FenceInstruction => {
                self.code.clear();
                self.harts.iter_mut().for_each(|hart| hart.translations.leave_code());
                0
            }
            // A wait may end at any time; this one ends with the turn.
            Effect::Pause | Effect::WaitOnReservation { .. } => {
                flow = Flow::Wait;
                0
            }
            Effect::Csr(access) => self.csr(number, time, &access, decoded.word, &mut flow)?,
            Effect::Call if user => {
                return Err(trap(Exception::UserCall, 0));
            }
            Effect::Call => return Ok(Flow::Call),
            Effect::Illegal(word) => {
                flow = self.privileged(number, time, word, &mut next)?;
                0
            }
        };
        let hart = &mut self.harts[number];
        let destination = usize::from(decoded.destination & 63);
        if destination != 0 {
            hart.state.registers[destination] = result;
            if destination >= 32 {
                hart.state.supervisor.touch_float();
            }
        }
        if user {
            hart.counts.user += 1;
        } else {
            hart.counts.supervisor += 1;
        }
        hart.state.pc = next;
        hart.state.retired += 1;
        Ok(flow)
    }

    #[inline]
    fn load(&mut self, number: usize, time: u64, address: u64, width: u8, flow: &mut Flow) -> Result<u64, Denied> {
        if crosses(address, width) {
            return self.load_across(number, address, width);
        }
        let Hart { state, translations, .. } = &mut self.harts[number];
        let physical = translations
            .physical(&self.memory, &state.supervisor, address, Access::Load)
            .map_err(|exception| trap(exception, address))?;
        if let Some(value) = load_bytes(&self.memory, physical, width) {
            return Ok(value);
        }
        if !within(&self.device, physical, width) {
            return Err(trap(Exception::LoadAccess, address));
        }
        *flow = Flow::Wait;
        match self.device.read(time, number, 0, physical, width) {
            DeviceAnswer::Value(value) => Ok(value),
            DeviceAnswer::Wait => Err(Denied::Wait),
        }
    }

    #[cold]
    fn load_across(&mut self, number: usize, address: u64, width: u8) -> Result<u64, Denied> {
        let mut value = 0;
        for offset in 0..u64::from(width) {
            let byte = address.wrapping_add(offset);
            let Hart { state, translations, .. } = &mut self.harts[number];
            let physical = translations
                .physical(&self.memory, &state.supervisor, byte, Access::Load)
                .map_err(|exception| trap(exception, byte))?;
            let read: [u8; 1] = self.memory.read(physical).ok_or(trap(Exception::LoadAccess, byte))?;
            value |= u64::from(read[0]) << (8 * offset);
        }
        Ok(value)
    }

    #[inline]
    fn store(
        &mut self,
        number: usize,
        time: u64,
        address: u64,
        width: u8,
        value: u64,
        flow: &mut Flow,
    ) -> Result<(), Denied> {
        if crosses(address, width) {
            return self.store_across(number, address, width, value);
        }
        let Hart { state, translations, .. } = &mut self.harts[number];
        let physical = translations
            .physical(&self.memory, &state.supervisor, address, Access::Store)
            .map_err(|exception| trap(exception, address))?;
        if store_bytes(&mut self.memory, number as u32, physical, width, value).is_ok() {
            return Ok(());
        }
        if !within(&self.device, physical, width) {
            return Err(trap(Exception::StoreAccess, address));
        }
        *flow = Flow::Wait;
        match self.device.write(time, number, 0, physical, width, value) {
            DeviceAnswer::Value(_) => Ok(()),
            DeviceAnswer::Wait => Err(Denied::Wait),
        }
    }

    /// Both pages are translated before a byte is written, so that the trap is precise.
    #[cold]
    fn store_across(&mut self, number: usize, address: u64, width: u8, value: u64) -> Result<(), Denied> {
        let mut targets = [0; 8];
        for offset in 0..width {
            let byte = address.wrapping_add(offset.into());
            let Hart { state, translations, .. } = &mut self.harts[number];
            let physical = translations
                .physical(&self.memory, &state.supervisor, byte, Access::Store)
                .map_err(|exception| trap(exception, byte))?;
            if self.memory.read::<1>(physical).is_none() {
                return Err(trap(Exception::StoreAccess, byte));
            }
            targets[usize::from(offset)] = physical;
        }
        for (offset, &physical) in targets[..usize::from(width)].iter().enumerate() {
            store_bytes(&mut self.memory, number as u32, physical, 1, value >> (8 * offset))
                .map_err(|_| trap(Exception::StoreAccess, address.wrapping_add(offset as u64)))?;
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        number: usize,
        address: u64,
        width: u8,
        kind: AtomicKind,
        operand: u64,
    ) -> Result<u64, Denied> {
        let loads = kind == AtomicKind::LoadReserved;
        if !address.is_multiple_of(width.into()) {
            return Err(trap(if loads { Exception::LoadMisaligned } else { Exception::StoreMisaligned }, address));
        }
        let access = if loads { Access::Load } else { Access::Store };
        let Hart { state, translations, .. } = &mut self.harts[number];
        let physical = translations
            .physical(&self.memory, &state.supervisor, address, access)
            .map_err(|exception| trap(exception, address))?;
        let denied = || trap(access.access_fault(), address);
        let old = load_bytes(&self.memory, physical, width).ok_or_else(denied)?;
        let old = Extension::Sign.extend(old, width);
        let hart = number as u32;
        if loads {
            self.memory.reserve(hart, physical);
            return Ok(old);
        }
        let conditional = kind == AtomicKind::StoreConditional;
        if conditional && !self.memory.reserved(hart, physical) {
            self.memory.release(hart);
            return Ok(1);
        }
        store_bytes(&mut self.memory, hart, physical, width, kind.combine(old, operand)).map_err(|_| denied())?;
        if conditional {
            self.memory.release(hart);
            return Ok(0);
        }
        Ok(old)
    }

    fn csr(&mut self, number: usize, time: u64, access: &CsrAccess, word: u32, flow: &mut Flow) -> Result<u64, Denied> {
        let hart = &mut self.harts[number];
        let illegal = trap(Exception::Illegal, word.into());
        if (1..=3).contains(&access.number) {
            if !hart.state.supervisor.has_float() {
                return Err(illegal);
            }
            if access.writes {
                hart.state.supervisor.touch_float();
            }
            return hart.state.float.access(access).ok_or(illegal);
        }
        let counters = HartCounters { cycle: time, time, retired: hart.state.retired };
        let old = hart.state.supervisor.read(access.number, access.writes, counters).ok_or(illegal)?;
        if access.writes {
            let written = hart.state.supervisor.write(access.number, access.combine(old));
            *flow = hart.mode_changed(written);
            if access.number == SATP {
                let root = hart.state.supervisor.root().map_or(0, |page| page * PAGE_BYTES);
                self.device.page_table(number, root);
            }
        }
        Ok(old)
    }

    fn privileged(&mut self, number: usize, time: u64, word: u32, next: &mut u64) -> Result<Flow, Denied> {
        let hart = &mut self.harts[number];
        let instruction = Privileged::decode(word)
            .filter(|instruction| instruction.is_allowed(hart.state.supervisor.privilege()))
            .ok_or(trap(Exception::Illegal, word.into()))?;
        match instruction {
            Privileged::Breakpoint => Err(trap(Exception::Breakpoint, hart.state.pc)),
            Privileged::Return => {
                *next = hart.state.supervisor.sret();
                hart.translations.leave_code();
                Ok(Flow::End)
            }
            Privileged::Wait => {
                hart.state.waits = !hart.state.supervisor.wakes(time);
                Ok(Flow::Wait)
            }
            Privileged::TranslationFence { .. } => {
                hart.translations.clear();
                Ok(Flow::Next)
            }
        }
    }
}

fn within<D: SystemDevice>(device: &D, physical: u64, width: u8) -> bool {
    let range = device.range();
    range.start <= physical && physical.saturating_add(width.into()) <= range.end
}
