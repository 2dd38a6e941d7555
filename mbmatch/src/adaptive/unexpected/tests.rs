// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changes between the structures of messages, handles, and random runs beside a naive list.

use fastrand::Rng;

use super::wildcards::last_age_before;
use super::*;
use crate::log::LANES;
use crate::scan::VectorUnit;

fn envelope(number: u32) -> Envelope {
    Envelope { bits: (number * 7 % 11).into(), source: number }
}

fn messages(count: u32) -> (UnexpectedMessages, Vec<Handle>) {
    let mut messages = UnexpectedMessages::new(VectorUnit::or_best(None), Heap::GLOBAL, FIRST_AGE);
    messages.age = FIRST_AGE + ((1 << 30) - 3) * AGE_STEP;
    messages.age_when_empty = messages.age;
    let handles = (0..count).map(|n| messages.append_any(envelope(n), n.into()).unwrap()).collect();
    (messages, handles)
}

const ANY: Pattern = Pattern { bits: 0, ignore: u64::MAX, source: None };

/// Runs up to the last generation and beyond it: a short queue and longer ones, with an index
/// of few and of many messages.
#[test]
fn order_holds_when_the_generation_wraps() {
    for count in [5, SHORT_CAPACITY as u32 + 1, SCALAR_SCAN_THRESHOLD + 2, 300] {
        let (mut messages, handles) = messages(count);
        assert_eq!(messages.discard(handles[3]), Some(3));
        assert_eq!(messages.discard(handles[3]), None);
        for number in (0..count).filter(|number| *number != 3) {
            let expected = Message { user: number.into(), envelope: envelope(number) };
            let probed = messages.probe(ANY).map(|QueuedMessage { user, envelope, .. }| Message { user, envelope });
            assert_eq!(probed, Some(expected));
            assert_eq!(
                messages.storage,
                if count > SHORT_CAPACITY as u32 { Storage::Indexed } else { Storage::ShortQueue }
            );
            assert_eq!(messages.take(ANY), Some(expected));
        }
        assert_eq!(messages.len(), 0);
    }
}

/// Handles stay valid when a short queue overflows, and the queue becomes short again after a
/// phase with few messages.
#[test]
fn a_queue_becomes_short_again_after_few_messages() {
    let (mut messages, handles) = messages(SHORT_CAPACITY as u32);
    assert_eq!(messages.discard(handles[2]), Some(2));
    let last = messages.append_any(envelope(99), 99).unwrap();
    assert_eq!(messages.storage, Storage::ShortQueue);
    let many = messages.append_any(envelope(100), 100).unwrap();
    assert_eq!(messages.storage, Storage::Table);
    assert_eq!(messages.discard(handles[2]), None);
    for (handle, user) in [(handles[1], 1), (last, 99), (many, 100), (handles[0], 0)] {
        assert_eq!(messages.discard(handle), Some(user));
        assert_eq!(messages.discard(handle), None);
    }
    assert_eq!(messages.probe(ANY).map(|message| message.user), Some(3));
    while messages.take(ANY).is_some() {}
    // This phase was too long for a short queue, and used the index.
    assert_eq!(messages.storage, Storage::Indexed);
    for _ in 0..2 {
        messages.append_any(envelope(0), 0).unwrap();
        messages.take(Pattern::exactly(envelope(0))).expect("the message is queued");
        assert_eq!(messages.storage, Storage::ShortQueue);
    }
}

/// The table keeps its fast path when it becomes empty, until a search finds it empty.
#[test]
fn the_last_message_of_a_table_leaves_the_fast_path_as_it_is() {
    let wildcards = [ANY, Pattern { source: None, ..Pattern::exactly(envelope(0)) }, Pattern::exactly(envelope(0))];
    for pattern in wildcards {
        for is_probe in [false, true] {
            let (mut messages, _) = messages(12);
            for round in 0..3 {
                for number in 0..12 {
                    assert!(round == 0 || messages.append_any(envelope(number), number.into()).is_ok());
                }
                for number in 0..12 {
                    let found = messages.take(Pattern::exactly(envelope(number)));
                    assert_eq!(
                        (found.map(|message| message.user), messages.fast_paths.are_on()),
                        (Some(number.into()), true)
                    );
                }
                assert_eq!((messages.len(), messages.is_empty()), (0, false));
            }
            let found = if is_probe { messages.probe(pattern).is_some() } else { messages.take(pattern).is_some() };
            assert!(!found);
            assert_eq!(
                (messages.storage, messages.fast_paths.are_on(), messages.is_empty()),
                (Storage::Table, false, true)
            );
            messages.append_any(envelope(1), 1).unwrap();
            assert!(messages.fast_paths.are_on() && messages.take(Pattern::exactly(envelope(1))).is_some());
            assert_eq!((messages.storage, messages.is_empty()), (Storage::Table, false));
            assert!(!if is_probe { messages.probe(pattern).is_some() } else { messages.take(pattern).is_some() });
            assert_eq!((messages.storage, messages.is_empty()), (Storage::ShortQueue, true));
        }
    }
}

