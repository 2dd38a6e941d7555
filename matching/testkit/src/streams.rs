// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random operation streams, skewed to what engines get wrong, and relations that must hold between runs.
//!
//! Skews: few different envelopes (duplicates), wildcards of every kind, lists that fill before they drain, bursts of
//! cancels of posted and of completed receives, probes between, several offers at the same time.
//! A stream is decoded from small numbers, so a failing one shrinks to a few operations.
//! The number of streams is an eighth of proptest's `cases` (256, or `PROPTEST_CASES`); seed 0 unless
//! `PROPTEST_RNG_SEED` says otherwise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mb_core::random::Random;
use mb_core::{EngineFault, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, RecvId};
use mb_oracle::Oracle;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

use crate::MakeEngine;
use crate::drive::{Fetch, Offer, Visits, judge};

/// How often each kind of operation occurs while a stream fills the lists, and then while it drains them, in percent:
/// post, arrive, cancel, probe; matched probes are the rest.
struct Profile {
    fill: [u8; 4],
    drain: [u8; 4],
    /// Envelopes differ in this many ways.
    variety: u16,
    /// Percent of the patterns that have a wildcard.
    wildcards: u8,
}

const PROFILES: &[Profile] = &[
    // All at once.
    Profile { fill: [40, 40, 8, 8], drain: [40, 40, 8, 8], variety: 12, wildcards: 40 },
    // One envelope only: order is everything.
    Profile { fill: [45, 45, 4, 4], drain: [45, 45, 4, 4], variety: 1, wildcards: 30 },
    // Deep posted receives, then arrivals; exact, and with every third a wildcard.
    Profile { fill: [96, 4, 0, 0], drain: [5, 90, 4, 1], variety: 64, wildcards: 0 },
    Profile { fill: [96, 4, 0, 0], drain: [5, 90, 4, 1], variety: 24, wildcards: 33 },
    // Deep unexpected messages, then receives and probes.
    Profile { fill: [4, 96, 0, 0], drain: [80, 5, 0, 8], variety: 64, wildcards: 0 },
    Profile { fill: [4, 96, 0, 0], drain: [50, 5, 0, 25], variety: 24, wildcards: 60 },
    // Receives taken back in bursts.
    Profile { fill: [80, 20, 0, 0], drain: [10, 20, 70, 0], variety: 16, wildcards: 30 },
];

/// The numbers an operation is decoded from: kind, envelope, wildcard, choice of an older receive, gap in time.
type Numbers = (u8, u16, u16, u16, u16);

/// Streams of up to `length` operations.
pub fn streams(length: usize) -> impl Strategy<Value = Vec<Offer>> {
    let numbers = (0..100_u8, any::<u16>(), any::<u16>(), any::<u16>(), any::<u16>());
    // Two lists, so that taking an operation out leaves the meaning of the others: streams shrink well.
    let half = || vec(numbers.clone(), 0..=length / 2);
    (0..PROFILES.len(), half(), half()).prop_map(|(profile, fill, drain)| decode(&PROFILES[profile], &fill, &drain))
}

fn decode(profile: &Profile, fill: &[Numbers], drain: &[Numbers]) -> Vec<Offer> {
    let mut at = Picos::ZERO;
    let mut posted = 0;
    let mut offers = Vec::with_capacity(fill.len() + drain.len());
    let filling = fill.iter().map(|numbers| (profile.fill, numbers));
    let draining = drain.iter().map(|numbers| (profile.drain, numbers));
    for (id, (weights, &(kind, envelope, wildcard, pick, gap))) in (0..).zip(filling.chain(draining)) {
        let envelope = decode_envelope(envelope % profile.variety);
        let pattern = decode_pattern(envelope, profile.wildcards, wildcard);
        let [post, arrive, cancel, probe] = weights;
        let op = if kind < post {
            posted += 1;
            Op::Post { recv: RecvId(posted), pattern }
        } else if kind < post + arrive {
            Op::Arrive { msg: MsgId(id), envelope }
        } else if kind < post + arrive + cancel {
            // Every eighth names a receive that was never posted.
            let recv = if pick % 8 == 7 { posted + 1000 } else { posted - posted.min(u64::from(pick / 8) % 64) };
            Op::Cancel { recv: RecvId(recv) }
        } else if kind < post + arrive + cancel + probe {
            Op::Probe { probe: ProbeId(id), pattern }
        } else {
            Op::MatchedProbe { probe: ProbeId(id), pattern }
        };
        // Half of the operations come at the time of the one before, a few after a pause.
        at += match gap % 16 {
            0..8 => Picos::ZERO,
            8..14 => Picos(u64::from(gap)),
            _ => Picos(u64::from(gap) * 100),
        };
        offers.push(Offer { at, op });
    }
    offers
}

