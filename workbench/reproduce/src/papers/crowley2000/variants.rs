// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Other assumptions, one at a time, and the further work that the paper names.

use mb_netproc::contract::{Classifier, ClassifyIn, Idle, OsThread};
use mb_packets::Sizes;
use mb_processor::chip::{FetchPolicy, IssueOrder};

use super::experiment::{Assumptions, Experiment, PaperChip, Work};
use super::model::{Lengths, Model};
use super::scenarios::MIXES;
use crate::error::ReproduceError;
use crate::figures::AssumptionValue;
use crate::ledger::{Claim, Evidence};
use crate::registry::Paper;
use crate::verdict::Verdict;

/// An assumption with another value than the one that counts.
#[derive(Clone, Copy, Debug)]
pub struct AssumptionVariant {
    /// The assumption.
    pub assumption: &'static str,
    /// Its value.
    pub value: &'static str,
    /// Changes the assumptions that count.
    pub change: fn(Assumptions) -> Assumptions,
}

/// Every assumption that is varied; the paper says nothing of them, or two things.
pub const OPEN: [AssumptionVariant; 10] = [
    AssumptionVariant {
        assumption: "fetch policy of the SMT",
        value: "round robin",
        change: |all| Assumptions { fetch: FetchPolicy::RoundRobin, ..all },
    },
    AssumptionVariant {
        assumption: "idle workers",
        value: "spin",
        change: |all| Assumptions { idle: Idle::Spin, ..all },
    },
    AssumptionVariant {
        assumption: "idle OS thread",
        value: "waits",
        change: |all| Assumptions { os_idle: Idle::Wait, ..all },
    },
    AssumptionVariant {
        assumption: "rename registers",
        value: "half",
        change: |all| Assumptions { rename_percent: 50, ..all },
    },
    AssumptionVariant {
        assumption: "rename registers",
        value: "twice as many",
        change: |all| Assumptions { rename_percent: 200, ..all },
    },
    AssumptionVariant {
        assumption: "mean burst",
        value: "4 packets",
        change: |all| Assumptions { mean_burst: 4, ..all },
    },
    AssumptionVariant {
        assumption: "mean burst",
        value: "64 packets",
        change: |all| Assumptions { mean_burst: 64, ..all },
    },
    AssumptionVariant {
        assumption: "L1 caches",
        value: "4 KB",
        change: |all| Assumptions { l1_bytes: 4 << 10, ..all },
    },
    AssumptionVariant {
        assumption: "who classifies",
        value: "the OS thread",
        change: |all| Assumptions { classify_in: ClassifyIn::Os, ..all },
    },
    AssumptionVariant {
        assumption: "order of issue",
        value: "in order",
        change: |all| Assumptions { order: IssueOrder::InOrder, ..all },
    },
];

/// The values that count, in the order of [`OPEN`], without repetition.
const COUNTING: [(&str, &str); 8] = [
    ("fetch policy of the SMT", "ICOUNT"),
    ("idle workers", "wait"),
    ("idle OS thread", "polls"),
    ("rename registers", "100 in all"),
    ("mean burst", "16 packets"),
    ("L1 caches", "32 KB"),
    ("who classifies", "the worker"),
    ("order of issue", "out of order"),
];

/// The further work that sections 3.3, 3.4 and 6 name: a processor and what is changed.
pub const FURTHER: [(&str, PaperChip, AssumptionVariant); 5] = [
    ("CMP, OS work on every core", PaperChip::Cmp(8), SPREAD),
    ("CMP2, OS work on every core", PaperChip::Cmp2(4), SPREAD),
    (
        "SMT, OS thread fetches first",
        PaperChip::Smt(8),
        AssumptionVariant {
            assumption: "priority",
            value: "OS",
            change: |all| Assumptions { priorities: (0, 1), ..all },
        },
    ),
    (
        "SMT, workers fetch first",
        PaperChip::Smt(8),
        AssumptionVariant {
            assumption: "priority",
            value: "workers",
            change: |all| Assumptions { priorities: (1, 0), ..all },
        },
    ),
    (
        "CMP at 625 MHz",
        PaperChip::Cmp(8),
        AssumptionVariant { assumption: "clock", value: "625 MHz", change: |all| Assumptions { mhz: 625, ..all } },
    ),
];

