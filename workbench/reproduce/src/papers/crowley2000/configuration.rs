// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the paper states of its system: Tables 3, 4 and 6 read back from the presets and from runs.
//! All of it is input of the models, so that nothing here has a verdict.

use mb_netproc::contract::{Application, Classifier};
use mb_packets::{Headers, Mix, Sizes};
use mb_processor::chip::{ChipConfig, Latencies};

use super::experiment::{PaperChip, Work};
use super::model::Model;
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, cannot, count, number, shown};
use crate::error::MeasureError;
use crate::verdict::Measured;

const INPUT: &str = "an input of the model, which the preset gives back";
const READ: &str = "an input of the model; 32 architectural registers belong to each context, and Table 4's registers of \
                    the SMT are read as rename registers beyond them (contradiction 30)";
/// The maximum configurations, in the order of Table 4.
const MOST: [PaperChip; 3] = [PaperChip::Cmp(8), PaperChip::Cmp2(4), PaperChip::Smt(8)];

/// Rows of Table 4 that need more than the presets.
macro_rules! rows {
    ($($name:literal, $why:expr, $value:expr;)*) => {
        &[$(
            shown(concat!("crowley2000.t4.cmp_", $name), |model: &Model| row(model, MOST[0], $value), $why),
            shown(concat!("crowley2000.t4.cmp2_", $name), |model: &Model| row(model, MOST[1], $value), $why),
            shown(concat!("crowley2000.t4.smt_", $name), |model: &Model| row(model, MOST[2], $value), $why),
        )*]
    };
}

fn row(model: &Model, chip: PaperChip, value: fn(&ChipConfig) -> usize) -> Interpretations {
    count(value(&model.experiment(chip, Work::Null, Classifier::Hardware).cores()?))
}

/// Architectural integer registers of a context.
const REGISTERS: usize = 32;

pub(super) const TABLE4: &[ClaimTest<Model>] = rows! {
    "arch_regs", READ, |chip| chip.harts() * REGISTERS;
    "phys_regs", READ, |chip| chip.harts() * REGISTERS + chip.cores * chip.rename_registers;
    "ras", "an input of the model: 12 entries for each context", |chip| chip.harts() * chip.predictor.return_stack;
};

pub(super) const TABLE3: &[ClaimTest<Model>] = &[shown(
    "crowley2000.t3.multiply",
    |model: &Model| {
        let cores = model.experiment(PaperChip::Smt(8), Work::Null, Classifier::Hardware).cores()?;
        let Latencies { multiply_word, multiply, .. } = cores.latencies;
        Ok(vec![Interpretation::new("", Measured::Numbers(vec![multiply_word as f64, multiply as f64]))])
    },
    "an input of the model: 8 cycles for words and 16 for double words, which the paper does not say",
)];

const BY_DESIGN: &str = "how the model is built; a run can only give it back";
const DIRECT: &str = "the L2 of the model is direct-mapped and has one bank; the tests of `processor` compare it with a \
                      machine written apart";
const TESTED: &str = "how the memory system is built; the tests of `processor` compare it with a machine written apart";
const EARLIER: &str = "background: earlier work";

/// Parameters of the SMT's preset.
fn preset(model: &Model, value: fn(&mb_netproc::PacketMachineParameters) -> f64) -> Interpretations {
    let work = Work::Scenario(Mix::Router, Sizes::Imix);
    number(value(&model.experiment(PaperChip::Smt(8), work, Classifier::Dpf).parameters()?))
}

/// Packets of an application in a scenario, in percent of those that were run.
fn share(model: &Model, mix: Mix, application: Application) -> Interpretations {
    let report = model.report(PaperChip::Cmp(8), Work::Scenario(mix, Sizes::Imix), Classifier::Dpf)?;
    let packets = report.applications.get(&Some(application)).copied().unwrap_or(0);
    number(100.0 * packets as f64 / report.completed() as f64)
}

