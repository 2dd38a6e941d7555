// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hemmert et al.'s benchmark on its processors, few points of it, and claims on broken ones.

use std::sync::LazyLock;

use mb_core::Cycles;
use mb_reproduce::papers::hemmert2007::assumptions::{Assumptions, LineBytes, ListCache, Lock};
use mb_reproduce::papers::hemmert2007::figure5::BenchmarkRun;
use mb_reproduce::papers::hemmert2007::figure5::cores::{self, CorePass};
use mb_reproduce::papers::hemmert2007::{
    Build, PAPER, PaperProcessor, Processors, Setup, Simulated, Subject, all_sets,
};
use mb_reproduce::study::Study;
use mb_reproduce::verdict::Verdict;

use crate::common::{CLAIMS, HEMMERT2007, SUBJECT};

static STUDY: LazyLock<Study> = LazyLock::new(|| PAPER.study.unwrap().read().unwrap());

/// What the study answers where a test does not say otherwise.
fn baseline() -> Assumptions {
    Assumptions::read(&STUDY.baseline()).unwrap()
}

fn setup(processor: PaperProcessor, assumptions: Assumptions) -> Setup {
    Setup::new(processor, assumptions).unwrap()
}

fn last(run: &BenchmarkRun<CorePass>) -> CorePass {
    *run.measured().last().unwrap()
}

/// Cycles of a match for each item between the first and the tenth.
fn slope(setup: &Setup) -> f64 {
    let run = cores::run(setup, 10).unwrap();
    (last(&run).cycles - run.measured()[0].cycles) as f64 / (9.0 * 64.0)
}

/// The verdict of what is measured, also of inputs that a run gives back.
fn verdict(processors: Processors, id: &str) -> Verdict {
    let subject = Subject { processors, fitted: None, ..SUBJECT.clone() };
    let claim = CLAIMS.iter().find(|claim| claim.id == id).unwrap();
    PAPER.findings(std::slice::from_ref(claim), &subject).unwrap()[0].interpretations[0].verdict
}

/// The processors with one of them changed.
fn changed(processor: PaperProcessor, change: impl Fn(&mut Simulated)) -> Processors {
    let mut processors = SUBJECT.processors.clone();
    change(processors.simulated.iter_mut().find(|simulated| simulated.processor == processor).unwrap());
    processors
}

/// Cores that cannot be built are an error of the processor, not of the program that it would run.
#[test]
fn cores_without_contexts_are_refused_as_a_processor() {
    let mut setup = setup(PaperProcessor::Threads1, baseline());
    let Build::Barrel(config) = &mut setup.build else { panic!("expected barrel-threaded cores") };
    config.contexts = 0;
    let error = cores::run(&setup, 10).unwrap_err();
    assert!(error.to_string().starts_with("a processor: "), "{error}");
}

#[test]
fn a_run_shows_what_the_program_does() {
    for processor in PaperProcessor::ALL {
        let run = cores::run(&setup(processor, baseline()), 30).unwrap();
        assert_eq!(run.passes.len(), 12);
        for (pass, percent) in run.measured().iter().zip((0..=100).step_by(10)) {
            let traversed = (percent * 29 + 50) / 100 + 1;
            let threads = if processor == PaperProcessor::Embedded { 0 } else { 64 };
            let expected = (64, 64 * traversed, threads, 0);
            assert_eq!((pass.headers, pass.visits, pass.threads, pass.overtaken), expected, "{percent} %");
        }
    }
}

#[test]
fn a_cold_list_misses_once_for_each_header_and_line() {
    let pass = |list, line| {
        let assumptions = Assumptions { list, line, ..baseline() };
        last(&cores::run(&setup(PaperProcessor::Embedded, assumptions), 10).unwrap()).data_misses
    };
    // Headers are written from outside: one line each, of either length.
    assert_eq!([pass(ListCache::Warm, LineBytes::Short), pass(ListCache::Warm, LineBytes::Long)], [64, 64]);
    // Each of ten items costs a line more, and the match the second half of its item where lines
    // are short.
    assert_eq!([pass(ListCache::Cold, LineBytes::Short), pass(ListCache::Cold, LineBytes::Long)], [64 * 12, 64 * 11]);
}

#[test]
fn a_cold_list_costs_the_embedded_processor_a_memory_access_for_each_item() {
    let warm = slope(&setup(PaperProcessor::Embedded, baseline()));
    let cold = slope(&setup(PaperProcessor::Embedded, Assumptions { list: ListCache::Cold, ..baseline() }));
    // 10 cycles and the second beat of a line; the window hides little of it and adds nothing.
    assert!((9.0..=11.0).contains(&(cold - warm)), "{warm} {cold}");
}

#[test]
fn a_lock_of_one_instruction_spares_the_others_of_its_call() {
    let slope = |lock| slope(&setup(PaperProcessor::Threads1, Assumptions { lock, ..baseline() }));
    // Two registers for each of two calls.
    let spared = slope(Lock::Call) - slope(Lock::Instruction);
    assert!((3.5..=4.5).contains(&spared), "{spared}");
}

#[test]
fn an_assumption_with_an_unknown_value_is_refused() {
    let error = Assumptions::read(&STUDY.baseline().with("lock", "none")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "assumption `lock`: found value `none`, expected one of: call, instruction, far, spin, spin-coherent"
    );
    let error = Assumptions::read(&STUDY.baseline().with("line", "48")).unwrap_err();
    assert_eq!(error.to_string(), "assumption `line`: found value `48`, expected one of: 32, 64");
}