/// The table that is freed has just become empty, and no search has noticed it yet.
#[test]
fn a_table_that_keeps_its_fast_path_can_be_freed() {
    let (mut messages, _) = messages(12);
    for number in 0..12 {
        assert!(messages.take(Pattern::exactly(envelope(number))).is_some());
    }
    assert!(messages.fast_paths.are_on());
    messages.shrink();
    assert_eq!(
        (messages.storage, messages.fast_paths.are_on(), messages.is_empty()),
        (Storage::ShortQueue, false, true)
    );
    messages.append_any(envelope(1), 1).unwrap();
    assert_eq!(messages.take(Pattern::exactly(envelope(1))).map(|message| message.user), Some(1));
    assert_eq!(messages.take(Pattern::exactly(envelope(1))), None);
}

/// Every receive finds a message: a queue that has become short is noticed by the messages that arrive, a longer one
/// stays a table.
#[test]
fn a_queue_that_no_search_finds_empty_becomes_short() {
    for (length, expected) in [(1, Storage::ShortQueue), (9, Storage::ShortQueue), (10, Storage::Table)] {
        let (mut messages, _) = messages(100);
        let (mut arrived, mut fast) = (0, 0);
        let mut last = 100;
        while arrived < 4096 + 32 {
            for number in 0..last {
                assert!(messages.take(Pattern::exactly(envelope(number))).is_some());
            }
            for number in 0..length {
                fast += u32::from(messages.fast_paths.take_append(messages.age));
                messages.append_any(envelope(number), number.into()).unwrap();
            }
            arrived += length;
            last = length;
        }
        assert!(fast > 3900, "{fast} of {arrived}");
        assert_eq!(messages.storage, expected, "phases of {length}");
    }
}

/// The last message of a key leaves by the slow path, since it has links, and the fast path stays.
#[test]
fn the_last_message_of_a_key_leaves_the_fast_path_as_it_is() {
    let (mut messages, _) = messages(12);
    for number in 0..12 {
        messages.append_any(envelope(20), number).unwrap();
        messages.take(Pattern::exactly(envelope(number as u32))).expect("the message is queued");
    }
    for number in 0..12 {
        let found = messages.take(Pattern::exactly(envelope(20)));
        assert_eq!((found.map(|message| message.user), messages.fast_paths.are_on()), (Some(number), true));
    }
    assert_eq!((messages.len(), messages.is_empty()), (0, false));
}

/// The messages of a random run, as a list in order of age.
struct Naive(Vec<(Envelope, u64, Handle)>);

impl Naive {
    fn position(&self, pattern: Pattern) -> Option<usize> {
        self.0.iter().position(|(envelope, ..)| pattern.accepts(envelope))
    }

    fn expected(&self, at: Option<usize>) -> Option<Message> {
        at.map(|at| self.0[at]).map(|(envelope, user, _)| Message { user, envelope })
    }
}

/// What a random run does for some time: how often it appends, which patterns it has, how many tags.
struct Phase {
    appended: u64,
    other_wildcards: u64,
    exact: u64,
    tags: u64,
    deepest: usize,
}

impl Phase {
    fn random(random: &mut Rng) -> Self {
        let pick = |random: &mut Rng, from: &[u64]| from[random.usize(..from.len())];
        Self {
            appended: pick(random, &[20, 50, 80]),
            other_wildcards: pick(random, &[0, 0, 0, 2, 50]),
            exact: pick(random, &[0, 20, 100]),
            tags: pick(random, &[1, 2, 30, 1000]),
            deepest: pick(random, &[20, 150, 600]) as usize,
        }
    }

    fn pattern(&self, envelope: Envelope, random: &mut Rng) -> Pattern {
        let exact = Pattern::exactly(envelope);
        match random.u64(..100) {
            kind if kind < self.exact => exact,
            kind if kind - self.exact < self.other_wildcards => Pattern { ignore: u64::MAX, ..exact },
            _ => Pattern { source: None, ..exact },
        }
    }
}

