// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is promised of the heap: no call allocates within what was reserved, or for a few entries; and a call that finds no
//! memory changes nothing. The allocator of this program counts, and fails when it is told to.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use mb_core::random::Random;
use mbmatch::{Arrived, Envelope, Handle, Matcher, Message, Options, Pattern, Posted, Structure};

struct Counting;

thread_local! {
    /// Allocations of this thread.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// How many more of them succeed.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

// SAFETY: the system's allocator, or none.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends may have no counters any more.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        let fails =
            LEFT.try_with(|left| left.replace(left.get().saturating_sub(u64::from(left.get() != u64::MAX))) == 0);
        // SAFETY: as the caller promises.
        if fails == Ok(true) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises; `alloc` got it from the system.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `call` gives when no more than `left` allocations succeed.
fn with_memory_for<R>(left: u64, call: impl FnOnce() -> R) -> R {
    LEFT.set(left);
    let result = call();
    LEFT.set(u64::MAX);
    result
}

fn message(number: u64) -> Envelope {
    Envelope { bits: number, source: 1 }
}

/// Of MPI's kinds, one after the other.
fn pattern(number: u64) -> Pattern {
    let exact = Pattern::exactly(message(number));
    match number % 4 {
        0 => exact,
        1 => Pattern { source: None, ..exact },
        2 => Pattern { ignore: 1 << 40, ..exact },
        _ => Pattern { ignore: 1 << 40, source: None, ..exact },
    }
}

#[test]
fn within_what_was_reserved_no_call_allocates() {
    for &structure in Structure::ALL {
        // All of one kind, and of all kinds.
        for step in [1, 4] {
            let mut matcher = Matcher::new(structure, Options::default());
            matcher.reserve(100, 100).expect("memory");
            let before = COUNT.get();
            for round in 0..3 {
                for number in (0..100).map(|number| 1 + number * step) {
                    assert!(matches!(matcher.post(pattern(number), number), Ok(Posted::Waiting(_))));
                }
                for number in (0..100).map(|number| 1 + number * step) {
                    assert_eq!(matcher.arrive(message(number), round), Ok(Arrived::Matched { user: number }));
                }
                for number in 0..100 {
                    assert!(matches!(matcher.arrive(message(number), number), Ok(Arrived::Unexpected(_))));
                }
                for number in (0..100).rev() {
                    let found = matcher.post(Pattern::exactly(message(number)), round).expect("memory");
                    assert!(matches!(found, Posted::Matched(Message { user, .. }) if user == number));
                }
            }
            assert_eq!(COUNT.get(), before, "{structure}, step {step}");
        }
    }
}

/// A queue that is short takes its entries without memory, whatever is in the other one.
#[test]
fn a_few_entries_beside_many_take_no_memory() {
    let any_source = |bits| Pattern { bits, ignore: 0, source: None };
    let mut matcher = Matcher::new(Structure::Adaptive, Options::default());
    for number in 0..40 {
        matcher.arrive(message(100 + number), number).expect("memory");
    }
    assert_eq!(matcher.probe(any_source(1)), None);
    for number in 0..200 {
        let posted =
            with_memory_for(0, || matcher.post(if number % 2 == 0 { pattern(4) } else { any_source(4) }, number));
        assert!(matches!(posted, Ok(Posted::Waiting(_))));
        assert_eq!(with_memory_for(0, || matcher.arrive(message(4), 0)), Ok(Arrived::Matched { user: number }));
    }
    let mut matcher = Matcher::new(Structure::Adaptive, Options::default());
    for number in 0..40 {
        matcher.post(any_source(100 + number), number).expect("memory");
    }
    for number in 0..200 {
        assert!(matches!(with_memory_for(0, || matcher.arrive(message(4), number)), Ok(Arrived::Unexpected(_))));
        let found = with_memory_for(0, || matcher.mprobe(pattern(4)));
        assert_eq!(found, Some(Message { user: number, envelope: message(4) }));
    }
    assert_eq!(matcher.memory().unexpected, 0);
}

/// Entries of a queue, oldest first, with the callers' numbers.
type Queue<T> = Vec<(T, u64, Handle)>;

fn take<T>(queue: &mut Queue<T>, fits: impl Fn(&T) -> bool) -> Option<(T, u64, Handle)> {
    let at = queue.iter().position(|(entry, ..)| fits(entry))?;
    Some(queue.remove(at))
}

fn any<T>(queue: &mut Queue<T>, random: &mut Random) -> Option<(T, u64, Handle)> {
    (!queue.is_empty()).then(|| queue.remove(random.below(queue.len() as u64) as usize))
}

/// Random operations, a third of them with little memory: those that fail leave everything as it was. Returns how many.
fn fail_now_and_then(structure: Structure, seed: u64, operations: u64) -> u64 {
    let mut random = Random::of(seed, &[]);
    let mut matcher = Matcher::new(structure, Options::default());
    let (mut posted, mut unexpected): (Queue<Pattern>, Queue<Envelope>) = (Vec::new(), Vec::new());
    let mut failed = 0;
    // Of four patterns.
    let masked = random.pick(&[0, 1, 4]);
    for number in 0..operations {
        let envelope = Envelope { bits: random.below(40), source: random.below(2) as u32 };
        // More kinds than `adaptive` has classes.
        let ignore = if random.below(4) < masked { 1 << random.below(14) } else { 0 };
        let source = Some(envelope.source).filter(|_| random.below(3) > 0);
        let pattern = Pattern { bits: envelope.bits, ignore, source };
        let left = if random.below(3) == 0 { random.below(8) } else { u64::MAX };
        match random.below(20) {
            0..8 => {
                let found = with_memory_for(left, || matcher.post(pattern, number));
                let expected = take(&mut unexpected, |envelope| pattern.accepts(envelope));
                match (found, expected) {
                    (Ok(Posted::Matched(message)), Some((envelope, user, _))) => {
                        assert_eq!(message, Message { user, envelope }, "{structure}, operation {number}");
                    }
                    (Ok(Posted::Waiting(handle)), None) => posted.push((pattern, number, handle)),
                    (Err(_), None) if left < u64::MAX => failed += 1,
                    (found, expected) => panic!("{structure}, operation {number}: {found:?}, not {expected:?}"),
                }
            }
            8..16 => {
                let found = with_memory_for(left, || matcher.arrive(envelope, number));
                let expected = take(&mut posted, |pattern| pattern.accepts(&envelope));
                match (found, expected) {
                    (Ok(Arrived::Matched { user }), Some((_, expected, _))) => {
                        assert_eq!(user, expected, "{structure}, operation {number}");
                    }
                    (Ok(Arrived::Unexpected(handle)), None) => unexpected.push((envelope, number, handle)),
                    (Err(_), None) if left < u64::MAX => failed += 1,
                    (found, expected) => panic!("{structure}, operation {number}: {found:?}, not {expected:?}"),
                }
            }
            16 => {
                let found = with_memory_for(left, || matcher.probe(pattern));
                let expected = unexpected.iter().find(|(envelope, ..)| pattern.accepts(envelope));
                assert_eq!(
                    found,
                    expected.map(|&(envelope, user, _)| Message { user, envelope }),
                    "operation {number}"
                );
            }
            kind => {
                // Some of them all at once, so that short queues come again.
                for _ in 0..random.pick(&[1, 1, 100]) {
                    let user = if kind < 18 {
                        any(&mut posted, &mut random).map(|(_, user, handle)| (matcher.cancel(handle), user))
                    } else {
                        any(&mut unexpected, &mut random).map(|(_, user, handle)| (matcher.discard(handle), user))
                    };
                    assert!(user.is_none_or(|(found, user)| found == Some(user)), "{structure}, operation {number}");
                }
            }
        }
        assert_eq!((matcher.posted_len(), matcher.unexpected_len()), (posted.len(), unexpected.len()));
    }
    failed
}

#[test]
fn a_call_that_finds_no_memory_changes_nothing() {
    for &structure in Structure::ALL {
        let (seeds, operations) = if cfg!(miri) { (8, 100) } else { (400, 300) };
        let failed: u64 = (0..seeds).map(|seed| fail_now_and_then(structure, seed, operations)).sum();
        // So few operations as Miri gets need not meet an allocation at the wrong moment.
        assert!(cfg!(miri) || 10 * failed > seeds, "{structure}: {failed} calls failed");
    }
}
