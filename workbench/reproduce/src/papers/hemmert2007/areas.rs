// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 6.2 and table 4: area of the designs in 90 nm, and matches for it.
//!
//! The estimate is that of [`crate::area`], of what the models store. The paper's areas stand
//! beside it as they are printed.

use super::figure5::HEADERS;
use mb_asm::layout::FIELDS;
use mb_processor::barrel::BarrelConfig;
use mb_processor::hierarchy::{CacheConfig, Coherence, HierarchyConfig, WritePolicy};
use mb_processor::out_of_order::OutOfOrderConfig;
use mb_processor::predictor::Direction;

use super::Subject;
use super::setup::{Build, PaperProcessor};
use crate::area::{DesignArea, Storage, design_mm2, storage_mm2};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, fact, measure};
use crate::error::MeasureError;
use crate::ledger::{Claim, ClaimedValue};
use crate::verdict::Measured;

type Found<T> = Result<T, MeasureError>;

use PaperProcessor::{Embedded, Threads1, Threads2, Threads16};

/// Words of the smallest store, a power of two, that holds the program of table 1.
const SMALL_STORE: u64 = 64;

/// Why areas of the match unit differ.
const STORE: &str = "The paper does not print the depth of the microcode store. Our unit addresses 1024 words. A store of 64 \
     words, of which the program of table 1 needs {hemmert2007.ucode.total}, gives {hemmert2007.area.mu_memories \
     @ store of 64 words:.2} mm2 of memories; the paper's {hemmert2007.area.mu_memories.published} lies between \
     the two.";

/// Why areas of the processors differ.
const CORES: &str = "The paper takes the areas of whole products from a brief and a die photograph. They include \
     address translation, debugging, buses and, in the multithreaded core, 64 bits. The estimate \
     counts what tables 2 and 3 list and doubles it, as the paper does for its unit. Table 4 takes 5 \
     mm2 for each core although the caches of two and of 16 cores are half as large.";

/// Why ratios of areas differ.
const RATIO: &str = "Both areas differ. Those of the processors are of whole products in the paper; that of the match \
     unit depends on the depth of its store, which the paper does not print.";

pub(super) const TESTS: &[ClaimTest<Subject>] = &[
    measure("hemmert2007.area.no_cache_reason", caches_of_the_unit),
    differs("hemmert2007.area.mu_memories", |subject| unit_area(subject, storage_mm2), STORE),
    differs("hemmert2007.area.mu_with_logic", |subject| unit_area(subject, design_mm2), STORE),
    differs("hemmert2007.area.mu_with_lm", |subject| unit_area(subject, with_list_manager), STORE),
    differs("hemmert2007.area.t4_mu_mm2", |subject| unit_area(subject, with_list_manager), STORE),
    differs("hemmert2007.area.t4_ppc440_mm2", |subject| processor_area(subject, Embedded), CORES),
    differs("hemmert2007.area.t4_mt1_mm2", |subject| processor_area(subject, Threads1), CORES),
    differs("hemmert2007.area.t4_mt2_mm2", |subject| processor_area(subject, Threads2), CORES),
    differs("hemmert2007.area.t4_mt16_mm2", |subject| processor_area(subject, Threads16), CORES),
    differs("hemmert2007.area.ppc440_ratio_text", |subject| ratio(subject, Embedded), RATIO),
    differs("hemmert2007.area.mt1_ratio_text", |subject| ratio(subject, Threads1), RATIO),
    differs("hemmert2007.area.t4_ppc440_rel", |subject| ratio(subject, Embedded), RATIO),
    differs("hemmert2007.area.t4_mt1_rel", |subject| ratio(subject, Threads1), RATIO),
    differs("hemmert2007.area.t4_mt2_rel", |subject| ratio(subject, Threads2), RATIO),
    differs("hemmert2007.area.t4_mt16_rel", |subject| ratio(subject, Threads16), RATIO),
];

/// Caches among what the match unit stores, and their share of the storage of a core.
fn caches_of_the_unit(subject: &Subject) -> Interpretations {
    let is_cache = |part: &&Storage| part.name.ends_with("cache");
    let unit = unit(subject.program.store as u64);
    let inside = unit.iter().filter(is_cache).count();
    let mut shown = vec![format!("{inside} in the unit")];
    let mut so = inside == 0;
    for simulated in &subject.processors.simulated {
        let parts = core(&simulated.setup.build);
        let share = parts.iter().filter(is_cache).map(Storage::mm2).sum::<f64>() / storage_mm2(&parts);
        shown.push(format!("{:.0} % of {}", 100.0 * share, simulated.processor.name()));
        so &= share > 0.5;
    }
    fact(so, shown.join(", "))
}

