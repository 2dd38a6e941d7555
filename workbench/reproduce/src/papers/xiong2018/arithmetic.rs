// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of the paper that follow from other numbers of the paper. No model has a part in them,
//! so what agrees is recomputed.

use super::designs::Designs;
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, measure};
use crate::error::MeasureError;
use crate::ledger::{self, ClaimedValue, LEDGER, LEDGER_NAME};
use crate::verdict::Measured;

/// Adaptive logic modules of the device, an Altera Stratix-V 5SGSMD8, by its data sheet.
const DEVICE_ALMS: f64 = 262_400.0;

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    measure("xiong2018.cam.entry_bits", |_| {
        arithmetic(sum(&["xiong2018.cam.valid_bits", "xiong2018.cam.header_bits", "xiong2018.cam.addr_bits"])?)
    }),
    measure("xiong2018.cam.bits_total", |_| {
        arithmetic(
            printed("xiong2018.queues")? * printed("xiong2018.cam.depth")? * printed("xiong2018.cam.entry_bits")?,
        )
    }),
    measure("xiong2018.ll.next_bits", |_| arithmetic(printed("xiong2018.ll.capacity")?.log2())),
    measure("xiong2018.t1.cpu_pct", |_| share(&["xiong2018.t1.cpu_alms"])),
    measure("xiong2018.t1.net_pct", |_| share(&["xiong2018.t1.net_alms"])),
    measure("xiong2018.t1.two_level_pct", |_| share(&["xiong2018.t1.two_level_alms"])),
    measure("xiong2018.t1.p2l4_pct", |_| share(&["xiong2018.t1.p2l4_alms"])),
    measure("xiong2018.t1.p2l64_pct", |_| share(&["xiong2018.t1.p2l64_alms"])),
    measure("xiong2018.overall.logic", |_| {
        share(&["xiong2018.t1.cpu_alms", "xiong2018.t1.net_alms", "xiong2018.t1.p2l64_alms"])
    }),
];

/// The number that the paper prints for another claim.
pub(super) fn printed(id: &'static str) -> Result<f64, MeasureError> {
    let claims = ledger::read(LEDGER_NAME, LEDGER).map_err(|_| MeasureError::NotSeen("the ledger"))?;
    match claims.iter().find(|claim| claim.id == id).map(|claim| &claim.value) {
        Some(ClaimedValue::Number(number, _)) => Ok(*number),
        _ => Err(MeasureError::NotSeen(id)),
    }
}

fn sum(ids: &[&'static str]) -> Result<f64, MeasureError> {
    ids.iter().map(|id| printed(id)).sum()
}

/// The share of the device's modules.
pub(super) fn share_of(ids: &[&'static str]) -> Result<f64, MeasureError> {
    Ok(sum(ids)? / DEVICE_ALMS)
}

fn share(ids: &[&'static str]) -> Interpretations {
    arithmetic(share_of(ids)?)
}

/// A number that follows from what the paper prints.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
fn arithmetic(number: f64) -> Interpretations {
    Ok(vec![Interpretation::new("arithmetic on printed numbers, no model", Measured::Number(number))])
}
