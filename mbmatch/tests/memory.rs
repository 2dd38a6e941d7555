// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory contract: at most 64 bytes per entry beside the caller's own 8, all allocated memory
//! counted, while a queue fills and after churn; and no allocation within reserved capacity.

use fastrand::Rng;
use mbmatch::{Arrived, Envelope, Matcher, Memory, Options, Pattern, Posted, Structure};

/// Bytes per entry, without the user value.
const LIMIT: usize = 64;
/// Bytes of the user value.
const USER: usize = 8;

fn envelope(number: u64) -> Envelope {
    Envelope { bits: (3 << 33) | (number / 8), source: (number % 8) as u32 }
}

/// Kind 0 has no wildcards, kind 1 MPI's wildcards in turn, kind 2 forty different ignore bits.
fn pattern(kind: u64, number: u64) -> Pattern {
    let exact = Pattern::exactly(envelope(number));
    match (kind, number % 4) {
        (0, _) | (1, 0) => exact,
        (1, 1) => Pattern { source: None, ..exact },
        (1, 2) => Pattern { ignore: 0xffff_ffff, ..exact },
        (1, _) => Pattern { ignore: 0xffff_ffff, source: None, ..exact },
        _ => Pattern { ignore: 1 << (number % 40), ..exact },
    }
}

/// Fills the receives of one matcher and the messages of another, checking at every step; then
/// replaces random entries.
fn check_filling_and_churning(structure: Structure, kind: u64, count: u64) {
    let mut receives = Matcher::new(structure, Options::default());
    let mut messages = Matcher::new(structure, Options::default());
    let mut handles = Vec::new();
    for number in 0..count {
        // The age index and the lists by match bits, which only wildcards need, count too.
        if kind > 0 && number % 64 == 63 {
            assert_eq!(messages.probe(Pattern { bits: 1 << 50, ignore: kind - 1, source: None }), None);
        }
        let receive = receives.post(pattern(kind, number), number).expect("memory");
        let message = messages.arrive(envelope(number), number).expect("memory");
        let (Posted::Waiting(receive), Arrived::Unexpected(message)) = (receive, message) else {
            panic!("no pattern accepts a message");
        };
        handles.push((receive, message));
        // With few entries the growth step dominates.
        if number >= 2000 {
            let (entries, place) = (number as usize + 1, format!("{structure}, kind {kind}, {number} entries"));
            assert!(receives.memory().posted <= entries * (LIMIT + USER), "{place}: {:?}", receives.memory());
            assert!(messages.memory().unexpected <= entries * (LIMIT + USER), "{place}: {:?}", messages.memory());
        }
    }
    let mut random = Rng::with_seed(1);
    for number in count..4 * count {
        let at = random.usize(..handles.len());
        assert!(receives.cancel(handles[at].0).is_some() && messages.discard(handles[at].1).is_some());
        let receive = receives.post(pattern(kind, number), number).expect("memory");
        let message = messages.arrive(envelope(number), number).expect("memory");
        let (Posted::Waiting(receive), Arrived::Unexpected(message)) = (receive, message) else {
            panic!("no pattern accepts a message");
        };
        handles[at] = (receive, message);
    }
    let (posted, unexpected) = (receives.memory().posted, messages.memory().unexpected);
    let place = format!("{structure}, kind {kind}, churned: {posted} and {unexpected} bytes for {count}");
    assert!(posted.max(unexpected) <= count as usize * (LIMIT + USER), "{place}");
}

#[test]
#[cfg_attr(miri, ignore = "counts bytes of deep queues")]
fn an_entry_takes_at_most_64_bytes_beside_the_user_value() {
    for &structure in Structure::ALL {
        for kind in 0..3 {
            check_filling_and_churning(structure, kind, 5000);
        }
    }
}

#[test]
fn within_the_reserved_capacity_nothing_is_allocated() {
    // More receives than classes of wildcards and than a block of 64 holds, also under Miri.
    let (receives, messages) = if cfg!(miri) { (140, 80) } else { (700, 300) };
    for &structure in Structure::ALL {
        let mut matcher = Matcher::new(structure, Options::default());
        matcher.reserve(receives, messages).expect("memory");
        let reserved = matcher.memory();
        for round in 0..3 {
            // The first receives have MPI's wildcards.
            let kind = |number| u64::from(number < 20);
            let post = |number| matcher.post(pattern(kind(number), number), number);
            let handles: Vec<_> = (0..receives as u64).map(post).collect();
            for handle in handles.into_iter().skip(round) {
                let Ok(Posted::Waiting(handle)) = handle else { panic!("no pattern accepts a message") };
                assert!(matcher.cancel(handle).is_some());
            }
            for number in 0..round as u64 {
                assert_eq!(matcher.arrive(envelope(number), 0), Ok(Arrived::Matched { user: number }));
            }
            for number in 0..messages as u64 {
                assert!(matches!(matcher.arrive(envelope(number), number), Ok(Arrived::Unexpected(_))));
            }
            // With lists by match bits in the second round, with the age index in the others.
            if round == 1 {
                for number in 0..messages as u64 {
                    assert!(matcher.mprobe(Pattern { source: None, ..Pattern::exactly(envelope(number)) }).is_some());
                }
            }
            while matcher.mprobe(Pattern { bits: 0, ignore: u64::MAX, source: None }).is_some() {}
        }
        assert_eq!(matcher.memory(), reserved, "{structure}");
    }
}

/// Most communicators of a program are never used for messages between two processes.
#[test]
fn an_empty_matcher_takes_less_than_256_bytes() {
    assert!(size_of::<Matcher>() < 256, "{}", size_of::<Matcher>());
    for &structure in Structure::ALL {
        let mut matcher = Matcher::new(structure, Options::default());
        let any = Pattern { bits: 0, ignore: u64::MAX, source: None };
        assert_eq!((matcher.probe(any), matcher.mprobe(any), matcher.take_receive(envelope(0))), (None, None, None));
        assert_eq!(matcher.memory(), Memory::default(), "{structure}");
    }
}
