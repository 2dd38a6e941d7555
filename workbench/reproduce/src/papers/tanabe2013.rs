// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tanabe and Ohta (`tanabe2013`): heads in a small buffer, walked by the host.
//!
//! Its figures are not available as text. The text gives slopes and relations between settings. It
//! contradicts itself on how far apart envelopes lie: section 3 recommends a cache line, section
//! 4.2 measures 16 bytes. Claims that depend on it have both interpretations; the measured 16 bytes
//! count.

mod comparison;
mod contradictions;
mod designs;
mod figures;
mod structure;
mod workload;

pub use designs::Designs;
use designs::SETTING;

use crate::claim_test::{ClaimTest, cannot};
use crate::depth;
use crate::registry::Paper;
use crate::study::StudyFile;

/// The registration of the paper.
pub static PAPER: Paper<Designs> = Paper {
    key: "tanabe2013",
    alias: "s1",
    tests: TESTS,
    contradictions: contradictions::CONTRADICTIONS,
    subject: Designs::published,
    engines: &Designs::SPECS,
    study: Some(STUDY),
    figures: |_, claims, jobs| Ok(jobs.map(|jobs| depth::figures(&STUDY, claims, jobs)).transpose()?),
};

const STUDY: StudyFile =
    StudyFile { name: "tanabe2013_figures", text: include_str!("../../../../studies/tanabe2013_figures/study.toml") };

/// Every test, group by group.
const TESTS: &[&[ClaimTest<Designs>]] =
    &[workload::TESTS, structure::TESTS, comparison::TESTS, figures::TESTS, WITHOUT_MEASUREMENT];

const TESTBED: &str =
    "about the testbed; of it the model has the host's clock, and latency and bandwidth of the way to the LH buffer";
const LOOP_IS_ONE: &str = "copy and comparison are one number of cycles in the model";
const LOOP_IS_FITTED: &str = "the loop of the host was fitted to it";
const ALPU_IS_FITTED: &str = "the slope of our ALPU was fitted to where it meets DIMMnet-3";
const BOTH_FITTED: &str =
    "beyond the cells both sides are fits: the slope of our ALPU, and the loop, which is nearly all of our DIMMnet-2";
const LINE: &str = "a published line, from which the model is built";
const NO_CLOCK: &str = "QsNET-II is a published line here, and has no clock";

const WITHOUT_MEASUREMENT: &[ClaimTest<Designs>] = &[
    cannot(
        "tanabe2013.workload.eager",
        "no operation says which protocol its message goes by; matching does not depend on it",
    ),
    cannot("tanabe2013.dimmnet2.clock", SETTING),
    cannot("tanabe2013.dimmnet3.clock", SETTING),
    cannot("tanabe2013.alpu.clock", SETTING),
    cannot("tanabe2013.clock_ratio.alpu", SETTING),
    cannot("tanabe2013.mem.vl_latency", SETTING),
    cannot("tanabe2013.mem.main_latency", SETTING),
    cannot("tanabe2013.lhs.organisation_gain", SETTING),
    cannot("tanabe2013.dimmnet2.bandwidth", SETTING),
    cannot("tanabe2013.dimmnet3.bandwidth", SETTING),
    cannot("tanabe2013.lhs.envelope_bytes", "a constant of the model, which a run only gives back"),
    cannot("tanabe2013.qsnet2.ns_per_depth", LINE),
    cannot("tanabe2013.qsnet2.depth3837", LINE),
    cannot("tanabe2013.qsnet2.linear", LINE),
    cannot("tanabe2013.bgp.overhead_4096", LINE),
    cannot("tanabe2013.bgp.vs_qsnet", LINE),
    cannot("tanabe2013.qsnet2.clock", NO_CLOCK),
    cannot("tanabe2013.clock_ratio.qsnet2", NO_CLOCK),
    cannot("tanabe2013.qsnet.same_cost", "there is no model of the older QsNET"),
    cannot("tanabe2013.alpu128.crossover_dimmnet3", ALPU_IS_FITTED),
    cannot("tanabe2013.alpu128.slope_inferred", ALPU_IS_FITTED),
    cannot("tanabe2013.alpu128.vs_dimmnet2", BOTH_FITTED),
    cannot("tanabe2013.lhs.per_frequency", BOTH_FITTED),
    cannot("tanabe2013.dimmnet2_nolhs.ns_per_msg", LOOP_IS_FITTED),
    cannot("tanabe2013.host.compare_ns_t2", LOOP_IS_FITTED),
    cannot("tanabe2013.lhs.fixed_128", "about the cost of a register; `entry` takes 128"),
    cannot("tanabe2013.lhs.pio", "no model of a DMA to compare with; the host loads"),
    cannot("tanabe2013.lhs.compare_ints", LOOP_IS_ONE),
    cannot("tanabe2013.lhs.envelope_copy", LOOP_IS_ONE),
    cannot("tanabe2013.fig5.swp_offsets", "the offsets that tanabe2013.fig5.conditions and tanabe2013.fig5.best run"),
    cannot("tanabe2013.dimmnet3.emulation", "the model takes the latency of the emulation; no run can show another"),
    cannot("tanabe2013.t2.cpu", TESTBED),
    cannot("tanabe2013.t2.chipset", TESTBED),
    cannot("tanabe2013.t2.memory", TESTBED),
    cannot("tanabe2013.t2.os", TESTBED),
    cannot("tanabe2013.t2.compiler", TESTBED),
    cannot("tanabe2013.t3.cpu", TESTBED),
    cannot("tanabe2013.t3.chipset", TESTBED),
    cannot("tanabe2013.t3.memory", TESTBED),
    cannot("tanabe2013.t3.os", TESTBED),
    cannot("tanabe2013.t3.compiler", TESTBED),
];