const SPREAD: AssumptionVariant =
    AssumptionVariant { assumption: "OS", value: "spread", change: |all| Assumptions { os: OsThread::Spread, ..all } };

/// The model of a variant, with short runs; `None`: the one with the assumptions that count.
#[must_use]
pub fn model(base: &Model, variant: Option<&AssumptionVariant>) -> Model {
    let assumptions = variant.map_or(base.assumptions, |variant| (variant.change)(base.assumptions));
    Model { assumptions, lengths: Lengths::SHORT, calibrated: false, ..base.clone() }
}

/// All models of variants, the one with the assumptions that count first.
#[must_use]
pub fn models(base: &Model) -> Vec<Model> {
    std::iter::once(None).chain(OPEN.iter().map(Some)).map(|variant| model(base, variant)).collect()
}

/// The runs of `model` that claims and figures need.
#[must_use]
pub fn experiments(model: &Model) -> Vec<Experiment> {
    let mut all = Vec::new();
    let mut add = |chip, work, classifier| all.push(model.experiment(chip, work, classifier));
    let alone = |application| Work::Alone(application);
    let chips = (1..=8).flat_map(|number| {
        [Some(PaperChip::Smt(number)), Some(PaperChip::Cmp(number)), (number <= 4).then_some(PaperChip::Cmp2(number))]
    });
    for chip in chips.flatten() {
        add(chip, Work::Null, Classifier::Hardware);
        add(chip, alone(mb_netproc::contract::Application::TripleDes), Classifier::Hardware);
    }
    add(PaperChip::Superscalar, alone(mb_netproc::contract::Application::TripleDes), Classifier::Hardware);
    for mix in MIXES {
        for chip in [PaperChip::Smt(8), PaperChip::Cmp(8), PaperChip::Cmp2(4), PaperChip::Cmp2(8)] {
            add(chip, Work::Scenario(mix, Sizes::Imix), Classifier::Dpf);
            if model.calibrated {
                add(chip, Work::Scenario(mix, Sizes::Table2), Classifier::Dpf);
            }
        }
    }
    for chip in PaperChip::THREE {
        add(chip, Work::Null, Classifier::Dpf);
        add(chip, alone(mb_netproc::contract::Application::IpForward), Classifier::Dpf);
        add(chip, alone(mb_netproc::contract::Application::TripleDes), Classifier::Dpf);
    }
    // The longest first, so that no thread is left with one at the end.
    all.sort_by_key(|experiment| match experiment.work {
        Work::Scenario(..) => 0,
        Work::Alone(_) => 1,
        Work::Null => 2,
    });
    all
}

/// How many claims that a mechanism predicts hold with each value of each assumption, the others
/// being those that count; with short runs.
///
/// # Errors
/// When a run fails.
pub fn assumption_values(
    paper: &Paper<Model>,
    claims: &[Claim],
    base: &Model,
) -> Result<Vec<AssumptionValue>, ReproduceError> {
    let predicted: Vec<Claim> = claims
        .iter()
        .filter(|claim| claim.paper == paper.key && matches!(claim.evidence, Some(Evidence::Predicted { .. })))
        .cloned()
        .collect();
    let value = |assumption: &str, value: &str, baseline, variant: Option<&AssumptionVariant>| {
        let findings = paper.judged(&predicted, &model(base, variant))?;
        let holds = findings.iter().filter(|finding| finding.verdict == Verdict::Holds).count();
        Ok::<_, ReproduceError>(AssumptionValue {
            assumption: assumption.to_owned(),
            value: value.to_owned(),
            baseline,
            fitted: false,
            holds: (holds, holds as f64, holds),
        })
    };
    let mut all = Vec::new();
    for (assumption, counts) in COUNTING {
        all.push(value(assumption, counts, true, None)?);
        for variant in OPEN.iter().filter(|variant| variant.assumption == assumption) {
            all.push(value(assumption, variant.value, false, Some(variant))?);
        }
    }
    Ok(all)
}
