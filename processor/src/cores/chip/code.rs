// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Decoded instructions, by fetch block and version of its content.

use std::sync::Arc;

use super::config::ChipConfig;
use crate::isa::{Effect, FloatStatus, Operation, Rounding};
use crate::memory::system::MemorySystem;
use crate::{BranchKind, InstructionClass};

/// How an instruction passes the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    /// Computes a value from its operands.
    Integer,
    /// With `Integer` what commits without more work.
    Load,
    Branch,
    Store,
    Atomic,
    Fence,
    /// Accesses a control and status register.
    Csr,
    /// With all that follow, ends fetch.
    FenceInstruction,
    /// wrs.nto and wrs.sto.
    Wait,
    /// As `Csr`, with an effect on later instructions: writes one that is not `fflags`.
    CsrWrite,
    Call,
    Illegal,
    /// Not inside memory.
    Outside,
}

impl Kind {
    /// Whether the context fetches nothing after the instruction until it commits.
    pub(super) const fn ends_fetch(self) -> bool {
        self as u8 >= Self::FenceInstruction as u8
    }

    /// Whether the instruction uses the load/store queue.
    pub(super) const fn accesses_memory(self) -> bool {
        matches!(self, Self::Load | Self::Store | Self::Atomic)
    }
}

/// A decoded instruction; it does not cross a cache line of the host.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Decoded {
    pub(super) operation: Operation,
    pub(super) kind: Kind,
    pub(super) branch: BranchKind,
    pub(super) latency: u8,
    pub(super) bytes: u8,
    /// Architectural destination, or 0.
    pub(super) destination: u8,
    pub(super) sources: [u8; 3],
}

impl Decoded {
    fn new(config: &ChipConfig, word: u32, pc: u64) -> Self {
        let operation = Operation::decode(word, pc);
        let instruction = operation.instruction();
        let latencies = &config.latencies;
        // The operands do not matter: they change the values in the effect, never its kind.
        let kind = match operation.evaluate(pc, [0; 3], Rounding::NearestEven) {
            Effect::Value(_) | Effect::Float { .. } | Effect::Pause => Kind::Integer,
            Effect::Branch { .. } => Kind::Branch,
            Effect::Load { .. } => Kind::Load,
            Effect::Store { .. } => Kind::Store,
            Effect::Atomic { .. } => Kind::Atomic,
            Effect::Fence(_) => Kind::Fence,
            Effect::FenceInstruction => Kind::FenceInstruction,
            Effect::WaitOnReservation { .. } => Kind::Wait,
            Effect::Csr(access) if access.writes && access.number != FloatStatus::FFLAGS => Kind::CsrWrite,
            Effect::Csr(_) => Kind::Csr,
            Effect::Call => Kind::Call,
            Effect::Illegal(_) => Kind::Illegal,
        };
        let latency = match (kind, instruction.class) {
            (Kind::Branch, _) => latencies.branch,
            (Kind::Load, _) => latencies.load,
            (Kind::Store, _) => latencies.store,
            (Kind::Atomic, _) => latencies.synchronisation,
            // OP-32, the major opcode of mulw.
            (_, InstructionClass::Multiply) if word & 0x7f == 0x3b => latencies.multiply_word,
            (_, InstructionClass::Multiply) => latencies.multiply,
            (_, InstructionClass::Divide) => latencies.divide,
            (_, class) => config.float.of(class).unwrap_or(latencies.integer),
        };
        Self {
            operation,
            kind,
            branch: instruction.branch,
            latency: latency as u8,
            bytes: instruction.bytes,
            // The result of a call is written when it executes.
            destination: operation.destination(),
            sources: operation.sources(),
        }
    }

    /// The instruction at an address that is not memory.
    pub(super) fn outside(config: &ChipConfig, pc: u64) -> Self {
        Self { kind: Kind::Outside, bytes: 2, ..Self::new(config, 0, pc) }
    }
}

/// A decoded fetch block: an instruction for each even address. The last one is decoded only if it
/// has two bytes.
#[derive(Clone, Debug)]
pub(super) struct Block {
    address: u64,
    /// The instructions that end in the block, as bits; they and what follows are by address, in parcels of
    /// two bytes, modulo the length.
    whole: u32,
    parcels: [u16; Self::PARCELS],
    /// The instruction that begins with each parcel.
    decoded: [Decoded; Self::PARCELS],
}

