// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The curves of sizes against engines with these sizes, and where the time of a match goes.

mod common;

use std::ops::ControlFlow;

use common::{Narrow, linear, plain, replayed_trace};
use mb_catalog::EngineChoice;
use mb_core::engine::{Placement, ReplayEngine};
use mb_core::{CapacityEvents, Envelope, Holds, Initiator, MsgId, Op, Pattern, Picos, RecvId, Source};
use mb_replay::sizing::{Queues, WeightedCounts};
use mb_replay::{Report, Sizer, Sizing, replay};
use mb_testkit::drive::{Fetch, Visits, judge, judge_one_by_one};
use mb_testkit::streams;
use mb_trace::Trace;
use mb_trace::generate::Plan;

/// The default preset of every engine with a structure, and the key of its size.
fn limited() -> Vec<(EngineChoice, &'static str, Holds)> {
    let mut found: Vec<_> = mb_catalog::all()
        .unwrap()
        .into_iter()
        .filter_map(|choice| {
            let size = choice.entry.parameters.iter().find(|spec| spec.holds.is_some())?;
            Some((choice, size.key, size.holds?))
        })
        .collect();
    found.dedup_by_key(|(choice, ..)| choice.entry.card.name);
    found
}

fn of_size(choice: &EngineChoice, key: &str, size: usize) -> EngineChoice {
    let mut choice = choice.clone();
    // Cells come in whole blocks.
    for (key, value) in [("block", 1), (key, size)] {
        if choice.entry.parameters.iter().any(|spec| spec.key == key) {
            choice.set(key, &value.to_string(), Source::User).unwrap();
        }
    }
    choice
}

fn measured(ops: impl IntoIterator<Item = (Picos, Op)>) -> Sizing {
    let mut sizer = Sizer::new(&[1, 2, 3]);
    let mut end = Picos::ZERO;
    for (at, op) in ops {
        sizer.apply(at, op);
        end = at;
    }
    sizer.finish(end)
}

/// What the curves say about a structure of `size` entries.
fn predicted(sizing: &Sizing, holds: Holds, size: usize) -> (u64, u64) {
    let Queues { posted, unexpected } = &sizing.queues;
    match holds {
        Holds::OldestOfQueue => (posted.insertions.from(size), unexpected.insertions.from(size)),
        Holds::PlacesOfBoth => (sizing.places.posted.from(size), sizing.places.unexpected.from(size)),
        Holds::ByOtherRule => panic!("no curve"),
    }
}

#[test]
fn an_engine_of_n_entries_overflows_as_often_as_the_curve_says() {
    let mut overflowed = 0;
    for (choice, key, holds) in limited().into_iter().filter(|(_, _, holds)| *holds != Holds::ByOtherRule) {
        overflowed += 1;
        for size in [1, 4, 33] {
            let choice = of_size(&choice, key, size);
            let judged = streams::check(160, |offers| {
                let mut engine = choice.build().unwrap();
                judge(engine.as_mut(), offers, Fetch::Settle, Visits::Own)?;
                let CapacityEvents { posted_overflows, unexpected_overflows, .. } = engine.capacity_events();
                let expected = predicted(&measured(offers.iter().map(|offer| (offer.at, offer.op))), holds, size);
                if (posted_overflows, unexpected_overflows) == expected {
                    return Ok(());
                }
                Err(format!("{posted_overflows} and {unexpected_overflows} overflows, the curves say {expected:?}"))
            });
            assert_eq!(judged, Ok(()), "{} with {size} entries", choice.spec());
        }
    }
    assert_eq!(overflowed, 4, "cam_list, alpu, match_unit and hash_buckets have a curve");
}

#[test]
fn n_and_k_insertions_overflow_every_engine_exactly_k_times() {
    const SIZE: usize = 6;
    const MORE: u64 = 5;
    let envelope = |number: u64| Envelope { bits: number, initiator: Initiator(0) };
    let post = |number| Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) };
    let arrive = |number| Op::Arrive { msg: MsgId(number), envelope: envelope(number) };
    let engines = limited();
    assert_eq!(engines.len(), 6, "each engine with a structure says what it holds");
    for (choice, key, _) in engines {
        let choice = of_size(&choice, key, SIZE);
        let events = |ops: Vec<Op>| {
            let mut engine = choice.build().unwrap();
            judge_one_by_one(engine.as_mut(), &ops, Visits::Own).unwrap();
            engine.capacity_events()
        };
        let all = SIZE as u64 + MORE;
        // The buffers of `lhs` hold heads of messages alone.
        let posted = if choice.entry.card.name == "lhs" { 0 } else { MORE };
        for (number, expected) in [(SIZE as u64, 0), (all, posted)] {
            let found = events((0..number).map(post).collect());
            assert_eq!((found.posted_overflows, found.unexpected_overflows), (expected, 0), "{}", choice.spec());
        }
        for (number, expected) in [(SIZE as u64, 0), (all, MORE)] {
            let found = events((0..number).map(arrive).collect());
            assert_eq!((found.posted_overflows, found.unexpected_overflows), (0, expected), "{}", choice.spec());
        }
        // Matched entries make room. An arrival of MOPED needs an entry of the table before it can match.
        let few = SIZE as u64 - 1;
        let emptied = (0..few).map(post).chain((0..few).map(arrive));
        assert_eq!(events(emptied.chain((0..few).map(post)).collect()), CapacityEvents::default());
    }
}