/// Spreads a small number over the fields of MPI's match bits and the initiator.
fn decode_envelope(number: u16) -> Envelope {
    let number = u64::from(number);
    let (tag, source, context) = (number % 4, number / 4 % 4, number / 16);
    Envelope { bits: context << 33 | tag, initiator: Initiator(source as u32) }
}

fn decode_pattern(envelope: Envelope, percent: u8, wildcard: u16) -> Pattern {
    let exact = Pattern::exactly(envelope);
    if wildcard % 100 >= u16::from(percent) {
        return exact;
    }
    let scattered = u64::from(wildcard / 100) << 32 | u64::from(wildcard / 800);
    match wildcard / 100 % 8 {
        0 | 1 => Pattern { initiator: None, ..exact },
        2 | 3 => Pattern { ignore: 0xffff_ffff, ..exact },
        4 => Pattern { ignore: 0xffff_ffff, initiator: None, ..exact },
        5 => Pattern { ignore: u64::MAX, initiator: None, ..exact },
        // Masks of no field, more of them than an engine can expect.
        6 => Pattern { ignore: scattered, ..exact },
        _ => Pattern { ignore: scattered, initiator: None, ..exact },
    }
}

/// Operations in a stream, at most.
const LENGTH: usize = 400;
/// Proptest's number of cases where `PROPTEST_CASES` is not set.
const USUAL_CASES: u32 = 256;

/// The number of cases of a test that draws them itself: `usual`, and more or fewer in the proportion in which
/// `PROPTEST_CASES` changes proptest's own number.
#[must_use]
pub fn in_proportion(usual: u64) -> u64 {
    (usual * u64::from(Config::default().cases) / u64::from(USUAL_CASES)).max(1)
}

/// Runs `objection` on many streams of up to `length` operations.
///
/// # Errors
/// The objection to the smallest failing stream found, and that stream.
pub fn check(length: usize, objection: impl Fn(&[Offer]) -> Result<(), String>) -> Result<(), String> {
    Amount::Full.check(length, objection)
}

/// How many streams a check runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// All.
    Full,
    /// An eighth of them, for engines whose simulation is slow.
    Eighth,
    /// As many, of a quarter of the length, for engines whose simulation is slower still; of full length where
    /// `PROPTEST_CASES` asks for more cases than usual.
    Short,
}

impl Amount {
    /// The number of streams.
    #[must_use]
    pub fn streams(self) -> u32 {
        (Config::default().cases / self.divisor()).max(1)
    }

    const fn divisor(self) -> u32 {
        match self {
            Self::Full => 8,
            Self::Eighth | Self::Short => 64,
        }
    }

    /// Operations in a stream, at most.
    fn length(self) -> usize {
        if self == Self::Short && Config::default().cases <= USUAL_CASES { LENGTH / 4 } else { LENGTH }
    }

    /// Runs `objection` on this many streams of up to `length` operations.
    ///
    /// # Errors
    /// The objection to the smallest failing stream found, and that stream.
    pub fn check(self, length: usize, objection: impl Fn(&[Offer]) -> Result<(), String>) -> Result<(), String> {
        let objection =
            |offers: &[Offer]| EngineFault::catch(|| objection(offers)).unwrap_or_else(|fault| Err(fault.0));
        let default = Config::default();
        let rng_seed = match default.rng_seed {
            RngSeed::Random => RngSeed::Fixed(0),
            fixed @ RngSeed::Fixed(_) => fixed,
        };
        let config = Config {
            cases: self.streams(),
            rng_seed,
            failure_persistence: None,
            max_shrink_iters: 50_000,
            // Milliseconds; what is left is shortened operation by operation.
            max_shrink_time: 5_000,
            ..default
        };
        let result =
            TestRunner::new(config).run(&streams(length), |offers| objection(&offers).map_err(TestCaseError::fail));
        match result {
            Ok(()) => Ok(()),
            Err(TestError::Fail(_, offers)) => Err(smallest(offers, objection)),
            Err(TestError::Abort(reason)) => Err(reason.to_string()),
        }
    }

