// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the simulator and the model checker share beside the tables: which event a message is, and
//! what a directory records.

use super::words::{CacheAction, CacheEvent, CacheState, DirectoryAction, DirectoryEvent, DirectoryState, MessageKind};

/// A message, without its line and bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProtocolMessage {
    /// Its kind.
    pub kind: MessageKind,
    /// The node that sent it.
    pub from: u8,
    /// In a forwarded request and in Inv: the node that gets the answer.
    pub requester: u8,
    /// The acknowledgements that the requester has to wait for.
    pub acks: u8,
}

/// Where a message of a cache controller goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageTarget {
    /// The directory of the line.
    Home,
    /// The requester that the message names to which this is the answer.
    Requester,
}

impl CacheAction {
    /// The message that the action sends.
    #[must_use]
    #[inline]
    pub const fn message(self) -> Option<(MessageTarget, MessageKind)> {
        Some(match self {
            Self::SendGetS => (MessageTarget::Home, MessageKind::GetS),
            Self::SendGetX => (MessageTarget::Home, MessageKind::GetX),
            Self::SendUpgrade => (MessageTarget::Home, MessageKind::Upgrade),
            Self::SendCopy => (MessageTarget::Home, MessageKind::Copy),
            Self::SendBlank => (MessageTarget::Home, MessageKind::Blank),
            Self::SendPutM => (MessageTarget::Home, MessageKind::PutM),
            Self::SendPutO => (MessageTarget::Home, MessageKind::PutO),
            Self::SendPutE => (MessageTarget::Home, MessageKind::PutE),
            Self::UnblockShared => (MessageTarget::Home, MessageKind::UnblockShared),
            Self::UnblockClean => (MessageTarget::Home, MessageKind::UnblockClean),
            Self::UnblockExclusive => (MessageTarget::Home, MessageKind::UnblockExclusive),
            Self::SendCopyDone => (MessageTarget::Home, MessageKind::CopyDone),
            Self::SendData => (MessageTarget::Requester, MessageKind::Data),
            Self::SendClean => (MessageTarget::Requester, MessageKind::Clean),
            Self::SendModified => (MessageTarget::Requester, MessageKind::Modified),
            Self::SendDataX => (MessageTarget::Requester, MessageKind::DataX),
            Self::SendCopyData => (MessageTarget::Requester, MessageKind::CopyData),
            Self::SendAck => (MessageTarget::Requester, MessageKind::Ack),
            _ => return None,
        })
    }
}

/// The event that a message is in a cache controller which waits for `acks` acknowledgements;
/// negative if they came before their number. `None` for a message to a directory.
#[must_use]
#[inline]
pub fn cache_event(state: CacheState, acks: i8, message: &ProtocolMessage) -> Option<CacheEvent> {
    let all = acks + message.acks as i8 == 0;
    Some(match message.kind {
        MessageKind::FwdGetS => CacheEvent::FwdGetS,
        MessageKind::FwdGetX => CacheEvent::FwdGetX,
        MessageKind::FwdCopy => CacheEvent::FwdCopy,
        MessageKind::Inv => CacheEvent::Inv,
        MessageKind::PutAck => CacheEvent::PutAck,
        MessageKind::Data => CacheEvent::Data,
        MessageKind::Clean => CacheEvent::Clean,
        MessageKind::Exclusive => CacheEvent::Exclusive,
        MessageKind::Modified => CacheEvent::Modified,
        MessageKind::DataX if all => CacheEvent::DataAll,
        MessageKind::DataX => CacheEvent::DataMore,
        MessageKind::Grant if all => CacheEvent::GrantAll,
        MessageKind::Grant => CacheEvent::GrantMore,
        MessageKind::GrantBlank if all => CacheEvent::BlankAll,
        MessageKind::GrantBlank => CacheEvent::BlankMore,
        MessageKind::CopyData => CacheEvent::CopyData,
        MessageKind::Ack if state == CacheState::MA && acks == 1 => CacheEvent::AckLast,
        MessageKind::Ack => CacheEvent::AckMore,
        _ => return None,
    })
}

/// The state of a line in a directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DirectoryEntry {
    /// Nodes that may have copies, apart from the owner, as bits.
    pub sharers: u64,
    /// The state.
    pub state: DirectoryState,
    /// The owner in O and M, and while such a line is busy.
    pub owner: u8,
}

impl DirectoryEntry {
    /// The owner of a line that memory owns.
    pub const MEMORY: u8 = u8::MAX;

    /// A line that no node has.
    pub const NEW: Self = Self { sharers: 0, state: DirectoryState::I, owner: Self::MEMORY };
}