#[test]
fn buckets_are_searched_as_hash_buckets_does() {
    for buckets in [1, 2, 3] {
        let mut choice = mb_catalog::find("hash_buckets:flajslik").unwrap();
        let (buckets_text, chain) = (buckets.to_string(), "chain".to_owned());
        for (key, value) in [("key", "source"), ("buckets", &buckets_text), ("wildcard_search", &chain)] {
            choice.set(key, value, Source::User).unwrap();
        }
        let judged = streams::check(200, |offers| {
            let mut engine = choice.build().unwrap();
            let answers = judge(engine.as_mut(), offers, Fetch::Settle, Visits::Own)?;
            let searches = || offers.iter().zip(&answers).filter(|(offer, _)| !matches!(offer.op, Op::Cancel { .. }));
            let visits: u64 = searches().map(|(_, answer)| u64::from(answer.completion.visits)).sum();
            let sizing = measured(offers.iter().map(|offer| (offer.at, offer.op)));
            let Queues { posted, unexpected } = &sizing.buckets[buckets - 1];
            let sum = |counts: &WeightedCounts| counts.iter().map(|(number, count)| number as u64 * count).sum::<u64>();
            let compared = sum(&posted.searches) + sum(&unexpected.searches);
            // An arrival has read the head of its other list when it finds its match.
            let any_source =
                offers.iter().any(|offer| matches!(offer.op, Op::Post { pattern, .. } if pattern.initiator.is_none()));
            let most = compared + if any_source { posted.searches.total() } else { 0 };
            if (compared..=most).contains(&visits) {
                return Ok(());
            }
            Err(format!("{visits} elements read, {compared} to {most} expected"))
        });
        assert_eq!(judged, Ok(()), "{buckets} buckets");
    }
}

#[test]
fn every_curve_is_that_of_plain_lists() {
    let judged = streams::check(200, |offers| {
        let sizing = measured(offers.iter().map(|offer| (offer.at, offer.op)));
        let mut posted: Vec<(RecvId, Pattern)> = Vec::new();
        let mut unexpected: Vec<(MsgId, Envelope)> = Vec::new();
        let (mut expected, mut last) = (Sizing::default(), Picos::ZERO);
        for offer in offers {
            let Queues { posted: of_posted, unexpected: of_unexpected } = &mut expected.queues;
            of_posted.time.add(posted.len(), (offer.at - last).0);
            of_unexpected.time.add(unexpected.len(), (offer.at - last).0);
            last = offer.at;
            let find = |unexpected: &[(MsgId, Envelope)], pattern: &Pattern| {
                unexpected.iter().position(|(_, envelope)| pattern.accepts(envelope))
            };
            match offer.op {
                Op::Post { recv, pattern } => {
                    let found = find(&unexpected, &pattern);
                    of_unexpected.searches.add(found.map_or(unexpected.len(), |at| at + 1), 1);
                    if let Some(at) = found {
                        unexpected.remove(at);
                    } else {
                        of_posted.insertions.add(posted.len(), 1);
                        posted.push((recv, pattern));
                    }
                }
                Op::Arrive { msg, envelope } => {
                    let found = posted.iter().position(|(_, pattern)| pattern.accepts(&envelope));
                    of_posted.searches.add(found.map_or(posted.len(), |at| at + 1), 1);
                    if let Some(at) = found {
                        posted.remove(at);
                    } else {
                        of_unexpected.insertions.add(unexpected.len(), 1);
                        unexpected.push((msg, envelope));
                    }
                }
                Op::Probe { pattern, .. } | Op::MatchedProbe { pattern, .. } => {
                    let found = find(&unexpected, &pattern);
                    of_unexpected.searches.add(found.map_or(unexpected.len(), |at| at + 1), 1);
                    if let (Some(at), Op::MatchedProbe { .. }) = (found, offer.op) {
                        unexpected.remove(at);
                    }
                }
                Op::Cancel { recv } => posted.retain(|(other, _)| *other != recv),
            }
        }
        if sizing.queues == expected.queues {
            return Ok(());
        }
        Err(format!("{:?}, expected {:?}", sizing.queues, expected.queues))
    });
    assert_eq!(judged, Ok(()));
}

