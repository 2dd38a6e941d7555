// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gu et al. (`gu2011`): MOPED, message matching and copies in the cache controllers of a chip with 16 cores.
//!
//! The paper prints ranges and signs; its figure 10 is not available as text. What a program does on the chip is read
//! from a table of runs, which take hours ([`runs`]); storage, states and single messages are measured here.

mod charts;
mod comparison;
mod configuration;
mod contradictions;
pub mod directed;
pub mod model;
mod reasons;
pub mod runs;
mod structure;

use mb_core::Source;
use mb_core::parameters::{Choice, Parameter, ParameterSpec};
use mb_moped::machine::{CoreKind, TimingParameters};

use self::model::Model;
use crate::claim_test::ClaimTest;
use crate::figures::{CurveParameter, Figures};
use crate::registry::Paper;
use crate::study::StudyFile;

/// The registration of the paper.
pub static PAPER: Paper<Model> = Paper {
    key: "gu2011",
    alias: "s3",
    tests: TESTS,
    contradictions: contradictions::CONTRADICTIONS,
    subject: Model::published,
    engines: &[],
    study: Some(STUDY),
    figures: |model, _, jobs| {
        Ok(jobs.map(|_| Figures {
            study: STUDY.name,
            charts: charts::all(model),
            parameters: parameters(model),
            ..Figures::default()
        }))
    },
};

const STUDY: StudyFile =
    StudyFile { name: "gu2011_figures", text: include_str!("../../../../studies/gu2011_figures/study.toml") };

/// Every parameter of the chip.
fn parameters(model: &Model) -> Vec<CurveParameter> {
    let of = |(spec, parameter): (&ParameterSpec, &Parameter)| CurveParameter {
        design: "chip".to_owned(),
        name: spec.key.to_owned(),
        value: parameter.value.to_string(),
        unit: spec.domain.unit_name(),
        source: parameter.source.clone(),
    };
    let of_table = |name: &str, value: String, place| CurveParameter {
        design: "chip".to_owned(),
        name: name.to_owned(),
        value,
        unit: "",
        source: Source::paper("gu2011", place),
    };
    let others = [
        of_table("cores", model.memory.nodes.to_string(), "table 1"),
        of_table("design", model.device.design.word().to_owned(), "section 4.5"),
    ];
    TimingParameters::preset(CoreKind::OutOfOrder).iter().map(of).chain(others).collect()
}

/// Every test, group by group.
const TESTS: &[&[ClaimTest<Model>]] = &[structure::TESTS, comparison::TESTS, configuration::TESTS];