    /// Every outcome is the oracle's.
    ///
    /// # Errors
    /// The objection to the smallest failing stream.
    pub fn outcomes_by_run_until_are_the_oracles(self, make: MakeEngine<'_>, visits: Visits) -> Result<(), String> {
        self.check(self.length(), |offers| judge(make().as_mut(), offers, Fetch::RunUntil, visits).map(|_| ()))
    }

    /// Every outcome is the oracle's, and `run_until`, `settle`, `answer` and `run_to_completion` hand
    /// out the same completions.
    ///
    /// # Errors
    /// The objection to the smallest failing stream.
    pub fn outcomes_are_the_oracles(self, make: MakeEngine<'_>, visits: Visits) -> Result<(), String> {
        self.check(self.length(), |offers| {
            let fetched = judge(make().as_mut(), offers, Fetch::RunUntil, visits)?;
            let others =
                [("settle", Fetch::Settle), ("answer", Fetch::Answer), ("run_to_completion", Fetch::RunToCompletion)];
            for (way, fetch) in others {
                let other = judge(make().as_mut(), offers, fetch, visits)?;
                if let Some(index) = fetched.iter().zip(&other).position(|(fetched, other)| fetched != other) {
                    return Err(format!(
                        "operation {}: by run_until {:?}, by {way} {:?}",
                        index + 1,
                        fetched[index],
                        other[index]
                    ));
                }
            }
            Ok(())
        })
    }

    /// The outcomes of a stream and of the same stream offered more slowly are equal (clause O-8).
    ///
    /// # Errors
    /// The objection to the smallest failing stream.
    pub fn stretching_offered_times_never_changes_outcomes(self, make: MakeEngine<'_>) -> Result<(), String> {
        self.check(self.length(), |offers| {
            let tight = judge(make().as_mut(), offers, Fetch::RunUntil, Visits::Own)?;
            // Uneven: times seven, and a gap that grows.
            let stretched: Vec<Offer> = (0_u64..)
                .zip(offers)
                .map(|(index, offer)| Offer { at: Picos(offer.at.0 * 7 + index * index), ..*offer })
                .collect();
            let loose = judge(make().as_mut(), &stretched, Fetch::RunUntil, Visits::Own)?;
            match tight.iter().zip(&loose).position(|(a, b)| a.completion.outcome != b.completion.outcome) {
                Some(index) => Err(format!(
                    "operation {}: `{}`, and `{}` when stretched",
                    index + 1,
                    tight[index].completion.outcome,
                    loose[index].completion.outcome
                )),
                None => Ok(()),
            }
        })
    }

    /// All operations come at time zero, and one that is refused is offered again after every event and in the end at
    /// the time that the engine named. A refusal delays, has no other effect, and loses nothing.
    ///
    /// # Errors
    /// The objection to the smallest failing stream.
    pub fn refusals_delay_and_lose_nothing(self, make: MakeEngine<'_>) -> Result<(), String> {
        self.check(self.length(), |offers| {
            let burst: Vec<Offer> = offers.iter().map(|offer| Offer { at: Picos::ZERO, ..*offer }).collect();
            for fetch in [Fetch::RunUntil, Fetch::AfterEveryEvent] {
                judge(make().as_mut(), &burst, fetch, Visits::Own)?;
            }
            Ok(())
        })
    }

    /// Two engines that are offered the same operations at the same times give the same completions.
    ///
    /// # Errors
    /// The objection to the smallest failing stream.
    pub fn the_same_stream_twice_gives_the_same(self, make: MakeEngine<'_>) -> Result<(), String> {
        self.check(self.length(), |offers| {
            let first = judge(make().as_mut(), offers, Fetch::RunUntil, Visits::Own)?;
            let second = judge(make().as_mut(), offers, Fetch::RunUntil, Visits::Own)?;
            match first.iter().zip(&second).position(|(first, second)| first != second) {
                Some(index) => Err(format!(
                    "operation {}: {:?}, and {:?} in a second engine",
                    index + 1,
                    first[index],
                    second[index]
                )),
                None => Ok(()),
            }
        })
    }

    /// Offered the same operations at the same times, `bound` never answers one later than `engine`.
    ///
    /// # Errors
    /// The objection to the smallest failing stream.
    pub fn bound_is_never_slower(self, bound: MakeEngine<'_>, engine: MakeEngine<'_>) -> Result<(), String> {
        self.check(self.length(), |offers| {
            let bounds = judge(bound().as_mut(), offers, Fetch::RunUntil, Visits::Own)?;
            let answers = judge(engine().as_mut(), offers, Fetch::RunUntil, Visits::Own)?;
            let late =
                bounds.iter().zip(&answers).position(|(bound, answer)| bound.completion.at > answer.completion.at);
            match late {
                Some(index) => Err(format!(
                    "operation {}: the bound answers at {}, the engine at {}",
                    index + 1,
                    bounds[index].completion.at,
                    answers[index].completion.at
                )),
                None => Ok(()),
            }
        })
    }
}

