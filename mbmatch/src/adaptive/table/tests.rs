// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Spread of structured keys, growth, and order within a key.

use super::*;

/// The envelopes of stencils, sorted exchanges and one tag per message. A search passes half an
/// entry of another key on average, as with random keys, or a little more for shapes of few runs of
/// tags. With consecutive tags it passes none.
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
        let mut table = EntryTable::new(4, Heap::GLOBAL);
        table.reserve(COUNT as usize).unwrap();
        for (bits, source) in (0..COUNT).map(shape) {
            table.append((bits, source), 4, 0, |_| true);
        }
        let passed: usize = (0..COUNT)
            .map(shape)
            .map(|(bits, source)| {
                let first = table.find(bits, source, |_| true).expect("the entry exists");
                let mut at = table.get(first.home).head;
                std::iter::from_fn(|| {
                    let passed = at != first.slot;
                    at = table.next_key(at);
                    passed.then_some(())
                })
                .count()
            })
            .sum();
        assert!(passed == 0 || name != "tags in order", "{passed} of {COUNT}");
        assert!(passed as u64 * 3 <= COUNT * 2, "{name}: {passed} of {COUNT}");
    }
}

/// The fast path does not check the capacity: all slots may be occupied before the table grows.
#[test]
fn every_slot_can_be_occupied_before_the_table_grows() {
    let mut table = EntryTable::new(4, Heap::GLOBAL);
    table.make_room().unwrap();
    table.append((0, 0), 4, 0, |_| true);
    let slots = table.slots.len();
    let mut fast = 0;
    for tag in 1..slots as u64 {
        if table.append_at_head((tag, 0), 4, tag, |_| true).is_some() {
            fast += 1;
        } else {
            table.append((tag, 0), 4, tag, |_| true);
        }
    }
    assert!(fast > table.capacity() && table.len() as usize == slots);
    assert!(table.append_at_head((0, 1), 4, 0, |_| true).is_none());
    table.make_room().unwrap();
    table.append((slots as u64, 0), 4, slots as u64, |_| true);
    assert!(table.slots.len() > slots && table.len() as usize <= table.capacity());
    for tag in 0..=slots as u64 {
        let first = table.find(tag, 0, |_| true).expect("the entry exists");
        assert_eq!(table.take(first).user, tag);
    }
}

#[test]
fn entries_are_found_after_growth_in_the_order_of_their_key() {
    let count = if cfg!(miri) { 300 } else { 5000 };
    let mut table = EntryTable::new(4, Heap::GLOBAL);
    let key = |number: u32| (u64::from(number / 7 * 7), number % 2);
    let mut slots = Vec::new();
    for number in 0..count {
        table.make_room().unwrap();
        let (bits, source) = key(number);
        slots.push(table.append((bits, source), u64::from(number + 1) << 2, 0, |_| true));
    }
    let mut left: Vec<u32> = (0..count).collect();
    // Remove one from the middle of its key, the youngest and the oldest; the others must stay in
    // order.
    for number in [count / 2, count - 1, 0] {
        let slot = slots[number as usize];
        assert_eq!(table.remove_at(slot, |stamp| stamp >> 2 == u64::from(number + 1), |_| true), Some(0));
        assert_eq!(table.remove_at(slot, |_| true, |_| true), None);
        left.retain(|other| *other != number);
    }
    for number in left {
        let first = table.find(key(number).0, key(number).1, |_| true).expect("the entry exists");
        assert_eq!(table.stamp_of(first) >> 2, u64::from(number + 1));
        table.take(first);
    }
    assert!(table.slots.iter().all(|entry| entry.head == NIL));
}

/// Appends an entry as the fast paths of the queues do; `fallen_back` counts those that no fast path took.
fn append_any(table: &mut EntryTable, key: (u64, u32), number: u64, fallen_back: &mut usize) -> u32 {
    let (stamp, user) = ((number + 1) << 2, number);
    table.append_to_fifo(key, stamp, user).or_else(|| table.append_at_head(key, stamp, user, |_| true)).unwrap_or_else(
        || {
            *fallen_back += 1;
            table.make_room().unwrap();
            table.append(key, stamp, user, |_| true)
        },
    )
}

