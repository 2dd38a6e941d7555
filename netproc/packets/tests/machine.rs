// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SPINE and its applications on harts without timing, with every decision checked against the references.

use std::ops::ControlFlow;

use mb_netproc::contract::{Application, Classifier, ClassifyIn, Idle, OsThread, SpineConfig};
use mb_netproc::{Arrival, ArrivalSchedule, ControllerConfig, Limits, LoadedProgram, PacketRun, Spine, Tables, run};
use mb_packets::arrivals::arrivals;
use mb_packets::traffic::generate;
use mb_packets::{Checker, Expectations, FilterSet, Mix, RouteTable, Sizes, TrafficParameters};

const KEYS: [u8; 24] = *b"0123456789abcdefghijklmn";
const IV: [u8; 8] = *b"ivectors";

fn spine() -> SpineConfig {
    SpineConfig {
        classifier: Classifier::Dpf,
        classify_in: ClassifyIn::Worker,
        idle: Idle::Wait,
        os_idle: Idle::Spin,
        os: OsThread::Pinned,
        ring_slots: 64,
        buffers: 1024,
        buffer_bytes: 2048,
        default_application: Some(Application::IpForward),
        flow_buckets: 1024,
        flows: 4096,
        des_keys: KEYS,
        des_iv: IV,
    }
}

struct Setup {
    file: &'static [u8],
    spine: SpineConfig,
    harts: u32,
    filters: FilterSet,
    routes: RouteTable,
    input: ArrivalSchedule,
    heap: u64,
}

impl Setup {
    fn new() -> Self {
        Self {
            file: Spine::Plain.file(),
            spine: spine(),
            harts: 8,
            filters: FilterSet::of_scenarios(8, 0),
            routes: RouteTable::generate(1000, 1),
            input: ArrivalSchedule::Saturated,
            heap: 32 << 20,
        }
    }

    fn capture(&self, parameters: &TrafficParameters) -> Vec<Arrival> {
        arrivals(&generate(parameters, &self.filters, &self.routes, 1).unwrap(), &self.filters).unwrap()
    }

    fn run(&self, arrivals: &[Arrival], packets: u64) -> (PacketRun, Checker) {
        let tables = Tables {
            filters: self.filters.filters().to_vec(),
            routes: self.routes.routes().to_vec(),
            routes6: self.routes.routes6(),
        };
        let image = LoadedProgram::new(self.file, self.harts, &self.spine, &tables, self.heap).unwrap();
        let config = ControllerConfig {
            input: self.input,
            input_queue: 64,
            outstanding: 8,
            transmit: true,
            buffer_bytes: self.spine.buffer_bytes,
            classifies: self.spine.classifier == Classifier::Hardware,
            packets,
        };
        let limits = Limits { handler: 10_000_000, setup: 1_000_000_000 };
        let mut harts = image.start(limits, &mut |_| ControlFlow::Continue(())).unwrap().harts;
        let mut checker = Checker::new(Expectations {
            filters: self.filters.clone(),
            default_application: self.spine.default_application,
            routes: self.routes.lookup(),
            buffer_bytes: self.spine.buffer_bytes,
            des_keys: self.spine.des_keys,
            des_iv: self.spine.des_iv,
            flows: self.spine.flows,
        });
        let result =
            run(&image, &mut harts, config, arrivals, limits, &mut checker, &mut |_| ControlFlow::Continue(()));
        if result.error.is_none() {
            checker.finish();
        }
        (result, checker)
    }

    /// Runs and expects every packet checked, and none wrong.
    fn pass(&self, arrivals: &[Arrival], packets: u64) -> PacketRun {
        let (result, checker) = self.run(arrivals, packets);
        assert!(result.error.is_none(), "{}", result.error.unwrap());
        assert_eq!((checker.checked, checker.mismatch_count), (packets, 0), "{:?}", checker.mismatches);
        let report = &result.report;
        assert!(report.is_balanced);
        assert_eq!((report.offered, report.queued, report.in_flight), (packets, 0, 0));
        assert_eq!(report.completed() + report.refused, packets);
        result
    }
}

