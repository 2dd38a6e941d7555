// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Overflow of a short queue, and changes between queues of one class and of several.

use super::*;
use crate::heap::Heap;
use crate::scan::VectorUnit;

fn post(receives: &mut PostedReceives, pattern: Pattern, user: u64) -> Handle {
    receives.append_fast(pattern, user).unwrap_or_else(|| receives.append(pattern, user).unwrap())
}

fn take(receives: &mut PostedReceives, envelope: Envelope) -> Option<u64> {
    match receives.take_fast(envelope) {
        FastPath::Taken(user) => Some(user),
        FastPath::NoMatch => None,
        FastPath::Decline => receives.take_slow(envelope),
    }
}

/// A short queue with more kinds of wildcards than there are classes overflows: handles and order
/// of age remain.
#[test]
fn receives_keep_order_and_handles_when_a_short_queue_overflows() {
    let mut receives = PostedReceives::new(VectorUnit::or_best(None), Heap::GLOBAL, PostedAges::FIRST);
    let envelope = Envelope { bits: 0, source: 1 };
    let pattern = |number: u64| Pattern { bits: 1 << number, ignore: 1 << number, source: Some(1) };
    let mut handles: Vec<Handle> = (0..9).map(|number| post(&mut receives, pattern(number), number)).collect();
    assert_eq!(receives.cancel(handles[4]), Some(4));
    handles.push(post(&mut receives, Pattern::exactly(envelope), 9));
    assert_eq!(receives.storage, Storage::ShortQueue);
    handles.push(post(&mut receives, Pattern::exactly(envelope), 10));
    assert_eq!((receives.storage, receives.scanned.len() > 0), (Storage::Mixed, true));
    assert_eq!(receives.len(), 10);
    for (number, expected) in [(4, None), (0, Some(0)), (0, None), (8, Some(8)), (10, Some(10))] {
        assert_eq!(receives.cancel(handles[number]), expected);
    }
    for user in [1, 2, 3, 5, 6, 7, 9] {
        assert_eq!(take(&mut receives, envelope), Some(user));
        assert_eq!(receives.cancel(handles[user as usize]), None);
    }
    assert_eq!((take(&mut receives, envelope), receives.len()), (None, 0));
    // The first round was too long for a short queue, the second was not.
    for expected in [Storage::OneClass, Storage::ShortQueue] {
        assert_eq!(receives.storage, expected);
        let handle = post(&mut receives, pattern(3), 3);
        assert_eq!(receives.cancel(handle), Some(3));
    }
}

/// A queue of one class is distinguished from a mixed one while classes come and go.
#[test]
fn a_queue_has_one_class_until_another_is_posted_and_after_that_has_left() {
    let mut receives = PostedReceives::new(VectorUnit::or_best(None), Heap::GLOBAL, PostedAges::FIRST);
    let envelope = |bits| Envelope { bits, source: 7 };
    let from_any = |bits| Pattern { bits, ignore: 0, source: None };
    for tag in 0..12 {
        post(&mut receives, from_any(tag), tag);
    }
    let any_source = receives.class;
    assert_eq!(
        (receives.storage, any_source == EXACT, receives.fast_paths.are_on()),
        (Storage::OneClass, false, false)
    );
    post(&mut receives, Pattern::exactly(envelope(20)), 20);
    let last = post(&mut receives, Pattern::exactly(envelope(21)), 21);
    assert_eq!(receives.storage, Storage::Mixed);
    assert_eq!(take(&mut receives, envelope(20)), Some(20));
    assert_eq!(receives.storage, Storage::Mixed);
    assert_eq!(receives.cancel(last), Some(21));
    assert_eq!(receives.storage, Storage::Mixed);
    for tag in 20..30 {
        post(&mut receives, Pattern::exactly(envelope(tag)), tag);
    }
    for tag in 0..12 {
        assert_eq!((receives.storage, receives.fast_paths.are_on()), (Storage::Mixed, false));
        assert_eq!(take(&mut receives, envelope(tag)), Some(tag));
    }
    assert_eq!((receives.storage, receives.class, receives.fast_paths.are_on()), (Storage::OneClass, EXACT, true));
    for tag in 20..30 {
        assert_eq!(take(&mut receives, envelope(tag)), Some(tag));
    }
    // The table keeps its fast path until a search finds it empty.
    assert_eq!((receives.len(), receives.fast_paths.are_on(), receives.is_empty()), (0, true, false));
    for tag in 0..12 {
        post(&mut receives, Pattern::exactly(envelope(tag)), tag);
    }
    for tag in 0..12 {
        assert_eq!((receives.fast_paths.are_on(), take(&mut receives, envelope(tag))), (true, Some(tag)));
    }
    assert_eq!((receives.fast_paths.are_on(), take(&mut receives, envelope(0))), (true, None));
    assert_eq!((receives.storage, receives.fast_paths.are_on(), receives.is_empty()), (Storage::OneClass, false, true));
    post(&mut receives, Pattern::exactly(envelope(1)), 1);
    assert_eq!((receives.storage, receives.fast_paths.are_on()), (Storage::OneClass, true));
    assert_eq!((take(&mut receives, envelope(2)), take(&mut receives, envelope(1))), (None, Some(1)));
    assert_eq!((receives.storage, receives.fast_paths.are_on()), (Storage::OneClass, true));
    assert_eq!(take(&mut receives, envelope(1)), None);
    assert_eq!(
        (receives.storage, receives.fast_paths.are_on(), receives.is_empty()),
        (Storage::ShortQueue, false, true)
    );
}

