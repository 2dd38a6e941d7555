// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The execution of an instruction: its effect on its hart, memory and reservations, and the errors that end a run.

use mb_processor::rv64::{AtomicKind, Counter, Effect, Operation, extend};
use mb_processor::{Fault, Memory, WriteError};

use super::{DECODED, Decoded, FunctionalHarts};
use crate::contract::{DEVICE, DEVICE_BYTES};
use crate::processor::{DeviceStore, HartError};

/// Number of the system call `write`, and of `exit` and `exit_group`.
const WRITE: u64 = 64;
const EXITS: [u64; 2] = [93, 94];

impl FunctionalHarts {
    /// Executes an instruction; returns its store, if it is to the controller.
    #[expect(clippy::inline_always, reason = "a call costs as much as most instructions")]
    #[inline(always)]
    pub(super) fn step(&mut self, number: usize) -> Result<Option<DeviceStore>, HartError> {
        let hart = &mut self.harts[number];
        let pc = hart.pc;
        let place = (pc / 2) as usize % DECODED;
        if hart.decoded[place].pc != pc {
            hart.decoded[place] = Decoded::new(decode(&self.memory, pc).map_err(HartError::Fault)?, pc);
            self.touch(pc, false);
        }
        let hart = &mut self.harts[number];
        let Decoded { operation, sources, destination, bytes, .. } = &hart.decoded[place];
        let register = |source: u8| hart.registers[usize::from(source % 64)];
        let operands = [register(sources[0]), register(sources[1]), register(sources[2])];
        let (destination, next) = (*destination, pc.wrapping_add((*bytes).into()));
        // Most instructions change nothing but their hart.
        let effect = match operation.evaluate(pc, operands, hart.float_status.rounding) {
            Effect::Value(value) => {
                hart.finish(destination, value, next);
                return Ok(None);
            }
            Effect::Branch { next: target, link, .. } => {
                hart.finish(destination, link, target);
                return Ok(None);
            }
            Effect::Load { address, width, extension } if !is_device(address) => {
                let value = load(&self.memory, pc, address, width).map_err(HartError::Fault)?;
                hart.finish(destination, extension.extend(value, width), next);
                self.touch(address, false);
                return Ok(None);
            }
            effect => effect,
        };
        let (event, result) = self.perform(number, pc, effect)?;
        self.harts[number].finish(destination, result, next);
        Ok(event)
    }

    /// Performs the effect of an instruction that is neither a value nor a branch nor a load from memory; returns its
    /// store, if it is to the controller, and its result.
    #[inline(never)]
    fn perform(&mut self, number: usize, pc: u64, effect: Effect) -> Result<(Option<DeviceStore>, u64), HartError> {
        let hart = &mut self.harts[number];
        let mut result = 0;
        let mut event = None;
        match effect {
            Effect::Value(_) | Effect::Branch { .. } => unreachable!("performed by the caller"),
            Effect::Float { value, flags } => {
                result = value;
                hart.float_status.flags |= flags;
            }
            Effect::Load { address, .. } => return Err(HartError::DeviceLoad { pc, address }),
            Effect::Store { address, width, value } if is_device(address) => {
                self.check(number, pc, address, width)?;
                let offset = address - DEVICE;
                event = Some(DeviceStore { cycle: self.cycle, hart: number as u32, pc, offset, width, value });
            }
            Effect::Store { address, width, value } => {
                self.check(number, pc, address, width)?;
                self.store(number, pc, address, width, value)?;
                self.protection.stored(address, width, value);
                self.touch(address, true);
            }
            Effect::Atomic { address, width, kind, operand } => {
                result = self.atomic(number, pc, address, width, kind, operand)?;
                self.touch(address, kind != AtomicKind::LoadReserved);
            }
            Effect::Fence(_) | Effect::Pause => {}
            Effect::FenceInstruction => hart.decoded.fill(Decoded::none()),
            Effect::WaitOnReservation { short } => {
                self.waiting |= u64::from(!short && hart.reservation.is_some()) << number;
            }
            Effect::Csr(access) => {
                let value = match access.counter() {
                    Some(Counter::Cycle | Counter::Time) => Some(self.cycle),
                    Some(Counter::Retired) => Some(hart.instructions),
                    None => hart.float_status.access(&access),
                };
                result = value.ok_or(HartError::Fault(Fault::Illegal { pc, word: access.word }))?;
            }
            Effect::Call => result = self.call(number, pc)?,
            Effect::Illegal(word) => return Err(HartError::Fault(Fault::Illegal { pc, word })),
        }
        Ok((event, result))
    }

    /// Whether the handler may write there.
    fn check(&self, number: usize, pc: u64, address: u64, width: u8) -> Result<(), HartError> {
        match self.protection.refuses(number as u32, pc, address, width) {
            None => Ok(()),
            Some(target) => Err(HartError::ForeignStore { pc, address, width, target }),
        }
    }

