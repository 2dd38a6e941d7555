// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SPINE and its applications on the processors of crowley2000, cycle by cycle, with every decision checked.

use std::ops::ControlFlow;

use mb_core::parameters::Source;
use mb_netproc::{PacketMachineParameters, Spine, presets};
use mb_packets::session;
use mb_packets::traffic::generate;
use mb_packets::{Capture, CaptureSession, Checked, FilterSet, Mix, Packet, TrafficParameters};

fn parameters(preset: &str, settings: &[(&str, &str)]) -> PacketMachineParameters {
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
    run_capture(&parameters, &capture(&parameters, mix, packets), packets)
}

fn capture(parameters: &PacketMachineParameters, mix: Mix, packets: u64) -> Capture {
    let traffic = TrafficParameters { packets: packets as usize, mix, ..TrafficParameters::default() };
    let filters = FilterSet::of_scenarios(8, session::TABLES_SEED);
    generate(&traffic, &filters, &session::routes(parameters), 1).unwrap()
}

fn run_capture(parameters: &PacketMachineParameters, capture: &Capture, packets: u64) -> Checked {
    let session = CaptureSession::new(parameters, Spine::Plain.file(), capture).unwrap();
    let checked = session.run(packets, None, &mut |_| ControlFlow::Continue(())).unwrap();
    let Checked { run, mismatch_count, mismatches, .. } = &checked;
    assert!(run.error.is_none(), "{}", run.error.as_ref().unwrap());
    assert_eq!(*mismatch_count, 0, "{mismatches:?}");
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
        // Every issue slot is used or left empty for one cause, up to the cycle of the last report.
        let units = {
            let p = parameters(preset, &[]);
            u64::from(p.processor.issue_width) * p.processor.cores as u64
        };
        let lost = |hart: &mb_netproc::report::HartReport| hart.lost.iter().map(|(_, slots)| slots).sum::<u64>();
        let slots: u64 = report.harts.iter().map(|hart| hart.used + lost(hart)).sum();
        assert_eq!(slots, (report.cycles + 1) * units, "{preset}: {} cycles", report.cycles);
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

/// Packets that arrive one at a time leave after the same time, whatever their time stamps: the run takes the time of
/// the last arrival and of one packet.
#[test]
fn time_stamps_of_the_capture_are_followed() {
    let run = |percent: &str, step_ns: u64| {
        let settings = [("input", "capture"), ("speed_percent", percent), ("application", "null"), ("filters", "0")];
        let parameters = parameters("cmp4", &settings);
        let mut capture = capture(&parameters, Mix::IpForward, 1);
        let first = capture.packets[0].clone();
        capture.packets = (0..50).map(|n| Packet { time_ns: 1_000_000 + n * step_ns, ..first.clone() }).collect();
        run_capture(&parameters, &capture, 50).run.report
    };
    // 5000 cycles between packets.
    let [slow, twice] = [run("100", 10_000), run("200", 20_000)];
    assert_eq!(slow, twice);
    assert_eq!((slow.refused, slow.longest_queue), (0, 1));
    // Packets differ by some cycles of polling; the first ones miss in the caches.
    let latency = slow.latency;
    assert!(latency.p90 - latency.median < 40 && latency.median < 1000 && latency.largest < 4000, "{latency:?}");
    let last = slow.cycles - 49 * 5000;
    assert!((latency.median - 40..=latency.p90 + 40).contains(&last), "{last} {latency:?}");
    // A packet waits for a cycle, and the first one for the first slots to be read.
    let waited = slow.mean_queue * slow.cycles as f64;
    assert!((50.0..50.0 + 500.0).contains(&waited), "{waited}");
    // All at once: 50 packets and a queue of 16.
    let settings = [("input", "capture"), ("input_queue", "16"), ("application", "null"), ("ring_slots", "2")];
    let parameters = parameters("cmp4", &settings);
    let mut capture = capture(&parameters, Mix::IpForward, 50);
    capture.packets.iter_mut().for_each(|packet| packet.time_ns = 5);
    let burst = run_capture(&parameters, &capture, 50).run.report;
    assert_eq!((burst.offered, burst.longest_queue, burst.refused + burst.completed()), (50, 16, 50));
    assert!((50 - 16 - 2..=50 - 16).contains(&burst.refused), "{}", burst.refused);
}

/// A Poisson process below the machine's rate loses nothing, but packets wait for others, as they do not at a constant
/// rate; with another seed it is another process.
#[test]
fn poisson_arrivals_queue_below_the_rate_of_the_machine() {
    let at = |input: &str, seed: &str| {
        let settings = [("input", input), ("rate", "800000"), ("arrival_seed", seed), ("application", "null")];
        run("cmp4", &settings, Mix::IpForward, 1000).run.report
    };
    let [constant, one, same, two] = [at("rate", "1"), at("poisson", "1"), at("poisson", "1"), at("poisson", "2")];
    assert_eq!(one, same);
    assert_ne!(one.latency, two.latency);
    for poisson in [&one, &two] {
        assert_eq!(poisson.refused, 0);
        let [waits, none] = [poisson.latency, constant.latency];
        assert!(waits.p90 > none.p90 * 3 / 2 && waits.median > none.median, "{waits:?} {none:?}");
        // 1000 gaps of 625 cycles: three standard deviations.
        assert!((poisson.cycles as f64 / 625_000.0 - 1.0).abs() < 3.0 / 1000_f64.sqrt() + 0.01, "{}", poisson.cycles);
    }
}

/// The clock of the cores alone: a processor that is limited by its cores gains what its clock gains, and one whose
/// memory is slower gains nothing from a faster clock of memory by itself that exceeds this.
#[test]
fn memory_keeps_its_clock() {
    let report = |settings: &[(&str, &str)]| {
        let parameters = parameters("cmp4", settings);
        let checked = run("cmp4", settings, Mix::TripleDes, 40);
        checked.run.report.rate(parameters.clock)
    };
    let base = report(&[]);
    let both = report(&[("clock", "625"), ("memory_clock", "625")]);
    let cores = report(&[("clock", "625")]);
    let memory = report(&[("memory_clock", "250")]);
    // All times scale with both clocks.
    assert!((both / base - 1.25).abs() < 1e-9, "{both} {base}");
    assert!(cores > base * 1.2 && cores <= both, "{cores} {both}");
    assert!(memory < base, "{memory} {base}");
}
