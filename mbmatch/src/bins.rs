// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `bins`: lists by hash, with sequence numbers across them: binned matching as published
//! (Flajslik, Dinan and Underwood, "Mitigating MPI Message Matching Misery", ISC 2016).
//!
//! A receive without wildcards is in the bin of its key; all others are in one more list. An
//! arrival walks its bin and that list, and takes the hit with the lower sequence number. A message
//! is in the bin of its envelope and in a list of all messages, which a receive with wildcards
//! walks. The number of bins is fixed.

use crate::heap::{Array, Heap};
use crate::pool::{Entry, Kind, NIL, Pool};
use crate::types::{
    Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted, QueuedMessage, QueuedReceive,
};

/// Next and previous in a list.
type Links = [u32; 2];

/// An entry that can be in a list of this number: 0 for bins, 1 for the list of all.
trait Linked<const NUMBER: usize> {
    fn links(&mut self) -> &mut Links;
}

/// First and last of a list.
#[derive(Clone, Copy)]
struct List<const NUMBER: usize> {
    first: u32,
    last: u32,
}

impl<const NUMBER: usize> List<NUMBER> {
    const EMPTY: Self = Self { first: NIL, last: NIL };

    fn append<T: Entry + Linked<NUMBER>>(&mut self, pool: &mut Pool<T>, at: u32) {
        self.insert(pool, at, self.last);
    }

    /// Inserts an entry after another one, or before all others if that is `NIL`.
    fn insert<T: Entry + Linked<NUMBER>>(&mut self, pool: &mut Pool<T>, at: u32, prev: u32) {
        let next = if prev == NIL { self.first } else { pool[prev].links()[0] };
        *pool[at].links() = [next, prev];
        if prev == NIL {
            self.first = at;
        } else {
            pool[prev].links()[0] = at;
        }
        if next == NIL {
            self.last = at;
        } else {
            pool[next].links()[1] = at;
        }
    }

