// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the processors, with the source of every number, as tables show them.

use mb_core::Source;
use mb_processor::barrel::{BarrelConfig, Exchange};
use mb_processor::hierarchy::HierarchyConfig;
use mb_processor::out_of_order::OutOfOrderConfig;

use super::processors::Simulated;
use super::setup::Build;
use super::subject::Processors;
use crate::figures::CurveParameter;
use crate::study::Study;

const PAPER: &str = "hemmert2007";

/// The defaults of sim-outorder.
const SIM_OUTORDER: &str = "the paper simulated it with SimpleScalar and does not say; sim-outorder's default";

/// Every parameter of the processors, and every assumption of the study with the answer that counts
/// and the fitted one.
pub(crate) fn parameters(study: &Study, processors: &Processors) -> Vec<CurveParameter> {
    let mut all: Vec<_> = processors.simulated.iter().flat_map(of_processor).collect();
    for about in &study.assumptions {
        let designs = about.designs.join(", ");
        let row = |name: String, value: &str, source| CurveParameter {
            design: designs.clone(),
            name,
            value: value.to_owned(),
            unit: "choice",
            source,
        };
        all.push(row(about.name.clone(), &about.baseline, Source::Assumed(about.why.clone().into())));
        if about.fitted != about.baseline {
            let why = "in the set of assumptions under which most predictions hold; its curve does not count";
            all.push(row(format!("{} (fitted)", about.name), &about.fitted, Source::Calibrated(why.into())));
        }
    }
    all
}

/// A value as a table shows it.
struct Cell(String);

impl From<&str> for Cell {
    fn from(word: &str) -> Self {
        Self(word.to_owned())
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self(number.to_string())
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self(number.to_string())
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self(number.to_string())
    }
}

struct Rows {
    design: &'static str,
    rows: Vec<CurveParameter>,
}

impl Rows {
    fn row(&mut self, name: &str, value: impl Into<Cell>, unit: &'static str, source: Source) {
        let (design, name, value) = (self.design.to_owned(), name.to_owned(), value.into().0);
        self.rows.push(CurveParameter { design, name, value, unit, source });
    }

    fn paper(&mut self, place: &'static str, name: &str, value: impl Into<Cell>, unit: &'static str) {
        self.row(name, value, unit, Source::Paper { key: PAPER.into(), place: place.into() });
    }

    fn assumed(&mut self, why: &'static str, name: &str, value: impl Into<Cell>, unit: &'static str) {
        self.row(name, value, unit, Source::Assumed(why.into()));
    }
}

fn of_processor(simulated: &Simulated) -> Vec<CurveParameter> {
    let mut rows = Rows { design: simulated.processor.name(), rows: Vec::new() };
    match &simulated.setup.build {
        Build::OutOfOrder(core, hierarchy) => {
            out_of_order(&mut rows, core);
            caches(&mut rows, hierarchy, "table 2");
        }
        Build::Barrel(config) => {
            barrel(&mut rows, config);
            caches(&mut rows, &config.hierarchy, "table 3");
        }
    }
    rows.assumed(
        "the text blames the load of the header for the fixed cost; each of the 64 is written from outside",
        "header lines before each pass",
        "missing",
        "choice",
    );
    rows.assumed("gcc 3.3.3 is of 2004", "compiler", "gcc 12.2 -O2", "choice");
    rows.rows
}

fn out_of_order(rows: &mut Rows, core: &OutOfOrderConfig) {
    let table = "table 2";
    rows.paper(table, "fetch and decode width", core.fetch_width, "instructions");
    rows.paper(table, "issue width", core.issue_width, "instructions");
    rows.paper(table, "commit width", core.commit_width, "instructions");
    rows.paper(table, "register update unit", core.rob, "entries");
    rows.paper(table, "load/store queue", core.lsq, "entries");
    rows.paper(table, "integer units", core.integer.count, "units");
    rows.paper(table, "multipliers", core.multiply.count, "units");
    rows.assumed(SIM_OUTORDER, "fetch queue", core.fetch_queue, "instructions");
    rows.assumed(SIM_OUTORDER, "after a misprediction", core.mispredicted.0, "cycles");
    rows.assumed(SIM_OUTORDER, "after an unknown target", core.misfetched.0, "cycles");
    rows.assumed(SIM_OUTORDER, "multiplication", core.multiply.latency.0, "cycles");
    rows.assumed(SIM_OUTORDER, "division", core.divide.latency.0, "cycles");
    rows.assumed(
        SIM_OUTORDER,
        "branch target buffer",
        core.predictor.target_sets * core.predictor.target_ways,
        "targets",
    );
    rows.assumed(SIM_OUTORDER, "return stack", core.predictor.return_stack, "addresses");
    rows.assumed(SIM_OUTORDER, "loads behind stores", "all earlier addresses known", "choice");
}

fn barrel(rows: &mut Rows, config: &BarrelConfig) {
    rows.paper("table 3", "cores", config.hierarchy.cores, "cores");
    rows.paper("table 3", "threads per core", config.contexts, "threads");
    rows.paper("section 5.3", "to create a thread", config.calls.create.0, "cycles");
    rows.paper("section 5.3", "between exchanges of contexts", config.quantum.0, "cycles");
    rows.paper("section 5.3", "to bring in a context", config.swap.0, "cycles");
    let fast = "section 5.1 calls locking exceptionally fast, without a number";
    rows.assumed(fast, "to take a free lock", config.calls.acquire.0, "cycles");
    rows.assumed(fast, "to free a lock", config.calls.release.0, "cycles");
    rows.assumed(fast, "from a release to the next attempt", config.calls.handoff.0, "cycles");
    let silent = "the paper does not say; the least that it can be";
    rows.assumed(silent, "multiplication", config.multiply.0, "cycles");
    rows.assumed(silent, "after a branch", config.taken.0, "cycles");
    rows.assumed(silent, "coherence of data caches", "ideal unless a lock is spin-coherent", "choice");
    rows.assumed(
        "section 5.3 swaps inactive contexts in and does not say for which",
        "contexts that give way",
        if config.exchange == Exchange::All { "all in turn" } else { "those that wait" },
        "choice",
    );
}

fn caches(rows: &mut Rows, config: &HierarchyConfig, table: &'static str) {
    for (name, cache) in [("instruction", &config.instruction), ("data", &config.data)] {
        rows.paper(table, &format!("{name} cache"), cache.bytes >> 10, "KB");
        rows.paper(table, &format!("{name} cache, ways"), cache.ways, "lines");
        rows.paper(table, &format!("{name} cache, hit"), cache.hit.0, "cycles");
    }
    rows.paper(table, "memory latency", config.memory.latency.0, "cycles");
    rows.paper(table, "memory bandwidth", config.memory.bits_per_cycle, "bits per cycle");
    let silent = "the paper does not say";
    rows.assumed(silent, "data cache, stores", "written back", "choice");
    rows.assumed("more than the cores can have outstanding", "misses under way", config.data.mshrs, "lines");
}