/// Compares with the naive list and checks the lists by match bits; counts the changes from one storage to another.
fn perform(seed: u64, operations: u64, changes: &mut [[u32; 4]; 4]) {
    let mut random = Rng::with_seed(seed);
    let (mut messages, _) = messages(0);
    let mut naive = Naive(Vec::new());
    let mut stale = Vec::new();
    let (mut phase, mut left) = (Phase::random(&mut random), 0);
    for number in 0..operations {
        if left == 0 {
            (phase, left) = (Phase::random(&mut random), random.u64(1..800));
        }
        left -= 1;
        let before = messages.storage;
        let envelope = Envelope { bits: random.u64(..phase.tags) << 20, source: random.u32(..3) };
        let any_handle = |naive: &Naive, random: &mut Rng| {
            (!naive.0.is_empty()).then(|| random.usize(..naive.0.len())).map(|at| (at, naive.0[at].2))
        };
        match random.u64(..100) {
            kind if kind < phase.appended && naive.0.len() < phase.deepest => {
                let handle = messages.append_any(envelope, number).unwrap();
                naive.0.push((envelope, number, handle));
            }
            90..93 => {
                if let Some((at, handle)) = any_handle(&naive, &mut random) {
                    assert_eq!(messages.discard(handle), Some(naive.0.remove(at).1));
                    stale.push(handle);
                }
            }
            93..95 => {
                if let Some((at, handle)) = any_handle(&naive, &mut random) {
                    messages.set_source(handle, envelope.source);
                    naive.0[at].0.source = envelope.source;
                }
            }
            95 => {
                let handle = stale.get(random.usize(..stale.len().max(1))).copied();
                assert!(handle.is_none_or(|handle| messages.discard(handle).is_none()));
            }
            96 => {
                let mut found = Array::new(Heap::GLOBAL);
                found.reserve_exact(naive.0.len()).unwrap();
                messages.messages(&mut found);
                // The handle of a message that was in a short queue may be another one; both name it.
                let found =
                    found.iter().map(|message| (message.envelope, message.user, messages.queued(message.handle)));
                assert!(found.eq(naive.0.iter().map(|&(envelope, user, handle)| (
                    envelope,
                    user,
                    messages.queued(handle)
                ))));
            }
            97 if random.u64(..10) == 0 => messages.shrink(),
            98 if random.u64(..10) == 0 => messages.reserve(naive.0.len() + random.usize(..500)).unwrap(),
            kind => {
                let target = any_handle(&naive, &mut random).filter(|_| kind % 2 == 0);
                let envelope = target.map_or(envelope, |(at, _)| naive.0[at].0);
                let pattern = phase.pattern(envelope, &mut random);
                let at = naive.position(pattern);
                let expected = naive.expected(at);
                if before != Storage::ShortQueue && (before == Storage::ByBits) == is_of_bits(pattern) {
                    assert!(messages.compared(pattern) <= naive.0.len() + 1);
                }
                if kind % 3 == 0 {
                    let found = messages.probe(pattern).map(|message| message.handle);
                    let found = found.and_then(|handle| messages.queued(handle));
                    assert_eq!(found, expected, "seed {seed}, operation {number}, {pattern:?}");
                } else {
                    let found = messages.take(pattern);
                    assert_eq!(found, expected, "seed {seed}, operation {number}");
                    if let Some(at) = at {
                        stale.push(naive.0.remove(at).2);
                    }
                }
            }
        }
        assert_eq!(messages.len() as usize, naive.0.len());
        changes[before as usize][messages.storage as usize] += 1;
        if messages.storage == Storage::ByBits && number % 8 == 0 {
            messages.index.check_lists(&messages.table);
        }
    }
}

/// Receives from any source, with other wildcards and without, in queues of all lengths.
#[test]
fn random_runs_with_receives_from_any_source_agree_with_a_naive_list() {
    let (seeds, operations) = if cfg!(miri) { (1, 1500) } else { (12, 20_000) };
    let mut changes = [[0; 4]; 4];
    for seed in 0..seeds {
        perform(seed, operations, &mut changes);
    }
    if !cfg!(miri) {
        let [_, table, indexed, by_bits] = changes;
        for (name, count) in [
            ("lists built from the table", table[Storage::ByBits as usize]),
            ("lists built from the index", indexed[Storage::ByBits as usize]),
            ("index in place of lists", by_bits[Storage::Indexed as usize]),
            ("lists dropped", by_bits[Storage::Table as usize]),
            ("short again", by_bits[Storage::ShortQueue as usize]),
        ] {
            assert!(count >= 5, "{name}: {count} of {changes:?}");
        }
    }
}