/// Every arrival finds a receive: a queue that has become short is noticed by the receives that are posted, a longer
/// one stays a table.
#[test]
fn a_queue_that_no_search_finds_empty_becomes_short() {
    let phase = |receives: &mut PostedReceives, length: u64, fast: &mut u64| {
        for tag in 0..length {
            *fast += u64::from(receives.fast_paths.take_append(receives.age));
            post(receives, Pattern::exactly(Envelope { bits: tag, source: 7 }), tag);
        }
        for tag in 0..length {
            assert_eq!(take(receives, Envelope { bits: tag, source: 7 }), Some(tag));
        }
    };
    for (length, expected) in [(1, Storage::ShortQueue), (9, Storage::ShortQueue), (10, Storage::OneClass)] {
        let mut receives = PostedReceives::new(VectorUnit::or_best(None), Heap::GLOBAL, PostedAges::FIRST);
        phase(&mut receives, 100, &mut 0);
        let (mut posted, mut fast) = (0, 0);
        while posted < 4096 + 32 {
            phase(&mut receives, length, &mut fast);
            posted += length;
        }
        assert!(fast > 3900, "{fast} of {posted}");
        assert_eq!(receives.storage, expected, "phases of {length}");
    }
}

/// The table that is freed has just become empty, and no search has noticed it yet.
#[test]
fn a_table_that_keeps_its_fast_path_can_be_freed() {
    let mut receives = PostedReceives::new(VectorUnit::or_best(None), Heap::GLOBAL, PostedAges::FIRST);
    let envelope = |bits| Envelope { bits, source: 7 };
    for tag in 0..12 {
        post(&mut receives, Pattern::exactly(envelope(tag)), tag);
    }
    for tag in 0..12 {
        assert_eq!(take(&mut receives, envelope(tag)), Some(tag));
    }
    assert!(receives.fast_paths.are_on());
    receives.shrink();
    assert_eq!(
        (receives.storage, receives.fast_paths.are_on(), receives.is_empty()),
        (Storage::ShortQueue, false, true)
    );
    post(&mut receives, Pattern::exactly(envelope(1)), 1);
    assert_eq!((take(&mut receives, envelope(1)), take(&mut receives, envelope(1))), (Some(1), None));
}

/// Receives of several classes come and go, also with wildcards: the FIFO queue of the table stays correct.
#[test]
fn a_queue_of_changing_classes_keeps_the_fifo_queue_correct() {
    let mut random = fastrand::Rng::with_seed(13);
    let mut receives = PostedReceives::new(VectorUnit::or_best(None), Heap::GLOBAL, PostedAges::FIRST);
    // Oldest first.
    let mut queued: Vec<(Pattern, u64, Handle)> = Vec::new();
    for number in 0..if cfg!(miri) { 600 } else { 60_000 } {
        let most = if number % 700 < 350 { 14 } else { 60 };
        if queued.is_empty() || queued.len() < most && random.u8(..16) < 9 {
            // No kind with wildcards, those of MPI, or more than there are classes.
            let kinds = [1, 4, 9][number as usize / 500 % 3];
            let envelope = Envelope { bits: random.u64(..3), source: random.u32(..2) };
            let exactly = Pattern::exactly(envelope);
            let pattern = match random.u64(..kinds) {
                1 => Pattern { source: None, ..exactly },
                2 => Pattern { ignore: 0xff, ..exactly },
                3 => Pattern { ignore: 0xff, source: None, ..exactly },
                0 => exactly,
                kind => Pattern { ignore: 1 << kind, ..exactly },
            };
            queued.push((pattern, number, post(&mut receives, pattern, number)));
        } else {
            let at = random.usize(..queued.len());
            let (pattern, user, handle) = queued[at];
            if random.u8(..4) == 0 {
                queued.remove(at);
                assert_eq!(receives.cancel(handle), Some(user));
            } else {
                let envelope = Envelope { bits: pattern.bits, source: pattern.source.unwrap_or(0) };
                let oldest = queued.iter().position(|(pattern, ..)| pattern.accepts(&envelope)).expect("it is queued");
                assert_eq!(take(&mut receives, envelope), Some(queued.remove(oldest).1));
            }
        }
        receives.table.check_fifo();
    }
}