#[test]
fn every_decision_of_every_mix_is_that_of_the_references() {
    for mix in [Mix::Router, Mix::WebSwitch, Mix::Vpn] {
        let setup = Setup::new();
        let parameters = TrafficParameters { mix, packets: 600, ..TrafficParameters::default() };
        let result = setup.pass(&setup.capture(&parameters), 600);
        let shares = mix.shares().map(|share| share * 6);
        let found = Application::PAPER.map(|app| result.report.applications.get(&Some(app)).copied().unwrap_or(0));
        assert_eq!(found, shares);
        assert_eq!(result.report.windows.len(), 6);
    }
}

#[test]
fn every_classifier_and_place_decides_alike() {
    for classifier in [Classifier::Hardware, Classifier::Dpf, Classifier::Table] {
        for classify_in in [ClassifyIn::Worker, ClassifyIn::Os] {
            for count in [1, 8, 32, 128] {
                let mut setup = Setup::new();
                let capture = setup.capture(&TrafficParameters { packets: 200, ..TrafficParameters::default() });
                setup.filters = FilterSet::of_scenarios(count, 7);
                setup.spine.classifier = classifier;
                setup.spine.classify_in = classify_in;
                let frames: Vec<Arrival> = capture
                    .into_iter()
                    .map(|arrival| {
                        let headers = mb_packets::Headers::of(&arrival.frame).unwrap();
                        let class = setup.filters.first(&headers).map(|place| place as u32);
                        Arrival { class, ..arrival }
                    })
                    .collect();
                setup.pass(&frames, 200);
            }
        }
    }
}

#[test]
fn one_to_many_harts_that_wait_or_spin_pinned_or_spread_decide_alike() {
    for harts in [1, 2, 3, 8, 64] {
        // A packet for each hart, and some more.
        let packets = if harts == 64 { 80 } else { 200 };
        let parameters = TrafficParameters { packets, mix: Mix::WebSwitch, ..TrafficParameters::default() };
        for idle in [Idle::Wait, Idle::Spin] {
            for os in [OsThread::Pinned, OsThread::Spread] {
                let mut setup = Setup::new();
                setup.harts = harts;
                setup.spine = SpineConfig { idle, os_idle: idle, os, ..setup.spine };
                setup.pass(&setup.capture(&parameters), packets as u64);
            }
        }
    }
}

#[test]
fn ipv6_and_vlan_tags_and_the_build_with_bit_manipulation() {
    let mut setup = Setup::new();
    let parameters =
        TrafficParameters { packets: 500, ipv6_percent: 50, vlan_percent: 50, ..TrafficParameters::default() };
    setup.pass(&setup.capture(&parameters), 500);
    setup.file = Spine::BitManipulation.file();
    setup.pass(&setup.capture(&parameters), 500);
}

#[test]
fn damaged_frames_are_dropped_for_the_reason_of_the_reference() {
    let setup = Setup::new();
    let parameters =
        TrafficParameters { packets: 400, ipv6_percent: 30, vlan_percent: 30, ..TrafficParameters::default() };
    let mut frames = setup.capture(&parameters);
    for (index, arrival) in frames.iter_mut().enumerate() {
        // A byte of the headers changed, or the frame cut.
        let at = 12 + index % 48;
        if index % 3 == 0 {
            arrival.frame.truncate(at);
        } else if let Some(byte) = arrival.frame.get_mut(at) {
            *byte ^= 1 << (index % 8);
        }
    }
    let result = setup.pass(&frames, 400);
    assert!(result.report.dropped.len() >= 4, "{:?}", result.report.dropped);
}

#[test]
fn a_quarter_of_a_million_routes_are_looked_up() {
    let mut setup = Setup::new();
    setup.routes = RouteTable::generate(250_000, 1);
    setup.heap = 64 << 20;
    setup.harts = 2;
    let parameters = TrafficParameters {
        packets: 300,
        mix: Mix::IpForward,
        sizes: Sizes::Imix,
        flows: 300,
        ..TrafficParameters::default()
    };
    let frames = setup.capture(&parameters);
    setup.pass(&frames, 300);
}
