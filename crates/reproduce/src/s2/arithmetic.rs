// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the numbers of the paper say of each other. No model has a part in it, which every reading says; no area was measured.

use super::Designs;
use crate::MeasureError;
use crate::ledger::{self, LEDGER, LEDGER_NAME, Value};
use crate::registry::{Entry, Reading, measure};
use crate::verdict::Measured;

type Readings = Result<Vec<Reading>, MeasureError>;

/// Adaptive logic modules of the device, an Altera Stratix-V 5SGSMD8, by its data sheet.
const DEVICE_ALMS: f64 = 262_400.0;

pub(super) const ENTRIES: &[Entry<Designs>] = &[
    measure("s2.cam.entry_bits", |_| {
        arithmetic(sum(&["s2.cam.valid_bits", "s2.cam.header_bits", "s2.cam.addr_bits"])?)
    }),
    measure("s2.cam.bits_total", |_| {
        arithmetic(printed("s2.queues")? * printed("s2.cam.depth")? * printed("s2.cam.entry_bits")?)
    }),
    measure("s2.ll.next_bits", |_| arithmetic(printed("s2.ll.capacity")?.log2())),
    measure("s2.t1.cpu_pct", |_| share(&["s2.t1.cpu_alms"])),
    measure("s2.t1.net_pct", |_| share(&["s2.t1.net_alms"])),
    measure("s2.t1.two_level_pct", |_| share(&["s2.t1.two_level_alms"])),
    measure("s2.t1.p2l4_pct", |_| share(&["s2.t1.p2l4_alms"])),
    measure("s2.t1.p2l64_pct", |_| share(&["s2.t1.p2l64_alms"])),
    measure("s2.overall.logic", |_| share(&["s2.t1.cpu_alms", "s2.t1.net_alms", "s2.t1.p2l64_alms"])),
];

/// The number that the paper prints for another claim.
fn printed(id: &'static str) -> Result<f64, MeasureError> {
    let claims = ledger::read(LEDGER_NAME, LEDGER).map_err(|_| MeasureError::NotSeen("the ledger"))?;
    match claims.iter().find(|claim| claim.id == id).map(|claim| &claim.value) {
        Some(Value::Number(number, _)) => Ok(*number),
        _ => Err(MeasureError::NotSeen(id)),
    }
}

fn sum(ids: &[&'static str]) -> Result<f64, MeasureError> {
    ids.iter().map(|id| printed(id)).sum()
}

/// The share of the device's modules.
fn share(ids: &[&'static str]) -> Readings {
    arithmetic(sum(ids)? / DEVICE_ALMS)
}

/// A number that follows from what the paper prints.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
fn arithmetic(number: f64) -> Readings {
    Ok(vec![Reading::new("arithmetic on printed numbers, no model", Measured::Number(number))])
}
