// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Crowley et al. (`crowley2000`): SMT and chip multiprocessors as network processors.
//!
//! The paper prints few numbers beside its configuration; figures 3 to 8 are not available as text.
//! Everything is measured on the machine of `netproc`: SPINE and the applications of
//! `netproc/spine`, executed cycle by cycle on the processors of Tables 3 and 4. Every decision of
//! every packet of every run is compared with references.

mod arithmetic;
mod charts;
mod classification;
mod configuration;
mod contradictions;
pub mod experiment;
mod extremes;
pub mod instructions;
pub mod model;
pub mod runs;
mod scenarios;
mod table2;
pub mod variants;

use mb_netproc::contract::Classifier;
use mb_packets::{Mix, Sizes};

use self::experiment::{PaperChip, Work};
use self::model::Model;
use crate::claim_test::ClaimTest;
use crate::error::{MeasureError, ReproduceError};
use crate::figures::{CurveParameter, Figures};
use crate::ledger::Claim;
use crate::registry::Paper;
use crate::study::StudyFile;

/// The registration of the paper.
pub static PAPER: Paper<Model> = Paper {
    key: "crowley2000",
    alias: "s4",
    tests: TESTS,
    contradictions: contradictions::CONTRADICTIONS,
    subject: || Ok(Model::published()),
    engines: &[],
    study: Some(STUDY),
    figures,
};

const STUDY: StudyFile =
    StudyFile { name: "crowley2000_figures", text: include_str!("../../../../studies/crowley2000_figures/study.toml") };

/// Runs everything that claims and figures need, `jobs` runs at a time, and computes the charts.
fn figures(model: &Model, claims: &[Claim], jobs: Option<usize>) -> Result<Option<Figures>, ReproduceError> {
    let Some(jobs) = jobs else { return Ok(None) };
    let models = variants::models(model);
    let mut experiments = variants::experiments(model);
    experiments.extend(models.iter().flat_map(variants::experiments));
    let longer = charts::with_all_windows(model);
    for chip in PaperChip::THREE {
        experiments.insert(0, longer.experiment(chip, Work::Scenario(Mix::Vpn, Sizes::Imix), Classifier::Dpf));
    }
    model.runs.run_all(&experiments, jobs)?;
    Ok(Some(Figures {
        study: STUDY.name,
        charts: charts::all(model, &models)?,
        parameters: parameters()?,
        assumption_values: variants::assumption_values(&PAPER, claims, model)?,
        ..Figures::default()
    }))
}

/// Every parameter of the processors with eight units.
fn parameters() -> Result<Vec<CurveParameter>, MeasureError> {
    let mut all = Vec::new();
    for chip in PaperChip::THREE {
        for (spec, parameter) in chip.preset()?.iter() {
            all.push(CurveParameter {
                design: chip.name(),
                name: spec.key.to_string(),
                value: parameter.value.to_string(),
                unit: "",
                source: parameter.source.clone(),
            });
        }
    }
    Ok(all)
}

/// Every test, group by group.
const TESTS: &[&[ClaimTest<Model>]] = &[
    table2::IP_FORWARD,
    table2::HTTPMON,
    table2::MD5,
    table2::DES3,
    table2::CACHES_AND_ORDER,
    extremes::NULL,
    extremes::DES3,
    classification::TESTS,
    arithmetic::TESTS,
    scenarios::TESTS,
    configuration::TABLE3,
    configuration::TABLE4,
    configuration::TABLE6,
    configuration::OTHERS,
];
