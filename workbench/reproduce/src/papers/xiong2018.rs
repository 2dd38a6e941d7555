// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Xiong et al. (`xiong2018`): a CAM in front of 1, 4 or 64 lists.
//!
//! Its figures are not available as text, and its text has few numbers. Most of what can be measured
//! follows from three cycles for each element, or compares with the ALPU and the hash processor.

mod arithmetic;
mod comparison;
mod contradictions;
mod designs;
mod latency;
mod single_operations;
mod structure;
mod unloading;

pub use designs::Designs;

use crate::claim_test::{ClaimTest, cannot};
use crate::depth;
use crate::registry::Paper;
use crate::study::StudyFile;

/// The registration of the paper.
pub static PAPER: Paper<Designs> = Paper {
    key: "xiong2018",
    alias: "s2",
    tests: TESTS,
    contradictions: contradictions::CONTRADICTIONS,
    subject: Designs::published,
    engines: &Designs::SPECS,
    study: Some(STUDY),
    figures: |_, claims, jobs| Ok(jobs.map(|jobs| depth::figures(&STUDY, claims, jobs)).transpose()?),
};

const STUDY: StudyFile =
    StudyFile { name: "xiong2018_figures", text: include_str!("../../../../studies/xiong2018_figures/study.toml") };

const TESTBED: &str = "about the testbed, which has no model";

/// Every test, group by group.
const TESTS: &[&[ClaimTest<Designs>]] =
    &[structure::TESTS, latency::TESTS, unloading::TESTS, comparison::TESTS, arithmetic::TESTS, WITHOUT_MEASUREMENT];

const WITHOUT_MEASUREMENT: &[ClaimTest<Designs>] = &[
    cannot(
        "xiong2018.blocking_bypass",
        "no operation says whether its receive blocks; a blocking receive is a post, behind older ones",
    ),
    cannot("xiong2018.bench.use_alpu_below", "the choice of a comparison; no run can show another number"),
    cannot("xiong2018.fig5.lengths", "the lengths at which figure 5 is read; xiong2018.unload measures at them"),
    cannot("xiong2018.soc.nodes", TESTBED),
    cannot("xiong2018.soc.eager", TESTBED),
    cannot("xiong2018.soc.network_ns", "the network is the replay's; its preset `papers200` has this as input"),
    cannot("xiong2018.hash64.no_network", "how its authors measured; our engines have no network, the replay has"),
];
