// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The judges judge: engines with one defect each, kept for good, which corpus and streams must reject.

use std::sync::atomic::{AtomicU64, Ordering};

use mb_core::{
    Accepted, Completion, Delays, Engine, Envelope, Measurable, MsgId, Op, Outcome, Pattern, Picos, QueueLengths,
    RecvId, ReplayEngine, Shortcuts,
};
use mb_testkit::cases;
use mb_testkit::drive::Visits;
use mb_testkit::kit::{self, Check};
use mb_testkit::streams::{self, Amount};

/// What is wrong with an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Defect {
    None,
    /// The youngest of several entries wins.
    YoungestFirst,
    /// A receive without wildcards wins over an older one with.
    ExactFirst,
    /// A new entry takes the first free cell, and the lowest cell wins: a plain CAM.
    FirstFreeCell,
    /// An ignored bit is compared where the pattern has it set.
    ComparesIgnoredOnes,
    /// A probe takes the message.
    ProbeTakes,
    /// A matched probe leaves the message.
    MatchedProbeLeaves,
    /// A cancelled receive stays where it is.
    CancelLies,
    /// The hit is not counted as a visit.
    CountsMisses,
    /// Completions come out a picosecond before their time.
    Early,
    /// The next event is said to be later than the completion.
    LateEvent,
    /// `settle` returns what `run_until` returns again.
    SettlesTwice,
    /// `run_to_completion` continues after the first one.
    RunsPast,
    /// What an operation finds depends on when it is offered.
    DependsOnTime,
    /// The time of service depends on whether completions are settled.
    SlowWhenSettled,
    /// A completion is lost.
    Forgets,
    /// Time in a queue is counted as work.
    BusyWhileWaiting,
    /// All of the time is waiting, and a picosecond more.
    WaitsTooLong,
    /// With three answers outstanding it refuses an operation, and has performed it.
    RefusesWithEffect,
    /// The time of an operation differs from engine to engine.
    DependsOnTheEngine,
}

/// A list engine that takes a nanosecond for each visit and one for each operation.
struct Engineered {
    defect: Defect,
    posted: Vec<Option<(RecvId, Pattern)>>,
    unexpected: Vec<Option<(MsgId, Envelope)>>,
    free_at: Picos,
    pending: Vec<Completion>,
    busy: Picos,
    /// Of the operations, beside the visits.
    each: Picos,
}

fn make(defect: Defect) -> Box<dyn ReplayEngine> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let made = if defect == Defect::DependsOnTheEngine { MADE.fetch_add(1, Ordering::Relaxed) } else { 0 };
    Box::new(Engineered {
        defect,
        each: Picos(1000 + made),
        posted: Vec::new(),
        unexpected: Vec::new(),
        free_at: Picos::ZERO,
        pending: Vec::new(),
        busy: Picos::ZERO,
    })
}

impl Engineered {
    fn pick<T>(&self, list: &[Option<T>], accepts: impl Fn(&T) -> bool, now: Picos) -> Option<usize> {
        let mut hits = list.iter().enumerate().filter(|(_, cell)| cell.as_ref().is_some_and(&accepts));
        let youngest = self.defect == Defect::YoungestFirst || self.defect == Defect::DependsOnTime && now.0 % 2 == 1;
        if youngest { hits.next_back() } else { hits.next() }.map(|(index, _)| index)
    }

    fn accepts(&self, pattern: &Pattern, envelope: &Envelope) -> bool {
        let compared = self.defect == Defect::ComparesIgnoredOnes;
        pattern.accepts(envelope) && !(compared && pattern.bits & pattern.ignore & !envelope.bits & 1 != 0)
    }

    fn find(&self, pattern: &Pattern, now: Picos) -> Option<usize> {
        self.pick(&self.unexpected, |(_, envelope)| self.accepts(pattern, envelope), now)
    }

