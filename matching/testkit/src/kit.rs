// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole test kit on one engine: every check in order, what each verifies, and the first failure.
//!
//! Cost: about a second for a quick engine; a failure is shortened for a few seconds.

use std::cell::{Cell, RefCell};
use std::fmt;

use mb_core::ReplayEngine;

use crate::MakeEngine;
use crate::cases;
use crate::drive::Visits;
use crate::streams::{self, Amount};

/// One check of the kit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// Every case of `spec/cases/`.
    Corpus,
    /// Random streams: outcomes are the oracle's.
    Streams,
    /// A completion that is returned early is the one that comes at its time: every way to fetch gives the same.
    Final,
    /// Stretching the times of offers changes no outcome.
    Stretched,
    /// A refusal delays, has no other effect, and loses nothing.
    Refused,
    /// The same operations at the same times give the same completions again.
    Twice,
    /// No answer comes before that of the bound.
    Bound,
}

impl Check {
    /// Every check, in the order in which they run.
    pub const ALL: &[Self] =
        &[Self::Corpus, Self::Streams, Self::Twice, Self::Final, Self::Stretched, Self::Refused, Self::Bound];

    /// The checks that decide whether an engine's times may be shown: its outcomes, and that a second run repeats them.
    pub const OUTCOMES: &[Self] = &[Self::Corpus, Self::Streams, Self::Twice, Self::Final];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corpus => "corpus",
            Self::Streams => "streams",
            Self::Stretched => "stretched",
            Self::Refused => "refused",
            Self::Final => "final",
            Self::Twice => "twice",
            Self::Bound => "bound",
        }
    }

    /// The check, as part of a sentence about an engine that it refuses.
    #[must_use]
    pub const fn place(self) -> &'static str {
        match self {
            Self::Corpus => "the case corpus",
            Self::Streams => "a random stream",
            Self::Stretched => "a stream offered more slowly",
            Self::Refused => "a stream offered at once",
            Self::Final => "a stream fetched early",
            Self::Twice => "a stream offered twice",
            Self::Bound => "the bound",
        }
    }

    /// The property that an engine has if it passes.
    #[must_use]
    pub const fn promise(self) -> &'static str {
        match self {
            Self::Corpus => "every case of the contract has its outcome",
            Self::Streams => "outcomes of random streams are the oracle's",
            Self::Stretched => "stretching the times of offers changes no outcome",
            Self::Refused => "a refused operation is delayed, and nothing is lost",
            Self::Final => "a completion that is returned early is final",
            Self::Twice => "the same stream gives the same completions twice",
            Self::Bound => "no answer comes before that of ideal:zero",
        }
    }
}

/// A check that an engine passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The check.
    pub check: Check,
    /// Cases or streams.
    pub runs: usize,
}

/// The first failure of an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The check.
    pub check: Check,
    /// The clause of `spec/matching.md` that the failing case is an example of.
    pub clause: Option<String>,
    /// What was found and what was expected, and the sequence of operations before it.
    pub text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rejected by {}: {}", self.check.place(), self.text)
    }
}

/// The result of the checks on an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineVerdict {
    /// The checks that it passed before the first failure.
    pub passed: Vec<Passed>,
    /// The first failure; the checks after it did not run.
    pub failure: Option<Failure>,
}

/// Runs `checks` on engines made by `make`, with `amount` streams each. `bound` makes the engine that no other is
/// faster than; without it, that check is left out. `tell` is called with what is run next, and with
/// `passed: NAME RUNS` after a check.
pub fn run(
    checks: &[Check],
    make: MakeEngine<'_>,
    bound: Option<MakeEngine<'_>>,
    amount: Amount,
    tell: &mut dyn FnMut(&str),
) -> EngineVerdict {
    let mut passed = Vec::with_capacity(checks.len());
    for &check in checks.iter().filter(|check| **check != Check::Bound || bound.is_some()) {
        match run_one(check, make, bound, amount, tell) {
            Ok(runs) => {
                tell(&format!("passed: {} {runs}", check.name()));
                passed.push(Passed { check, runs });
            }
            Err(failure) => return EngineVerdict { passed, failure: Some(failure) },
        }
    }
    EngineVerdict { passed, failure: None }
}

/// Runs one check; returns the number of its cases or streams.
fn run_one(
    check: Check,
    make: MakeEngine<'_>,
    bound: Option<MakeEngine<'_>>,
    amount: Amount,
    tell: &mut dyn FnMut(&str),
) -> Result<usize, Failure> {
    let verdict = {
        // Told for each engine: those of a stream that is being shortened too.
        let (made, telling) = (Cell::new(0), RefCell::new(&mut *tell));
        let telling = || -> Box<dyn ReplayEngine> {
            made.set(made.get() + 1);
            (telling.borrow_mut())(&format!("{}: engine {}", check.name(), made.get()));
            make()
        };
        match check {
            Check::Corpus => return corpus(make, tell),
            Check::Streams => amount.outcomes_by_run_until_are_the_oracles(&telling, Visits::Own),
            Check::Stretched => amount.stretching_offered_times_never_changes_outcomes(&telling),
            Check::Refused => amount.refusals_delay_and_lose_nothing(&telling),
            Check::Final => amount.outcomes_are_the_oracles(&telling, Visits::Own),
            Check::Twice => amount.the_same_stream_twice_gives_the_same(&telling),
            Check::Bound => bound.map_or(Ok(()), |bound| amount.bound_is_never_slower(bound, &telling)),
        }
    };
    verdict.map_err(|text| Failure { check, clause: None, text })?;
    Ok(amount.streams() as usize)
}

/// Runs every case; returns how many there are.
fn corpus(make: MakeEngine<'_>, tell: &mut dyn FnMut(&str)) -> Result<usize, Failure> {
    let failure = |clause, text| Failure { check: Check::Corpus, clause, text };
    let corpus = cases::built_in().map_err(|error| failure(None, error))?;
    for case in &corpus {
        tell(&format!("{}: {}", Check::Corpus.name(), case.name));
        if let Err(error) = cases::run(std::slice::from_ref(case), make, Visits::Own) {
            let listing = streams::listing(case.ops.iter().copied());
            let clause = &case.clause;
            let text = format!("{error} (clause {clause}), in the sequence\n{listing}");
            return Err(failure(Some(clause.clone()), text));
        }
    }
    Ok(corpus.len())
}
