// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of `hash_buckets` are its formulas, to the picosecond, for each of its structures.

use mb_core::engine::Placement;
use mb_core::parameters::Choice;
use mb_core::{
    Accepted, Clock, Cycles, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, QueueLengths, RecvId,
    ReplayEngine, Shortcuts,
};
use mb_hash_buckets::{BucketKey, HashBuckets, HashBucketsParameters, Links, WildcardSearch};
use mb_kit::Server;
use mb_testkit::drive::Visits;
use mb_testkit::{cases, checked, streams};

const CLOCK: Clock = Clock::from_mhz(234);
const OPERATION: u64 = 5;
const LIST: u64 = 2;
const ELEMENT: u64 = 6;
const INSERT: u64 = 3;
const REMOVE: u64 = 4;
const BUCKETS: u64 = 64;

/// Lists by source.
const SOURCE: HashBucketsParameters = HashBucketsParameters {
    clock: CLOCK,
    key: BucketKey::Source,
    buckets: BUCKETS,
    wildcard_search: WildcardSearch::AllLists,
    links: Links::Single,
    operation: Cycles(OPERATION),
    list: Cycles(LIST),
    element: Cycles(ELEMENT),
    insert: Cycles(INSERT),
    remove: Cycles(REMOVE),
    capacity: 1_000_000,
    spill: Cycles(100),
    commands: 1_000_000,
    placement: Placement::Nic,
};

/// Lists by communicator and source.
const PEER: HashBucketsParameters = HashBucketsParameters { key: BucketKey::Peer, links: Links::Double, ..SOURCE };

/// Lists as those of UCX.
const UCX: HashBucketsParameters =
    HashBucketsParameters { key: BucketKey::Envelope, buckets: 1021, wildcard_search: WildcardSearch::Chain, ..SOURCE };

fn engine(parameters: &HashBucketsParameters) -> Server<HashBuckets> {
    Server::new(HashBuckets::new(checked(parameters)))
}

fn envelope(tag: u64, source: u32) -> Envelope {
    Envelope { bits: 1 << 33 | tag, initiator: Initiator(source) }
}

fn exact(tag: u64, source: u32) -> Pattern {
    Pattern::exactly(envelope(tag, source))
}

fn any_source(tag: u64) -> Pattern {
    Pattern { initiator: None, ..exact(tag, 0) }
}

fn post(number: u64, pattern: Pattern) -> Op {
    Op::Post { recv: RecvId(number), pattern }
}

fn arrive(number: u64, envelope: Envelope) -> Op {
    Op::Arrive { msg: MsgId(number), envelope }
}

/// Offers `op` long after `before`; it must be answered after so many cycles, and not a picosecond earlier.
#[track_caller]
fn assert_takes(engine: &mut Server<HashBuckets>, before: impl IntoIterator<Item = Op>, op: Op, cycles: u64) {
    let mut done = Vec::new();
    for op in before {
        assert_eq!(engine.offer(Picos::ZERO, op), Accepted::Yes);
    }
    engine.settle(&mut done);
    done.clear();
    let start = Cycles(1_000_000_000);
    assert_eq!(engine.offer(CLOCK.span(start), op), Accepted::Yes);
    let due = CLOCK.span(start + Cycles(cycles));
    engine.run_until(Picos(due.0 - 1), &mut done);
    assert_eq!(done, [], "too early");
    engine.run_until(due, &mut done);
    assert_eq!(done.len(), 1, "too late");
}

const fn cost(lists: u64, elements: u64) -> u64 {
    OPERATION + LIST * lists + ELEMENT * elements
}

#[test]
fn a_search_reads_the_bucket_of_its_source_up_to_the_match() {
    for depth in [1_u32, 64, 65, 1000, 6400] {
        // Sources in turn, so each bucket has its share; the last entry is the last of its bucket.
        let in_bucket = u64::from(depth).div_ceil(BUCKETS);
        let receives = (0..depth).map(|source| post(source.into(), exact(1, source)));
        assert_takes(&mut engine(&SOURCE), receives, arrive(0, envelope(1, depth - 1)), cost(1, in_bucket));
        let messages = (0..depth).map(|source| arrive(source.into(), envelope(1, source)));
        let last = exact(1, depth - 1);
        let ops = [
            post(0, last),
            Op::Probe { probe: ProbeId(0), pattern: last },
            Op::MatchedProbe { probe: ProbeId(0), pattern: last },
        ];
        for op in ops {
            assert_takes(&mut engine(&SOURCE), messages.clone(), op, cost(1, in_bucket));
        }
        // One source: one bucket has all.
        let skewed = (0..depth).map(|tag| post(tag.into(), exact(tag.into(), 7)));
        assert_takes(&mut engine(&SOURCE), skewed, arrive(0, envelope(u64::from(depth) - 1, 7)), cost(1, depth.into()));
    }
}

