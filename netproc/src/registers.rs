// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The registers of the controller as a device of the memory system.

use std::ops::Range;

use mb_processor::system::{Device, DeviceAnswer};

use crate::contract::{DEVICE, DEVICE_BYTES};
use crate::processor::DeviceStore;

/// Registers that keep what harts store for the controller. Software stores to them only.
#[derive(Clone, Debug)]
pub struct ControllerRegisters {
    contexts: usize,
    stores: Vec<DeviceStore>,
    load: Option<(u32, u64)>,
}

impl ControllerRegisters {
    /// The registers of a processor whose cores have this many contexts.
    #[must_use]
    pub const fn new(contexts: usize) -> Self {
        Self { contexts, stores: Vec::new(), load: None }
    }

    /// Whether nothing was stored or loaded that the controller has not seen.
    #[inline]
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.stores.is_empty() && self.load.is_none()
    }

    /// Takes the stores since the last call, the oldest first. Their pc is 0: a device does not see it.
    pub fn take_stores(&mut self) -> Vec<DeviceStore> {
        std::mem::take(&mut self.stores)
    }

    /// The first load, which software must not do: its hart and address. The hart stays there.
    #[must_use]
    pub const fn load(&self) -> Option<(u32, u64)> {
        self.load
    }

    const fn hart(&self, core: usize, context: u8) -> u32 {
        (core * self.contexts) as u32 + context as u32
    }
}

impl Device for ControllerRegisters {
    fn range(&self) -> Range<u64> {
        DEVICE..DEVICE + DEVICE_BYTES
    }

    fn read(&mut self, _: u64, core: usize, context: u8, address: u64, _: u8) -> DeviceAnswer {
        self.load.get_or_insert((self.hart(core, context), address));
        DeviceAnswer::Wait
    }

    fn write(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8, value: u64) -> DeviceAnswer {
        let hart = self.hart(core, context);
        self.stores.push(DeviceStore { cycle, hart, pc: 0, offset: address - DEVICE, width, value });
        DeviceAnswer::Value(0)
    }
}
