// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which message each receive of one rank took in the recording, and which messages are held back
//! so that it takes it again.
//!
//! By the non-overtaking rule, the k-th receive (in posting order) that completed with one source,
//! tag and communicator took the k-th message of that channel. A receive is *bound* when it could
//! take another message in the replay: it has a wildcard, or it was cancelled. A message is held
//! back outside the engine while there is an open bound receive that accepts it and was posted
//! earlier in the recording than the message's own receive. A bound receive is closed when its own
//! message or its cancel was offered to the engine: later messages queue behind it. (It is not
//! closed only when it is matched: a probe may have to find a message before an earlier one is
//! received.)
//!
//! In the order of the recording every message is eventually offered, so a faithful trace cannot
//! deadlock.
//!
//! Built only for ranks with bound receives; most ranks have none and pay nothing. Memory: 4 bytes
//! per receive of the rank and 48 per bound one.

use std::collections::BTreeMap;

use mb_core::matching::{Envelope, Initiator, Pattern};
use mb_core::mpi::{self, ANY_SOURCE, ANY_TAG, Context, Traffic};
use mb_core::time::Picos;
use mb_trace::{Communicators, Flags, Kind, Record};

/// The pattern of a receive or probe with `peer` and `tag` as recorded, in local communicator
/// `comm` of `rank`.
#[inline]
pub(crate) fn pattern_of(communicators: &Communicators, rank: u32, comm: u32, peer: i32, tag: i32) -> Pattern {
    let view = communicators.view(rank, comm);
    let source = (peer != ANY_SOURCE).then(|| Initiator(communicators.world_rank(view.remote, peer as u32)));
    let tag = (tag != ANY_TAG).then_some(tag as u32);
    mpi::pattern(Context::new(view.comm), Traffic::User, source, tag)
}

/// A message that is held back, and the ordinal of its own receive.
#[derive(Clone, Copy)]
pub(crate) struct Held<T> {
    pub(crate) item: T,
    pub(crate) envelope: Envelope,
    pub(crate) ordinal: u32,
    pub(crate) since: Picos,
}

struct Bound<T> {
    ordinal: u32,
    pattern: Pattern,
    open: bool,
    waiting: Vec<Held<T>>,
}

#[derive(Default)]
struct Channel {
    /// Ordinals of the receives that took its messages, in order.
    receives: Vec<u32>,
    arrived: usize,
}

pub(crate) struct Assignment<T> {
    channels: BTreeMap<(u64, u32), Channel>,
    /// In order of their ordinals.
    bound: Vec<Bound<T>>,
    /// Ordinals, in order, of receives that took a message although `MPI_Cancel` was called.
    cancelled_too_late: Vec<u32>,
    /// Ordinals, in order, of wildcard receives without an end in the recording
    /// (`MPI_Request_free`, a killed rank). They take any message.
    unknown: Vec<u32>,
    /// All bound receives before this one are closed.
    first_open: usize,
}

/// Ordinal of a message that no receive took.
const NEVER: u32 = u32::MAX;

const fn channel_of(envelope: &Envelope) -> (u64, u32) {
    (envelope.bits, envelope.initiator.0)
}

struct Receive {
    pattern: Pattern,
    resolved: Option<Envelope>,
    local_comm: u32,
    end: End,
}

/// How a receive ends in the recording, besides its status.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It was completed or freed, or the recording ends before.
    Open,
    /// `MPI_Cancel` was called.
    Cancelled,
}