#[test]
fn a_receive_of_any_source_is_in_a_list_of_its_own_that_every_arrival_merges() {
    // Three receives for others in the bucket, one of any source between them that does not match,
    // then the one that does.
    let receives = [post(1, exact(1, 7)), post(2, any_source(9)), post(3, exact(2, 7)), post(4, exact(3, 7))];
    assert_takes(&mut engine(&SOURCE), receives, arrive(1, envelope(3, 7)), cost(2, 4));
    // The one of any source is the oldest: the head of the bucket is read, and not compared.
    let receives = [post(2, any_source(3)), post(1, exact(3, 7))];
    assert_takes(&mut engine(&SOURCE), receives, arrive(1, envelope(3, 7)), cost(2, 2));
    // Another bucket is empty, and the list of any source alone is read.
    assert_takes(&mut engine(&SOURCE), receives, arrive(1, envelope(3, 8)), cost(2, 1));
}

#[test]
fn a_search_without_a_source_tours_all_buckets_and_takes_the_oldest() {
    // In sources 0 to 99, two messages each; tag 5 is the second of each. The first bucket is walked to its match, the
    // second of four or two; in every other the first message is read, and the second, which is younger than the best.
    let messages = (0..200_u64).map(|number| arrive(number, envelope(4 + number / 100, (number % 100) as u32)));
    // Sources 0 and 64 share bucket 0, and so up to 35 and 99: their second message is the third or
    // later of the bucket.
    let first = 3;
    let shared = 35 * 3;
    let single = 28 * 2;
    assert_takes(&mut engine(&SOURCE), messages, post(0, any_source(5)), cost(BUCKETS, first + shared + single));
}

#[test]
fn peers_have_lists_of_their_own_and_a_tour_of_one_communicator() {
    let others = (0..50_u64).map(|number| post(number, exact(1, number as u32 % 5)));
    assert_takes(&mut engine(&PEER), others.clone(), arrive(1, envelope(1, 9)), cost(1, 0));
    assert_takes(&mut engine(&PEER), others, arrive(1, envelope(2, 4)), cost(1, 10));
    // Any source of this communicator: five peers with a message each; another communicator's are not looked at.
    let elsewhere = |source| Envelope { bits: 2 << 33 | 1, initiator: Initiator(source) };
    let messages = (0..10_u32).map(|number| {
        let source = number / 2;
        arrive(number.into(), if number % 2 == 0 { envelope(1, source) } else { elsewhere(source) })
    });
    assert_takes(&mut engine(&PEER), messages.clone(), post(0, any_source(1)), cost(5, 5));
    assert_takes(&mut engine(&PEER), messages.clone(), post(0, any_source(2)), cost(5, 5));
    // A wildcard receive of another communicator is in no arrival's way.
    let wild = post(0, Pattern { bits: 2 << 33 | 1, ignore: 0, initiator: None });
    assert_takes(&mut engine(&PEER), [wild, post(1, exact(1, 3))], arrive(1, envelope(1, 3)), cost(1, 1));
}

#[test]
fn one_wildcard_is_in_the_way_of_every_message_of_ucx() {
    let exact_receives = (0..1000_u64).map(|tag| post(tag, exact(tag, 7)));
    assert_takes(&mut engine(&UCX), exact_receives.clone(), arrive(1, envelope(999, 7)), cost(1, 1));
    let with_wildcard = [post(5000, any_source(77_777))].into_iter().chain(exact_receives);
    assert_takes(&mut engine(&UCX), with_wildcard, arrive(1, envelope(999, 7)), cost(2, 2));
    // Tags 1021 apart have upper halves 1021 * 256 apart, which are equal modulo 1021: one bucket.
    let colliding = (0..100_u64).map(|number| post(number, exact(7 + 1021 * number, 7)));
    assert_takes(&mut engine(&UCX), colliding, arrive(1, envelope(7 + 1021 * 99, 7)), cost(1, 100));
    // A wildcard walks the chain of all messages, a receive without one its bucket.
    let messages = (0..500_u64).map(|tag| arrive(tag, envelope(tag, 7)));
    assert_takes(&mut engine(&UCX), messages.clone(), post(1, any_source(499)), cost(1, 500));
    assert_takes(&mut engine(&UCX), messages, post(1, exact(499, 7)), cost(1, 1));
}

