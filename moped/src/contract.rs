// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contract between software and the device as Rust types: `moped/mpi/moped.h`.

/// Physical address of the ports of program 0 (`MOPED_PORTS`).
pub const PORTS: u64 = 0x2000_0000;
/// Physical address of the kernel's registers (`MOPED_CONTROL`).
pub const CONTROL: u64 = 0x1fff_f000;
/// Bytes of a page of ports (`MOPED_PAGE_BYTES`).
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of the ports of a rank (`MOPED_PORT_BYTES`).
pub const PORT_BYTES: u64 = 8;
/// Ranks of a program (`MOPED_RANKS`).
pub const RANKS: u64 = 512;
/// Offset of the data port (`MOPED_DATA_PORT`).
pub const DATA_PORT: u64 = 0;
/// Offset of the poll port (`MOPED_POLL_PORT`).
pub const POLL_PORT: u64 = 4;
/// No descriptor: the program is in back-off (`MOPED_REFUSED`).
pub const REFUSED: u64 = 0xffff_ffff;
/// The poll must be repeated (`MOPED_RETRY`).
pub const RETRY: u64 = 0xffff_ffff;
/// The longest message in bytes (`MOPED_LENGTH_MAX`).
pub const LENGTH_MAX: u64 = 0x7fff_ffff;
/// Position of the field in a store to the data port (`MOPED_FIELD_SHIFT`).
pub const FIELD_SHIFT: u32 = 16;
/// Position of the value in a store to the data port (`MOPED_VALUE_SHIFT`).
pub const VALUE_SHIFT: u32 = 20;
/// Bits of a value (`MOPED_VALUE_BITS`).
pub const VALUE_BITS: u32 = 44;
/// Position of the sender's rank in the value of `MOPED_GO` (`MOPED_RANK_SHIFT`).
pub const RANK_SHIFT: u32 = 16;
/// Position of the kind (`MOPED_KIND_SHIFT`).
pub const KIND_SHIFT: u32 = 32;
/// Position of the bit "any sender" (`MOPED_ANY_RANK_SHIFT`).
pub const ANY_RANK_SHIFT: u32 = 35;
/// Position of the bit "any tag" (`MOPED_ANY_TAG_SHIFT`).
pub const ANY_TAG_SHIFT: u32 = 36;
/// Position of the word in a store to the poll port (`MOPED_WORD_SHIFT`).
pub const WORD_SHIFT: u32 = 16;
/// The program is in back-off (`MOPED_BACKOFF_BIT`).
pub const BACKOFF_BIT: u64 = 1;
/// No MOPED has a descriptor of the program (`MOPED_DRAINED`).
pub const DRAINED: u64 = 2;
/// Position of the episode (`MOPED_EPISODE_SHIFT`).
pub const EPISODE_SHIFT: u32 = 2;
/// Bits of the state in a word of state (`MOPED_STATE_BITS`).
pub const STATE_BITS: u64 = 15;
/// The message is longer than the buffer (`MOPED_TRUNCATED`).
pub const TRUNCATED: u64 = 16;
/// The kernel has mapped the page (`MOPED_MAPPED`).
pub const MAPPED: u64 = 0;
/// The kernel cannot map the page (`MOPED_UNMAPPABLE`).
pub const UNMAPPABLE: u64 = 1;

/// Offsets in the page of the kernel's registers (`struct moped_control`).
pub mod control {
    /// Page fault that the device waits for.
    pub const FAULT: u64 = 0;
    /// The process of the fault.
    pub const FAULT_OWNER: u64 = 8;
    /// Ends the fault.
    pub const RESOLVE: u64 = 16;
    /// Withdraws translations of a page.
    pub const INVALIDATE: u64 = 24;
    /// Completed descriptors on their way.
    pub const IN_FLIGHT: u64 = 32;
}

