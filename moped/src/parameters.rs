// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the devices of a chip.

use mb_core::parameters::Choice;

/// Parameters of all MOPEDs of a chip. Cycles are those of the cores.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct MopedParameters {
    /// Nodes of the chip: cores with a private L2 and a MOPED each.
    #[parameter(range = 1..=256)]
    pub nodes: usize,
    /// Pages of ports: programs that use MOPED at a time.
    #[parameter(range = 1..=256)]
    pub programs: usize,
    /// Entries of the table of outstanding descriptors of a MOPED.
    #[parameter(range = 1..=256)]
    pub descriptors: usize,
    /// Entries of the table of active matches of a MOPED, each with a copy unit.
    #[parameter(range = 1..=8)]
    pub active: usize,
    /// Send lines and receive lines of a copy unit, each.
    #[parameter(range = 2..=16)]
    pub lines: usize,
    /// Lines of page tables that the walker of a MOPED stages.
    #[parameter(range = 1..=16)]
    pub walk_lines: usize,
    /// Coherence operations that a MOPED starts in a cycle.
    #[parameter(range = 1..=16)]
    pub operations: usize,
    /// Halves of send lines that a copy unit shifts into receive lines in a cycle.
    #[parameter(range = 1..=32)]
    pub merge_halves: usize,
    /// How receive lines that are overwritten completely are acquired.
    #[parameter]
    pub design: MopedDesign,
    /// Which of several descriptors that match is taken.
    #[parameter]
    pub order: MatchOrder,
    /// What back-off does beyond refusing reservations and revoking descriptors that are polled.
    #[parameter]
    pub backoff: Backoff,
    /// When the first two pages of a buffer are translated.
    #[parameter]
    pub walk_start: WalkStart,
    /// Odd factor of the program in the hash that selects the matching MOPED.
    #[parameter(range = 1..=255)]
    pub hash_factor: u64,
    /// Cycles of an access to a port, in the MOPED.
    #[parameter(range = 1..=1000)]
    pub port_cycles: u64,
    /// Cycles to find the descriptor that is matched next, and to select an active match.
    #[parameter(range = 0..=1000)]
    pub find_cycles: u64,
    /// Cycles for each entry of the table that a search visits.
    #[parameter(range = 0..=1000)]
    pub walk_cycles: u64,
    /// Bytes of a message with a descriptor, in the switch.
    #[parameter(range = 8..=256)]
    pub descriptor_bytes: u32,
    /// Bytes of every other message, in the switch.
    #[parameter(range = 4..=256)]
    pub control_bytes: u32,
}

/// How receive lines that are overwritten completely are acquired; how send lines are copied is a matter of the
/// coherence protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum MopedDesign {
    /// With their bytes. Send lines are read as by a core (`BASEMOPED`).
    Base,
    /// With their bytes. Send lines are copied without a change of states.
    Optcopy,
    /// Without their bytes. Send lines are copied without a change of states.
    Optcache,
}

/// Which of several descriptors that match is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum MatchOrder {
    /// The oldest, as MPI demands.
    Age,
    /// That in the first slot: find-first-bit and a linear walk, as the paper says (clauses O-3, O-4 and O-6).
    Slot,
}

/// Effects of back-off other than refusing reservations and revoking descriptors that are polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Backoff {
    /// Matching stops for the program, a refusal is answered when all MOPEDs have been notified, and software ends it.
    Stop,
    /// Nothing, as the paper says; the bit clears itself when the last descriptor is gone (clauses O-4 and O-6).
    Published,
}

/// When the first two pages of a buffer are translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum WalkStart {
    /// When the descriptor is valid in the MOPED that will copy.
    Valid,
    /// When the match is active.
    Active,
}