#[test]
fn a_cancel_walks_lists_that_are_linked_one_way() {
    let receives = (0..30_u64).map(|tag| post(tag, exact(tag, 7)));
    assert_takes(&mut engine(&SOURCE), receives.clone(), Op::Cancel { recv: RecvId(9) }, cost(1, 10));
    assert_takes(&mut engine(&PEER), receives.clone(), Op::Cancel { recv: RecvId(9) }, OPERATION);
    assert_takes(&mut engine(&SOURCE), receives, Op::Cancel { recv: RecvId(99) }, OPERATION);
}

#[test]
fn linking_and_unlinking_follow_the_answer_and_delay_the_next_operation() {
    let mut engine = engine(&SOURCE);
    let mut done = Vec::new();
    for op in [post(1, exact(1, 7)), arrive(1, envelope(1, 7)), arrive(2, envelope(1, 7))] {
        engine.offer(Picos::ZERO, op);
    }
    engine.settle(&mut done);
    let ends = [cost(1, 0), cost(1, 0) + INSERT + cost(1, 1), cost(1, 0) + INSERT + cost(1, 1) + REMOVE + cost(1, 0)];
    assert_eq!(done.iter().map(|done| done.at).collect::<Vec<_>>(), ends.map(|end| CLOCK.span(Cycles(end))));
}

#[test]
fn elements_beyond_the_capacity_are_read_in_host_memory() {
    let mut engine = engine(&HashBucketsParameters { capacity: 10, ..SOURCE });
    let receives = (0..30_u64).map(|tag| post(tag, exact(tag, 7)));
    assert_takes(&mut engine, receives, arrive(1, envelope(24, 7)), cost(1, 10) + 15 * 100);
    // A place that becomes free is taken by the next entry, wherever it is in its list: 9 and 19
    // elements are left, then it.
    let mut done = Vec::new();
    engine.offer(CLOCK.span(Cycles(1_000_000_000)), arrive(2, envelope(3, 7)));
    engine.offer(CLOCK.span(Cycles(1_000_000_000)), post(31, exact(31, 7)));
    engine.settle(&mut done);
    let now = CLOCK.span(Cycles(2_000_000_000));
    engine.offer(now, arrive(3, envelope(31, 7)));
    assert_eq!(engine.next_event(), Some(CLOCK.span(Cycles(2_000_000_000 + cost(1, 9 + 1) + 19 * 100))));
}

#[test]
fn a_full_queue_of_operations_refuses_until_the_next_one_starts() {
    let mut engine = engine(&HashBucketsParameters { commands: 2, ..SOURCE });
    for number in 1..=3 {
        assert_eq!(engine.offer(Picos::ZERO, post(number, exact(number, 7))), Accepted::Yes, "the first has started");
    }
    let retry_at = CLOCK.span(Cycles(cost(1, 0) + INSERT));
    assert_eq!(engine.offer(Picos::ZERO, post(4, exact(4, 7))), Accepted::Busy { retry_at });
    assert_eq!(engine.offer(retry_at, post(4, exact(4, 7))), Accepted::Yes);
    assert_eq!(engine.queue_lengths(), QueueLengths { posted: 4, unexpected: 0 });
}

#[test]
fn outcomes_are_the_oracles_for_every_structure() {
    for &key in BucketKey::ALL {
        for &wildcard_search in WildcardSearch::ALL {
            for buckets in [1, 3] {
                let parameters =
                    HashBucketsParameters { key, wildcard_search, buckets, capacity: 5, commands: 3, ..SOURCE };
                let make = || Box::new(engine(&parameters)) as Box<dyn ReplayEngine>;
                assert_eq!(cases::run(&cases::corpus().unwrap(), &make, Visits::Own), Ok(()));
                assert_eq!(streams::outcomes_are_the_oracles(&make, Visits::Own), Ok(()));
            }
        }
    }
}
