// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 3.2: what the applications execute for a packet (Table 2), and how they use the caches.
//!
//! Lengths of packets are not printed. The Internet mix counts; the lengths of [`Sizes::Table2`]
//! were chosen so that MD5 and 3DES execute the counts of Table 2, and are calibrated.

use mb_netproc::PacketReport;
use mb_netproc::contract::{Application, Classifier};
use mb_packets::Sizes;

use super::experiment::{PaperChip, Work};
use super::instructions::Classes;
use super::model::Model;
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, measure};
use crate::error::MeasureError;
use crate::verdict::Measured;

/// Lengths of packets that count.
pub(super) const IMIX: &str = "lengths of the Internet mix";

/// Lengths that were chosen so that MD5 and 3DES execute what Table 2 says.
pub(super) const TABLE2: &str = "lengths chosen by Table 2";

const ALONE: &str = "the application alone";
const ALL: &str = "with the worker and the classifier";

const CODE: &str = "The paper's programs are not public; ours are C, compiled for RV64 with -O2. The application alone and \
     the whole of a worker's path were counted.";
const LENGTHS: &str = "The paper gives neither lengths nor programs. Our MD5 takes 16 instructions for a byte and our 3DES some \
     2600 for a block of 8 bytes. The lengths of the Internet mix and shorter ones were counted.";
const LINES: &str = "Packets, their records and the work list are written by DMA and by other threads, and are read once or \
     twice for each packet; they miss however large the cache is. The paper counts applications; one core, the SMT and eight cores \
     were measured, with caches of 4 KB and 32 KB.";

macro_rules! row {
    ($application:expr, $why:expr, $insts:literal, $ldst:literal, $ctrl:literal, $other:literal) => {
        &[
            differs($insts, |model: &Model| instructions(model, $application), $why),
            differs($ldst, |model: &Model| share(model, $application, |classes| classes.memory), CODE),
            differs($ctrl, |model: &Model| share(model, $application, |classes| classes.control), CODE),
            differs($other, |model: &Model| share(model, $application, |classes| classes.other), CODE),
        ]
    };
}

pub(super) const IP_FORWARD: &[ClaimTest<Model>] = row!(
    Application::IpForward,
    CODE,
    "crowley2000.t2.ipforward_insts",
    "crowley2000.t2.ipforward_ldst",
    "crowley2000.t2.ipforward_ctrl",
    "crowley2000.t2.ipforward_other"
);
pub(super) const HTTPMON: &[ClaimTest<Model>] = row!(
    Application::HttpMon,
    CODE,
    "crowley2000.t2.httpmon_insts",
    "crowley2000.t2.httpmon_ldst",
    "crowley2000.t2.httpmon_ctrl",
    "crowley2000.t2.httpmon_other"
);
pub(super) const MD5: &[ClaimTest<Model>] = row!(
    Application::Md5,
    LENGTHS,
    "crowley2000.t2.md5_insts",
    "crowley2000.t2.md5_ldst",
    "crowley2000.t2.md5_ctrl",
    "crowley2000.t2.md5_other"
);
pub(super) const DES3: &[ClaimTest<Model>] = row!(
    Application::TripleDes,
    LENGTHS,
    "crowley2000.t2.des3_insts",
    "crowley2000.t2.des3_ldst",
    "crowley2000.t2.des3_ctrl",
    "crowley2000.t2.des3_other"
);

pub(super) const CACHES_AND_ORDER: &[ClaimTest<Model>] = &[
    differs("crowley2000.wl.miss_rate", miss_rate, LINES),
    measure("crowley2000.wl.order_compute", |model: &Model| {
        by_sizes(model, |sizes| {
            let counts = Application::PAPER.map(|application| total(model, application, sizes));
            let [a, b, c, d] = counts;
            let counts = [a?, b?, c?, d?];
            let shown = counts.map(|count| format!("{count:.0}")).join(" < ");
            Ok(Measured::Fact(counts.is_sorted_by(|a, b| a < b), shown))
        })
    }),
];

/// A quantity with the lengths that count, and with those that were chosen by Table 2.
pub(super) fn by_sizes(model: &Model, measured: impl Fn(Sizes) -> Result<Measured, MeasureError>) -> Interpretations {
    let mut all = vec![Interpretation::new(IMIX, measured(Sizes::Imix)?)];
    if model.calibrated {
        all.push(Interpretation::calibrated(TABLE2, measured(Sizes::Table2)?));
    }
    Ok(all)
}

/// Instructions of an application for a packet.
pub(super) fn total(model: &Model, application: Application, sizes: Sizes) -> Result<f64, MeasureError> {
    Ok(model.counted(application, sizes)?.application.total())
}

fn instructions(model: &Model, application: Application) -> Interpretations {
    if [Application::Md5, Application::TripleDes].contains(&application) {
        return by_sizes(model, |sizes| Ok(Measured::Number(total(model, application, sizes)?)));
    }
    both_parts(model, application, Classes::total)
}

/// A class of instructions in percent.
fn share(model: &Model, application: Application, class: fn(&Classes) -> f64) -> Interpretations {
    both_parts(model, application, |classes| 100.0 * class(classes) / classes.total())
}

fn both_parts(model: &Model, application: Application, value: impl Fn(&Classes) -> f64) -> Interpretations {
    let counted = model.counted(application, Sizes::Imix)?;
    let all = counted.application.with(counted.worker).with(counted.classify);
    Ok(vec![
        Interpretation::new(ALONE, Measured::Number(value(&counted.application))),
        Interpretation::new(ALL, Measured::Number(value(&all))),
    ])
}

/// Misses over accesses of the worst application: on one core, whose misses are those of the code
/// and of packets, and on eight, which also invalidate each other's lines.
fn miss_rate(model: &Model) -> Interpretations {
    let mut all = Vec::new();
    for (chip, name) in
        [(PaperChip::Cmp(1), "one core"), (PaperChip::Smt(8), "SMT"), (PaperChip::Cmp(8), "eight cores")]
    {
        let mut worst: f64 = 0.0;
        for application in Application::PAPER {
            let report = model.report(chip, Work::Alone(application), Classifier::Dpf)?;
            for (misses, accesses) in [accesses(&report, "l1i")?, accesses(&report, "l1d")?] {
                worst = worst.max(misses / accesses);
            }
        }
        all.push(Interpretation::new(format!("{name}, worst cache and application"), Measured::Number(worst)));
    }
    Ok(all)
}

/// Misses, and loads or fetches, of all L1 caches of one kind.
fn accesses(report: &PacketReport, cache: &str) -> Result<(f64, f64), MeasureError> {
    let count = |event: &str| {
        let name = format!("{cache} {event}");
        let found = report.memory.iter().find(|count| count.name == name);
        found.map(|count| count.value as f64).ok_or(MeasureError::NotSeen("a count of a cache"))
    };
    let misses = count("misses")?;
    Ok((misses, misses + count("hits")?))
}
