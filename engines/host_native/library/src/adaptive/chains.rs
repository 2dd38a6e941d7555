// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entries of a queue, and where the oldest of each key is: a hash table of buckets, in each the oldest entries of
//! its keys, and behind each of those the younger ones of the same key.
//!
//! Every operation is O(1) however many keys there are, and however many entries of one key. What a search touches
//! beside the bucket is the one entry that it is for, most often: two lines of the cache. An entry is 32 bytes and
//! lies within a line. The hash spreads tags or sources in a row, which MPI programs have, more evenly than chance
//! would, and others as chance does.
//!
//! `unsafe` here is of one kind: an index that is not compared with a length. Places in buckets, in links and free
//! ones are below the number of items, of which there are never fewer than before; every place in the first two is
//! one that [`Places`] gave and did not get back.

use super::places::Places;
use crate::pool::foresee;
use crate::types::{Envelope, Message, OutOfMemory};

/// No place.
const NIL: u32 = u32::MAX;
/// Handles of other receives begin here.
pub(super) const MOST: usize = 1 << 31;
/// Room grows in whole words of free places.
const STEP: usize = 64;

/// A receive or a message.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
struct Item {
    /// Match bits; of a receive only those that are compared.
    bits: u64,
    user: u64,
    /// 0 if any.
    source: u32,
    /// The next younger of the same key, or `NIL`.
    next: u32,
    /// The next older of the same key; of the oldest, the youngest.
    prev: u32,
    /// Of the oldest of its key: the oldest of another key in the bucket, or `NIL`.
    beside: u32,
}

/// The oldest entry of a key, and what leads to it.
#[derive(Clone, Copy)]
pub(super) struct First {
    bucket: u32,
    /// The one before it in the bucket, or `NIL`.
    before: u32,
    place: u32,
}

/// How much room there is beyond what is in use.
#[derive(Clone, Copy)]
pub(super) struct Slack {
    /// Grows by this part of what there is.
    pub(super) part: usize,
    /// Buckets for each place.
    pub(super) buckets: usize,
}

pub(super) struct Chains {
    /// By hash: the oldest of one of the keys, or `NIL`.
    buckets: Vec<u32>,
    items: Vec<Item>,
    /// What the owner wants to know of each item besides. Apart from the items, for few operations look at it.
    stamps: Vec<u64>,
    places: Places,
    slack: Slack,
}

impl Chains {
    pub(super) fn new(slack: Slack) -> Self {
        Self { buckets: Vec::new(), items: Vec::new(), stamps: Vec::new(), places: Places::default(), slack }
    }

    /// The bucket of a key. There must have been room for an item.
    #[inline(always)]
    fn bucket(&self, bits: u64, source: u32) -> u32 {
        (((hash(bits, source) >> 32) * self.buckets.len() as u64) >> 32) as u32
    }

    #[inline(always)]
    fn head(&mut self, bucket: u32) -> &mut u32 {
        debug_assert!((bucket as usize) < self.buckets.len());
        // SAFETY: a product of a half word and the number of buckets, without its lower half.
        unsafe { self.buckets.get_unchecked_mut(bucket as usize) }
    }

    #[inline(always)]
    fn item(&self, place: u32) -> &Item {
        debug_assert!(self.places.is_taken(place));
        // SAFETY: a place in a bucket or a link; see above.
        unsafe { self.items.get_unchecked(place as usize) }
    }

    #[inline(always)]
    fn item_mut(&mut self, place: u32) -> &mut Item {
        debug_assert!(self.places.is_taken(place));
        // SAFETY: a place in a bucket or a link, or one just taken; see above.
        unsafe { self.items.get_unchecked_mut(place as usize) }
    }