impl<T> Assignment<T> {
    /// Reads the records of `rank`; `None` if no receive is bound and none was cancelled too late.
    pub(crate) fn new(communicators: &Communicators, rank: u32, records: &[Record]) -> Option<Self> {
        if !communicators.may_race(rank) {
            return None;
        }
        let mut receives: Vec<Receive> = Vec::new();
        let mut open: BTreeMap<u32, u32> = BTreeMap::new();
        for record in records {
            let Some(kind) = record.kind() else { continue };
            if record.is_receiving(kind) {
                let pattern = pattern_of(communicators, rank, record.comm, record.peer, record.tag);
                open.insert(record.request, receives.len() as u32);
                receives.push(Receive { pattern, resolved: None, local_comm: record.comm, end: End::Open });
            } else if kind == Kind::Cancel {
                if let Some(&ordinal) = open.get(&record.request) {
                    receives[ordinal as usize].end = End::Cancelled;
                }
            } else if matches!(kind, Kind::Done | Kind::Free) {
                for number in record.ended() {
                    let Some(ordinal) = open.remove(&number) else { continue };
                    let receive = &mut receives[ordinal as usize];
                    let pattern = receive.pattern;
                    if record.aux > 0 {
                        // The requests of a Done of several have no wildcards.
                        receive.resolved =
                            pattern.initiator.map(|initiator| Envelope { bits: pattern.bits, initiator });
                    } else if kind == Kind::Done
                        && !record.has(Flags::CANCELLED | Flags::UNKNOWN)
                        && record.peer >= 0
                        && record.tag >= 0
                    {
                        let view = communicators.view(rank, receive.local_comm);
                        let source = Initiator(communicators.world_rank(view.remote, record.peer as u32));
                        let context = Context::new(view.comm);
                        receive.resolved = Some(mpi::envelope(context, Traffic::User, source, record.tag as u32));
                    }
                }
            }
        }
        let mut found = Self {
            channels: BTreeMap::new(),
            bound: Vec::new(),
            cancelled_too_late: Vec::new(),
            unknown: Vec::new(),
            first_open: 0,
        };
        for (ordinal, receive) in (0..).zip(&receives) {
            let wildcard = receive.pattern.is_wildcard();
            let cancelled = receive.end == End::Cancelled;
            let resolved = receive.resolved.or_else(|| {
                // A receive without wildcards that was not cancelled takes the message it names,
                // completed or not.
                let named = |initiator| Envelope { bits: receive.pattern.bits, initiator };
                if wildcard || cancelled { None } else { receive.pattern.initiator.map(named) }
            });
            if let Some(envelope) = resolved {
                found.channels.entry(channel_of(&envelope)).or_default().receives.push(ordinal);
            }
            if cancelled && resolved.is_some() {
                found.cancelled_too_late.push(ordinal);
            }
            if cancelled && resolved.is_none() || wildcard && resolved.is_some() {
                found.bound.push(Bound { ordinal, pattern: receive.pattern, open: true, waiting: Vec::new() });
            } else if wildcard {
                found.unknown.push(ordinal);
            }
        }
        (!found.bound.is_empty() || !found.cancelled_too_late.is_empty()).then_some(found)
    }

    /// The ordinal of the receive that took the next message of `envelope`'s channel in the
    /// recording.
    pub(crate) fn arrival(&mut self, envelope: &Envelope) -> u32 {
        let Some(channel) = self.channels.get_mut(&channel_of(envelope)) else { return NEVER };
        let ordinal = channel.receives.get(channel.arrived).copied().unwrap_or(NEVER);
        channel.arrived += 1;
        ordinal
    }

    /// Returns `held` if it can be offered, or holds it back with the last bound receive that must
    /// be closed before (receives mostly close in order). Messages of a channel stay in order: a
    /// receive that holds back one holds back its successors.
    pub(crate) fn admit(&mut self, held: Held<T>) -> Option<Held<T>> {
        let open = &mut self.bound[self.first_open..];
        let before = open.partition_point(|bound| bound.ordinal < held.ordinal);
        match open[..before].iter_mut().rfind(|bound| bound.open && bound.pattern.accepts(&held.envelope)) {
            Some(bound) => {
                bound.waiting.push(held);
                None
            }
            None => Some(held),
        }
    }

    /// Whether receive `ordinal` took a message although `MPI_Cancel` was called.
    pub(crate) fn was_cancelled_too_late(&self, ordinal: u32) -> bool {
        self.cancelled_too_late.binary_search(&ordinal).is_ok()
    }

    /// Whether receive `receive` takes a message in the replay that receive `message` took in the
    /// recording.
    pub(crate) fn diverges(&self, receive: u32, message: u32) -> bool {
        receive != message && self.unknown.binary_search(&receive).is_err()
    }

    /// Closes receive `ordinal`, which cannot take messages that are offered from now on. Returns
    /// the messages that were held back for it, to be admitted again.
    pub(crate) fn close(&mut self, ordinal: u32) -> Vec<Held<T>> {
        let Ok(at) = self.bound.binary_search_by_key(&ordinal, |bound| bound.ordinal) else { return Vec::new() };
        self.bound[at].open = false;
        while self.bound.get(self.first_open).is_some_and(|bound| !bound.open) {
            self.first_open += 1;
        }
        std::mem::take(&mut self.bound[at].waiting)
    }

    /// Messages that are still held back.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Held<T>> {
        self.bound.iter().flat_map(|bound| &bound.waiting)
    }
}