#[test]
fn a_communicator_has_the_curves_of_its_operations_alone() {
    let context = |op: &Op| match op {
        Op::Post { pattern, .. } | Op::Probe { pattern, .. } | Op::MatchedProbe { pattern, .. } => {
            (pattern.ignore >> 33 == 0).then_some(pattern.bits >> 33)
        }
        Op::Arrive { envelope, .. } => Some(envelope.bits >> 33),
        Op::Cancel { .. } => Some(0),
    };
    let judged = streams::check(200, |offers| {
        // MPI leaves no bit of the communicator open.
        let ops: Vec<_> =
            offers.iter().map(|offer| (offer.at, offer.op)).filter(|(_, op)| context(op).is_some()).collect();
        let end = ops.last().map_or(Picos::ZERO, |(at, _)| *at);
        for (communicator, queues) in &measured(ops.iter().copied()).communicators {
            let is_mine = |op: &Op| matches!(op, Op::Cancel { .. }) || context(op) == Some(u64::from(*communicator));
            let mut alone = Sizer::new(&[]);
            for (at, op) in ops.iter().filter(|(_, op)| is_mine(op)) {
                alone.apply(*at, *op);
            }
            let alone = alone.finish(end).queues;
            if *queues != alone {
                return Err(format!("communicator {communicator}: {queues:?}, alone {alone:?}"));
            }
        }
        Ok(())
    });
    assert_eq!(judged, Ok(()));
}

/// Messages of many ranks to one.
fn many_to_one() -> Trace {
    let settings = [("messages".to_owned(), "6".to_owned())].into();
    Plan::new("many_to_one", 8, 7, &settings).expect("defaults fit").in_memory()
}

fn replayed_narrow(trace: &Trace, choice: &EngineChoice, room: usize) -> Report {
    let communicators = trace.check(|_| ControlFlow::Continue(())).unwrap();
    let mut build = || -> Box<dyn ReplayEngine> { Box::new(Narrow::new(choice.build().unwrap(), room)) };
    let go_on = &mut |_, _| ControlFlow::Continue(());
    replay(trace, &communicators, &mut build, Placement::Nic, &plain(), go_on).unwrap()
}

#[test]
fn the_time_of_a_match_is_search_and_waiting_and_refusal() {
    const OPERATION: Picos = Picos::from_ns(700);
    let choice = linear(|parameters| {
        parameters.operation = OPERATION;
        parameters.entry = Picos::ZERO;
        parameters.placement = Placement::Nic;
    });
    let trace = many_to_one();
    let total = replayed_trace(&trace, &choice, &plain()).total;
    let matches = total.match_latency.count();
    // Every search takes the same time, so that waiting is all the rest.
    assert_eq!(total.match_search(), OPERATION * matches);
    assert!(total.match_waiting > Picos::ZERO, "messages of several ranks arrive together");
    assert_eq!((total.match_refused, total.refused, total.match_beyond), (Picos::ZERO, 0, Picos::ZERO));
    // An engine that takes one operation at a time lets none wait inside, and refuses instead.
    let narrow = replayed_narrow(&trace, &choice, 1).total;
    assert_eq!(narrow.match_search(), OPERATION * matches);
    assert_eq!(narrow.match_waiting, Picos::ZERO);
    assert_eq!(narrow.match_refused, total.match_waiting, "the same operations wait as long outside");
    assert!(narrow.refused > 0 && narrow.refused <= narrow.busy_answers);
}

#[test]
fn a_replay_overflows_as_its_own_curve_says() {
    let trace = many_to_one();
    let mut config = plain();
    config.sizing = Some(vec![2]);
    for (choice, key, holds) in limited().into_iter().filter(|(_, _, holds)| *holds != Holds::ByOtherRule) {
        for size in [1, 3] {
            let choice = of_size(&choice, key, size);
            let report = replayed_trace(&trace, &choice, &config);
            assert_eq!(report.sizing.len(), trace.ranks() as usize);
            let mut overflows = 0;
            for (rank, sizing) in report.ranks.iter().zip(&report.sizing) {
                let events = rank.totals.capacity;
                let expected = predicted(sizing, holds, size);
                assert_eq!((events.posted_overflows, events.unexpected_overflows), expected, "{}", choice.spec());
                assert_eq!(sizing.queues.posted.time.total(), rank.totals.time.0, "the time is that of the rank");
                overflows += events.overflows();
            }
            assert_eq!(report.total.capacity.overflows(), overflows);
            assert!(overflows > 0, "{} with {size} entries", choice.spec());
        }
    }
}
