// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The messages that devices move: a record of each, and a comparison of its bytes.

use mb_processor::rv64::sv39;

use crate::contract::{Id, Kind, State};
use crate::counters::MatchEvent;
use crate::descriptor::Descriptor;
use crate::device::Moped;

/// Records that are kept; later messages are counted only.
const MOST_RECORDS: usize = 1 << 20;
/// Differences that are kept as text.
const MOST_DIFFERENCES: usize = 16;

/// A message that a device has moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageRecord {
    /// The program.
    pub program: u16,
    /// Rank in the program of the sender.
    pub sender: u16,
    /// Rank in the program of the receiver.
    pub receiver: u16,
    /// Node of the send descriptor.
    pub from: u8,
    /// Node of the receive descriptor.
    pub to: u8,
    /// Tag.
    pub tag: u32,
    /// Bytes moved.
    pub bytes: u32,
    /// Cycle in which the search for the receive was over; that of the match if the receive came second.
    pub posted: u64,
    /// Cycle of the match.
    pub matched: u64,
    /// Cycle in which the receive was complete.
    pub completed: u64,
}

/// A match that is not complete.
#[derive(Clone, Copy, Debug)]
struct Open {
    receive: Id,
    send: Id,
    /// Cycle in which the search for the receive was over.
    posted: u64,
    /// Cycle of the match.
    matched: u64,
    /// Length of the receive buffer. A complete receive has that of the message instead.
    room: Option<u32>,
}

/// The messages that the devices have moved. Every message is compared in the cycle in which its receive becomes
/// complete: the bytes of the send buffer and of the receive buffer, each through the page table of its process, as the
/// caches have them. In this cycle neither process may change its buffer, because neither has been notified.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    records: Vec<MessageRecord>,
    moved: u64,
    bytes: u64,
    compared: u64,
    different: u64,
    differences: Vec<String>,
    open: Vec<Open>,
    /// Receives that wait for a send, with the cycle in which the search for them was over.
    posted: Vec<(Id, u64)>,
    /// Cycle and node of refused reservations; the counts by node.
    refusals: Vec<(u64, usize)>,
    refused: Vec<u64>,
}

impl Messages {
    /// The first messages, in order of completion.
    #[must_use]
    pub fn records(&self) -> &[MessageRecord] {
        &self.records
    }

    /// Messages moved.
    #[must_use]
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// Bytes moved.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes compared.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Messages whose receive buffer differs from their send buffer. The protocol or a device has a fault.
    #[must_use]
    pub fn different(&self) -> u64 {
        self.different
    }

    /// The first differences, as text.
    #[must_use]
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Cycle and node of the first refused reservations. A refusal that came while nothing else happened in the devices
    /// is seen with their next event.
    pub(super) fn refusals(&self) -> &[(u64, usize)] {
        &self.refusals
    }

    /// The send descriptor of a message that is under way.
    pub(super) fn under_way(&self) -> Option<Id> {
        self.open.first().map(|open| open.send)
    }

    /// Looks at the devices after a cycle. `bytes` reads physical memory.
    pub(super) fn observe<'a>(
        &mut self,
        cycle: u64,
        moped: &mut Moped,
        bytes: impl Fn(u64, usize) -> Option<&'a [u8]>,
    ) {
        self.refused.resize(moped.nodes.len(), 0);
        for node in 0..moped.nodes.len() {
            let refused = moped.nodes[node].counters.refused;
            if std::mem::replace(&mut self.refused[node], refused) < refused && self.refusals.len() < MOST_RECORDS {
                self.refusals.push((cycle, node));
            }
            let Some(log) = &mut moped.nodes[node].log else { continue };
            for event in log.drain(..) {
                match event {
                    MatchEvent::Searched(descriptor) if descriptor.kind == Some(Kind::Receive) => {
                        self.posted.push((descriptor.id, cycle));
                    }
                    MatchEvent::Matched { receive, send } => {
                        let posted = self.take_posted(receive).unwrap_or(cycle);
                        self.open.push(Open { receive, send, posted, matched: cycle, room: None });
                    }
                    MatchEvent::Withdrawn(id) => {
                        self.take_posted(id);
                    }
                    MatchEvent::Searched(_) | MatchEvent::Probed { .. } => {}
                }
            }
        }
        let mut index = 0;
        while index < self.open.len() {
            let Open { receive, send, posted, matched, room } = self.open[index];
            let entry = |id: Id| moped.nodes[usize::from(id.node)].table.get(id.entry.into());
            match (entry(receive), entry(send)) {
                (Some(target), _) if !target.state.is_final() => {
                    self.open[index].room = Some(target.descriptor.length);
                    index += 1;
                }
                (Some(target), Some(source)) => {
                    if target.state == State::Complete {
                        let (target, source) = (&target.descriptor, &source.descriptor);
                        let length = room.unwrap_or(target.length).min(source.length);
                        self.moves(target, source, length, [posted, matched, cycle], &bytes);
                    }
                    self.open.swap_remove(index);
                }
                _ => {
                    self.open.swap_remove(index);
                }
            }
        }
    }

    fn take_posted(&mut self, receive: Id) -> Option<u64> {
        let place = self.posted.iter().position(|(id, _)| *id == receive)?;
        Some(self.posted.swap_remove(place).1)
    }

    fn moves<'a>(
        &mut self,
        receive: &Descriptor,
        send: &Descriptor,
        length: u32,
        [posted, matched, completed]: [u64; 3],
        bytes: &impl Fn(u64, usize) -> Option<&'a [u8]>,
    ) {
        self.moved += 1;
        self.bytes += u64::from(length);
        if self.records.len() < MOST_RECORDS {
            self.records.push(MessageRecord {
                program: receive.owner.program,
                sender: send.owner.rank,
                receiver: receive.owner.rank,
                from: send.id.node,
                to: receive.id.node,
                tag: send.tag,
                bytes: length,
                posted,
                matched,
                completed,
            });
        }
        let [source, target] = [send, receive].map(|side| content(side, length, bytes));
        self.compared += u64::from(length);
        if source != target {
            self.different += 1;
            if self.differences.len() < MOST_DIFFERENCES {
                let place = source.iter().zip(&target).position(|(one, other)| one != other);
                self.differences.push(format!(
                    "cycle {completed}: message of {length} bytes from rank {} at {:#x} to rank {} at {:#x} differs at \
                     byte {}",
                    send.owner.rank,
                    send.address,
                    receive.owner.rank,
                    receive.address,
                    place.unwrap_or(0)
                ));
            }
        }
    }
}

/// The bytes of a buffer through the page table of its process; one `None` for a page that is not mapped.
fn content<'a>(side: &Descriptor, length: u32, bytes: &impl Fn(u64, usize) -> Option<&'a [u8]>) -> Vec<Option<u8>> {
    let word =
        |address| bytes(address, 8).and_then(|found| found.first_chunk()).map(|found| u64::from_le_bytes(*found));
    let mut found = Vec::with_capacity(length as usize);
    let (mut address, end) = (side.address, side.address + u64::from(length));
    while address < end {
        let part = (end - address).min(sv39::PAGE_BYTES - address % sv39::PAGE_BYTES);
        let leaf = sv39::walk(side.root / sv39::PAGE_BYTES, address, word).ok();
        match leaf.and_then(|leaf| bytes(leaf.physical(address), part as usize)) {
            Some(page) => found.extend(page.iter().copied().map(Some)),
            None => found.push(None),
        }
        address += part;
    }
    found
}
