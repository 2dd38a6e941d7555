// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Descriptors, the table of outstanding descriptors, and which descriptors match.

use mb_processor::line_port::LINE_BYTES;

use crate::contract::{Go, Id, Kind, ProcessAddress, State};

/// The state that software and hardware store about a message (figure 7 of the paper).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Its MOPED and entry.
    pub id: Id,
    /// The process that reserved it.
    pub owner: ProcessAddress,
    /// Physical address of the page table of that process.
    pub root: u64,
    /// The request; `None` before it is completed.
    pub kind: Option<Kind>,
    /// Context of the communicator.
    pub context: u16,
    /// The sender's rank in the communicator; `None`: any.
    pub rank: Option<u16>,
    /// Tag.
    pub tag: u32,
    /// Whether any tag is accepted.
    pub any_tag: bool,
    /// Rank in the program of the process that receives.
    pub receiver: u16,
    /// Virtual address of the buffer.
    pub address: u64,
    /// Bytes of the message or of the buffer.
    pub length: u32,
}

impl Descriptor {
    pub(crate) const fn reserved(id: Id, owner: ProcessAddress, root: u64) -> Self {
        Self {
            id,
            owner,
            root,
            kind: None,
            context: 0,
            rank: Some(0),
            tag: 0,
            any_tag: false,
            receiver: 0,
            address: 0,
            length: 0,
        }
    }

    pub(crate) fn complete(&mut self, go: Go) {
        self.kind = Some(go.kind);
        if go.kind == Kind::Take {
            return;
        }
        (self.context, self.rank, self.any_tag) = (go.context, go.rank, go.any_tag);
        if go.kind != Kind::Send {
            self.receiver = self.owner.rank;
        }
    }

    /// Whether this receive or probe accepts a send: same program and context, to this process, and equal tag and
    /// sender unless any is accepted (section 4.2; the paper does not name the receiving rank, without which two
    /// receivers with one matching MOPED would take each other's messages).
    #[must_use]
    pub fn accepts(&self, send: &Self) -> bool {
        send.kind == Some(Kind::Send)
            && self.kind.is_some_and(|kind| kind != Kind::Send)
            && self.owner.program == send.owner.program
            && self.owner.rank == send.receiver
            && self.context == send.context
            && (self.any_tag || self.tag == send.tag)
            && (self.rank.is_none() || self.rank == send.rank)
    }

    /// Pages that the first `length` bytes of the buffer touch.
    pub(crate) fn pages(&self, length: u32) -> u64 {
        if length == 0 { 0 } else { (self.address + u64::from(length) - 1) / 4096 - self.address / 4096 + 1 }
    }

    /// Offset of the buffer in its first line.
    pub(crate) fn offset(&self) -> u32 {
        (self.address % LINE_BYTES as u64) as u32
    }
}

/// Why an entry is in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A process has reserved it at this MOPED.
    Own,
    /// This MOPED matches it for another.
    Forwarded,
    /// The send of a matched pair that waits here to be copied.
    Partner,
}

/// Where the send of a matched receive is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pair {
    /// There is none, or it is active.
    None,
    /// In this entry of the same table.
    Here(usize),
    /// In this entry of the MOPED that matched it.
    Held(usize, usize),
}

/// An entry of the table.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are bits of the entry")]
pub(crate) struct TableEntry {
    pub(crate) descriptor: Descriptor,
    pub(crate) role: Role,
    /// The state that its owner keeps; of own entries only.
    pub(crate) state: State,
    /// Waits here for a match.
    pub(crate) unmatched: bool,
    /// Its search is outstanding.
    pub(crate) needs_match: bool,
    /// Order of arrival for matching; later the order of the match.
    pub(crate) age: u64,
    /// A cancel or revocation is on its way.
    pub(crate) withdrawing: bool,
    pub(crate) truncated: bool,
    /// The matched probe that has taken this send.
    pub(crate) taken_by: Option<Id>,
    pub(crate) pair: Pair,
    /// The entry of the send, of a receive that is selected to be copied.
    pub(crate) chosen: Option<usize>,
    /// Physical addresses of the first two pages.
    pub(crate) pages: [Option<u64>; 2],
    /// Distinguishes the uses of an entry.
    pub(crate) serial: u64,
}

/// The table of outstanding descriptors of a MOPED.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    entries: Vec<Option<TableEntry>>,
    next: u64,
}

impl Table {
    pub(crate) fn new(entries: usize) -> Self {
        Self { entries: vec![None; entries], next: 0 }
    }

    /// A number higher than all before.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn used(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// The first free entry.
    pub(crate) fn free(&self) -> Option<usize> {
        self.entries.iter().position(Option::is_none)
    }

    pub(crate) fn put(&mut self, entry: usize, descriptor: Descriptor, role: Role) -> &mut TableEntry {
        let serial = self.number();
        self.entries[entry].insert(TableEntry {
            descriptor,
            role,
            state: State::Reserved,
            unmatched: false,
            needs_match: false,
            age: serial,
            withdrawing: false,
            truncated: false,
            taken_by: None,
            pair: Pair::None,
            chosen: None,
            pages: [None; 2],
            serial,
        })
    }

    pub(crate) fn remove(&mut self, entry: usize) -> Option<TableEntry> {
        self.entries.get_mut(entry)?.take()
    }

    pub(crate) fn get(&self, entry: usize) -> Option<&TableEntry> {
        self.entries.get(entry)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, entry: usize) -> Option<&mut TableEntry> {
        self.entries.get_mut(entry)?.as_mut()
    }

    /// The own entry of a process; `None` protects descriptors of others.
    pub(crate) fn own(&mut self, entry: u8, owner: ProcessAddress) -> Option<&mut TableEntry> {
        self.get_mut(entry.into()).filter(|entry| entry.role == Role::Own && entry.descriptor.owner == owner)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &TableEntry)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| Some((index, entry.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut TableEntry)> {
        self.entries.iter_mut().enumerate().filter_map(|(index, entry)| Some((index, entry.as_mut()?)))
    }

    /// The entry in which a descriptor waits here for a match.
    pub(crate) fn waiting(&self, id: Id) -> Option<usize> {
        self.iter().find(|(_, entry)| entry.unmatched && entry.descriptor.id == id).map(|(index, _)| index)
    }
}
