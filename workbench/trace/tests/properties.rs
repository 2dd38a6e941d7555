// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random programs: what is written comes back and passes; statistics equal those of a plain walk
//! of two lists.

use crate::common;

use std::ops::ControlFlow;

use common::Scratch;
use common::expand_done::one_done_per_request;
use mb_trace::{Distribution, Kind, Meta, RankBuilder, Record, Stats, Trace, TraceForm, TraceOrigin, TraceWriter};
use proptest::collection::vec;
use proptest::prelude::*;

/// A message between ranks of a small world, with the steps of time before its send and before its
/// receive is posted.
#[derive(Clone, Debug)]
struct Message {
    source: u32,
    destination: u32,
    tag: i32,
    send_delay: u64,
    post_delay: u64,
    /// Where among the receives of its destination it is posted.
    place: prop::sample::Index,
}

const WORLD: u32 = 4;

/// Later than all delays of a program together.
const END_NS: u64 = 1 << 20;

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let message = (0..WORLD, 0..WORLD, 0..3_i32, 0..4_u64, 0..4_u64, any::<prop::sample::Index>()).prop_map(
        |(source, destination, tag, send_delay, post_delay, place)| Message {
            source,
            destination,
            tag,
            send_delay,
            post_delay,
            place,
        },
    );
    vec(message, 0..60)
}

/// Each rank starts its sends and posts its receives, in turns, and waits for all when everything
/// has arrived.
fn programs(messages: &[Message]) -> Vec<Vec<Record>> {
    let one = |rank: u32| {
        let mut program = RankBuilder::new(rank, WORLD);
        let mut receives: Vec<&Message> = Vec::new();
        for message in messages.iter().filter(|message| message.destination == rank) {
            receives.insert(message.place.index(receives.len() + 1), message);
        }
        let mut receives = receives.into_iter();
        let mut requests = Vec::new();
        let mut post = |program: &mut RankBuilder, requests: &mut Vec<_>| {
            if let Some(message) = receives.next() {
                program.idle(message.post_delay);
                requests.push(program.irecv(0, message.source as i32, message.tag, 8));
            }
        };
        for message in messages.iter().filter(|message| message.source == rank) {
            program.compute(message.send_delay);
            requests.push(program.isend(0, message.destination as i32, message.tag, 8));
            post(&mut program, &mut requests);
        }
        for _ in messages {
            post(&mut program, &mut requests);
        }
        program.idle(END_NS - program.wall_ns());
        program.wait(&requests);
        program.finalize()
    };
    (0..WORLD).map(one).collect()
}

/// Time, whether it is an arrival (own calls come first), record, source.
type Order = (u64, bool, u64, u32);

/// Source and tag.
type Envelope = (u32, i32);

/// Both lists of one rank, walked entry by entry.
fn walk(trace: &Trace, rank: u32) -> Stats {
    let mut stats = Stats::default();
    let mut events: Vec<(Order, Envelope)> = Vec::new();
    for source in 0..WORLD {
        for (index, record) in trace.rank(source).iter().enumerate() {
            match record.kind() {
                Some(Kind::Send) if record.peer as u32 == rank => {
                    events.push(((record.wall_ns(), true, index as u64, source), (source, record.tag)));
                }
                Some(Kind::Recv) if source == rank => {
                    events.push(((record.wall_ns(), false, index as u64, 0), (record.peer as u32, record.tag)));
                }
                _ => {}
            }
        }
    }
    events.sort_unstable();
    let (mut posted, mut unexpected): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    let search = |list: &mut Vec<Envelope>, wanted, length: &mut Distribution, depth: &mut Distribution| {
        length.add(list.len() as u64);
        let found = list.iter().position(|&entry| entry == wanted);
        if let Some(at) = found {
            list.remove(at);
            depth.add(at as u64 + 1);
        }
        found.is_some()
    };
    for ((_, arrives, _, _), envelope) in events {
        if arrives {
            if !search(&mut posted, envelope, &mut stats.posted_length, &mut stats.posted_depth) {
                unexpected.push(envelope);
                stats.unexpected += 1;
            }
        } else if !search(&mut unexpected, envelope, &mut stats.unexpected_length, &mut stats.unexpected_depth) {
            posted.push(envelope);
        }
        stats.posted_max = stats.posted_max.max(posted.len() as u64);
        stats.unexpected_max = stats.unexpected_max.max(unexpected.len() as u64);
    }
    stats
}