    fn unlink<T: Entry + Linked<NUMBER>>(&mut self, pool: &mut Pool<T>, at: u32) {
        let [next, prev] = *pool[at].links();
        if prev == NIL {
            self.first = next;
        } else {
            pool[prev].links()[0] = next;
        }
        if next == NIL {
            self.last = prev;
        } else {
            pool[next].links()[1] = prev;
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Receive {
    bits: u64,
    ignore: u64,
    user: u64,
    /// Sequence number.
    age: u64,
    source: u32,
    any_source: bool,
    links: Links,
    generation: u32,
}

#[derive(Clone, Copy, Default)]
struct Arrival {
    bits: u64,
    user: u64,
    /// Sequence number.
    age: u64,
    source: u32,
    in_bin: Links,
    in_all: Links,
    generation: u32,
}

impl Entry for Receive {
    fn link(&mut self) -> &mut u32 {
        &mut self.links[0]
    }

    fn generation(&mut self) -> &mut u32 {
        &mut self.generation
    }
}

impl Linked<0> for Receive {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Entry for Arrival {
    fn link(&mut self) -> &mut u32 {
        &mut self.in_bin[0]
    }

    fn generation(&mut self) -> &mut u32 {
        &mut self.generation
    }
}

impl Linked<0> for Arrival {
    fn links(&mut self) -> &mut Links {
        &mut self.in_bin
    }
}

impl Linked<1> for Arrival {
    fn links(&mut self) -> &mut Links {
        &mut self.in_all
    }
}

pub(crate) struct Bins {
    receives: Pool<Receive>,
    /// One list for each bin, then the receives with wildcards. Allocated with the first entry.
    posted: Array<List<0>>,
    age: u64,
    arrivals: Pool<Arrival>,
    unexpected: Array<List<0>>,
    all: List<1>,
    lens: (usize, usize),
    /// The number of bins.
    bin_count: usize,
}

impl Bins {
    pub(crate) fn new(bins: usize, heap: Heap) -> Self {
        Self {
            receives: Pool::new(Kind::Receives, heap),
            posted: Array::new(heap),
            age: 0,
            arrivals: Pool::new(Kind::Messages, heap),
            unexpected: Array::new(heap),
            all: List::EMPTY,
            lens: (0, 0),
            bin_count: bins.max(1),
        }
    }

    /// Allocates the bins.
    fn make_bins(&mut self) -> Result<(), OutOfMemory> {
        for (lists, count) in [(&mut self.posted, self.bin_count + 1), (&mut self.unexpected, self.bin_count)] {
            if lists.is_empty() {
                lists.reserve_exact(count)?;
                lists.resize(count, List::EMPTY);
            }
        }
        Ok(())
    }

    fn bin(&self, bits: u64, source: u32) -> usize {
        (((hash(bits, source) >> 32) * self.bin_count as u64) >> 32) as usize
    }

    /// The list of a receive: a bin, or the list of those with wildcards.
    fn bin_of(&self, receive: &Receive) -> usize {
        if receive.any_source || receive.ignore != 0 { self.bin_count } else { self.bin(receive.bits, receive.source) }
    }

    pub(crate) fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        if let Some(message) = self.mprobe(pattern) {
            return Ok(Posted::Matched(message));
        }
        Ok(Posted::Waiting(self.queue_receive(pattern, user)?))
    }

    pub(crate) fn queue_receive(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        self.make_bins()?;
        self.receives.make_room()?;
        let receive = Receive {
            bits: pattern.bits,
            ignore: pattern.ignore,
            user,
            age: self.age,
            source: pattern.source.unwrap_or(0),
            any_source: pattern.source.is_none(),
            ..Receive::default()
        };
        let handle = self.receives.insert(receive);
        let bin = self.bin_of(&receive);
        self.posted[bin].append(&mut self.receives, handle.index());
        self.age += 1;
        self.lens.0 += 1;
        Ok(handle)
    }

    /// The oldest receive of a list that accepts `envelope`.
    fn first_accepting(&self, list: List<0>, envelope: Envelope) -> Option<u32> {
        let mut at = list.first;
        while at != NIL {
            let receive = &self.receives[at];
            let source_fits = receive.any_source || receive.source == envelope.source;
            if (receive.bits ^ envelope.bits) & !receive.ignore == 0 && source_fits {
                return Some(at);
            }
            at = receive.links[0];
        }
        None
    }

    pub(crate) fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        let bin = self.bin(envelope.bits, envelope.source);
        match self.take_from_bin(bin, envelope) {
            Some(user) => Ok(Arrived::Matched { user }),
            None => Ok(Arrived::Unexpected(self.queue_in_bin(bin, envelope, user)?)),
        }
    }

    pub(crate) fn take_receive(&mut self, envelope: Envelope) -> Option<u64> {
        self.take_from_bin(self.bin(envelope.bits, envelope.source), envelope)
    }

    pub(crate) fn queue_message(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.queue_in_bin(self.bin(envelope.bits, envelope.source), envelope, user)
    }

    fn take_from_bin(&mut self, bin: usize, envelope: Envelope) -> Option<u64> {
        if self.lens.0 == 0 {
            return None;
        }
        let exact = self.first_accepting(self.posted[bin], envelope);
        let wild = self.first_accepting(self.posted[self.bin_count], envelope);
        let at = exact.into_iter().chain(wild).min_by_key(|at| self.receives[*at].age)?;
        Some(self.remove_receive(at))
    }

    fn queue_in_bin(&mut self, bin: usize, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.make_bins()?;
        self.arrivals.make_room()?;
        let Envelope { bits, source } = envelope;
        let handle = self.arrivals.insert(Arrival { bits, user, age: self.age, source, ..Arrival::default() });
        self.age += 1;
        self.unexpected[bin].append(&mut self.arrivals, handle.index());
        self.all.append(&mut self.arrivals, handle.index());
        self.lens.1 += 1;
        Ok(handle)
    }

    fn remove_receive(&mut self, at: u32) -> u64 {
        let bin = self.bin_of(&self.receives[at]);
        self.posted[bin].unlink(&mut self.receives, at);
        self.receives.remove(at);
        self.lens.0 -= 1;
        self.receives[at].user
    }

    fn remove_arrival(&mut self, at: u32) -> u64 {
        let Arrival { bits, source, user, .. } = self.arrivals[at];
        let bin = self.bin(bits, source);
        self.unexpected[bin].unlink(&mut self.arrivals, at);
        self.all.unlink(&mut self.arrivals, at);
        self.arrivals.remove(at);
        self.lens.1 -= 1;
        user
    }

    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        let at = self.receives.find(handle)?;
        Some(self.remove_receive(at))
    }

    pub(crate) fn discard(&mut self, handle: Handle) -> Option<u64> {
        let at = self.arrivals.find(handle)?;
        Some(self.remove_arrival(at))
    }

    /// The oldest message that `pattern` accepts.
    fn find(&self, pattern: Pattern) -> Option<u32> {
        if self.lens.1 == 0 {
            return None;
        }
        let in_bin = pattern.source.filter(|_| pattern.ignore == 0);
        let mut at = in_bin.map_or(self.all.first, |source| self.unexpected[self.bin(pattern.bits, source)].first);
        while at != NIL {
            let arrival = &self.arrivals[at];
            if pattern.accepts(&Envelope { bits: arrival.bits, source: arrival.source }) {
                return Some(at);
            }
            at = if in_bin.is_some() { arrival.in_bin[0] } else { arrival.in_all[0] };
        }
        None
    }

    fn queued_message(&self, at: u32) -> QueuedMessage {
        let Arrival { bits, source, user, .. } = self.arrivals[at];
        QueuedMessage { handle: self.arrivals.handle(at), user, envelope: Envelope { bits, source } }
    }

    pub(crate) fn probe(&self, pattern: Pattern) -> Option<QueuedMessage> {
        self.find(pattern).map(|at| self.queued_message(at))
    }

    pub(crate) fn receives(&self, into: &mut Array<QueuedReceive>) {
        let some = |at: u32| (at != NIL).then_some(at);
        for list in self.posted.iter() {
            for at in std::iter::successors(some(list.first), |at| some(self.receives[*at].links[0])) {
                let Receive { bits, ignore, user, source, any_source, .. } = self.receives[at];
                let pattern = Pattern { bits, ignore, source: (!any_source).then_some(source) };
                into.push(QueuedReceive { handle: self.receives.handle(at), user, pattern });
            }
        }
        into.sort_unstable_by_key(|receive| self.receives[receive.handle.index()].age);
    }

    pub(crate) fn messages(&self, into: &mut Array<QueuedMessage>) {
        let some = |at: u32| (at != NIL).then_some(at);
        let all = std::iter::successors(some(self.all.first), |at| some(self.arrivals[*at].in_all[0]));
        into.extend(all.map(|at| self.queued_message(at)));
    }

    pub(crate) fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        let at = self.find(pattern)?;
        let Arrival { bits, source, .. } = self.arrivals[at];
        Some(Message { user: self.remove_arrival(at), envelope: Envelope { bits, source } })
    }