macro_rules! numbers {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[$inner])* $variant = $value,)*
        }

        impl $name {
            /// The one with this number.
            #[must_use]
            pub const fn of(number: u64) -> Option<Self> {
                match number {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

numbers! {
    /// A field of a descriptor, or an order to it.
    Field {
        /// Virtual address of the buffer.
        Address = 0,
        /// Bytes of the message or of the buffer.
        Length = 1,
        /// Tag and receiving rank.
        Tag = 2,
        /// Context, sender's rank, kind and wildcards; completes the descriptor.
        Go = 3,
        /// Removes the descriptor if it is unmatched.
        Cancel = 4,
        /// Ends the back-off of the program.
        Resume = 5,
    }
}

numbers! {
    /// The request of a descriptor.
    Kind {
        /// A send.
        Send = 0,
        /// A receive.
        Receive = 1,
        /// A probe.
        Probe = 2,
        /// A matched probe.
        MatchedProbe = 3,
        /// A receive of what a matched probe has found.
        Take = 4,
    }
}

numbers! {
    /// A word that a poll loads.
    Word {
        /// State; a final one frees the descriptor.
        State = 0,
        /// State.
        Peek = 1,
        /// Sender's rank in the communicator.
        Source = 2,
        /// Tag of the message.
        Tagged = 3,
        /// Bytes of the message.
        Bytes = 4,
        /// Back-off of the program.
        Backoff = 5,
        /// Completed descriptors of this MOPED on their way.
        InFlight = 6,
    }
}

numbers! {
    /// The state of a descriptor.
    State {
        /// Not a descriptor of this process.
        None = 0,
        /// Not completed by software.
        Reserved = 1,
        /// Not known to be matched.
        Pending = 2,
        /// Will be complete.
        Matched = 3,
        /// A matched probe has taken a message.
        Found = 4,
        /// The bytes are in the receive's buffer.
        Complete = 8,
        /// Removed by back-off.
        Revoked = 9,
        /// Removed by a cancel.
        Cancelled = 10,
        /// A probe found nothing.
        NoMessage = 11,
        /// A page cannot be mapped.
        BadBuffer = 12,
    }
}

impl State {
    /// Whether a poll of the state frees the descriptor.
    #[must_use]
    pub const fn is_final(self) -> bool {
        self as u8 >= Self::Complete as u8
    }
}

/// A process as the address of its ports conveys it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ProcessAddress {
    /// Number of the program: of the page of ports.
    pub program: u16,
    /// Rank in the program.
    pub rank: u16,
}

impl ProcessAddress {
    /// The physical address of its data port.
    #[must_use]
    pub const fn port(self) -> u64 {
        PORTS + self.program as u64 * PAGE_BYTES + self.rank as u64 * PORT_BYTES
    }

    /// The process whose ports are at a physical address, and the offset in them.
    #[must_use]
    pub const fn at(address: u64) -> (Self, u64) {
        let offset = address - PORTS;
        let rank = offset % PAGE_BYTES / PORT_BYTES;
        (Self { program: (offset / PAGE_BYTES) as u16, rank: rank as u16 }, offset % PORT_BYTES)
    }
}

/// A descriptor: the MOPED that holds it, and the entry of its table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Id {
    /// The node.
    pub node: u8,
    /// The entry.
    pub entry: u8,
}

impl Id {
    /// As software sees it.
    #[must_use]
    pub const fn number(self) -> u64 {
        (self.node as u64) << 8 | self.entry as u64
    }

    /// The descriptor of a number; bits beyond 16 are ignored.
    #[must_use]
    pub const fn of(number: u64) -> Self {
        Self { node: (number >> 8) as u8, entry: number as u8 }
    }
}

/// The value of a store to the data port.
#[must_use]
pub const fn data_store(id: Id, field: Field, value: u64) -> u64 {
    id.number() | (field as u64) << FIELD_SHIFT | value << VALUE_SHIFT
}

/// The value of a store to the poll port.
#[must_use]
pub const fn poll_store(id: Id, word: Word) -> u64 {
    id.number() | (word as u64) << WORD_SHIFT
}

/// The value of the field `MOPED_TAG`.
#[must_use]
pub const fn tag_value(tag: u32, receiver: u16) -> u64 {
    tag as u64 | (receiver as u64) << 32
}

/// The fields of the value of `MOPED_GO`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Go {
    /// The kind of request.
    pub kind: Kind,
    /// Context of the communicator and the kind of traffic.
    pub context: u16,
    /// The sender's rank in the communicator; `None`: any.
    pub rank: Option<u16>,
    /// Whether any tag is accepted.
    pub any_tag: bool,
}

impl Go {
    /// As the value of the field.
    #[must_use]
    pub const fn value(self) -> u64 {
        let (rank, any_rank) = match self.rank {
            Some(rank) => (rank as u64, 0),
            None => (0, 1),
        };
        self.context as u64
            | rank << RANK_SHIFT
            | (self.kind as u64) << KIND_SHIFT
            | any_rank << ANY_RANK_SHIFT
            | (self.any_tag as u64) << ANY_TAG_SHIFT
    }

    /// From the value of the field; `None` if no kind has the number.
    #[must_use]
    pub const fn of(value: u64) -> Option<Self> {
        let Some(kind) = Kind::of(value >> KIND_SHIFT & 7) else { return None };
        let exact = matches!(kind, Kind::Send);
        let rank = (value >> RANK_SHIFT) as u16;
        Some(Self {
            kind,
            context: value as u16,
            rank: if exact || value >> ANY_RANK_SHIFT & 1 == 0 { Some(rank) } else { None },
            any_tag: !exact && value >> ANY_TAG_SHIFT & 1 == 1,
        })
    }
}
