// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Properties that a run of a chip fixes, for which the stages are compiled, and the parts of the chip that a core
//! uses.

use std::marker::PhantomData;

use super::code::Code;
use super::config::ChipConfig;
use super::interface::{CallHandler, ChipObserver};
use crate::memory::system::MemorySystem;

/// Properties that are the same in all cycles of a run. The stages are compiled for each combination, so that a
/// core with one context or with in-order issue does no work for features that it lacks.
pub(super) trait Setting {
    type Memory: MemorySystem;
    type Host: CallHandler;
    type Observer: ChipObserver;
    /// Cores have one context.
    const SINGLE: bool;
    /// Each context issues in program order: operands are looked at when an instruction is the next to
    /// be issued, and no list of waiting instructions is kept.
    const IN_ORDER: bool;
    /// Cores have one context without supervisor mode, and each stage takes at most one instruction in a
    /// cycle.
    const NARROW: bool;

    /// Instructions that a stage takes in a cycle, of which the configuration says `width`.
    #[inline]
    fn width(width: u32) -> u32 {
        if Self::NARROW { 1 } else { width }
    }
}

/// The setting with these types and constants.
pub(super) struct Fixed<M, H, O, const SINGLE: bool, const IN_ORDER: bool, const NARROW: bool>(PhantomData<(M, H, O)>);

impl<M, H, O, const SINGLE: bool, const IN_ORDER: bool, const NARROW: bool> Setting
    for Fixed<M, H, O, SINGLE, IN_ORDER, NARROW>
where
    M: MemorySystem,
    H: CallHandler,
    O: ChipObserver,
{
    type Memory = M;
    type Host = H;
    type Observer = O;
    const SINGLE: bool = SINGLE;
    const IN_ORDER: bool = IN_ORDER;
    const NARROW: bool = NARROW;
}

/// The other parts of the chip that a core uses in a cycle.
pub(super) struct Environment<'a, S: Setting> {
    pub(super) config: &'a ChipConfig,
    pub(super) code: &'a mut Code,
    pub(super) memory: &'a mut S::Memory,
    pub(super) host: &'a mut S::Host,
    pub(super) observer: &'a mut S::Observer,
    /// A core has sent a request, or changed state for which another core may wait.
    pub(super) active: bool,
    /// A hart has ended, stops the run, or cannot continue.
    pub(super) ended: bool,
    /// Harts whose software interrupt becomes pending.
    pub(super) interrupts: &'a mut Vec<usize>,
}
