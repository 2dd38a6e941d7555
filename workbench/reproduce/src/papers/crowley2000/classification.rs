// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 4.2: what classification in software costs (Table 5).

use mb_netproc::contract::{Application, Classifier};

use super::experiment::{PaperChip, Work};
use super::model::Model;
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, fact, measure, number};
use crate::error::MeasureError;
use crate::verdict::Measured;

const PARALLEL: &str = "Workers classify while the OS thread receives the next packet, and the OS thread limits the null \
     application, so that classification in the worker costs next to nothing (CMP {crowley2000.t5.cmp:.1} %, CMP2 \
     {crowley2000.t5.cmp2:.1} %, SMT {crowley2000.t5.smt:.1} %). If the OS thread classifies, CMP and CMP2 lose \
     about what the paper has, which has it in the worker (contradiction 31 measures CMP in both). Fetch policy, \
     idle threads, registers, caches and order of issue were varied too and do not change the verdicts.";
const LIGHT: &str = "On CMP neither classification nor IP-FORWARD limits the rate, which the OS thread limits, \
     and both change it by less than the order in which workers meet at the work list does.";

pub(super) const TESTS: &[ClaimTest<Model>] = &[
    differs("crowley2000.t5.smt", |model: &Model| number(overhead(model, PaperChip::Smt(8))?), PARALLEL),
    differs("crowley2000.t5.cmp", |model: &Model| number(overhead(model, PaperChip::Cmp(8))?), PARALLEL),
    differs("crowley2000.t5.cmp2", |model: &Model| number(overhead(model, PaperChip::Cmp2(4))?), PARALLEL),
    differs(
        "crowley2000.t5.range",
        |model: &Model| {
            let [smt, cmp, cmp2] = each(model)?;
            let range = Measured::Range(smt.min(cmp).min(cmp2), smt.max(cmp).max(cmp2));
            Ok(vec![Interpretation::new("", range)])
        },
        PARALLEL,
    ),
    differs(
        "crowley2000.t5.order",
        |model: &Model| {
            let [smt, cmp, cmp2] = each(model)?;
            fact(cmp < smt && smt < cmp2, format!("CMP {cmp:.1} %, SMT {smt:.1} %, CMP2 {cmp2:.1} %"))
        },
        PARALLEL,
    ),
    differs(
        "crowley2000.dpf.lighter_than_ipforward",
        |model: &Model| {
            let mut shown = Vec::new();
            let mut so = true;
            for chip in PaperChip::THREE {
                let forward = model.rate(chip, Work::Alone(Application::IpForward), Classifier::Hardware)?;
                let reduction = 100.0 * (1.0 - forward / model.null(chip)?);
                let overhead = overhead(model, chip)?;
                so &= overhead < reduction;
                shown.push(format!("{} {overhead:.1} % and {reduction:.1} %", chip.name()));
            }
            fact(so, shown.join("; "))
        },
        LIGHT,
    ),
    measure("crowley2000.dpf.negligible_heavy", negligible),
];

/// By how many percent classification in the worker lowers the rate of the null application.
pub(super) fn overhead(model: &Model, chip: PaperChip) -> Result<f64, MeasureError> {
    Ok(100.0 * (1.0 - model.rate(chip, Work::Null, Classifier::Dpf)? / model.null(chip)?))
}

fn each(model: &Model) -> Result<[f64; 3], MeasureError> {
    let [smt, cmp, cmp2] = PaperChip::THREE.map(|chip| overhead(model, chip));
    Ok([smt?, cmp?, cmp2?])
}

/// A loss of at most one percent is called none.
fn negligible(model: &Model) -> Interpretations {
    let mut worst = f64::NEG_INFINITY;
    for chip in PaperChip::THREE {
        let software = model.rate(chip, Work::Alone(Application::TripleDes), Classifier::Dpf)?;
        worst = worst.max(100.0 * (1.0 - software / model.des3(chip)?));
    }
    fact(worst <= 1.0, format!("3DES loses at most {worst:.2} %"))
}