/// One key is appended and taken at one end while others come and go beside it, before it in its collision chain too.
#[test]
fn a_fifo_queue_takes_consecutive_slots_and_sees_what_changes_its_chain() {
    let mut table = EntryTable::new(4, Heap::GLOBAL);
    table.make_room().unwrap();
    table.append((7, 0), 4, 0, |_| true);
    let rounds = if cfg!(miri) { 120 } else { 400 };
    let (mut numbers, mut consecutive, mut last) = (vec![0], 0, 0);
    let mut fallen_back = 0;
    let mut other_keys = Vec::new();
    for number in 1..rounds {
        let slot = append_any(&mut table, (7, 0), number, &mut fallen_back);
        consecutive += usize::from(slot == last + 1);
        last = slot;
        numbers.push(number);
        // A key of the same home slot, and one of another.
        if number % 16 == 3 {
            let home = table.hash.home_slot(7, 0);
            let same_home = (8..1 << 20).find(|bits| table.hash.home_slot(*bits, 1) == home).expect("one of many");
            for (bits, source) in [(same_home, 1), (number << 40, 2)] {
                append_any(&mut table, (bits, source), number, &mut fallen_back);
                other_keys.push((bits, source));
            }
        }
        if number % 16 == 11 {
            for (bits, source) in other_keys.drain(..) {
                let first = table.find(bits, source, |_| true).expect("the entry exists");
                table.take(first);
            }
        }
        // One from the middle, and at times the youngest.
        if number % 16 == 5 {
            let from_back = if number % 32 == 5 { 1 } else { numbers.len() / 2 + 1 };
            let removed = numbers.remove(numbers.len() - from_back);
            let at = (0..table.slots.len() as u32)
                .find(|at| {
                    table.stamp_at(*at).is_some_and(|stamp| stamp >> 2 == removed + 1 && table.get(*at).bits == 7)
                })
                .expect("the entry exists");
            assert_eq!(table.remove_at(at, |_| true, |_| true), Some(removed));
        }
        // Now and then all but the last few, at the oldest end.
        let keep = if number % 50 == 0 { 1 } else { numbers.len() - numbers.len() / 8 };
        for expected in numbers.drain(..numbers.len() - keep) {
            let taken = match table.take_fast(7, 0) {
                FastPath::Taken(user) => Some(user),
                FastPath::Decline => table.find(7, 0, |_| true).map(|first| table.take(first).user),
                FastPath::NoMatch => None,
            };
            assert_eq!(taken, Some(expected));
        }
        assert_eq!(table.compared(7, 0) > 0, !numbers.is_empty());
        table.check_fifo();
    }
    // Most entries are beside the one before, without the bitmap.
    assert!(4 * consecutive > 3 * rounds as usize, "{consecutive} of {rounds}; {fallen_back} slow");
}

/// The bit of a free slot is always set, whatever was displaced, so that an empty table hands out every slot.
#[test]
fn the_bitmap_has_every_free_slot() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut table = EntryTable::new(4, Heap::GLOBAL);
    table.make_room().unwrap();
    table.append((0, 0), 4, 0, |_| true);
    let mut queued = vec![0];
    for number in 1..if cfg!(miri) { 300 } else { 20_000 } {
        // Few keys, and tags at strides that displace entries.
        let key = if random.bool() { random.u64(..3) } else { random.u64(..40) << 9 };
        append_any(&mut table, (key, 0), number, &mut 0);
        queued.push(key);
        let most = if number % 1000 < 500 { 300 } else { 30 };
        while queued.len() > most {
            let key = queued.swap_remove(random.usize(..queued.len()));
            if let FastPath::Decline = table.take_fast(key, 0) {
                let first = table.find(key, 0, |_| true).expect("the entry exists");
                table.take(first);
            }
        }
        if number % 100 == 0 {
            let lost = (0..table.slots.len() as u32).find(|slot| table.is_free(*slot) && !table.free.has(*slot));
            assert_eq!(lost, None);
        }
    }
}

/// Growth gives the key another home slot, here without a collision.
#[test]
fn growth_forgets_the_fifo_queue() {
    let mut table = EntryTable::new(4, Heap::GLOBAL);
    table.make_room().unwrap();
    let key = (1_000_003, 7);
    table.append(key, 4, 0, |_| true);
    for number in 1..4 {
        append_any(&mut table, key, number, &mut 0);
    }
    let home = table.hash.home_slot(key.0, key.1);
    table.reserve(table.capacity() * 3).unwrap();
    assert_ne!(table.hash.home_slot(key.0, key.1), home);
    assert_eq!(table.append_to_fifo(key, 4 << 2, 4), None);
    append_any(&mut table, key, 4, &mut 0);
    for number in 0..5 {
        let first = table.find(key.0, key.1, |_| true).expect("the entry exists");
        assert_eq!(table.take(first).user, number);
    }
}