macro_rules! shares {
    ($($name:literal, $mix:expr;)*) => {
        &[$(
            shown(
                concat!("crowley2000.t6.", $name, "_ipforward"),
                |model: &Model| share(model, $mix, Application::IpForward),
                SHARE,
            ),
            shown(
                concat!("crowley2000.t6.", $name, "_httpmon"),
                |model: &Model| share(model, $mix, Application::HttpMon),
                SHARE,
            ),
            shown(concat!("crowley2000.t6.", $name, "_md5"), |model: &Model| share(model, $mix, Application::Md5), SHARE),
            shown(
                concat!("crowley2000.t6.", $name, "_des3"),
                |model: &Model| share(model, $mix, Application::TripleDes),
                SHARE,
            ),
        )*]
    };
}

const SHARE: &str = "an input of the generated traffic, counted as the software classifies it";

pub(super) const TABLE6: &[ClaimTest<Model>] = shares! {
    "router", Mix::Router;
    "web", Mix::WebSwitch;
    "vpn", Mix::Vpn;
};

/// The router scenario on the CMP.
fn router(model: &Model) -> Result<std::sync::Arc<mb_netproc::PacketReport>, MeasureError> {
    model.report(PaperChip::Cmp(8), Work::Scenario(Mix::Router, Sizes::Imix), Classifier::Dpf)
}

pub(super) const OTHERS: &[ClaimTest<Model>] = &[
    shown("crowley2000.wl.route_entries", |model: &Model| preset(model, |found| found.routes as f64), INPUT),
    cannot("crowley2000.wl.backlog", "the controller's input is saturated by the presets"),
    cannot("crowley2000.arch.isa", "the programs are RV64IMAC, compiled with -O2; Alpha has no model"),
    cannot("crowley2000.arch.fu_equal", BY_DESIGN),
    shown(
        "crowley2000.arch.cmp_range",
        |_| {
            let units =
                [PaperChip::Smt(1), PaperChip::Cmp(1), PaperChip::Smt(8), PaperChip::Cmp(8), PaperChip::Cmp2(4)]
                    .map(PaperChip::units);
            let [least, most] = [units.iter().min(), units.iter().max()].map(|units| *units.unwrap_or(&0) as f64);
            Ok(vec![Interpretation::new("", Measured::Range(least, most))])
        },
        INPUT,
    ),
    cannot("crowley2000.arch.coherence", TESTED),
    cannot("crowley2000.t4.cmp_l2_ways", DIRECT),
    cannot("crowley2000.t4.cmp2_l2_ways", DIRECT),
    cannot("crowley2000.t4.smt_l2_ways", DIRECT),
    cannot("crowley2000.t4.cmp_l2_banks", DIRECT),
    cannot("crowley2000.t4.cmp2_l2_banks", DIRECT),
    cannot("crowley2000.t4.smt_l2_banks", DIRECT),
    cannot("crowley2000.t4.l1_write", TESTED),
    cannot("crowley2000.t4.l2_write", TESTED),
    cannot(
        "crowley2000.wl.ipforward_tree",
        "`netproc/spine` looks routes up in a level-compressed trie; tests compare every next hop with a library",
    ),
    cannot("crowley2000.wl.des3_payload", "every ciphertext of every run is compared with a library"),
    cannot("crowley2000.wl.md5_packet", "every digest of every run is compared with a library"),
    cannot("crowley2000.sys.stages", BY_DESIGN),
    shown(
        "crowley2000.sys.bus_contention",
        |model: &Model| {
            let report = router(model)?;
            let dma = report.memory.iter().find(|count| count.name == "memory bus: DMA");
            let cycles = dma.ok_or(MeasureError::NotSeen("DMA on the memory bus"))?.value;
            let share = 100.0 * cycles as f64 / report.cycles as f64;
            Ok(vec![Interpretation::new("", Measured::Text(format!("DMA in {share:.1} % of the memory bus's cycles")))])
        },
        BY_DESIGN,
    ),
    cannot("crowley2000.sys.nic", BY_DESIGN),
    cannot("crowley2000.bg.ilp_poor", EARLIER),
    cannot("crowley2000.bg.linear_isolated", EARLIER),
    cannot("crowley2000.bg.dpf_insensitive", "background: earlier work; the tests of `guest` count 1 to 128 filters"),
    shown(
        "crowley2000.spine.os_threads",
        |model: &Model| {
            let report = router(model)?;
            count(report.harts.len() - report.harts.iter().filter(|hart| hart.packets > 0).count())
        },
        "how SPINE is built; counted as threads that handle no packet",
    ),
    cannot("crowley2000.spine.dispatch", BY_DESIGN),
    shown(
        "crowley2000.spine.workers_cmp8",
        |model: &Model| count(router(model)?.harts.iter().filter(|hart| hart.packets > 0).count()),
        BY_DESIGN,
    ),
    shown(
        "crowley2000.spine.workers_cmp2_4",
        |model: &Model| {
            let report = model.report(PaperChip::Cmp2(4), Work::Scenario(Mix::Router, Sizes::Imix), Classifier::Dpf)?;
            count(2 * report.harts.iter().filter(|hart| hart.packets > 0).count())
        },
        BY_DESIGN,
    ),
    cannot("crowley2000.metric", "what is measured"),
    shown("crowley2000.dpf.filters", |model: &Model| preset(model, |found| found.filters as f64), INPUT),
    shown("crowley2000.dpf.dims", dimensions, INPUT),
    cannot(
        "crowley2000.dpf.hw_free",
        "the ideal classifier writes the class with the packet's slot, which takes no time",
    ),
    cannot("crowley2000.dpf.in_worker", BY_DESIGN),
    shown("crowley2000.scen.window", |_| number(mb_netproc::PacketReport::WINDOW as f64), INPUT),
    shown("crowley2000.scen.packets", |model: &Model| number(router(model)?.completed() as f64), INPUT),
    shown("crowley2000.scen.points", |model: &Model| count(router(model)?.windows.len()), BY_DESIGN),
    cannot("crowley2000.scen.min_rate", "how a curve is read; the tables of figures 5 to 7 have every window"),
    shown("crowley2000.scen.router_smtp", smtp, INPUT),
    shown("crowley2000.cmp28.units", |_| count(PaperChip::Cmp2(8).units()), INPUT),
    shown("crowley2000.cmp28.worker_units", |_| count(2 * PaperChip::Cmp2(8).workers()), INPUT),
];

