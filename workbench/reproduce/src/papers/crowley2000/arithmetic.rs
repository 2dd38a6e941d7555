// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers that follow from other numbers of the paper. What agrees by arithmetic alone is
//! recomputed; the models' own values stand beside it.

use std::sync::LazyLock;

use mb_packets::{Mix, Sizes};

use super::experiment::PaperChip;
use super::model::Model;
use super::table2::{IMIX, by_sizes, total};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, measure};
use crate::error::MeasureError;
use crate::ledger::{self, Claim, ClaimedValue, LEDGER, LEDGER_NAME};
use crate::verdict::Measured;

const BY_HAND: &str = "arithmetic on printed numbers, no model";

/// The applications in the words of claims, in the order of Table 2.
const APPLICATIONS: [&str; 4] = ["ipforward", "httpmon", "md5", "des3"];

pub(super) const TESTS: &[ClaimTest<Model>] = &[
    measure("crowley2000.t6.router_insts", |model: &Model| mean_instructions(model, Mix::Router, "router")),
    measure("crowley2000.t6.web_insts", |model: &Model| mean_instructions(model, Mix::WebSwitch, "web")),
    measure("crowley2000.t6.vpn_insts", |model: &Model| mean_instructions(model, Mix::Vpn, "vpn")),
    measure("crowley2000.t6.router_bound_smt", |model: &Model| below(model, PaperChip::Smt(8), Mix::Router)),
    measure("crowley2000.t6.router_bound_cmp", |model: &Model| below(model, PaperChip::Cmp(8), Mix::Router)),
    measure("crowley2000.t6.router_bound_cmp2", |model: &Model| below(model, PaperChip::Cmp2(4), Mix::Router)),
    measure("crowley2000.t6.web_bound_smt", |model: &Model| below(model, PaperChip::Smt(8), Mix::WebSwitch)),
    measure("crowley2000.t6.web_bound_cmp", |model: &Model| below(model, PaperChip::Cmp(8), Mix::WebSwitch)),
    measure("crowley2000.t6.web_bound_cmp2", |model: &Model| below(model, PaperChip::Cmp2(4), Mix::WebSwitch)),
    measure("crowley2000.t6.vpn_bound_smt", |model: &Model| below(model, PaperChip::Smt(8), Mix::Vpn)),
    measure("crowley2000.t6.vpn_bound_cmp", |model: &Model| below(model, PaperChip::Cmp(8), Mix::Vpn)),
    measure("crowley2000.t6.vpn_bound_cmp2", |model: &Model| below(model, PaperChip::Cmp2(4), Mix::Vpn)),
    measure("crowley2000.null.smt_beats_faster_cmp", |model: &Model| {
        let printed = (1.0 + printed("crowley2000.null.smt_over_cmp")?) / FASTER;
        let measured = model.null(PaperChip::Smt(4))? / (FASTER * model.null(PaperChip::Cmp(4))?);
        Ok(vec![
            Interpretation::new(BY_HAND, Measured::Number((printed * 100.0).round() / 100.0)),
            Interpretation::new("on the models, with a rate that grows with the clock", Measured::Number(measured)),
        ])
    }),
];

/// Section 3.3: CMP's cores might be clocked this many times as fast.
pub(super) const FASTER: f64 = 1.25;

/// The number that the paper prints for another claim.
pub(super) fn printed(id: &str) -> Result<f64, MeasureError> {
    // Dozens of claims ask for numbers, and reading them all takes time.
    static CLAIMS: LazyLock<Option<Vec<Claim>>> = LazyLock::new(|| ledger::read(LEDGER_NAME, LEDGER).ok());
    let claims = CLAIMS.as_ref().ok_or(MeasureError::NotSeen("the ledger"))?;
    match claims.iter().find(|claim| claim.id == id).map(|claim| &claim.value) {
        Some(ClaimedValue::Number(number, _)) => Ok(*number),
        _ => Err(MeasureError::NotSeen("a number of the ledger")),
    }
}

/// Tables 2 and 6 of the paper: instructions for a packet of a scenario.
pub(super) fn printed_mean(scenario: &str) -> Result<f64, MeasureError> {
    APPLICATIONS.iter().try_fold(0.0, |sum, application| {
        let share = printed(&format!("crowley2000.t6.{scenario}_{application}"))? / 100.0;
        Ok(sum + share * printed(&format!("crowley2000.t2.{application}_insts"))?)
    })
}

/// Instructions that the models' applications execute for a packet of a scenario.
pub(super) fn measured_mean(model: &Model, mix: Mix, sizes: Sizes) -> Result<f64, MeasureError> {
    let applications = mb_netproc::contract::Application::PAPER.iter().zip(mix.shares());
    applications
        .into_iter()
        .try_fold(0.0, |sum, (application, share)| Ok(sum + share as f64 / 100.0 * total(model, *application, sizes)?))
}

fn mean_instructions(model: &Model, mix: Mix, scenario: &str) -> Interpretations {
    let mut all = vec![Interpretation::new(BY_HAND, Measured::Number(printed_mean(scenario)?))];
    all.extend(by_sizes(model, |sizes| Ok(Measured::Number(measured_mean(model, mix, sizes)?.round())))?);
    Ok(all)
}

/// The rate, which the bound limits.
fn below(model: &Model, chip: PaperChip, mix: Mix) -> Interpretations {
    let rate = |sizes| Ok::<_, MeasureError>(Measured::Number(model.scenario(chip, mix, sizes)?));
    Ok(vec![Interpretation::new(IMIX, rate(Sizes::Imix)?)])
}