    pub(crate) fn lengths(&self) -> (usize, usize) {
        self.lens
    }

    pub(crate) fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        if posted.max(unexpected) > 0 {
            self.make_bins()?;
        }
        self.receives.reserve(posted)?;
        self.arrivals.reserve(unexpected)
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory {
            posted: self.receives.bytes() + self.posted.bytes(),
            unexpected: self.arrivals.bytes() + self.unexpected.bytes(),
        }
    }

    pub(crate) fn queued(&self, message: Handle) -> Option<Message> {
        let Arrival { bits, source, user, .. } = self.arrivals[self.arrivals.find(message)?];
        Some(Message { user, envelope: Envelope { bits, source } })
    }

    /// Moves a message to the bin of its new source, behind the older ones.
    pub(crate) fn set_source(&mut self, message: Handle, source: u32) {
        let Some(at) = self.arrivals.find(message) else { return };
        let Arrival { bits, source: old, age, .. } = self.arrivals[at];
        let bins = [self.bin(bits, old), self.bin(bits, source)];
        self.unexpected[bins[0]].unlink(&mut self.arrivals, at);
        self.arrivals[at].source = source;
        let mut older = self.unexpected[bins[1]].last;
        while older != NIL && self.arrivals[older].age > age {
            older = self.arrivals[older].in_bin[1];
        }
        self.unexpected[bins[1]].insert(&mut self.arrivals, at, older);
    }

    /// The number of receives that are compared in a list.
    fn compared_in(&self, list: List<0>, found: Option<u32>) -> usize {
        let mut at = list.first;
        let mut count = 0;
        while at != NIL {
            count += 1;
            if Some(at) == found {
                break;
            }
            at = self.receives[at].links[0];
        }
        count
    }

    pub(crate) fn compared_with_receives(&self, envelope: Envelope) -> usize {
        if self.lens.0 == 0 {
            return 0;
        }
        let lists = [self.bin(envelope.bits, envelope.source), self.bin_count].map(|bin| self.posted[bin]);
        lists.into_iter().map(|list| self.compared_in(list, self.first_accepting(list, envelope))).sum()
    }

    pub(crate) fn compared_with_messages(&self, pattern: Pattern) -> usize {
        if self.lens.1 == 0 {
            return 0;
        }
        let found = self.find(pattern);
        let in_bin = pattern.source.filter(|_| pattern.ignore == 0);
        let mut at = in_bin.map_or(self.all.first, |source| self.unexpected[self.bin(pattern.bits, source)].first);
        let mut count = 0;
        while at != NIL {
            count += 1;
            if Some(at) == found {
                break;
            }
            let arrival = &self.arrivals[at];
            at = if in_bin.is_some() { arrival.in_bin[0] } else { arrival.in_all[0] };
        }
        count
    }

    pub(crate) fn shrink(&mut self) {
        self.receives.shrink();
        self.arrivals.shrink();
        if self.lens == (0, 0) {
            for lists in [&mut self.posted, &mut self.unexpected] {
                lists.truncate(0);
                lists.shrink();
            }
        }
    }
}

/// Mixes the key into 64 bits by combining both halves of a product.
#[inline(always)]
fn hash(bits: u64, source: u32) -> u64 {
    let left = bits ^ 0x9e37_79b9_7f4a_7c15;
    let right = u64::from(source) << 8 ^ 0xd1b5_4a32_d192_ed03;
    let product = u128::from(left) * u128::from(right);
    (product >> 64) as u64 ^ product as u64
}