#[test]
fn every_claim_of_the_processors_has_a_verdict_and_what_differs_a_reason() {
    for finding in HEMMERT2007.iter() {
        let about = |system: &str| finding.claim.systems.iter().any(|known| known == system);
        if about("ppc440") || ["mt1", "mt2", "mt16", "mt", "bench"].into_iter().any(about) {
            let excepted = ["background: about another system", "an input that the model is built from"];
            let excepted = excepted.contains(&finding.reason.as_str()) || finding.claim.preset.is_some();
            assert!(excepted || finding.verdict != Verdict::NotTestable, "{}", finding.claim.id);
        }
        assert!(!finding.unexplained(), "{}", finding.claim.id);
    }
}

#[test]
fn a_processor_that_is_not_the_papers_differs() {
    let claims = [
        ("hemmert2007.mt1.int_alus", Verdict::Holds),
        ("hemmert2007.mt1.dl1_kb", Verdict::Differs),
        ("hemmert2007.mt1.dl1_ways", Verdict::Differs),
        ("hemmert2007.mt1.lat_mem", Verdict::Differs),
        ("hemmert2007.mt1.mem_bw", Verdict::Differs),
        ("hemmert2007.mt1.il1_kb", Verdict::Holds),
    ];
    let other = changed(PaperProcessor::Threads1, |simulated| {
        let Build::Barrel(config) = &mut simulated.setup.build else { unreachable!("table 3") };
        config.contexts = 4;
        (config.hierarchy.data.bytes, config.hierarchy.data.ways) = (8 << 10, 4);
        (config.hierarchy.memory.latency, config.hierarchy.memory.bits_per_cycle) = (Cycles(20), 64);
    });
    for (id, expected) in claims {
        assert_eq!(verdict(SUBJECT.processors.clone(), id), Verdict::Holds, "{id}");
        assert_eq!(verdict(other.clone(), id), expected, "{id}");
    }
}

#[test]
fn a_slower_processor_changes_verdicts() {
    let slower = changed(PaperProcessor::Threads16, |simulated| {
        for pass in simulated.runs.iter_mut().flat_map(|run| &mut run.passes) {
            pass.cycles *= 5;
        }
    });
    for id in ["hemmert2007.mt16.exceeds_hw_300", "hemmert2007.mt16.exceeds_mu_300"] {
        assert_eq!(verdict(SUBJECT.processors.clone(), id), Verdict::Holds);
        assert_eq!(verdict(slower.clone(), id), Verdict::Differs);
    }
    let overtaken = changed(PaperProcessor::Threads2, |simulated| simulated.runs[0].passes[3].overtaken = 1);
    assert_eq!(verdict(overtaken, "hemmert2007.bench.locking"), Verdict::Differs);
}

#[test]
fn areas_are_sums_of_what_the_models_store() {
    let drawn = (PAPER.figures)(&SUBJECT, &CLAIMS, None).unwrap().unwrap();
    let of = |design: &str| drawn.areas.iter().find(|area| area.design == design).unwrap();
    let papers = ["unit", "ppc440", "mt1", "mt2", "mt16"].map(|design| of(design).published_mm2);
    assert_eq!(papers, [Some(1.3), Some(6.0), Some(5.0), Some(10.0), Some(80.0)]);
    for areas in &drawn.areas {
        let core: f64 = areas.storage.iter().map(mb_reproduce::area::Storage::mm2).sum();
        // Logic doubles all; the match unit is doubled once more for its list manager.
        let times = if areas.design == "unit" { 4.0 } else { 2.0 * areas.cores as f64 };
        assert!((areas.estimated_mm2 - times * core).abs() < 1e-9, "{}", areas.design);
    }
    // A core of two or 16 has caches half as large as the single one, and that of 16 has half the
    // threads.
    assert!(
        of("mt2").estimated_mm2 < 2.0 * of("mt1").estimated_mm2
            && of("mt16").estimated_mm2 < 8.0 * of("mt2").estimated_mm2
    );
}

#[test]
fn sets_are_all_combinations_and_a_design_sees_only_its_assumptions() {
    let sets = STUDY.sets();
    assert_eq!(sets.len(), STUDY.assumptions.iter().map(|about| about.values.len()).product::<usize>());
    assert_eq!(sets[0], STUDY.baseline());
    let set = STUDY.baseline().with("lock", "spin").with("list", "cold");
    assert_eq!(STUDY.describe(&set), "list cold, lock spin");
    assert_eq!(STUDY.describe(&STUDY.seen_by("ppc440", &set)), "list cold");
    assert_eq!(STUDY.describe(&STUDY.baseline()), "baseline assumptions");
}

#[test]
fn all_sets_do_not_depend_on_the_number_of_threads() {
    // One assumption with two answers, so that this is quick.
    let mut study = STUDY.clone();
    for about in study.assumptions.iter_mut().filter(|about| about.name != "list") {
        about.values = vec![about.baseline.clone()];
    }
    let alone = all_sets(&CLAIMS, &study, &SUBJECT, 1).unwrap();
    assert_eq!(alone, all_sets(&CLAIMS, &study, &SUBJECT, 3).unwrap());
    assert_eq!((alone.curves.len(), alone.agreements.len(), alone.assumption_values.len()), (8, 2, 7));
    for found in &alone.agreements {
        assert_eq!(found.holds.len() + found.near.len() + found.differs.len(), 24, "{}", found.described);
    }
}

#[test]
#[ignore = "runs every set of assumptions: a minute of processor time"]
fn the_set_that_the_study_calls_fitted_agrees_best() {
    let all = all_sets(&CLAIMS, &STUDY, &SUBJECT, 2).unwrap();
    let best = &all.agreements[0];
    assert!(best.fitted, "{} agrees better", best.described);
}