/// The event that a message is in the directory of its line. `None` for a message to a cache
/// controller.
#[must_use]
#[inline]
pub fn directory_event(entry: &DirectoryEntry, message: &ProtocolMessage) -> Option<DirectoryEvent> {
    let owns = entry.owner == message.from;
    Some(match message.kind {
        MessageKind::GetS => DirectoryEvent::GetS,
        MessageKind::Upgrade if owns => DirectoryEvent::UpgradeOwner,
        MessageKind::Upgrade if entry.sharers >> message.from & 1 == 1 => DirectoryEvent::UpgradeSharer,
        // After an upgrade whose copy another node has taken meanwhile, too.
        MessageKind::GetX | MessageKind::Upgrade => DirectoryEvent::GetX,
        MessageKind::Copy => DirectoryEvent::Copy,
        MessageKind::Blank => DirectoryEvent::Blank,
        MessageKind::PutM if owns => DirectoryEvent::PutM,
        MessageKind::PutO if owns => DirectoryEvent::PutO,
        MessageKind::PutE if owns => DirectoryEvent::PutE,
        MessageKind::PutM | MessageKind::PutO | MessageKind::PutE => DirectoryEvent::PutStale,
        MessageKind::UnblockShared => DirectoryEvent::UnblockShared,
        MessageKind::UnblockClean => DirectoryEvent::UnblockClean,
        MessageKind::UnblockExclusive => DirectoryEvent::UnblockExclusive,
        MessageKind::CopyDone => DirectoryEvent::CopyDone,
        _ => return None,
    })
}

/// The effect of an action of a directory outside of its entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outgoing {
    /// A message without data to a node.
    Send(u8, MessageKind, u8),
    /// A message with the bytes of memory to a node.
    SendMemory(u8, MessageKind, u8),
    /// The bytes of the message go to memory.
    Write,
    /// The message waits.
    Stall,
    /// The messages that wait can be served.
    Wake,
}

/// Executes an action of a directory for a message. The actions of a transition see the sharers and
/// the owner of before it, except for what earlier ones of them changed.
#[inline]
pub fn step_directory(
    entry: &mut DirectoryEntry,
    action: DirectoryAction,
    invalidates_owner: bool,
    message: &ProtocolMessage,
    out: &mut impl FnMut(Outgoing),
) {
    use DirectoryAction as A;
    let from = message.from;
    let others = entry.sharers & !(1 << from) & !owner_bit(entry);
    let acks = others.count_ones() as u8 + u8::from(invalidates_owner);
    match action {
        A::Stall => out(Outgoing::Stall),
        A::MemoryData => out(Outgoing::SendMemory(from, MessageKind::Data, 0)),
        A::MemoryExclusive => out(Outgoing::SendMemory(from, MessageKind::Exclusive, 0)),
        A::MemoryDataX => out(Outgoing::SendMemory(from, MessageKind::DataX, acks)),
        A::MemoryCopy => out(Outgoing::SendMemory(from, MessageKind::CopyData, 0)),
        A::SendGrant => out(Outgoing::Send(from, MessageKind::Grant, acks)),
        A::SendBlank => out(Outgoing::Send(from, MessageKind::GrantBlank, acks)),
        A::ForwardGetS => out(Outgoing::Send(entry.owner, MessageKind::FwdGetS, 0)),
        A::ForwardGetX => out(Outgoing::Send(entry.owner, MessageKind::FwdGetX, acks)),
        A::ForwardCopy => out(Outgoing::Send(entry.owner, MessageKind::FwdCopy, 0)),
        A::InvalidateSharers => {
            let mut rest = others;
            while rest != 0 {
                out(Outgoing::Send(rest.trailing_zeros() as u8, MessageKind::Inv, 0));
                rest &= rest - 1;
            }
        }
        A::InvalidateOwner => out(Outgoing::Send(entry.owner, MessageKind::Inv, 0)),
        A::WriteMemory => out(Outgoing::Write),
        A::SendPutAck => out(Outgoing::Send(from, MessageKind::PutAck, 0)),
        A::AddSharer => entry.sharers |= 1 << from,
        A::ShareOwner => {
            entry.sharers |= owner_bit(entry);
            entry.owner = DirectoryEntry::MEMORY;
        }
        A::SetOwner => {
            entry.owner = from;
            entry.sharers = 0;
        }
        A::ClearOwner => entry.owner = DirectoryEntry::MEMORY,
        A::Wake => out(Outgoing::Wake),
    }
}

const fn owner_bit(entry: &DirectoryEntry) -> u64 {
    if entry.owner == DirectoryEntry::MEMORY { 0 } else { 1 << entry.owner }
}