/// [`Amount::outcomes_are_the_oracles`] on all streams.
///
/// # Errors
/// The objection to the smallest failing stream.
pub fn outcomes_are_the_oracles(make: MakeEngine<'_>, visits: Visits) -> Result<(), String> {
    Amount::Full.outcomes_are_the_oracles(make, visits)
}

/// Stream `number` of a sequence without end that is the same on every machine, and how its completions are fetched.
/// Every 64th stream is ten times as long.
#[must_use]
pub fn nth(number: u64) -> (Vec<Offer>, Fetch) {
    let mut random = Random::of(number, &[]);
    let profile = &PROFILES[random.below(PROFILES.len() as u64) as usize];
    let longest = LENGTH as u64 / 2 * if number % 64 == 63 { 10 } else { 1 };
    let mut half = || -> Vec<Numbers> {
        let length = random.below(longest) + 1;
        let mut word = || random.next() as u16;
        (0..length).map(|_| ((word() % 100) as u8, word(), word(), word(), word())).collect()
    };
    let (fill, drain) = (half(), half());
    let mut offers = decode(profile, &fill, &drain);
    let ways = [Fetch::RunUntil, Fetch::Settle, Fetch::Answer, Fetch::RunToCompletion, Fetch::AfterEveryEvent];
    let fetch = random.pick(&ways);
    if fetch == Fetch::AfterEveryEvent {
        // All at once, so that engines refuse.
        for offer in &mut offers {
            offer.at = Picos::ZERO;
        }
    }
    (offers, fetch)
}

/// Judges an engine on stream `number` of [`nth`]; returns the number of operations.
///
/// # Errors
/// The objection to the smallest failing part of the stream; an engine that panics fails.
pub fn judge_nth(make: MakeEngine<'_>, number: u64) -> Result<usize, String> {
    let (offers, fetch) = nth(number);
    let objection = |offers: &[Offer]| {
        let run = || judge(make().as_mut(), offers, fetch, Visits::Own).map(|answers| answers.len());
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("the engine panics".to_owned()))
    };
    objection(&offers).map_err(|_| format!("stream {number} by {fetch:?}: {}", smallest(offers, objection)))
}

/// Takes operations out of a failing stream as long as it fails; returns the objection and the stream.
fn smallest<T>(mut offers: Vec<Offer>, objection: impl Fn(&[Offer]) -> Result<T, String>) -> String {
    let mut length = usize::MAX;
    while offers.len() < length {
        length = offers.len();
        for index in (0..length).rev() {
            let removed = offers.remove(index);
            if objection(&offers).is_ok() {
                offers.insert(index, removed);
            }
        }
    }
    let reason = objection(&offers).err().unwrap_or_default();
    format!("{reason}, in the stream\n{}", listing(offers.iter().map(|offer| offer.op)))
}

/// One line for each operation: its number, what it is, and the outcome that the oracle gives it.
#[must_use]
pub fn listing(ops: impl IntoIterator<Item = Op>) -> String {
    let mut oracle = Oracle::new();
    let pattern = |pattern: Pattern| {
        let initiator = pattern.initiator.map_or_else(|| "any initiator".to_owned(), |from| format!("from {}", from.0));
        format!("bits {:#x}, ignore {:#x}, {initiator}", pattern.bits, pattern.ignore)
    };
    let line = |(number, op): (usize, Op)| {
        let what = match op {
            Op::Post { recv, pattern: wanted } => format!("post of receive {}: {}", recv.0, pattern(wanted)),
            Op::Arrive { msg, envelope: Envelope { bits, initiator } } => {
                format!("arrival of message {}: bits {bits:#x}, from {}", msg.0, initiator.0)
            }
            Op::Cancel { recv } => format!("cancel of receive {}", recv.0),
            Op::Probe { probe, pattern: wanted } => format!("probe {}: {}", probe.0, pattern(wanted)),
            Op::MatchedProbe { probe, pattern: wanted } => format!("matched probe {}: {}", probe.0, pattern(wanted)),
        };
        format!("  {number}  {what}; expected `{}`", oracle.apply(op).0)
    };
    let lines: Vec<_> = (1..).zip(ops).map(line).collect();
    lines.join("\n")
}
