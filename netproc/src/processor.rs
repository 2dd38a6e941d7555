// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interface between the machine and a processor with its memory.

use mb_processor::{Fault, Memory};

use crate::contract::HartStatus;
use crate::protection::ProtectedTarget;

/// A store to a register of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceStore {
    /// Cycle in which it reaches the controller.
    pub cycle: u64,
    /// The hart that stores.
    pub hart: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// Offset of the register in the page of the device.
    pub offset: u64,
    /// Bytes.
    pub width: u8,
    /// The value.
    pub value: u64,
}

/// An event of a run of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessorEvent {
    /// A store has reached the controller. Harts may continue before the machine serves it: what the contract lets
    /// software do after a store overwrites neither record nor frame before the controller acts on a later store.
    Store(DeviceStore),
    /// A transfer of the controller is complete: its bytes were read, or are visible to every hart.
    Transferred {
        /// The cycle.
        cycle: u64,
        /// As it was started with.
        tag: u64,
    },
}

/// Why a hart cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HartError {
    /// An illegal instruction or an invalid access.
    Fault(Fault),
    /// A load from the registers of the controller, all of which are only written.
    DeviceLoad {
        /// Address of the instruction.
        pc: u64,
        /// Address of the load.
        address: u64,
    },
    /// The program ended itself with this status; a network processor never ends.
    Exit {
        /// Address of the instruction.
        pc: u64,
        /// The status.
        status: u64,
    },
    /// A store of the user's handler to memory that is not its own.
    ForeignStore {
        /// Address of the instruction.
        pc: u64,
        /// Address of the store.
        address: u64,
        /// Bytes.
        width: u8,
        /// What is there.
        target: ProtectedTarget,
    },
    /// A system call that a network processor does not have.
    Call {
        /// Address of the instruction.
        pc: u64,
        /// Number of the call.
        number: u64,
    },
}

impl HartError {
    /// Address of the instruction.
    #[must_use]
    pub const fn pc(&self) -> u64 {
        match self {
            Self::Fault(Fault::Illegal { pc, .. } | Fault::Access { pc, .. } | Fault::Code { pc, .. })
            | Self::DeviceLoad { pc, .. }
            | Self::Exit { pc, .. }
            | Self::ForeignStore { pc, .. }
            | Self::Call { pc, .. } => *pc,
        }
    }
}

/// A hart that cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped {
    /// The hart.
    pub hart: u32,
    /// Why.
    pub error: HartError,
}

/// A transfer of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaTransfer<'a> {
    /// Bytes to memory.
    Write {
        /// First byte.
        address: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Bytes from memory; the machine reads their values when the transfer is complete.
    Read {
        /// First byte.
        address: u64,
        /// Their number.
        length: u64,
    },
}

/// A transfer to or from addresses that memory does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutsideMemory;

/// The instruction counts of a hart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HartCounts {
    /// Instructions executed (committed).
    pub instructions: u64,
    /// Issue slots used, wrong paths included.
    pub used: u64,
    /// Of these, for instructions that were squashed.
    pub squashed: u64,
}

/// A named count of caches, buses or predictors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedCount {
    /// What is counted.
    pub name: String,
    /// How often.
    pub value: u64,
}

/// The counts of a processor since its start; the difference of two is that of an interval.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessorCounts {
    /// Of every hart.
    pub harts: Vec<HartCounts>,
    /// Names of the causes of `lost`.
    pub causes: Vec<&'static str>,
    /// Issue slots left empty, by hart and cause.
    pub lost: Vec<Vec<u64>>,
    /// Caches, buses and predictors.
    pub memory: Vec<NamedCount>,
}

/// Values of memory, as the controller sees them.
pub trait Bytes {
    /// The `length` bytes at `address`; none if one of them is not memory.
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]>;

    /// The `N` bytes at `address`.
    fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        self.bytes(address, N).and_then(|bytes| bytes.first_chunk().copied())
    }
}

impl Bytes for Memory {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.get(address, length)
    }
}

/// A processor, its caches and memory.
pub trait Processor: Bytes {
    /// Executes up to and including cycle `until`, and returns earlier soon after an event. Appends the events in the
    /// order of their cycles.
    ///
    /// # Errors
    /// A hart cannot continue. Events before that are in `events`.
    fn run(&mut self, until: u64, events: &mut Vec<ProcessorEvent>) -> Result<(), Stopped>;

    /// The next cycle to execute.
    fn cycle(&self) -> u64;

    /// Starts a transfer; transfers are performed in the order of their starts.
    ///
    /// # Errors
    /// The memory has no such bytes.
    fn transfer(&mut self, tag: u64, transfer: DmaTransfer<'_>) -> Result<(), OutsideMemory>;

    /// Address of the next instruction of a hart.
    fn pc(&self, hart: u32) -> u64;

    /// What a hart does after its last instruction, also where memory does not have its last stores; none if the
    /// processor does not know.
    fn status(&self, hart: u32) -> Option<HartStatus> {
        let _ = hart;
        None
    }

    /// Whether no hart executes anything until the controller acts.
    fn is_idle(&self) -> bool;

    /// The counts since the start.
    fn counts(&self) -> ProcessorCounts;
}
