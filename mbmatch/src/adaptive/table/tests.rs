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
            table.append((bits, source), 2, 0, |_| true);
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
    table.append((0, 0), 2, 0, |_| true);
    let slots = table.slots.len();
    let mut fast = 0;
    for tag in 1..slots as u64 {
        if table.append_fast((tag, 0), 2, tag, |_| true).is_some() {
            fast += 1;
        } else {
            table.append((tag, 0), 2, tag, |_| true);
        }
    }
    assert!(fast > table.capacity() && table.len() as usize == slots);
    assert!(table.append_fast((0, 1), 2, 0, |_| true).is_none());
    table.make_room().unwrap();
    table.append((slots as u64, 0), 2, slots as u64, |_| true);
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
        slots.push(table.append((bits, source), u64::from(number + 1) << 1, 0, |_| true));
    }
    let mut left: Vec<u32> = (0..count).collect();
    // Remove one from the middle of its key, the youngest and the oldest; the others must stay in
    // order.
    for number in [count / 2, count - 1, 0] {
        let slot = slots[number as usize];
        assert_eq!(table.remove_at(slot, |stamp| stamp >> 1 == u64::from(number + 1), |_| true), Some(0));
        assert_eq!(table.remove_at(slot, |_| true, |_| true), None);
        left.retain(|other| *other != number);
    }
    for number in left {
        let first = table.find(key(number).0, key(number).1, |_| true).expect("the entry exists");
        assert_eq!(table.stamp_of(first) >> 1, u64::from(number + 1));
        table.take(first);
    }
    assert!(table.slots.iter().all(|entry| entry.head == NIL));
}