    fn apply(&mut self, op: Op, now: Picos) -> (Outcome, Option<usize>, bool) {
        match op {
            Op::Post { recv, pattern } => {
                if let Some(index) = self.find(&pattern, now) {
                    return (Outcome::Matched(recv, take(&mut self.unexpected, index).0), Some(index), false);
                }
                put(self.defect, &mut self.posted, (recv, pattern));
                (Outcome::Posted(recv), None, false)
            }
            Op::Arrive { msg, envelope } => {
                let exact = self.pick(&self.posted, |(_, p)| !p.is_wildcard() && self.accepts(p, &envelope), now);
                let any = self.pick(&self.posted, |(_, pattern)| self.accepts(pattern, &envelope), now);
                if let Some(index) = exact.filter(|_| self.defect == Defect::ExactFirst).or(any) {
                    return (Outcome::Matched(take(&mut self.posted, index).0, msg), Some(index), true);
                }
                put(self.defect, &mut self.unexpected, (msg, envelope));
                (Outcome::Unexpected(msg), None, true)
            }
            Op::Cancel { recv } => match self.posted.iter().position(|cell| cell.is_some_and(|(id, _)| id == recv)) {
                Some(index) => {
                    if self.defect != Defect::CancelLies {
                        take(&mut self.posted, index);
                    }
                    (Outcome::Cancelled(recv), Some(index), true)
                }
                None => (Outcome::NotCancelled(recv), None, true),
            },
            Op::Probe { probe, pattern } => {
                let found = self.find(&pattern, now);
                let msg = found.and_then(|index| self.unexpected[index]).map(|(msg, _)| msg);
                if let (Some(index), Defect::ProbeTakes) = (found, self.defect) {
                    take(&mut self.unexpected, index);
                }
                (Outcome::Probed(probe, msg), found, false)
            }
            Op::MatchedProbe { probe, pattern } => {
                let found = self.find(&pattern, now);
                let msg = found.and_then(|index| self.unexpected[index]).map(|(msg, _)| msg);
                if let (Some(index), true) = (found, self.defect != Defect::MatchedProbeLeaves) {
                    take(&mut self.unexpected, index);
                }
                (Outcome::Probed(probe, msg), found, false)
            }
        }
    }
}

fn put<T>(defect: Defect, list: &mut Vec<Option<T>>, entry: T) {
    match list.iter().position(Option::is_none) {
        Some(free) if defect == Defect::FirstFreeCell => list[free] = Some(entry),
        _ => list.push(Some(entry)),
    }
}

fn take<T>(list: &mut [Option<T>], index: usize) -> T {
    list[index].take().expect("a hit is an entry")
}

fn live<T>(list: &[Option<T>]) -> usize {
    list.iter().flatten().count()
}

impl Engine for Engineered {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let lengths = self.queue_lengths();
        let before: Vec<bool> = match op {
            Op::Arrive { .. } | Op::Cancel { .. } => self.posted.iter().map(Option::is_some).collect(),
            _ => self.unexpected.iter().map(Option::is_some).collect(),
        };
        let (outcome, hit, walks_posted) = self.apply(op, now);
        if self.defect == Defect::RefusesWithEffect && self.pending.len() > 2 {
            return Accepted::Busy { retry_at: self.free_at };
        }
        let visited = match hit {
            Some(index) => before[..=index].iter().filter(|live| **live).count(),
            None if walks_posted => lengths.posted,
            None => lengths.unexpected,
        };
        let visits = visited as u32 - u32::from(self.defect == Defect::CountsMisses && hit.is_some());
        let at = self.free_at.max(now) + self.each + Picos::from_ns(u64::from(visits));
        self.free_at = at;
        if self.defect == Defect::BusyWhileWaiting {
            self.busy += at - now;
        }
        if !(self.defect == Defect::Forgets && matches!(outcome, Outcome::NotCancelled(_))) {
            let waiting = if self.defect == Defect::WaitsTooLong { at - now + Picos(1) } else { at - now };
            self.pending.push(Completion { at, outcome, visits, delays: Delays { waiting, beyond: Picos::ZERO } });
        }
        Accepted::Yes
    }

    fn next_event(&self) -> Option<Picos> {
        let late = u64::from(self.defect == Defect::LateEvent);
        self.pending.first().map(|completion| completion.at + Picos(late))
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        let horizon = Picos(until.0 + u64::from(self.defect == Defect::Early));
        let due = self.pending.iter().take_while(|completion| completion.at <= horizon).count();
        done.extend(self.pending.drain(..due));
    }

    fn queue_lengths(&self) -> QueueLengths {
        QueueLengths { posted: live(&self.posted), unexpected: live(&self.unexpected) }
    }

    fn busy(&self) -> Picos {
        self.busy
    }
}

impl Shortcuts for Engineered {
    fn run_to_completion(&mut self, until: Picos, done: &mut Vec<Completion>) {
        let first = self.next_event().filter(|_| self.defect != Defect::RunsPast);
        self.run_until(first.map_or(until, |first| first.min(until)), done);
    }

    fn settle(&mut self, done: &mut Vec<Completion>) {
        done.extend(&self.pending);
        match self.defect {
            Defect::SettlesTwice => {}
            Defect::SlowWhenSettled => {
                self.free_at += Picos(1);
                self.pending.clear();
            }
            _ => self.pending.clear(),
        }
    }
}