proptest! {
    #[test]
    fn statistics_equal_those_of_a_walk(messages in messages()) {
        let trace = Trace::in_memory(programs(&messages));
        let comms = trace.check(|_| ControlFlow::Continue(())).unwrap();
        let total = trace.stats(&comms, |rank, stats| {
            let walked = walk(&trace, rank);
            assert_eq!(stats.posted_length, walked.posted_length);
            assert_eq!(stats.posted_depth, walked.posted_depth);
            assert_eq!(stats.unexpected_length, walked.unexpected_length);
            assert_eq!(stats.unexpected_depth, walked.unexpected_depth);
            let (mine, theirs) = (stats, &walked);
            assert_eq!(
                (mine.unexpected, mine.posted_max, mine.unexpected_max),
                (theirs.unexpected, theirs.posted_max, theirs.unexpected_max)
            );
            ControlFlow::Continue(())
        });
        let total = total.unwrap();
        prop_assert_eq!((total.sent, total.received), (messages.len() as u64, messages.len() as u64));
        prop_assert_eq!((total.never_received, total.without_send), (0, 0));
    }

    /// However many Done records say it, the statistics are the same.
    #[test]
    fn one_done_per_request_gives_the_same_statistics(messages in messages()) {
        let several = programs(&messages);
        let single: Vec<_> = several.iter().map(|records| one_done_per_request(records)).collect();
        for (rank, records) in several.iter().enumerate() {
            let dones = records.iter().filter(|record| record.kind == Kind::Done as u8).count();
            let started = messages.iter().any(|message| [message.source, message.destination].contains(&(rank as u32)));
            prop_assert_eq!(dones, usize::from(started), "requests are waited for in their order");
        }
        let stats = |ranks: Vec<Vec<Record>>| {
            let trace = Trace::in_memory(ranks);
            let comms = trace.check(|_| ControlFlow::Continue(())).unwrap();
            let mut all = Vec::new();
            let total = trace.stats(&comms, |_, stats| {
                all.push(Stats { records: 0, ..stats.clone() });
                ControlFlow::Continue(())
            });
            assert!(total.is_ok());
            all
        };
        prop_assert_eq!(stats(several), stats(single));
    }

    #[test]
    fn random_programs_come_back_from_disk(messages in messages(), bundle: bool) {
        let ranks = programs(&messages);
        let scratch = Scratch::new("properties");
        let form = if bundle { TraceForm::Bundle } else { TraceForm::RankFiles };
        let mut writer = TraceWriter::create(scratch.path(), Meta::new(TraceOrigin::Generated, WORLD, 3), form).unwrap();
        for records in &ranks {
            // In pieces of any size.
            for piece in records.chunks(7) {
                writer.append(piece).unwrap();
            }
            writer.end_rank().unwrap();
        }
        writer.finish().unwrap();
        let (disk, memory) = (Trace::open(scratch.path()).unwrap(), Trace::in_memory(ranks));
        disk.check(|_| ControlFlow::Continue(())).unwrap();
        for rank in 0..WORLD {
            prop_assert_eq!(disk.rank(rank), memory.rank(rank));
        }
    }

    /// One field of one record takes any value: the check says yes or no, and what passes can be
    /// measured.
    #[test]
    fn no_value_of_a_field_is_too_much(at: prop::sample::Index, field in 0..10_u8, value: u64, small in -4..8_i64, take_small: bool) {
        let value = if take_small { small as u64 } else { value };
        let mut ranks = common::everything();
        let index = at.index(ranks[1].len());
        let record = &mut ranks[1][index];
        match field {
            0 => record.kind = value as u8,
            1 => record.flags = value as u8,
            2 => record.thread = value as u16,
            3 => record.comm = value as u32,
            4 => record.peer = value as i32,
            5 => record.tag = value as i32,
            6 => record.bytes = value,
            7 => record.request = value as u32,
            8 => record.wall = value,
            _ => record.aux = value,
        }
        let trace = Trace::in_memory(ranks);
        if let Ok(comms) = trace.check(|_| ControlFlow::Continue(())) {
            let total = trace.stats(&comms, |_, _| ControlFlow::Continue(())).unwrap();
            prop_assert_eq!(total.posted_depth.count + total.unexpected, total.sent);
            let columns: usize = trace.batches(&comms, 10).map(|batch| batch.len()).sum();
            prop_assert!(columns > 0);
        }
    }
}