    /// The oldest item of a key among those whose stamp `is_one`. There must have been room for an item.
    #[inline(always)]
    pub(super) fn find(&self, bits: u64, source: u32, is_one: impl Fn(u64) -> bool) -> Option<First> {
        let bucket = self.bucket(bits, source);
        // SAFETY: as in `head`.
        let mut place = unsafe { *self.buckets.get_unchecked(bucket as usize) };
        let mut before = NIL;
        while place != NIL {
            let item = self.item(place);
            if item.bits == bits && item.source == source && is_one(self.stamp(place)) {
                return Some(First { bucket, before, place });
            }
            before = place;
            place = item.beside;
        }
        None
    }

    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.places.has_room()
    }

    /// Makes sure that there is room for one more item.
    #[inline(always)]
    pub(super) fn make_room(&mut self) -> Result<(), OutOfMemory> {
        if self.has_room() { Ok(()) } else { self.grow() }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<(), OutOfMemory> {
        self.reserve(self.items.len() + (self.items.len() / self.slack.part).max(1))
    }

    /// Makes room for `items` in all.
    #[cold]
    pub(super) fn reserve(&mut self, items: usize) -> Result<(), OutOfMemory> {
        if items <= self.items.len() {
            return Ok(());
        }
        foresee::<Item>(items.saturating_add(STEP))?;
        let room = items.next_multiple_of(STEP);
        if room > MOST {
            return Err(OutOfMemory);
        }
        let wanted = room * self.slack.buckets;
        let buckets = if wanted > self.buckets.len() {
            wanted.max(self.buckets.len() + self.buckets.len() / 2).min(NIL as usize)
        } else {
            self.buckets.len()
        };
        // Whatever can fail does so before anything changes.
        let mut fresh = Vec::new();
        if buckets > self.buckets.len() {
            fresh.try_reserve_exact(buckets)?;
        }
        self.items.try_reserve_exact(room - self.items.len())?;
        self.stamps.try_reserve_exact(room - self.stamps.len())?;
        self.places.reserve(room)?;
        self.items.resize(room, Item::default());
        self.stamps.resize(room, 0);
        self.places.extend(room);
        if buckets > self.buckets.len() {
            fresh.resize(buckets, NIL);
            self.move_to(fresh);
        }
        Ok(())
    }

    /// Puts the oldest of each key into other buckets.
    fn move_to(&mut self, buckets: Vec<u32>) {
        for mut place in std::mem::replace(&mut self.buckets, buckets) {
            while place != NIL {
                let Item { bits, source, beside, .. } = *self.item(place);
                let bucket = self.bucket(bits, source);
                self.item_mut(place).beside = std::mem::replace(self.head(bucket), place);
                place = beside;
            }
        }
    }

    /// Appends an item to those of its key whose stamps are `alike`; there must be room. Returns its place.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        (bits, source): (u64, u32),
        stamp: u64,
        user: u64,
        alike: impl Fn(u64) -> bool,
    ) -> u32 {
        let bucket = self.bucket(bits, source);
        let place = self.places.take();
        let head = *self.head(bucket);
        *self.item_mut(place) = Item { bits, user, source, next: NIL, prev: place, beside: head };
        // SAFETY: as in `item`; there are as many stamps as items.
        unsafe { *self.stamps.get_unchecked_mut(place as usize) = stamp };
        if head == NIL {
            *self.head(bucket) = place;
        } else {
            self.append_beside(bucket, place, alike);
        }
        place
    }

    /// Puts the item at `place` into a bucket in which there are some, which it is linked to.
    #[inline(always)]
    fn append_beside(&mut self, bucket: u32, place: u32, alike: impl Fn(u64) -> bool) {
        let Item { bits, source, beside: mut first, .. } = *self.item(place);
        while first != NIL {
            let other = self.item(first);
            if other.bits == bits && other.source == source && alike(self.stamp(first)) {
                let youngest = std::mem::replace(&mut self.item_mut(first).prev, place);
                self.item_mut(youngest).next = place;
                self.item_mut(place).prev = youngest;
                return;
            }
            first = other.beside;
        }
        *self.head(bucket) = place;
    }

    /// Frees the place of an item that has left its chain.
    #[inline(always)]
    fn free(&mut self, place: u32) {
        debug_assert!(self.places.is_taken(place));
        // SAFETY: the place of an item is one that was taken.
        unsafe { self.places.free(place) }
    }

    /// Takes the oldest of a key.
    #[inline(always)]
    pub(super) fn take(&mut self, first: First) -> Message {
        self.leave(first);
        let message = self.message(first);
        self.free(first.place);
        message
    }

    /// Takes the oldest of a key out of its chain.
    #[inline(always)]
    fn leave(&mut self, First { bucket, before, place }: First) {
        let Item { next, prev, beside, .. } = *self.item(place);
        let heir = if next == NIL {
            beside
        } else {
            let heir = self.item_mut(next);
            (heir.prev, heir.beside) = (prev, beside);
            next
        };
        if before == NIL {
            *self.head(bucket) = heir;
        } else {
            self.item_mut(before).beside = heir;
        }
    }

    /// Takes the item at `place`, if there is one and its stamp `is_it`; its like are those whose stamps are `alike`.
    /// Returns its user value.
    #[inline(always)]
    pub(super) fn take_back(
        &mut self,
        place: u32,
        is_it: impl FnOnce(u64) -> bool,
        alike: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        if !self.places.is_taken(place) || !is_it(self.stamp(place)) {
            return None;
        }
        self.unlink(place, alike);
        let user = self.item(place).user;
        self.free(place);
        Some(user)
    }

    /// Takes an item out of its chain.
    #[inline(always)]
    fn unlink(&mut self, place: u32, alike: impl Fn(u64) -> bool) {
        let Item { bits, source, next, prev, .. } = *self.item(place);
        // Of the older one of its key the item is the next; of the youngest, which the oldest has there, nothing is.
        if prev != place && self.item(prev).next == place {
            self.item_mut(prev).next = next;
            if next != NIL {
                self.item_mut(next).prev = prev;
                return;
            }
            // The oldest knows the youngest.
            if let Some(first) = self.find(bits, source, alike) {
                self.item_mut(first.place).prev = prev;
            }
        } else if let Some(first) = self.find(bits, source, alike) {
            self.leave(first);
        }
    }

    /// The oldest of a key, as a message.
    #[inline(always)]
    pub(super) fn message(&self, first: First) -> Message {
        self.message_at(first.place)
    }

    /// The item at `place`, as a message.
    #[inline(always)]
    pub(super) fn message_at(&self, place: u32) -> Message {
        let item = &self.items[place as usize];
        Message { user: item.user, envelope: Envelope { bits: item.bits, source: item.source } }
    }

    /// The stamp of the item at `place`, if there is one.
    #[inline(always)]
    pub(super) fn stamp_at(&self, place: u32) -> Option<u64> {
        self.places.is_taken(place).then(|| self.stamps[place as usize])
    }

    /// Calls `see` for every item with its place, envelope and stamp, in no order.
    #[inline(always)]
    pub(super) fn each_item(&self, mut see: impl FnMut(u32, Envelope, u64)) {
        self.places.each_taken(|place| {
            let item = self.item(place);
            see(place, Envelope { bits: item.bits, source: item.source }, self.stamp(place));
        });
    }

    /// The number of items that there is room for.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.items.len()
    }

    /// The stamp of an item.
    #[inline(always)]
    fn stamp(&self, place: u32) -> u64 {
        debug_assert!(self.places.is_taken(place));
        // SAFETY: as in `item`; there are as many stamps as items.
        unsafe { *self.stamps.get_unchecked(place as usize) }
    }

    /// The stamp of the oldest of a key.
    #[inline(always)]
    pub(super) fn stamp_of(&self, first: First) -> u64 {
        self.stamp(first.place)
    }

    /// Gives the item at `place` another stamp.
    pub(super) fn restamp(&mut self, place: u32, stamp: impl FnOnce(u64) -> u64) {
        let old = &mut self.stamps[place as usize];
        *old = stamp(*old);
    }

    pub(super) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<u32>()
            + self.items.capacity() * size_of::<Item>()
            + self.stamps.capacity() * size_of::<u64>()
            + self.places.bytes()
    }
}

