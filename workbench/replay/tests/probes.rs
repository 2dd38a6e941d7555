// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Matched probes are accounted as the receives that they replace, and loops of polls as the waits.

mod common;

use std::ops::ControlFlow;

use common::{engine, linear, plain, replayed, replayed_trace};
use mb_catalog::EngineChoice;
use mb_core::engine::Placement;
use mb_core::time::Picos;
use mb_replay::{LatencyBin, Polls, ReplayConfig, Report};
use mb_trace::{Flags, Kind, RankBuilder, Record, Status, Trace};

const ENTRY: u64 = 7;
const OPERATION: u64 = 40;
const SEND: u64 = 100;
const LATENCY: u64 = 1000;
const RECV: u64 = 50;

fn ns(value: u64) -> Picos {
    Picos::from_ns(value)
}

const fn status(source: i32, tag: i32) -> Status {
    Status { source, tag, bytes: 0 }
}

fn walk(placement: Placement) -> EngineChoice {
    linear(|p| (p.entry, p.operation, p.placement) = (ns(ENTRY), ns(OPERATION), placement))
}

/// How a program receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// `MPI_Recv`.
    Recv,
    /// `MPI_Mprobe`, `MPI_Mrecv`.
    Mprobe,
    /// `MPI_Improbe` until it finds the message, after so many calls that do not, then `MPI_Mrecv`.
    Improbe(u64),
}

/// The records with every blocking receive in another form.
fn rewritten(records: &[Record], form: Form) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    // Numbers of the new requests by those of the old ones, and the former Recv whose Done comes next.
    let mut numbers = vec![0_u32; records.len() + 1];
    let mut next = 0;
    let mut number = || {
        next += 1;
        next
    };
    let mut waits: Option<(Record, u32)> = None;
    for record in records {
        let kind = record.kind().expect("a known kind");
        if kind == Kind::Recv && record.has(Flags::BLOCKING) && form != Form::Recv {
            let blocking = if form == Form::Mprobe { Flags::BLOCKING } else { 0 };
            let probe = number();
            let call = Record { flags: Flags::MATCHED | blocking, bytes: 0, ..*record };
            if let Form::Improbe(aux @ 1..) = form {
                let flags = Flags::PROBE | Flags::MATCHED;
                all.push(Record { kind: Kind::Miss as u8, flags, request: 0, aux, ..call });
            }
            all.push(Record { kind: Kind::Probe as u8, request: probe, ..call });
            waits = Some((*record, probe));
        } else if kind == Kind::Done
            && let Some((recv, probe)) = waits.take()
        {
            all.push(Record { request: probe, ..*record });
            let flags = Flags::BLOCKING | Flags::MATCHED;
            let request = number();
            all.push(Record {
                flags,
                peer: -1,
                tag: -2,
                aux: u64::from(probe),
                request,
                wall: record.wall,
                cpu: record.cpu,
                ..recv
            });
            all.push(Record { request, ..*record });
        } else {
            let mut same = *record;
            if record.request > 0 && kind != Kind::Extra {
                if kind != Kind::Done {
                    numbers[record.request as usize] = number();
                }
                same.request = numbers[record.request as usize];
            }
            all.push(same);
        }
    }
    all
}

fn of_form(ranks: &[Vec<Record>], form: Form, choice: &EngineChoice) -> Report {
    let mut config = plain();
    config.depths = true;
    let report = replayed(ranks.iter().map(|records| rewritten(records, form)).collect(), choice, &config);
    assert_eq!(report.unfinished, []);
    report
}

/// Rank 0 sends `length` messages; when they are there, rank 1 receives them in this order.
fn there_first(length: i32, order: impl Iterator<Item = i32>) -> Vec<Vec<Record>> {
    let (mut sender, mut receiver) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
    for tag in 0..length {
        sender.send(0, 1, tag, 0);
    }
    receiver.compute(10_000_000);
    for tag in order {
        receiver.recv(0, 0, tag, 0, status(0, tag));
    }
    vec![sender.finalize(), receiver.finalize()]
}

/// The smallest depth of each bin and its matches.
fn depths(report: &Report) -> Vec<(u32, u64)> {
    report.depths.iter().map(|bin| (bin.from, bin.matches)).collect()
}