impl Measurable for Engineered {}

fn streams_say(defect: Defect) -> Result<(), String> {
    streams::outcomes_are_the_oracles(&|| make(defect), Visits::OfAWalk)
}

fn corpus_says(defect: Defect) -> Result<(), String> {
    cases::run(&cases::corpus()?, &|| make(defect), Visits::OfAWalk)
}

/// What the corpus says, case by case.
fn corpus_objections(defect: Defect) -> Vec<String> {
    let cases = cases::corpus().expect("the corpus can be read");
    let run = |case| cases::run(std::slice::from_ref(case), &|| make(defect), Visits::OfAWalk);
    cases.iter().filter_map(|case| run(case).err()).collect()
}

#[track_caller]
fn assert_rejected(verdict: Result<(), String>, reason: &str) {
    let message = verdict.expect_err("a wrong engine was accepted");
    assert!(message.contains(reason), "rejected, but for another reason:\n{message}");
}

#[test]
fn an_engine_without_a_defect_is_accepted() {
    assert_eq!(corpus_says(Defect::None), Ok(()));
    assert_eq!(streams_say(Defect::None), Ok(()));
    assert_eq!(Amount::Full.stretching_offered_times_never_changes_outcomes(&|| make(Defect::None)), Ok(()));
}

#[test]
fn wrong_outcomes_are_rejected_by_corpus_and_streams() {
    for (defect, case) in [
        (Defect::YoungestFirst, "`an older exact receive wins over a younger wildcard one`"),
        (Defect::ExactFirst, "`an older wildcard receive wins over a younger exact one`"),
        (Defect::FirstFreeCell, "`a receive posted after a removal is younger than all others`"),
        (Defect::ComparesIgnoredOnes, "`the values of ignored bits of a pattern have no effect`"),
        (Defect::ProbeTakes, "`a probe finds the oldest message and leaves it`"),
        (Defect::MatchedProbeLeaves, "`a message found by a matched probe is not found again`"),
        (Defect::CancelLies, "`a cancelled receive matches no message`"),
    ] {
        let objections = corpus_objections(defect);
        assert!(objections.iter().any(|text| text.contains(case)), "{defect:?} passes {case}: {objections:#?}");
        let message = streams_say(defect).expect_err("a wrong engine was accepted");
        let known = message.contains("the engine says `") || message.contains("the engine's lists have ");
        assert!(known, "{defect:?} was rejected, but for another reason:\n{message}");
        // A stream that shows a defect shrinks to what a reader can follow.
        let lines = message.lines().count();
        assert!(lines <= 10, "{defect:?}: the smallest stream has {lines} lines:\n{message}");
    }
}

/// What slow engines are tested with finds these too; each amount alone, with the seed of `make test`.
#[test]
fn few_and_short_streams_reject_every_wrong_engine() {
    for amount in [Amount::Eighth, Amount::Short] {
        let outcomes = |defect| amount.outcomes_are_the_oracles(&|| make(defect), Visits::OfAWalk);
        assert_eq!(outcomes(Defect::None), Ok(()), "{amount:?}");
        for defect in [
            Defect::YoungestFirst,
            Defect::ExactFirst,
            Defect::FirstFreeCell,
            Defect::ComparesIgnoredOnes,
            Defect::ProbeTakes,
            Defect::MatchedProbeLeaves,
            Defect::CancelLies,
            Defect::CountsMisses,
            Defect::Early,
            Defect::LateEvent,
            Defect::SettlesTwice,
            Defect::SlowWhenSettled,
            Defect::RunsPast,
            Defect::WaitsTooLong,
            Defect::BusyWhileWaiting,
            Defect::Forgets,
        ] {
            assert!(outcomes(defect).is_err(), "{amount:?}: {defect:?} was accepted");
        }
        let refused = |defect| amount.refusals_delay_and_lose_nothing(&|| make(defect));
        assert!(refused(Defect::RefusesWithEffect).is_err(), "{amount:?}");
        let twice = |defect| amount.the_same_stream_twice_gives_the_same(&|| make(defect));
        assert!(twice(Defect::DependsOnTheEngine).is_err(), "{amount:?}");
        let stretched = |defect| amount.stretching_offered_times_never_changes_outcomes(&|| make(defect));
        assert!(stretched(Defect::DependsOnTime).is_err(), "{amount:?}");
        let slower = amount.bound_is_never_slower(&|| make(Defect::None), &|| make(Defect::CountsMisses));
        assert!(slower.is_err(), "{amount:?}");
    }
}