/// Where a core reads a fetch block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Its first byte, as the context sees it.
    pub(super) address: u64,
    /// Its first byte after translation.
    pub(super) physical: u64,
    pub(super) version: u32,
}

/// A fetch block that was read there.
#[derive(Clone, Debug)]
pub(super) struct Fetched {
    pub(super) place: Place,
    pub(super) block: Arc<Block>,
}

impl Block {
    /// Parcels of the longest fetch block.
    const PARCELS: usize = 32;

    fn decode(config: &ChipConfig, address: u64, parcels: [u16; Self::PARCELS]) -> Self {
        let decoded = [Decoded::outside(config, address); Self::PARCELS];
        let mut block = Self { address, whole: 0, parcels, decoded };
        for offset in (0..config.fetch_block).step_by(2) {
            let (place, next) = (Self::place(address + offset), Self::place(address + offset + 2));
            let behind = if offset + 2 < config.fetch_block { parcels[next] } else { 0 };
            let word = u32::from(parcels[place]) | u32::from(behind) << 16;
            let decoded = Decoded::new(config, word, address + offset);
            let ends_inside = offset + u64::from(decoded.bytes) <= config.fetch_block;
            block.whole |= u32::from(ends_inside) << place;
            block.decoded[place] = decoded;
        }
        block
    }

    /// Where the parcel at an address in the block is.
    #[inline]
    const fn place(pc: u64) -> usize {
        (pc / 2) as usize % Self::PARCELS
    }

    /// The two bytes at an address in the block.
    #[inline]
    pub(super) fn parcel(&self, pc: u64) -> u16 {
        self.parcels[Self::place(pc)]
    }

    /// The instruction at an address in the block, if it ends in the block.
    #[inline]
    pub(super) fn at(&self, pc: u64) -> Option<&Decoded> {
        let place = Self::place(pc);
        (self.whole >> place & 1 != 0).then_some(&self.decoded[place])
    }
}

/// An instruction that crosses the end of a fetch block: its address and encoding.
type Crossing = (u64, u32, Decoded);

/// Decoded blocks and instructions, for all cores. It is a cache: its capacity affects the speed of
/// the simulation only.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// By physical address.
    blocks: Vec<Option<Fetched>>,
    /// By address: cores that execute copies of a program have their blocks in common.
    common: Vec<Option<Arc<Block>>>,
    crossings: Vec<Option<Crossing>>,
}

impl Code {
    const BLOCKS: usize = 8192;
    const CROSSINGS: usize = 1024;

    pub(super) fn new() -> Self {
        Self {
            blocks: vec![None; Self::BLOCKS],
            common: vec![None; Self::BLOCKS],
            crossings: vec![None; Self::CROSSINGS],
        }
    }

    /// The block at a place, of which the core has a copy of this version.
    pub(super) fn block<M: MemorySystem>(
        &mut self,
        config: &ChipConfig,
        memory: &M,
        core: usize,
        place: Place,
    ) -> Arc<Block> {
        let slot = (place.physical / config.fetch_block) as usize % Self::BLOCKS;
        if let Some(fetched) = &self.blocks[slot]
            && fetched.place == place
        {
            return Arc::clone(&fetched.block);
        }
        // Bytes that are not memory are an illegal instruction.
        let mut parcels = [0; Block::PARCELS];
        for offset in (0..config.fetch_block).step_by(2) {
            parcels[Block::place(place.address + offset)] = memory.code(core, place.physical + offset).unwrap_or(0);
        }
        let common = &mut self.common[(place.address / config.fetch_block) as usize % Self::BLOCKS];
        let block = match common {
            Some(block) if block.address == place.address && block.parcels == parcels => Arc::clone(block),
            _ => Arc::clone(common.insert(Arc::new(Block::decode(config, place.address, parcels)))),
        };
        self.blocks[slot] = Some(Fetched { place, block: Arc::clone(&block) });
        block
    }

    /// An instruction that crosses the end of a fetch block.
    pub(super) fn crossing(&mut self, config: &ChipConfig, pc: u64, word: u32) -> &Decoded {
        let place = &mut self.crossings[(pc / 2) as usize % Self::CROSSINGS];
        if place.as_ref().is_none_or(|(at, encoding, _)| (*at, *encoding) != (pc, word)) {
            *place = None;
        }
        &place.get_or_insert_with(|| (pc, word, Decoded::new(config, word, pc))).2
    }
}