#[test]
fn a_matched_probe_is_accounted_as_the_receive_that_it_replaces() {
    let orders = [(0..100).collect::<Vec<_>>(), (0..100).rev().collect(), (0..100).map(|at| at * 37 % 100).collect()];
    for order in orders {
        let ranks = there_first(100, order.iter().copied());
        for choice in [walk(Placement::Host), walk(Placement::Nic), engine("linear:software")] {
            let wanted = of_form(&ranks, Form::Recv, &choice);
            assert_eq!(wanted.total.match_latency.count(), 100);
            for form in [Form::Mprobe, Form::Improbe(0), Form::Improbe(1000)] {
                let mut found = of_form(&ranks, form, &choice);
                assert_eq!(depths(&found), depths(&wanted), "{form:?}");
                // The rest is equal too: times, latencies and their parts, searches, queues.
                found.total.polls_waiting = 0;
                assert_eq!(found.total, wanted.total, "{form:?}");
                assert_eq!(found.visits, wanted.visits, "{form:?}");
            }
        }
    }
}

#[test]
fn every_engine_counts_the_matches_of_matched_probes() {
    let ranks = there_first(20, (0..20).map(|at| at * 7 % 20));
    for choice in mb_catalog::all().unwrap().into_iter().filter(|choice| choice.breaks_order().is_none()) {
        let (wanted, found) = (of_form(&ranks, Form::Recv, &choice), of_form(&ranks, Form::Mprobe, &choice));
        assert_eq!(depths(&found), depths(&wanted), "{}", choice.spec());
        assert_eq!((found.total.match_latency.count(), found.total.received), (20, 20), "{}", choice.spec());
        assert_eq!(found.total.probe_search, Picos::ZERO, "{}", choice.spec());
    }
}

#[test]
fn a_matched_probe_that_waits_takes_the_search_of_the_arrival_and_its_own() {
    // Rank 1 has `posted` receives and `unexpected` messages when it probes; the message comes later.
    for (posted, unexpected) in [(0_u64, 0_u64), (3, 0), (0, 5), (4, 9)] {
        let (mut sender, mut receiver) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
        for tag in 0..unexpected as i32 {
            sender.send(0, 1, tag, 0);
        }
        let open: Vec<_> = (0..posted as i32).map(|tag| receiver.irecv(0, 0, 100 + tag, 0)).collect();
        receiver.compute(1_000_000);
        receiver.recv(0, 0, 99, 0, status(0, 99));
        sender.compute(2_000_000);
        sender.send(0, 1, 99, 0);
        for tag in 0..posted as i32 {
            sender.compute(100_000);
            sender.send(0, 1, 100 + tag, 0);
        }
        receiver.wait(&open);
        for tag in 0..unexpected as i32 {
            receiver.recv(0, 0, tag, 0, status(0, tag));
        }
        let ranks = [sender.finalize(), receiver.finalize()];
        let first = |form| {
            let report = of_form(&ranks, form, &walk(Placement::Nic));
            assert_eq!(report.total.match_latency.count(), 1 + posted + unexpected);
            let total = report.total;
            (total.match_latency.max(), total.blocked_on_matching, total.probe_search)
        };
        let search = |entries: u64| OPERATION + entries * ENTRY;
        // The receive is the last one posted; the message is the last one that is unexpected.
        let (by_recv, _, _) = first(Form::Recv);
        assert_eq!(by_recv, ns(search(posted + 1)));
        for form in [Form::Mprobe, Form::Improbe(0), Form::Improbe(77)] {
            let (latency, blocked, probes) = first(form);
            let wanted = search(posted) + search(unexpected + 1);
            assert_eq!(latency, ns(wanted), "{form:?}");
            // The other waits: the last of the posted receives, and the unexpected messages one by one.
            let others = if posted > 0 { search(1) } else { 0 } + (0..unexpected).map(|_| search(1)).sum::<u64>();
            assert_eq!(blocked, ns(wanted + others), "{form:?}, {posted} posted, {unexpected} unexpected");
            assert_eq!(probes, ns(search(unexpected)), "the first search finds nothing");
        }
    }
}

