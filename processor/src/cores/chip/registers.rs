// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The physical registers of a core.

use std::ops::{Index, IndexMut};

use super::config::ChipConfig;

/// A physical register, by its index.
pub(super) type Physical = u16;

/// Registers of a context other than x0: x1 to x31, f0 to f31.
pub(super) const ARCHITECTURAL: usize = 63;

/// A value for each physical register. The length is a power of two that no configuration exceeds, so that
/// an index needs no check.
#[derive(Clone, Debug)]
pub(super) struct PerRegister<T>(Box<[T; REGISTERS]>);

const REGISTERS: usize = 8192;

const _: () = assert!(1 + ARCHITECTURAL * ChipConfig::MAX_CONTEXTS + ChipConfig::MAX_REGISTERS < REGISTERS);

impl<T: Clone> PerRegister<T> {
    pub(super) fn new(value: T) -> Self {
        let values = vec![value; REGISTERS].try_into();
        Self(values.unwrap_or_else(|_| unreachable!("a vector of this length")))
    }
}

impl<T> Index<Physical> for PerRegister<T> {
    type Output = T;

    #[inline]
    fn index(&self, register: Physical) -> &T {
        &self.0[usize::from(register) % REGISTERS]
    }
}

impl<T> IndexMut<Physical> for PerRegister<T> {
    #[inline]
    fn index_mut(&mut self, register: Physical) -> &mut T {
        &mut self.0[usize::from(register) % REGISTERS]
    }
}

/// A physical register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub(super) value: u64,
    /// The cycle from which instructions can be issued with its value; the highest number if it is not
    /// known.
    pub(super) from: u64,
}

/// Physical registers of a core. Register 0 is zero; the last one takes results that no instruction
/// reads.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    pub(super) file: PerRegister<Register>,
    /// The instructions that wait for the register as their first, second or third operand. All of
    /// them belong to one context. Not used with in-order issue.
    pub(super) consumers: Vec<[u64; 3]>,
    pub(super) free: Free,
    pub(super) sink: Physical,
}

/// Free registers; the one that was freed last is taken first.
#[derive(Clone, Debug)]
pub(super) struct Free {
    list: PerRegister<Physical>,
    count: Physical,
}

impl Free {
    /// Registers of which the first is taken first.
    pub(super) fn new(registers: impl DoubleEndedIterator<Item = Physical>) -> Self {
        let mut free = Self { list: PerRegister::new(0), count: 0 };
        for register in registers.rev() {
            free.push(register);
        }
        free
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(super) fn push(&mut self, register: Physical) {
        self.list[self.count] = register;
        self.count += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Physical> {
        self.count = self.count.checked_sub(1)?;
        Some(self.list[self.count])
    }
}