/// The streams that `make nightly` judges by the thousand million.
#[test]
fn numbered_streams_reject_every_wrong_outcome() {
    let found = |defect| (0..100).find_map(|number| streams::judge_nth(&|| make(defect), number).err());
    assert_eq!(found(Defect::None), None);
    for defect in [
        Defect::YoungestFirst,
        Defect::ExactFirst,
        Defect::FirstFreeCell,
        Defect::ComparesIgnoredOnes,
        Defect::ProbeTakes,
        Defect::MatchedProbeLeaves,
        Defect::CancelLies,
        Defect::Forgets,
        Defect::RefusesWithEffect,
        Defect::DependsOnTime,
    ] {
        let message = found(defect).expect("a wrong engine was accepted");
        assert!(message.starts_with("stream ") && message.lines().count() <= 10, "{defect:?}: {message}");
    }
}

#[test]
fn a_miscounted_visit_is_rejected() {
    assert_rejected(corpus_says(Defect::CountsMisses), "0 visits, but a walk has 1");
    assert_rejected(streams_say(Defect::CountsMisses), "0 visits, but a walk has 1");
}

#[test]
fn wrong_times_are_rejected() {
    assert_rejected(streams_say(Defect::Early), "before the engine's next event");
    assert_rejected(streams_say(Defect::LateEvent), "before the engine's next event");
    assert_rejected(streams_say(Defect::SettlesTwice), "which answers no open operation");
    assert_rejected(streams_say(Defect::SlowWhenSettled), "by run_until");
    assert_rejected(streams_say(Defect::RunsPast), "were returned together");
    assert_rejected(
        streams_say(Defect::WaitsTooLong),
        "waiting and beyond are 1001 ps together, but it was open for 1000 ps",
    );
    assert_rejected(
        streams_say(Defect::BusyWhileWaiting),
        "the engine was busy for 3000 ps, but had something to do for 2000 ps only",
    );
}

#[test]
fn a_refusal_with_an_effect_is_rejected() {
    let verdict = Amount::Full.refusals_delay_and_lose_nothing(&|| make(Defect::RefusesWithEffect));
    let message = verdict.expect_err("a wrong engine was accepted");
    let known = message.contains("the engine says `") || message.contains("the engine's lists have ");
    assert!(known, "rejected, but for another reason:\n{message}");
    assert_eq!(Amount::Full.refusals_delay_and_lose_nothing(&|| make(Defect::None)), Ok(()));
}

#[test]
fn times_that_differ_between_engines_are_rejected() {
    let verdict = Amount::Full.the_same_stream_twice_gives_the_same(&|| make(Defect::DependsOnTheEngine));
    assert_rejected(verdict, "in a second engine");
    assert_eq!(Amount::Full.the_same_stream_twice_gives_the_same(&|| make(Defect::None)), Ok(()));
}

#[test]
fn the_kit_stops_at_the_first_failure_and_says_what_passed() {
    let kit =
        |defect: Defect| kit::run(Check::ALL, &|| make(defect), Some(&|| make(defect)), Amount::Eighth, &mut |_| ());
    let sound = kit(Defect::None);
    assert_eq!(sound.passed.iter().map(|each| each.check).collect::<Vec<_>>(), Check::ALL);
    assert_eq!(sound.failure, None);
    for (defect, check) in [
        (Defect::YoungestFirst, Check::Corpus),
        (Defect::SlowWhenSettled, Check::Final),
        (Defect::DependsOnTheEngine, Check::Twice),
    ] {
        let verdict = kit(defect);
        let failure = verdict.failure.expect("a wrong engine was accepted");
        assert_eq!(failure.check, check, "{defect:?}: {failure}");
        let before = Check::ALL.iter().position(|known| *known == check);
        assert_eq!(Some(verdict.passed.len()), before, "{defect:?}");
    }
}

#[test]
fn an_answer_that_never_comes_is_rejected() {
    assert_rejected(streams_say(Defect::Forgets), "never answered; the oracle says `receive");
}

#[test]
fn outcomes_that_depend_on_time_are_rejected() {
    assert_rejected(
        Amount::Full.stretching_offered_times_never_changes_outcomes(&|| make(Defect::DependsOnTime)),
        "the engine says `",
    );
}

#[test]
fn a_bound_that_is_slower_is_rejected() {
    assert_rejected(
        Amount::Full.bound_is_never_slower(&|| make(Defect::None), &|| make(Defect::CountsMisses)),
        "the bound answers at",
    );
}