#[test]
fn a_plain_probe_has_its_search_time_in_a_column_of_its_own() {
    let (mut sender, mut receiver) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
    for tag in 0..10 {
        sender.send(0, 1, tag, 0);
    }
    receiver.compute(1_000_000);
    receiver.probe(Flags::BLOCKING, 0, 0, 9, status(0, 9));
    receiver.recv(0, 0, 9, 0, status(0, 9));
    let report = replayed(vec![sender.finalize(), receiver.finalize()], &walk(Placement::Nic), &plain());
    let search = ns(OPERATION + 10 * ENTRY);
    assert_eq!((report.total.match_latency.count(), report.total.match_latency.max()), (1, search));
    assert_eq!(report.total.probe_search, search);
    assert_eq!(report.total.blocked_on_matching, search + search, "the rank waits for both searches");
}

#[test]
fn a_trace_and_its_replay_agree_on_every_depth() {
    let order = || (0..60).map(|at| at * 23 % 60);
    for form in [Form::Recv, Form::Mprobe, Form::Improbe(5)] {
        let ranks: Vec<_> = there_first(60, order()).iter().map(|records| rewritten(records, form)).collect();
        let trace = Trace::in_memory(ranks);
        let communicators = trace.check(|_| ControlFlow::Continue(())).unwrap();
        let stats = trace.stats(&communicators, |_, _| ControlFlow::Continue(())).unwrap();
        let mut config = plain();
        config.depths = true;
        let report = replayed_trace(&trace, &engine("ideal:zero"), &config);
        assert_eq!(stats.unexpected_depth.count, 60);
        // The bins of the replay are parts of those of the statistics.
        for (from, to, count) in stats.unexpected_depth.ranges() {
            let inside = |bin: &&LatencyBin| from <= u64::from(bin.from) && u64::from(bin.to) <= to;
            let matches: u64 = report.depths.iter().filter(inside).map(|bin| bin.matches).sum();
            assert_eq!(matches, count, "{form:?}, depths {from} to {to}");
        }
        assert_eq!((stats.receives, stats.received, report.total.received), (60, 60, 60));
    }
}

/// Two ranks exchange messages `rounds` times; rank 0 polls for each one so often, with these gaps between polls of
/// 30 ns, or waits for it. Each test has the records of a trace of this version.
fn exchange(rounds: u64, polls: Option<(u64, u64)>, median: Option<u64>) -> Trace {
    let (mut one, mut other) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
    for _ in 0..rounds {
        let request = one.irecv(0, 1, 7, 0);
        one.send(0, 1, 7, 0);
        if let Some((count, gap)) = polls {
            let spans = Record { wall_span_ns: 30 * count as u32, cpu_span_ns: 30 * count as u32, ..Record::default() };
            let bytes = median.map_or(0, |median| median << 32);
            one.push(Record { kind: Kind::Miss as u8, aux: count, bytes, ..spans });
            one.compute((30 + gap) * count);
            one.test(&[request]);
        } else {
            one.wait(&[request]);
        }
        one.compute(500);
        other.recv(0, 0, 7, 0, status(0, 7));
        other.compute(300);
        other.send(0, 0, 7, 0);
    }
    Trace::in_version(if median.is_some() { 3 } else { 2 }, vec![one.finalize(), other.finalize()])
}

fn time(trace: &Trace, change: impl FnOnce(&mut ReplayConfig)) -> Report {
    let mut config = plain();
    change(&mut config);
    let report = replayed_trace(trace, &walk(Placement::Nic), &config);
    assert_eq!(report.unfinished, []);
    report
}

#[test]
fn the_number_of_polls_in_the_recording_changes_nothing() {
    let wait = time(&exchange(20, None, None), |_| ());
    for (count, gap, median) in [(1, 0, None), (9, 0, None), (12_345, 0, None), (70, 0, Some(0))] {
        let polled = time(&exchange(20, Some((count, gap)), median), |_| ()).total;
        assert_eq!(polled.time, wait.total.time, "{count}");
        assert_eq!(polled.blocked_on_matching, wait.total.blocked_on_matching, "{count}");
        assert_eq!((polled.polls_waiting, polled.polls_recorded), (20 * count, 0));
    }
    let gaps = |count| time(&exchange(20, Some((count, 200)), None), |_| ()).total;
    assert_eq!(gaps(3).time, gaps(4000).time);
    let recorded = |count| time(&exchange(20, Some((count, 200)), None), |config| config.polls = Polls::Recorded).total;
    assert_eq!(recorded(4000).time - recorded(1000).time, ns(20 * 3000 * 200));
}