/// A multiple of the bits and one of the source, of which the upper half is good. A product with the golden share of 2^64
/// keeps numbers in a row as far from each other as can be; what is folded in before keeps it from doing the opposite
/// with numbers at an unlucky stride. The other factor is the same of the root of x^3 = x + 1.
#[inline(always)]
fn hash(bits: u64, source: u32) -> u64 {
    let source = u64::from(source);
    let share = (bits ^ bits >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    share.wrapping_add((source ^ source >> 7).wrapping_mul(0xc13f_a9a9_02a6_328f))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The envelopes of a stencil, a sorted exchange, a tag per message: they fill buckets at least as evenly as random
    /// ones, of which 37 % find theirs empty at the end, and a search passes by half an entry of another key.
    #[test]
    #[cfg_attr(miri, ignore = "counts what is passed by in deep queues")]
    fn structured_envelopes_spread_as_random_ones_do() {
        const COUNT: u64 = 9000;
        type Shape = (&'static str, fn(u64) -> (u64, u32));
        let shapes: [Shape; 8] = [
            ("tags in order", |n| (3 << 33 | n, 1)),
            ("sources in order", |n| (3 << 33 | 7, n as u32)),
            ("tags and sources", |n| (3 << 33 | (n % 30), n as u32 / 30)),
            ("one tag per pair", |n| (3 << 33 | (n % 100) << 10 | (n / 100), n as u32 % 100)),
            ("communicators", |n| (n << 33, 0)),
            ("strided tags", |n| (n << 8, 5)),
            ("upper bits", |n| (n << 50, 5)),
            ("addresses", |n| (0x7f00_0000_0000 + n * 768, 1 << 31)),
        ];
        for (name, shape) in shapes {
            let mut chains = Chains::new(Slack { part: 4, buckets: 1 });
            chains.reserve(COUNT as usize).unwrap();
            for (bits, source) in (0..COUNT).map(shape) {
                chains.append((bits, source), 0, 0, |_| true);
            }
            let passed: usize = (0..COUNT)
                .map(shape)
                .map(|(bits, source)| {
                    let first = chains.find(bits, source, |_| true).expect("it is there");
                    let mut at = chains.buckets[first.bucket as usize];
                    std::iter::from_fn(|| {
                        let passed = at != first.place;
                        at = chains.item(at).beside;
                        passed.then_some(())
                    })
                    .count()
                })
                .sum();
            assert!(passed as u64 <= COUNT * 11 / 20, "{name}: {passed} of {COUNT}");
        }
    }

    #[test]
    fn entries_are_found_through_growth_and_in_the_order_of_their_key() {
        let count = if cfg!(miri) { 300 } else { 5000 };
        let mut chains = Chains::new(Slack { part: 4, buckets: 1 });
        let key = |number: u32| (u64::from(number / 7 * 7), number % 2);
        for number in 0..count {
            chains.make_room().unwrap();
            let (bits, source) = key(number);
            assert_eq!(chains.append((bits, source), number.into(), 0, |_| true), number, "places are given in order");
        }
        // One of a key in its middle, its youngest, its oldest; and the others in order.
        let mut left: Vec<u32> = (0..count).collect();
        for at in [count / 2, count - 1, 0] {
            assert_eq!(chains.take_back(at, |stamp| stamp == u64::from(at), |_| true), Some(0));
            assert_eq!(chains.take_back(at, |_| true, |_| true), None);
            left.retain(|number| *number != at);
        }
        for number in left {
            let first = chains.find(key(number).0, key(number).1, |_| true).expect("it is there");
            assert_eq!(chains.stamp_of(first), u64::from(number));
            chains.take(first);
        }
        assert!(chains.buckets.iter().all(|bucket| *bucket == NIL));
    }
}
