// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SPINE and its applications on the processors of crowley2000, cycle by cycle, with every decision checked.

use std::ops::ControlFlow;

use mb_core::parameters::Source;
use mb_netproc::{NetprocParameters, Spine, presets, timed};
use mb_packets::session;
use mb_packets::traffic::generate;
use mb_packets::{Checked, FilterSet, Mix, Session, TrafficParameters};

fn parameters(preset: &str, settings: &[(&str, &str)]) -> NetprocParameters {
    let mut set = presets::preset(preset).unwrap();
    for (key, value) in settings {
        set.set(key, value, Source::User).unwrap();
    }
    set.typed()
}

fn run(preset: &str, settings: &[(&str, &str)], mix: Mix, packets: u64) -> Checked {
    let checked = run_any(preset, settings, mix, packets);
    assert_eq!((checked.checked, checked.run.report.completed()), (packets, packets));
    checked
}

/// Some packets may be refused.
fn run_any(preset: &str, settings: &[(&str, &str)], mix: Mix, packets: u64) -> Checked {
    let parameters = parameters(preset, settings);
    let traffic = TrafficParameters { packets: packets as usize, mix, ..TrafficParameters::default() };
    let filters = FilterSet::of_scenarios(8, session::TABLES_SEED);
    let capture = generate(&traffic, &filters, &session::routes(&parameters), 1).unwrap();
    let session = Session::new(&parameters, Spine::Plain.file(), &capture).unwrap();
    let checked = session.run(packets, &mut (), &mut |_| ControlFlow::Continue(())).unwrap();
    let Checked { run, mismatch_count, mismatches, .. } = &checked;
    assert!(run.error.is_none(), "{preset}: {}", run.error.as_ref().unwrap());
    assert_eq!(*mismatch_count, 0, "{preset}: {mismatches:?}");
    assert!(run.report.is_balanced && run.report.in_flight == 0);
    checked
}

#[test]
fn every_decision_on_every_architecture_is_that_of_the_references() {
    for preset in presets::PAPER {
        let checked = run(preset, &[], Mix::Router, 300);
        let report = &checked.run.report;
        assert_eq!(report.windows.len(), 3);
        assert_eq!(report.windows.iter().map(|window| window.cycles).sum::<u64>(), report.cycles);
        // Every issue slot is used or left empty for one cause. Reports begin and end between two looks of the
        // controller, which are at most `POLL` cycles apart.
        let units = {
            let p = parameters(preset, &[]);
            u64::from(p.processor.issue_width) * p.processor.cores as u64
        };
        let lost = |hart: &mb_netproc::report::HartReport| hart.lost.iter().map(|(_, slots)| slots).sum::<u64>();
        let slots: u64 = report.harts.iter().map(|hart| hart.used + lost(hart)).sum();
        let range = (report.cycles - timed::POLL) * units..=(report.cycles + timed::POLL) * units;
        assert!(range.contains(&slots), "{preset}: {slots} slots in {} cycles", report.cycles);
        assert!(report.instructions() <= report.harts.iter().map(|hart| hart.used).sum());
    }
}

#[test]
fn the_same_run_gives_the_same_report() {
    let settings = [("classifier", "table"), ("idle", "spin"), ("transmit", "on")];
    assert_eq!(run("smt4", &settings, Mix::WebSwitch, 200), run("smt4", &settings, Mix::WebSwitch, 200));
}

/// At a rate above that of the machine the input queue fills and packets are refused; far below it none is, and the
/// run takes the time of the arrivals.
#[test]
fn a_rate_of_arrivals_gives_queues_and_drops() {
    let at = |rate: &str| {
        let settings = [("input", "rate"), ("rate", rate), ("input_queue", "16"), ("application", "null")];
        run_any("cmp4", &settings, Mix::IpForward, 500).run.report
    };
    let slow = at("100000");
    assert_eq!((slow.refused, slow.completed()), (0, 500));
    // 500 packets, 5000 cycles apart.
    let last = 499 * 5000;
    assert!((last..last + 20_000).contains(&slow.cycles), "{}", slow.cycles);
    assert!(slow.latency.largest < 20_000 && slow.longest_queue <= 2, "{:?}", slow.latency);
    let fast = at("50000000");
    assert!(fast.refused > 100 && fast.longest_queue == 16 && fast.is_balanced);
    assert_eq!(fast.refused + fast.completed(), 500);
    assert!(fast.latency.median > slow.latency.median);
}