/// As many different tags as messages, or one: what a search compares does not grow with the queue.
#[test]
#[cfg_attr(miri, ignore = "deep queues")]
fn a_search_from_any_source_compares_as_much_in_a_deep_queue_as_in_a_shallow_one() {
    for tags in [1, u64::MAX] {
        for count in [20, 300, 5000] {
            let (mut messages, _) = messages(0);
            for number in 0..count {
                let envelope = Envelope { bits: number % tags, source: number as u32 };
                messages.append_any(envelope, number).unwrap();
            }
            let youngest = Pattern { bits: (count - 1) % tags, ignore: 0, source: None };
            let oldest = if tags == 1 { 0 } else { count - 1 };
            assert_eq!(messages.probe(youngest).map(|message| message.user), Some(oldest));
            assert_eq!((messages.storage, messages.compared(youngest)), (Storage::ByBits, 1));
            assert_eq!(messages.probe(Pattern { bits: 1 << 40, ..youngest }), None);
            assert!(messages.compared(Pattern { bits: 1 << 40, ..youngest }) <= 3);
        }
    }
}

/// Runs one phase for each element of `spared`. A phase searches from any source by match bits, behind all messages,
/// until there are lists, then until these have spared that many blocks for each slot of the table, and then once for
/// a pattern that needs the index. Returns how many searches scanned the index in each phase, as a multiple of the
/// number that pays for lists at first.
fn prices(depth: u32, spared: &[u32]) -> Vec<f64> {
    let (mut queue, _) = messages(depth);
    let absent = Pattern { bits: u64::from(depth), ignore: 0, source: None };
    let (slots, blocks) = (queue.table.slots(), depth.div_ceil(LANES));
    let phase = |spared: &u32| {
        let mut scans = 0;
        loop {
            assert_eq!(queue.probe(absent), None);
            if queue.storage == Storage::ByBits {
                break;
            }
            scans += 1;
        }
        (0..spared * slots / blocks).for_each(|_| assert_eq!(queue.probe(absent), None));
        assert!(queue.probe(ANY).is_some());
        assert_eq!(queue.storage, Storage::Indexed);
        f64::from(scans) / f64::from(slots.div_ceil(blocks))
    };
    spared.iter().map(phase).collect()
}

/// A program with long phases of one kind of search changes between index and lists in each, also after shorter ones;
/// for one that needs the index again before the lists have paid for both changes, they cost twice as much each time.
#[test]
fn lists_come_back_early_if_they_have_paid_before() {
    for depth in if cfg!(miri) { vec![100] } else { vec![40, 100, 1000] } {
        let prices = prices(depth, &[3, 3, 0, 1, 0, 3, 3, 1, 3, 3]);
        let expected = [0.0, 1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0, 2.0, 1.0];
        let is_right = |(price, expected): (&f64, &f64)| (price - expected).abs() < 0.03 * expected;
        assert!(prices[0] == 0.0 && prices.iter().zip(&expected).skip(1).all(is_right), "{depth}: {prices:?}");
    }
}

/// Lists that are built after a time without wildcards have spared nothing yet.
#[test]
fn lists_of_an_earlier_time_have_paid_for_nothing() {
    let depth = 600;
    let absent = Pattern { bits: u64::from(depth), ignore: 0, source: None };
    let (mut queue, _) = messages(depth);
    (0..1000).for_each(|_| assert_eq!(queue.probe(absent), None));
    assert!(queue.blocks / 2 >= queue.table.slots());
    // Two times without wildcards: the lists stay for the first, since they were used before it.
    for storage in [Storage::ByBits, Storage::Table] {
        (0..depth).for_each(|n| assert!(queue.take(Pattern::exactly(envelope(n))).is_some()));
        assert_eq!(queue.take(Pattern::exactly(envelope(0))), None);
        assert_eq!(queue.storage, storage);
        (0..depth).for_each(|n| _ = queue.append_any(envelope(n), n.into()).unwrap());
    }
    assert_eq!(queue.probe(absent), None);
    assert_eq!((queue.storage, queue.returns), (Storage::ByBits, 0));
    assert!(queue.probe(ANY).is_some());
    assert_eq!((queue.storage, queue.returns), (Storage::Indexed, 1));
}

/// Ages come back from generations in their order, beyond a period of those too.
#[test]
fn ages_keep_their_order_from_generations() {
    let period = 1_u64 << 33;
    for first in [FIRST_AGE, period - 3 * AGE_STEP + FIRST_AGE, 5 * period + FIRST_AGE] {
        let ages = [first, first + AGE_STEP, first + 4 * AGE_STEP, first + period, first + 2 * period + 9 * AGE_STEP];
        let mut limit = ages[4] + AGE_STEP;
        for age in ages.into_iter().rev() {
            let found = last_age_before(limit, generation(age));
            assert!(found < limit && found >= age && generation(found) == generation(age));
            limit = found;
        }
        assert_eq!(last_age_before(first + AGE_STEP, generation(first)), first);
    }
}
