// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entries of a queue, and where the oldest of each key is: a hash table whose places hold the entries themselves.
//!
//! Each key has a home among the places. An entry lies at its home if that is free, else at another free place; the home
//! knows the oldest of one of its keys, which knows the oldest of another, and each of those the younger ones of the same
//! key. So every operation is O(1) however many keys there are, and however many entries of one key; and what it touches
//! is most often a single line of the cache, for an entry is 32 bytes and lies within one.
//!
//! Keys with tags in a row have homes in a row: they are all different, no line is touched for one of them alone, and
//! the processor foresees the next. An entry stays where it is as long as it is there, so that growth moves homes and no
//! entries, and a pool is never the worse for what was in it before.
//!
//! `unsafe` here is of one kind: an index that is not compared with a length. Homes, places in links and those that
//! [`Places`] gives are below the number of items, of which there are never fewer than before; every place in links is
//! one where an item is.

use super::homes::Homes;
use super::places::{Places, usable, with_spare};
use crate::pool::{foresee, prefetch};
use crate::types::{Envelope, Message, OutOfMemory};

/// No place. Only [`is_place`] tells it from others.
const NIL: u32 = u32::MAX;
/// Handles of other receives begin here.
pub(super) const MOST: usize = 1 << 31;
/// Room grows in whole words of free places.
const STEP: usize = 64;
/// The stamp of a free place; no owner gives it.
const FREE: u64 = 0;
/// In a stamp: the item's links have a meaning. Owners leave this bit zero, and do not look at it.
const LINKED: u64 = 1;

/// Whether this is not `NIL`. By its sign: where places are used as 64 bits wide, a comparison with `NIL` would be too.
#[inline(always)]
fn is_place(place: u32) -> bool {
    place < MOST as u32
}

/// A receive or a message, and what its place knows beside.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Item {
    /// Match bits; of a receive only those that are compared.
    bits: u64,
    user: u64,
    /// What the owner wants to know of it besides, and whether it is [`LINKED`]; `FREE` if no item is here.
    stamp: u64,
    /// 0 if any.
    source: u32,
    /// Of the place, whoever lies there: the oldest of one of the keys that are at home here, or `NIL`.
    head: u32,
}

impl Item {
    const NONE: Self = Self { bits: 0, user: 0, stamp: FREE, source: 0, head: NIL };

    #[inline(always)]
    fn is_linked(&self) -> bool {
        self.stamp & LINKED != 0
    }
}

/// What else an item knows where it is not the only one of its home.
#[derive(Clone, Copy)]
struct Links {
    /// The next younger of the same key; of the youngest, the oldest of another key with the same home, or `NIL`.
    next: u32,
    /// The next older of the same key; of the oldest, the youngest, which is itself where there is one of its key.
    prev: u32,
}

/// The oldest entry of a key, and what leads to it.
#[derive(Clone, Copy)]
pub(super) struct First {
    home: u32,
    /// The one before it that has the same home, or `NIL`.
    before: u32,
    place: u32,
}

/// What became of an attempt to take an entry in a few instructions.
pub(super) enum Quick<T> {
    /// There is none that fits.
    Nothing,
    /// It is taken.
    Taken(T),
    /// It would be a matter of more; nothing happened.
    Ask,
}

impl<T> Quick<T> {
    #[inline(always)]
    pub(super) fn map<U>(self, to: impl FnOnce(T) -> U) -> Quick<U> {
        match self {
            Self::Nothing => Quick::Nothing,
            Self::Taken(entry) => Quick::Taken(to(entry)),
            Self::Ask => Quick::Ask,
        }
    }
}

pub(super) struct Chains {
    items: Vec<Item>,
    /// Apart from the items, for most have none.
    links: Vec<Links>,
    places: Places,
    homes: Homes,
    len: u32,
    /// Of so many one that is not at home finds a place soon.
    limit: u32,
    /// Grows by this part of what there is.
    slack: usize,
}