/// Fields that filters test.
fn dimensions(model: &Model) -> Interpretations {
    let experiment = model.experiment(PaperChip::Smt(8), Work::Null, Classifier::Dpf);
    let (filters, ..) = experiment.input()?;
    let any = mb_netproc::contract::ANY_PORT;
    let tested = |filter: &mb_netproc::contract::Filter| {
        let ports = [filter.source_ports, filter.destination_ports].iter().filter(|ports| **ports != any).count();
        usize::from(filter.version.is_some())
            + usize::from(filter.protocol.is_some())
            + usize::from(filter.source.bits > 0)
            + usize::from(filter.destination.bits > 0)
            + ports
    };
    count(filters.filters().iter().map(tested).max().unwrap_or(0))
}

/// Packets that the router scenario encrypts, by their port.
fn smtp(model: &Model) -> Interpretations {
    const SMTP: u16 = 25;
    let experiment = model.experiment(PaperChip::Smt(8), Work::Scenario(Mix::Router, Sizes::Imix), Classifier::Dpf);
    let (filters, _, arrivals) = experiment.input()?;
    let (mut all, mut mail) = (0, 0);
    for arrival in &arrivals {
        let class = arrival.class.and_then(|class| filters.filters().get(class as usize));
        if class.is_some_and(|filter| filter.application == Application::TripleDes) {
            let ports = Headers::of(&arrival.frame).and_then(|headers| headers.ports);
            all += 1;
            mail += u32::from(ports.is_some_and(|(source, destination)| source == SMTP || destination == SMTP));
        }
    }
    Ok(vec![Interpretation::new("", Measured::Text(format!("{mail} of {all} packets of 3DES are SMTP")))])
}
