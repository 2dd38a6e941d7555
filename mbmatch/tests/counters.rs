// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of both queues: what they count, and that they say nothing when they are off.

use mbmatch::{Arrived, Counters, Envelope, Matcher, Options, Pattern, QueueCounters, Structure};

fn message(number: u64) -> Envelope {
    Envelope { bits: number, source: 1 }
}

fn counters(matcher: &Matcher) -> Counters {
    matcher.counters().expect("counting is on")
}

#[test]
fn a_list_compares_every_older_entry() {
    let mut matcher = Matcher::new(Structure::List, Options::default());
    matcher.queue_receive(Pattern::exactly(message(1)), 1).expect("memory");
    assert_eq!(matcher.counters(), None);
    matcher.start_counters().expect("memory");
    for number in [2, 3, 4] {
        matcher.post(Pattern::exactly(message(number)), number).expect("memory");
    }
    assert_eq!(matcher.arrive(message(3), 0), Ok(Arrived::Matched { user: 3 }));
    assert_eq!(matcher.take_receive(message(9)), None);
    for number in [5, 6] {
        matcher.queue_message(message(number), number).expect("memory");
    }
    assert!(matcher.probe(Pattern::exactly(message(6))).is_some());
    assert!(matcher.mprobe(Pattern { source: None, ..Pattern::exactly(message(5)) }).is_some());
    let Counters { posted, unexpected } = counters(&matcher);
    let expected =
        QueueCounters { length: 3, longest: 4, appended: 3, searches: 2, compared: 3 + 3, longest_search: 3 };
    assert_eq!(posted, expected);
    // Three posts searched an empty queue.
    let expected =
        QueueCounters { length: 1, longest: 2, appended: 2, searches: 5, compared: 2 + 1, longest_search: 2 };
    assert_eq!(unexpected, expected);
    matcher.stop_counters();
    assert_eq!(matcher.counters(), None);
    matcher.start_counters().expect("memory");
    let restarted = QueueCounters { length: 3, longest: 3, ..QueueCounters::default() };
    assert_eq!(counters(&matcher).posted, restarted);
}

/// A search compares what it finds, and in no structure more than every entry of the queue, or one block of it.
#[test]
fn every_structure_compares_at_least_what_it_finds_and_at_most_all() {
    let depths: &[u64] = if cfg!(miri) { &[1, 5, 9, 10, 40] } else { &[1, 5, 9, 10, 40, 300] };
    for &structure in Structure::ALL {
        for &depth in depths {
            // Without wildcards, of MPI's kinds, and of more kinds than have classes.
            for kinds in [1, 4, 13] {
                let mut matcher = Matcher::new(structure, Options::default());
                let ignore = |number: u64| if kinds == 1 { 0 } else { 1 << (20 + number % kinds) };
                for number in 0..depth {
                    let pattern = Pattern { ignore: ignore(number), ..Pattern::exactly(message(number)) };
                    matcher.queue_receive(pattern, number).expect("memory");
                    matcher.queue_message(message(1000 + number), number).expect("memory");
                }
                matcher.start_counters().expect("memory");
                assert_eq!(matcher.take_receive(message(depth - 1)), Some(depth - 1));
                let found = counters(&matcher).posted;
                assert!((1..=depth).contains(&found.compared), "{structure}, {depth}, {kinds}: {found:?}");
                let pattern = Pattern { ignore: ignore(1), ..Pattern::exactly(message(1000)) };
                assert!(matcher.probe(pattern).is_some());
                assert!(matcher.mprobe(pattern).is_some());
                let found = counters(&matcher).unexpected;
                let most = 2 * depth;
                assert!((2..=most).contains(&found.compared), "{structure}, {depth}, {kinds}: {found:?}");
                assert_eq!((found.searches, found.longest, found.length), (2, depth, depth - 1));
            }
        }
    }
}

/// What adaptive saves: one key of hundreds.
#[test]
fn adaptive_compares_one_key_of_hundreds() {
    let count = if cfg!(miri) { 40 } else { 300 };
    let mut matcher = Matcher::new(Structure::Adaptive, Options::default());
    for number in 0..count {
        matcher.queue_receive(Pattern::exactly(message(number)), number).expect("memory");
    }
    matcher.start_counters().expect("memory");
    for number in (0..count).rev() {
        assert_eq!(matcher.take_receive(message(number)), Some(number));
    }
    let QueueCounters { searches, compared, longest_search, .. } = counters(&matcher).posted;
    assert_eq!((searches, compared, longest_search), (count, count, 1));
}