/// Area and speed of every design; the bound is not a design.
pub(crate) fn areas(claims: &[Claim], subject: &Subject) -> Found<Vec<DesignArea>> {
    let paper = |design: &str| {
        let id = format!("hemmert2007.area.t4_{design}_mm2");
        claims.iter().find(|claim| claim.id == id).and_then(|claim| match claim.value {
            ClaimedValue::Number(number, _) => Some(number),
            _ => None,
        })
    };
    let depths = [1, 10, 30, 100, 300];
    let rate = |cycles: u64| HEADERS as f64 * subject.clock.hertz() as f64 / (1e6 * cycles as f64);
    let storage = unit(subject.program.store as u64);
    let mut all = vec![DesignArea {
        design: "unit",
        cores: 1,
        estimated_mm2: with_list_manager(&storage),
        storage,
        published_mm2: paper("mu"),
        rates: depths.iter().map(|&n| Ok((n, rate(subject.at(n)?.unit.streamed)))).collect::<Found<_>>()?,
    }];
    for simulated in &subject.processors.simulated {
        let cores = simulated.setup.build.hierarchy().cores;
        let storage = core(&simulated.setup.build);
        all.push(DesignArea {
            design: simulated.processor.name(),
            cores,
            estimated_mm2: cores as f64 * design_mm2(&storage),
            storage,
            published_mm2: paper(simulated.processor.name()),
            rates: depths.iter().map(|&n| Ok((n, rate(simulated.at(n)?)))).collect::<Found<_>>()?,
        });
    }
    Ok(all)
}

/// The memories of the match unit, with a store of so many words.
fn unit(store: u64) -> Vec<Storage> {
    let word = FIELDS.iter().map(|&(_, _, bits)| bits as u64).sum();
    vec![
        Storage::memory("microcode store", store, word),
        // Register 0 is a constant; two write ports and three read ports (section 4.2.1).
        Storage::registers("ALU registers", 15, 64, 5),
        Storage::registers("ternary registers", 15, 64, 5),
        // Seven read ports; a predicate is written by one unit.
        Storage::registers("predicate registers", 15, 1, 8),
    ]
}

/// The paper's rule: a list manager as large as the match unit.
fn with_list_manager(unit: &[Storage]) -> f64 {
    2.0 * design_mm2(unit)
}

#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
fn unit_area(subject: &Subject, of: fn(&[Storage]) -> f64) -> Interpretations {
    let store = subject.program.store as u64;
    Ok(vec![
        Interpretation::new("store of our unit", Measured::Number(of(&unit(store)))),
        Interpretation::new("store of 64 words", Measured::Number(of(&unit(SMALL_STORE)))),
    ])
}

/// The storage of one core with its caches.
fn core(build: &Build) -> Vec<Storage> {
    let mut storage = caches(build.hierarchy());
    storage.extend(match build {
        Build::OutOfOrder(core, _) => window(core),
        Build::Barrel(config) => contexts(config),
    });
    storage
}

fn caches(config: &HierarchyConfig) -> Vec<Storage> {
    let cache = |name, cache: &CacheConfig| {
        let dirty = u64::from(name == "data cache" && cache.write == WritePolicy::Back);
        let shared = u64::from(name == "data cache" && config.coherence != Coherence::Ideal);
        Storage::cache(name, cache.bytes, cache.line, cache.ways, 1 + dirty + shared)
    };
    vec![cache("instruction cache", &config.instruction), cache("data cache", &config.data)]
}

/// An out-of-order core besides its caches. Bits of an entry of window and queue are counted by
/// what sim-outorder keeps in it.
fn window(core: &OutOfOrderConfig) -> Vec<Storage> {
    let counters = match core.predictor.direction {
        Direction::Bimodal { entries } | Direction::Gshare { entries, .. } => entries as u64,
        _ => 0,
    };
    let targets = (core.predictor.target_sets * core.predictor.target_ways) as u64;
    let ports = u64::from(core.decode_width + core.issue_width + core.commit_width);
    vec![
        // Nine ports, as the PPC440x5 CPU Core User's Manual (September 2002) says of the PowerPC
        // 440.
        Storage::registers("general registers", 32, 32, 9),
        // Two operands, a result and the address, 32 bits each, and 32 bits of state.
        Storage::registers("register update unit", core.rob as u64, 160, ports),
        // Address, data and 8 bits of state.
        Storage::registers("load/store queue", core.lsq as u64, 72, 2),
        Storage::memory("branch counters", counters, 2),
        // A tag and a target, of words.
        Storage::memory("branch targets", targets, 51),
    ]
}

/// A barrel-threaded core besides its caches: registers of all threads, with condition, link,
/// count, overflow and pc.
fn contexts(config: &BarrelConfig) -> Vec<Storage> {
    vec![Storage::registers("registers of threads", 37 * config.contexts as u64, 32, 3)]
}

fn processor_mm2(subject: &Subject, processor: PaperProcessor) -> Found<f64> {
    let build = subject.processors.of(processor)?.setup.build;
    Ok(build.hierarchy().cores as f64 * design_mm2(&core(&build)))
}

fn processor_area(subject: &Subject, processor: PaperProcessor) -> Interpretations {
    Ok(vec![Interpretation::new("", Measured::Number(processor_mm2(subject, processor)?))])
}

fn ratio(subject: &Subject, processor: PaperProcessor) -> Interpretations {
    let over = |store: u64| -> Found<Measured> {
        Ok(Measured::Number(processor_mm2(subject, processor)? / with_list_manager(&unit(store))))
    };
    Ok(vec![
        Interpretation::new("store of our unit", over(subject.program.store as u64)?),
        Interpretation::new("store of 64 words", over(SMALL_STORE)?),
    ])
}
