// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Golden functions: the expected answers of the programs in `ucode/`, written from the semantics alone.
//!
//! Sources: [`portals_hemmert2007`] is Hemmert et al. (`hemmert2007`) figure 1; [`mpi`] is
//! `spec/matching.md`, clause G-1;
//! [`portals4`] follows the Portals 4 specification (see its own text). Cost: one pass over the list.

use crate::layout::{ANY_NID, ANY_PID, Item, MessageHeader, flags, op, options};

/// The expected answer for the matching item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GoldenMatch {
    /// Position in the list.
    pub position: usize,
    /// The words of the answer.
    pub words: [u64; 4],
    /// Number of words.
    pub count: usize,
}

impl GoldenMatch {
    fn new(position: usize, words: &[u64]) -> Self {
        let mut all = [0; 4];
        all[..words.len()].copy_from_slice(words);
        Self { position, words: all, count: words.len() }
    }
}

/// Whether `item` has all options of `set`.
const fn has(item: &Item, set: u16) -> bool {
    item.options & set == set
}

/// The first word of an answer: event queue and handle of the item.
const fn handle(item: &Item) -> u64 {
    (item.event_queue as u64) << 32 | item.handle as u64
}

const fn process_accepted(item: &Item, header: &MessageHeader) -> bool {
    (item.nid == ANY_NID || item.nid == header.nid) && (item.pid == ANY_PID || item.pid == header.pid)
}

/// The first item that accepts the header by hemmert2007 figure 1: handle, offset, length to receive.
#[must_use]
pub fn portals_hemmert2007(list: &[Item], header: &MessageHeader) -> Option<GoldenMatch> {
    list.iter().enumerate().find_map(|(position, item)| {
        let (offset, length) = portals_hemmert2007_item(item, header)?;
        Some(GoldenMatch::new(position, &[handle(item), offset, length]))
    })
}

/// One iteration of the loop of hemmert2007 figure 1, test by test: offset and length, or no match.
fn portals_hemmert2007_item(item: &Item, header: &MessageHeader) -> Option<(u64, u64)> {
    if (item.bits ^ header.bits) & item.care != 0 {
        return None;
    }
    if !process_accepted(item, header) {
        return None;
    }
    if !has(item, options::VALID) || item.threshold == 0 {
        return None;
    }
    if header.op == op::PUT && !has(item, options::PUT) || header.op == op::GET && !has(item, options::GET) {
        return None;
    }
    let offset =
        if has(item, options::REMOTE_OFFSET) { header.remote_offset.min(item.length) } else { item.local_offset };
    // The local offset is not clamped: beyond the length, the space wraps around.
    let space = item.length.wrapping_sub(offset);
    let truncates = has(item, options::TRUNCATE);
    if has(item, options::MAX_SIZE) && !truncates && space < u64::from(item.max_size) {
        return None;
    }
    match header.length {
        fits if fits <= space => Some((offset, fits)),
        _ if truncates => Some((offset, space)),
        _ => None,
    }
}

/// The first item whose pattern accepts the header's envelope: handle.
#[must_use]
pub fn mpi(list: &[Item], header: &MessageHeader) -> Option<GoldenMatch> {
    let accepts = |item: &Item| {
        (item.bits ^ header.bits) & item.care == 0 && (has(item, options::ANY_SOURCE) || item.nid == header.nid)
    };
    let position = list.iter().position(accepts)?;
    Some(GoldenMatch::new(position, &[handle(&list[position])]))
}

/// The first unexpected message that the pattern in the header accepts: handle.
#[must_use]
pub fn unexpected(list: &[Item], header: &MessageHeader) -> Option<GoldenMatch> {
    let care = header.length;
    let accepts = |item: &Item| {
        (item.bits ^ header.bits) & care == 0 && (header.flags & flags::ANY_SOURCE != 0 || item.nid == header.nid)
    };
    let position = list.iter().position(accepts)?;
    Some(GoldenMatch::new(position, &[handle(&list[position])]))
}

/// Bits of the last word of a `portals4` answer.
pub mod portals4_flags {
    /// The entry must be unlinked.
    pub const UNLINK: u64 = 1;
    /// The entry does not permit the operation: the message is dropped and the entry stays as it is.
    pub const VIOLATION: u64 = 2;
}

/// The first match list entry that accepts the header: handle, offset, length, flags.
///
/// An entry matches on process, match bits and, unless it truncates, on the remaining space. The operation is checked
/// afterwards: a matching entry that does not permit it drops the message. The offset is the
/// entry's local offset unless
/// [`options::REMOTE_OFFSET`] is set; nothing is received beyond the length. The entry unlinks after one use
/// ([`options::USE_ONCE`]), or when its local offset leaves less than its min free size ([`options::MIN_FREE`]).
#[must_use]
pub fn portals4(list: &[Item], header: &MessageHeader) -> Option<GoldenMatch> {
    list.iter().enumerate().find_map(|(position, item)| {
        if (item.bits ^ header.bits) & item.care != 0 || !process_accepted(item, header) {
            return None;
        }
        let remote = has(item, options::REMOTE_OFFSET);
        let offset = if remote { header.remote_offset } else { item.local_offset };
        let space = item.length.saturating_sub(offset);
        if !has(item, options::TRUNCATE) && header.length > space {
            return None;
        }
        let permitted = match header.op {
            op::PUT => has(item, options::PUT),
            op::GET => has(item, options::GET),
            _ => true,
        };
        let length = if permitted { header.length.min(space) } else { 0 };
        let left = space - length;
        let full = !remote && has(item, options::MIN_FREE) && left < u64::from(item.max_size);
        let result = match permitted {
            false => portals4_flags::VIOLATION,
            true if has(item, options::USE_ONCE) || full => portals4_flags::UNLINK,
            true => 0,
        };
        Some(GoldenMatch::new(position, &[handle(item), offset, length, result]))
    })
}