#[test]
fn a_loop_notices_a_message_at_its_next_poll() {
    // The receive is complete at `done`; the loop begins when the send returns.
    let done = SEND + LATENCY + OPERATION + ENTRY + RECV + 300 + SEND + LATENCY + OPERATION + ENTRY;
    for gap in [0, 10, 200, 1000, 4999] {
        for version_3 in [false, true] {
            // In version 3 the median counts, whatever the mean.
            let trace = exchange(1, Some((10, if version_3 { gap / 2 } else { gap })), version_3.then_some(gap));
            let within = (done - SEND) % (30 + gap);
            let noticed = if gap == 0 || within <= 30 { done } else { done - within + 30 + gap };
            assert_eq!(time(&trace, |_| ()).ranks[0].totals.time, ns(noticed + RECV + 500), "gap {gap}, {version_3}");
        }
    }
}

#[test]
fn a_loop_that_works_between_polls_keeps_its_work() {
    let work = |gap, median| time(&exchange(1, Some((10, gap)), median), |_| ());
    let kept = work(5000, None);
    assert_eq!((kept.total.polls_waiting, kept.total.polls_recorded), (0, 10));
    // The message is there long before the work is done.
    assert_eq!(kept.ranks[0].totals.time, ns(SEND + 10 * 5000 + RECV + 500));
    assert_eq!(work(4999, None).total.polls_waiting, 10, "from 5 us on it is work");
    assert_eq!(work(5000, Some(5000)).total.polls_recorded, 10);
    assert_eq!(work(5000, Some(100)).total.polls_waiting, 10, "a few long gaps of many are no work");
    let other = time(&exchange(1, Some((10, 900)), None), |config| config.poll_work = ns(900));
    assert_eq!(other.total.polls_recorded, 10);
}

#[test]
fn polls_that_no_event_ends_are_kept() {
    let mut program = RankBuilder::new(0, 1);
    let request = program.irecv(0, 0, 7, 0);
    program.miss(10);
    program.compute(1000);
    program.send(0, 0, 7, 0);
    program.wait(&[request]);
    let report = time(&Trace::in_memory(vec![program.finalize()]), |_| ());
    assert_eq!((report.total.polls_waiting, report.total.polls_recorded), (0, 10));
    assert_eq!(report.total.compute, ns(1000));
}

#[test]
fn polls_of_several_kinds_and_threads_wait_for_what_ended_their_loop() {
    let (mut one, mut other) = (RankBuilder::new(0, 2), RankBuilder::new(1, 2));
    let request = one.irecv(0, 1, 9, 0);
    for thread in [0, 1, 0, 1] {
        one.thread(thread);
        if thread == 0 {
            one.probe_miss(0, 1, 5, 500);
            one.miss(500);
        } else {
            one.miss(1000);
        }
        one.compute(100);
    }
    one.thread(0);
    one.probe(0, 0, 1, 5, status(1, 5));
    one.recv(0, 1, 5, 0, status(1, 5));
    one.thread(1);
    one.test(&[request]);
    other.compute(100_000);
    other.send(0, 0, 5, 0);
    other.send(0, 0, 9, 0);
    let report = time(&Trace::in_memory(vec![one.finalize(), other.finalize()]), |_| ());
    assert_eq!((report.total.polls_waiting, report.total.polls_recorded), (4000, 0));
    assert_eq!(report.total.received, 2);
    // The first message is unexpected behind one receive, then the probe and the receive find it. The test comes later
    // in the file than the return of that receive; the second message has been matched by then.
    let done = 100_000 + SEND + LATENCY + 3 * (OPERATION + ENTRY) + RECV;
    assert_eq!(report.ranks[0].totals.time, ns(done + RECV));
}