/// Entries of few keys are appended and removed in every way; each key keeps its order.
#[test]
fn every_change_of_a_chain_keeps_the_fifo_queue_correct() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut table = EntryTable::new(4, Heap::GLOBAL);
    table.make_room().unwrap();
    table.append((0, 0), 4, 0, |_| true);
    // Keys and numbers, oldest first.
    let mut queued = vec![(0, 0)];
    for number in 1..if cfg!(miri) { 500 } else { 50_000 } {
        let most = if number % 1000 < 500 { 8 } else { 50 };
        if queued.len() < 2 || queued.len() < most && random.u8(..16) < 9 {
            // At a stride at which keys share home slots.
            let key = random.u64(..4) << 20;
            if random.u8(..8) == 0 {
                table.make_room().unwrap();
                table.append((key, 0), (number + 1) << 2, number, |_| true);
            } else {
                append_any(&mut table, (key, 0), number, &mut 0);
            }
            queued.push((key, number));
        } else {
            let (key, its_number) = queued[random.usize(..queued.len())];
            let oldest = queued.iter().position(|(other, _)| *other == key).expect("it is queued");
            let find = |table: &EntryTable| table.find(key, 0, |_| true).expect("the entry exists");
            let user = match random.u8(..8) {
                0 => {
                    let slot = (0..table.slots.len() as u32)
                        .find(|slot| table.stamp_at(*slot).is_some_and(|stamp| stamp >> 2 == its_number + 1))
                        .expect("the entry exists");
                    queued.retain(|(_, other)| *other != its_number);
                    assert_eq!(table.remove_at(slot, |_| true, |_| true), Some(its_number));
                    table.check_fifo();
                    continue;
                }
                1 | 2 => {
                    let slot = find(&table).slot;
                    table.take_oldest_at(slot, |_| true).user
                }
                3 => {
                    let first = find(&table);
                    table.take(first).user
                }
                _ => match table.take_fast(key, 0) {
                    FastPath::Taken(user) => user,
                    FastPath::NoMatch => unreachable!("the entry exists"),
                    FastPath::Decline => {
                        let first = find(&table);
                        table.take(first).user
                    }
                },
            };
            assert_eq!(user, queued.remove(oldest).1);
        }
        table.check_fifo();
    }
}

/// The last entry of the FIFO queue is taken by its slot, as the oldest message of any key is, where it is in its home
/// slot.
#[test]
fn an_entry_taken_by_its_slot_may_be_the_last_of_the_fifo_queue() {
    let mut table = EntryTable::new(4, Heap::GLOBAL);
    table.make_room().unwrap();
    let key_at = |home| (0..1 << 20).find(|bits| table.hash.home_slot(*bits, 0) == home).expect("one of many");
    let (key, other) = ((key_at(1), 0), (key_at(9), 0));
    table.append(other, 4, 0, |_| true);
    let append = |table: &mut EntryTable, number| append_any(table, key, number, &mut 0);
    assert_eq!([1, 2].map(|number| append(&mut table, number)), [1, 0]);
    assert!(matches!(table.take_from_fifo(key.0, key.1), FastPath::Taken(1)));
    assert_eq!(append(&mut table, 3), 1);
    assert!(matches!(table.take_from_fifo(key.0, key.1), FastPath::Taken(2)));
    assert_eq!(table.take_oldest_at(1, |_| true).user, 3);
    table.check_fifo();
    assert_eq!(table.append_to_fifo(key, 4 << 2, 4), None);
    append(&mut table, 4);
    let first = table.find(key.0, key.1, |_| true).expect("the entry exists");
    assert_eq!(table.take(first).user, 4);
}

/// A new stamp keeps the bits that belong to the table: whether the entry has links, and whether its bit of the bitmap
/// is set again when it leaves.
#[test]
fn a_new_stamp_keeps_the_bits_of_the_table() {
    let mut table = EntryTable::new(4, Heap::GLOBAL);
    table.make_room().unwrap();
    let slots = [1, 2, 3].map(|number| table.append((7, 0), number << 2, number, |_| true));
    assert_ne!(table.hash.home_slot(7, 0), slots[1]);
    for slot in slots {
        table.restamp(slot, |old| (old & !(LINKED | CLEARED)) + 64);
    }
    for number in 1..=3 {
        let first = table.find(7, 0, |_| true).expect("the entry exists");
        assert_eq!((table.stamp_of(first) >> 2, table.take(first).user), (number + 16, number));
    }
    assert!(slots.iter().all(|slot| table.free.has(*slot)));
}