    fn store(&mut self, number: usize, pc: u64, address: u64, width: u8, value: u64) -> Result<(), HartError> {
        let bytes = value.to_le_bytes();
        // Constant lengths are copied without a call.
        let written = match width {
            1 => self.memory.write(address, &bytes[..1]),
            2 => self.memory.write(address, &bytes[..2]),
            4 => self.memory.write(address, &bytes[..4]),
            _ => self.memory.write(address, &bytes),
        };
        written.map_err(|denied| {
            HartError::Fault(match denied {
                WriteError::OutOfRange => Fault::Access { pc, address, bytes: width },
                WriteError::Code => Fault::Code { pc, address },
            })
        })?;
        self.written(address, width.into(), Some(number));
        Ok(())
    }

    /// Ends the reservations of other harts than `writer` on granules that were written.
    pub(super) fn written(&mut self, address: u64, length: u64, writer: Option<usize>) {
        if self.reserved == 0 {
            return;
        }
        let touched = granule(address)..=granule(address + length.max(1) - 1);
        for (number, hart) in self.harts.iter_mut().enumerate() {
            if Some(number) != writer && hart.reservation.is_some_and(|held| touched.contains(&held)) {
                hart.reservation = None;
                self.reserved &= !(1 << number);
                self.waiting &= !(1 << number);
            }
        }
    }

    fn atomic(
        &mut self,
        number: usize,
        pc: u64,
        address: u64,
        width: u8,
        kind: AtomicKind,
        operand: u64,
    ) -> Result<u64, HartError> {
        if !address.is_multiple_of(width.into()) {
            return Err(HartError::Fault(Fault::Access { pc, address, bytes: width }));
        }
        if kind != AtomicKind::LoadReserved {
            self.check(number, pc, address, width)?;
        }
        let old = extend(load(&self.memory, pc, address, width).map_err(HartError::Fault)?, width, true);
        match kind {
            AtomicKind::LoadReserved => {
                self.harts[number].reservation = Some(granule(address));
                self.reserved |= 1 << number;
                Ok(old)
            }
            AtomicKind::StoreConditional => {
                let held = self.harts[number].reservation.take() == Some(granule(address));
                self.reserved &= !(1 << number);
                if held {
                    self.store(number, pc, address, width, operand)?;
                }
                Ok(u64::from(!held))
            }
            _ => {
                self.store(number, pc, address, width, kind.combine(old, operand))?;
                Ok(old)
            }
        }
    }

    /// `write` to the console and `exit`, the only calls of a bare machine.
    fn call(&mut self, number: usize, pc: u64) -> Result<u64, HartError> {
        let registers = &self.harts[number].registers;
        match registers[17] {
            WRITE => {
                let (address, length) = (registers[11], registers[12]);
                let bytes = usize::try_from(length).ok().and_then(|length| self.memory.get(address, length));
                let bytes = bytes.ok_or(HartError::Fault(Fault::Access { pc, address, bytes: 1 }))?;
                self.console.extend_from_slice(bytes);
                Ok(length)
            }
            call if EXITS.contains(&call) => Err(HartError::Exit { pc, status: registers[10] }),
            call => Err(HartError::Call { pc, number: call }),
        }
    }
}

fn is_device(address: u64) -> bool {
    (DEVICE..DEVICE + DEVICE_BYTES).contains(&address)
}

/// The first byte of the reservation granule of `address`.
const fn granule(address: u64) -> u64 {
    address & !(Memory::RESERVATION_GRANULE - 1)
}

/// The instruction at `pc`; one of two bytes may be the last of memory.
fn decode(memory: &Memory, pc: u64) -> Result<Operation, Fault> {
    let outside = Fault::Access { pc, address: pc, bytes: 2 };
    let word = match (memory.read::<4>(pc), memory.read::<2>(pc)) {
        (Some(bytes), _) => u32::from_le_bytes(bytes),
        (None, Some(bytes)) => u16::from_le_bytes(bytes).into(),
        (None, None) => return Err(outside),
    };
    Ok(Operation::decode(word, pc))
}

fn load(memory: &Memory, pc: u64, address: u64, width: u8) -> Result<u64, Fault> {
    // Without a jump for each width, unless the end of memory is near.
    if let Some(bytes) = memory.read(address) {
        return Ok(extend(u64::from_le_bytes(bytes), width, false));
    }
    let value = match width {
        1 => memory.read(address).map(|bytes| u8::from_le_bytes(bytes).into()),
        2 => memory.read(address).map(|bytes| u16::from_le_bytes(bytes).into()),
        4 => memory.read(address).map(|bytes| u32::from_le_bytes(bytes).into()),
        _ => memory.read(address).map(u64::from_le_bytes),
    };
    value.ok_or(Fault::Access { pc, address, bytes: width })
}