impl Chains {
    /// Grows by one of `slack` parts of what there is.
    pub(super) fn new(slack: usize) -> Self {
        Self {
            items: Vec::new(),
            links: Vec::new(),
            places: Places::default(),
            homes: Homes::default(),
            len: 0,
            limit: 0,
            slack,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    fn item(&self, place: u32) -> &Item {
        debug_assert!((place as usize) < self.items.len());
        // SAFETY: a home, or a place in a link; see above.
        unsafe { self.items.get_unchecked(place as usize) }
    }

    #[inline(always)]
    fn item_mut(&mut self, place: u32) -> &mut Item {
        debug_assert!((place as usize) < self.items.len());
        // SAFETY: a home, a place in a link, or one just taken; see above.
        unsafe { self.items.get_unchecked_mut(place as usize) }
    }

    /// Whether there is an item at `place`, wherever that may be.
    #[inline(always)]
    fn is_taken(&self, place: u32) -> bool {
        self.items.get(place as usize).is_some_and(|item| item.stamp != FREE)
    }

    /// Whether there is no item at `place`, which is a place.
    #[inline(always)]
    fn is_free(&self, place: u32) -> bool {
        self.item(place).stamp == FREE
    }

    /// The oldest item of a key among those whose stamp `is_one`. There must have been room for an item.
    #[inline(always)]
    pub(super) fn find(&self, bits: u64, source: u32, is_one: impl Fn(u64) -> bool) -> Option<First> {
        let home = self.homes.home(bits, source);
        let mut place = self.item(home).head;
        let mut before = NIL;
        while is_place(place) {
            debug_assert!(self.is_taken(place));
            let item = self.item(place);
            if item.bits == bits && item.source == source && is_one(item.stamp) {
                return Some(First { home, before, place });
            }
            before = place;
            place = self.beside(place);
        }
        None
    }

    /// Calls `see` with each item of a key that is the oldest of its like, and its stamp.
    #[inline(always)]
    pub(super) fn each_first(&self, bits: u64, source: u32, mut see: impl FnMut(First, u64)) {
        let home = self.homes.home(bits, source);
        let mut place = self.item(home).head;
        let mut before = NIL;
        while is_place(place) {
            let item = self.item(place);
            if item.bits == bits && item.source == source {
                see(First { home, before, place }, item.stamp);
            }
            before = place;
            place = self.beside(place);
        }
    }

    /// Makes sure that there is room for one more item.
    #[inline(always)]
    pub(super) fn make_room(&mut self) -> Result<(), OutOfMemory> {
        if (self.len as usize) < self.room() { Ok(()) } else { self.grow() }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<(), OutOfMemory> {
        let room = self.room();
        self.reserve(room + (room / self.slack).max(1))
    }

    /// Makes room for `items` in all.
    #[cold]
    pub(super) fn reserve(&mut self, items: usize) -> Result<(), OutOfMemory> {
        if items <= self.room() {
            return Ok(());
        }
        foresee::<Item>(with_spare(items).saturating_add(STEP))?;
        let room = with_spare(items).next_multiple_of(STEP);
        // An index has holes, and its places are to stay below 2^31.
        if room > MOST / 2 {
            return Err(OutOfMemory);
        }
        // Whatever can fail does so before anything changes.
        self.items.try_reserve_exact(room - self.items.len())?;
        self.links.try_reserve_exact(room - self.links.len())?;
        self.places.reserve(room)?;
        self.items.resize(room, Item::NONE);
        self.links.resize(room, Links { next: NIL, prev: NIL });
        self.places.extend(room);
        self.limit = usable(room) as u32;
        self.homes = Homes::of(room);
        self.move_homes();
        Ok(())
    }

    /// Tells the homes anew which keys are at home there.
    fn move_homes(&mut self) {
        // First all of them in one chain, for a home may be old and new.
        let mut all = NIL;
        for home in 0..self.items.len() {
            let mut place = std::mem::replace(&mut self.items[home].head, NIL);
            while is_place(place) {
                let beside = self.beside(place);
                *self.beside_mut(place) = all;
                all = std::mem::replace(&mut place, beside);
            }
        }
        while is_place(all) {
            let Item { bits, source, .. } = *self.item(all);
            let place = all;
            all = std::mem::replace(self.beside_mut(place), NIL);
            let home = self.homes.home(bits, source);
            self.add_first(home, place, self.item(home).head);
        }
    }

    /// Makes the item at `place` the first that its home knows, instead of that at `beside`.
    #[inline(always)]
    fn add_first(&mut self, home: u32, place: u32, beside: u32) {
        self.item_mut(home).head = place;
        if is_place(beside) {
            self.link(place);
            *self.beside_mut(place) = beside;
        }
    }

    /// Gives an item links, if it has none.
    #[inline(always)]
    fn link(&mut self, place: u32) {
        if !self.item(place).is_linked() {
            *self.links_mut(place) = Links { next: NIL, prev: place };
            self.item_mut(place).stamp |= LINKED;
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
        let home = self.homes.home(bits, source);
        let place = if self.is_free(home) { home } else { self.any() };
        if let Some(First { place: first, .. }) = self.find(bits, source, alike) {
            self.put_youngest(first, place, (bits, source), stamp, user);
        } else {
            self.put(place, (bits, source), stamp, user);
            self.add_first(home, place, self.item(home).head);
        }
        place
    }

    /// Any free place. There must be one.
    fn any(&mut self) -> u32 {
        loop {
            match self.places.next() {
                Some(place) if self.is_free(place) => return place,
                Some(_) => {}
                None => {
                    // Little of them is read before it is written, so that the processor foresees nothing itself.
                    if let Some(places) = self.places.turn() {
                        prefetch(&self.items[places.clone()]);
                        prefetch(&self.links[places]);
                    }
                }
            }
        }
    }

    /// The queue is empty: the next items lie where those before them did.
    pub(super) fn begin_anew(&mut self) {
        debug_assert!(self.len == 0);
        self.places.begin_anew();
    }

    /// Frees the place of an item that has left its chain.
    #[inline(always)]
    fn free(&mut self, place: u32) {
        debug_assert!(self.is_taken(place));
        self.len -= 1;
        self.item_mut(place).stamp = FREE;
        // SAFETY: there is the place of an item.
        unsafe { self.places.free(place) }
    }

    /// Takes the oldest item of a key, if that is a matter of a few instructions; its user value. There must have been room
    /// for an item.
    #[inline(always)]
    pub(super) fn take_quickly(&mut self, bits: u64, source: u32) -> Quick<u64> {
        let home = self.homes.home(bits, source);
        let place = self.item(home).head;
        // Twice the same: who lies at home is where the key says, so that neither what is read of it nor the addresses that
        // are written to wait for the head. What is posted next need not wait for those either.
        if place == home {
            return self.take_quickly_at(home, home, bits, source);
        }
        if !is_place(place) {
            return Quick::Nothing;
        }
        self.take_quickly_at(home, place, bits, source)
    }

    /// Takes the item that a home knows, if it has this key.
    #[inline(always)]
    fn take_quickly_at(&mut self, home: u32, place: u32, bits: u64, source: u32) -> Quick<u64> {
        let Item { bits: its_bits, user, source: its_source, .. } = *self.item(place);
        if its_bits != bits || its_source != source {
            return if is_place(self.beside(place)) { Quick::Ask } else { Quick::Nothing };
        }
        let heir = self.heir(place);
        let items = self.items.as_mut_slice();
        // SAFETY: as in `item`. In one piece, since after the one write `item_mut` would look anew where the items are.
        unsafe {
            items.get_unchecked_mut(home as usize).head = heir;
            items.get_unchecked_mut(place as usize).stamp = FREE;
            self.places.free(place);
        }
        self.len -= 1;
        Quick::Taken(user)
    }

    /// Who comes in the place of the oldest of a key when it leaves: the next of the key, or else the oldest of another, or
    /// `NIL`.
    #[inline(always)]
    fn heir(&mut self, place: u32) -> u32 {
        if !self.item(place).is_linked() {
            return NIL;
        }
        let Links { next, prev: youngest } = *self.links(place);
        if youngest != place {
            self.links_mut(next).prev = youngest;
        }
        next
    }

    /// Appends an item to some, to those of its key whose stamps are `alike`, if that is a matter of a few instructions; else
    /// nothing happens. It does not ask for room: there is, where a place is found.
    #[inline(always)]
    pub(super) fn append_quickly(
        &mut self,
        (bits, source): (u64, u32),
        stamp: u64,
        user: u64,
        alike: impl Fn(u64) -> bool,
    ) -> Option<u32> {
        debug_assert!(self.len > 0);
        let home = self.homes.home(bits, source);
        let first = self.item(home).head;
        if is_place(first) {
            let other = self.item(first);
            if other.bits == bits && other.source == source && alike(other.stamp) {
                let place = self.places.next()?;
                if !self.is_free(place) {
                    return None;
                }
                self.put_youngest(first, place, (bits, source), stamp, user);
                return Some(place);
            }
            if is_place(self.beside(first)) {
                return None;
            }
        }
        let mut place = home;
        if !self.is_free(home) {
            place = self.places.next()?;
            if !self.is_free(place) {
                return None;
            }
        }
        self.put(place, (bits, source), stamp, user);
        self.add_first(home, place, first);
        Some(place)
    }

    /// Puts an item at a place that was taken for it, the youngest of the key whose oldest is at `first`.
    #[inline(always)]
    fn put_youngest(&mut self, first: u32, place: u32, key: (u64, u32), stamp: u64, user: u64) {
        self.link(first);
        debug_assert!(stamp & LINKED == 0);
        self.put(place, key, stamp + LINKED, user);
        let links = self.links.as_mut_slice();
        debug_assert!([first, place].iter().all(|place| (*place as usize) < links.len()));
        // SAFETY: as in `links`. In one piece, since from one to the next `links_mut` would look anew where the links are.
        unsafe {
            let youngest = std::mem::replace(&mut links.get_unchecked_mut(first as usize).prev, place);
            let beside = std::mem::replace(&mut links.get_unchecked_mut(youngest as usize).next, place);
            *links.get_unchecked_mut(place as usize) = Links { next: beside, prev: youngest };
        }
    }

    /// Puts an item at a place that was taken for it.
    #[inline(always)]
    fn put(&mut self, place: u32, (bits, source): (u64, u32), stamp: u64, user: u64) {
        self.len += 1;
        let item = self.item_mut(place);
        (item.bits, item.user, item.stamp, item.source) = (bits, user, stamp, source);
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
    fn leave(&mut self, First { home, before, place }: First) {
        let heir = self.heir(place);
        if is_place(before) {
            *self.beside_mut(before) = heir;
        } else {
            self.item_mut(home).head = heir;
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
        if !self.is_taken(place) || !is_it(self.stamp(place)) {
            return None;
        }
        self.unlink(place, alike);
        let user = self.item(place).user;
        self.free(place);
        Some(user)
    }

    /// Takes an item out of its chain.
    #[inline(never)]
    fn unlink(&mut self, place: u32, alike: impl Fn(u64) -> bool) {
        let Item { bits, source, .. } = *self.item(place);
        let home = self.homes.home(bits, source);
        if self.item(home).head == place {
            return self.leave(First { home, before: NIL, place });
        }
        let first = self.find(bits, source, alike).expect("each is in the chain of its key");
        if first.place == place {
            return self.leave(first);
        }
        // Another is the oldest, so that this one has links.
        let Links { next, prev } = *self.links(place);
        self.links_mut(prev).next = next;
        let youngest = self.links(first.place).prev;
        // The oldest knows the youngest.
        let younger = if youngest == place { first.place } else { next };
        self.links_mut(younger).prev = prev;
    }

    /// Takes the item at `place`, which is the oldest of those of its key whose stamps are `alike`.
    #[inline(always)]
    pub(super) fn take_first_at(&mut self, place: u32, alike: impl Fn(u64) -> bool) -> Message {
        if self.item(place).head == place {
            self.item_mut(place).head = self.heir(place);
        } else {
            self.unlink(place, alike);
        }
        self.free(place);
        self.message_at(place)
    }

    /// The oldest of a key, as a message.
    #[inline(always)]
    pub(super) fn message(&self, first: First) -> Message {
        self.message_at(first.place)
    }

    /// The item at `place`, which is one that was found, as a message.
    #[inline(always)]
    pub(super) fn message_at(&self, place: u32) -> Message {
        let item = self.item(place);
        Message { user: item.user, envelope: Envelope { bits: item.bits, source: item.source } }
    }

    /// The stamp of the item at `place`, if there is one.
    #[inline(always)]
    pub(super) fn stamp_at(&self, place: u32) -> Option<u64> {
        self.is_taken(place).then(|| self.stamp(place))
    }

    /// Calls `see` for every item with its place, envelope and stamp, in no order.
    #[inline(always)]
    pub(super) fn each_item(&self, mut see: impl FnMut(u32, Envelope, u64)) {
        for (item, place) in self.items.iter().zip(0..) {
            if item.stamp != FREE {
                see(place, Envelope { bits: item.bits, source: item.source }, item.stamp);
            }
        }
    }

    /// The number of items that there is room for.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.limit as usize
    }

    /// The stamp of an item.
    #[inline(always)]
    fn stamp(&self, place: u32) -> u64 {
        debug_assert!(self.is_taken(place));
        self.item(place).stamp
    }

    /// Of the oldest of its key: the oldest of another key with the same home, or `NIL`.
    #[inline(always)]
    fn beside(&self, place: u32) -> u32 {
        if self.item(place).is_linked() { self.links(self.links(place).prev).next } else { NIL }
    }

    /// Where [`Self::beside`] is kept; of an item that is not linked that has a meaning only where homes move.
    #[inline(always)]
    fn beside_mut(&mut self, place: u32) -> &mut u32 {
        let youngest = if self.item(place).is_linked() { self.links(place).prev } else { place };
        &mut self.links_mut(youngest).next
    }

    /// The links of an item that is linked.
    #[inline(always)]
    fn links(&self, place: u32) -> &Links {
        debug_assert!(self.item(place).is_linked());
        // SAFETY: as in `item`; there are as many of these as items.
        unsafe { self.links.get_unchecked(place as usize) }
    }

    #[inline(always)]
    fn links_mut(&mut self, place: u32) -> &mut Links {
        debug_assert!((place as usize) < self.links.len());
        // SAFETY: as in `links`.
        unsafe { self.links.get_unchecked_mut(place as usize) }
    }

    /// The stamp of the oldest of a key.
    #[inline(always)]
    pub(super) fn stamp_of(&self, first: First) -> u64 {
        self.stamp(first.place)
    }

    /// Gives the item at `place` another stamp.
    pub(super) fn restamp(&mut self, place: u32, stamp: impl FnOnce(u64) -> u64) {
        let old = &mut self.items[place as usize].stamp;
        *old = stamp(*old) | *old & LINKED;
    }

    pub(super) fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<Item>() + self.links.capacity() * size_of::<Links>() + self.places.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The envelopes of a stencil, a sorted exchange, a tag per message: a search passes by half an entry of another key,
    /// as with random ones, or little more, for some of these shapes are few runs whose beginnings are left to chance. With
    /// tags in a row it passes by none.
    #[test]
    #[cfg_attr(miri, ignore = "counts what is passed by in deep queues")]
    fn structured_envelopes_spread_as_random_ones_do() {
        const COUNT: u64 = 9000;
        type Shape = (&'static str, fn(u64) -> (u64, u32));
        let shapes: [Shape; 9] = [
            ("tags in order", |n| (3 << 33 | n, 1)),
            ("sources in order", |n| (3 << 33 | 7, n as u32)),
            ("tags and sources", |n| (3 << 33 | (n % 30), n as u32 / 30)),
            ("one tag per pair", |n| (3 << 33 | (n % 100) << 10 | (n / 100), n as u32 % 100)),
            ("a grid of tags", |n| ((n % 95) << 10 | (n / 95), 5)),
            ("communicators", |n| (n << 33, 0)),
            ("strided tags", |n| (n << 8, 5)),
            ("upper bits", |n| (n << 50, 5)),
            ("addresses", |n| (0x7f00_0000_0000 + n * 768, 1 << 31)),
        ];
        for (name, shape) in shapes {
            let mut chains = Chains::new(4);
            chains.reserve(COUNT as usize).unwrap();
            for (bits, source) in (0..COUNT).map(shape) {
                chains.append((bits, source), 2, 0, |_| true);
            }
            let passed: usize = (0..COUNT)
                .map(shape)
                .map(|(bits, source)| {
                    let first = chains.find(bits, source, |_| true).expect("it is there");
                    let mut at = chains.item(first.home).head;
                    std::iter::from_fn(|| {
                        let passed = at != first.place;
                        at = chains.beside(at);
                        passed.then_some(())
                    })
                    .count()
                })
                .sum();
            assert!(passed == 0 || name != "tags in order", "{passed} of {COUNT}");
            assert!(passed as u64 * 3 <= COUNT * 2, "{name}: {passed} of {COUNT}");
        }
    }

    /// Who finds a place in a few instructions does not ask for room: all places may be taken before it grows.
    #[test]
    fn the_last_place_is_taken_and_then_it_grows() {
        let mut chains = Chains::new(4);
        chains.make_room().unwrap();
        chains.append((0, 0), 2, 0, |_| true);
        let places = chains.items.len();
        let mut quick = 0;
        for tag in 1..places as u64 {
            if chains.append_quickly((tag, 0), 2, tag, |_| true).is_some() {
                quick += 1;
            } else {
                chains.append((tag, 0), 2, tag, |_| true);
            }
        }
        assert!(quick > chains.room() && chains.len() as usize == places);
        assert!(chains.append_quickly((0, 1), 2, 0, |_| true).is_none());
        chains.make_room().unwrap();
        chains.append((places as u64, 0), 2, places as u64, |_| true);
        assert!(chains.items.len() > places && chains.len() as usize <= chains.room());
        for tag in 0..=places as u64 {
            let first = chains.find(tag, 0, |_| true).expect("it is there");
            assert_eq!(chains.take(first).user, tag);
        }
    }

    #[test]
    fn entries_are_found_through_growth_and_in_the_order_of_their_key() {
        let count = if cfg!(miri) { 300 } else { 5000 };
        let mut chains = Chains::new(4);
        let key = |number: u32| (u64::from(number / 7 * 7), number % 2);
        let mut places = Vec::new();
        for number in 0..count {
            chains.make_room().unwrap();
            let (bits, source) = key(number);
            places.push(chains.append((bits, source), u64::from(number + 1) << 1, 0, |_| true));
        }
        // One of a key in its middle, its youngest, its oldest; and the others in order.
        let mut left: Vec<u32> = (0..count).collect();
        for number in [count / 2, count - 1, 0] {
            let place = places[number as usize];
            assert_eq!(chains.take_back(place, |stamp| stamp >> 1 == u64::from(number + 1), |_| true), Some(0));
            assert_eq!(chains.take_back(place, |_| true, |_| true), None);
            left.retain(|other| *other != number);
        }
        for number in left {
            let first = chains.find(key(number).0, key(number).1, |_| true).expect("it is there");
            assert_eq!(chains.stamp_of(first) >> 1, u64::from(number + 1));
            chains.take(first);
        }
        assert!(chains.items.iter().all(|item| item.head == NIL));
    }
}
