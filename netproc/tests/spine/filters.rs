// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Classifiers: generated code and the table interpreter against an evaluation in Rust, for random
//! filters and packets; their cost by the number of filters.

use mb_core::random::Random;
use mb_netproc::spine::Spine;

use crate::contract::{ANY_PORT, Classifier, Config, Filter, Prefix, app, phase, reason, verdict};
use crate::frames::{Ipv4, Segment, TCP, UDP, ethernet, ipv6, udp};
use crate::machine::{HandlerMachine, Stop, run};

/// The fields of a packet that filters name.
#[derive(Clone, Debug)]
struct Headers {
    version: u8,
    protocol: u8,
    source: Vec<u8>,
    destination: Vec<u8>,
    ports: Option<(u16, u16)>,
}

/// Whether all conditions of the filter hold.
fn matches(filter: &Filter, headers: &Headers) -> bool {
    let within = |range: (u16, u16), port: u16| range.0 <= port && port <= range.1;
    let ports = (filter.source_port == ANY_PORT && filter.destination_port == ANY_PORT)
        || headers.ports.is_some_and(|(source, destination)| {
            within(filter.source_port, source) && within(filter.destination_port, destination)
        });
    ports
        && filter.version.is_none_or(|version| version == headers.version)
        && filter.protocol.is_none_or(|protocol| protocol == headers.protocol)
        && filter.source.covers(&headers.source)
        && filter.destination.covers(&headers.destination)
}

/// Random filters and packets with few different values, so that most packets match some filter.
struct Values {
    random: Random,
}

impl Values {
    fn port(&mut self) -> u16 {
        self.random.pick(&[0, 1, 22, 25, 80, 443, 0x5000, 8080, 65534, 65535])
    }

    fn protocol(&mut self) -> u8 {
        self.random.pick(&[TCP, TCP, UDP, 1, 47, 58, 132])
    }

    fn address(&mut self, version: u8) -> Vec<u8> {
        let bytes = if version == 4 { 4 } else { 16 };
        // Equal starts, so that prefixes of every length separate some addresses.
        let mut address = vec![10; bytes];
        let at = self.random.below(bytes as u64) as usize;
        address[at] ^= 1 << self.random.below(8);
        if self.random.below(3) == 0 {
            address[bytes - 1] = self.random.next() as u8;
        }
        address
    }

    fn range(&mut self) -> (u16, u16) {
        match self.random.below(4) {
            0 => {
                let (a, b) = (self.port(), self.port());
                (a.min(b), a.max(b))
            }
            1 => ANY_PORT,
            _ => {
                let port = self.port();
                (port, port)
            }
        }
    }

    fn prefix(&mut self, version: Option<u8>) -> Prefix {
        match version {
            Some(version) if self.random.below(2) == 0 => {
                let most = if version == 4 { 32 } else { 128 };
                Prefix::of(&self.address(version), self.random.within(0, most) as u8)
            }
            _ => Prefix::ANY,
        }
    }

    /// `exact`: only protocol and destination port, as in crowley2000.
    fn filter(&mut self, exact: bool) -> Filter {
        let application = app::NULL;
        if exact {
            let port = self.random.next() as u16 % 200;
            return Filter::service(self.random.pick(&[TCP, UDP]), port, application);
        }
        let version = self.random.pick(&[None, Some(4), Some(6)]);
        Filter {
            version,
            protocol: (self.random.below(3) > 0).then(|| self.protocol()),
            source: self.prefix(version),
            destination: self.prefix(version),
            source_port: if self.random.below(3) == 0 { self.range() } else { ANY_PORT },
            destination_port: self.range(),
            application,
        }
    }

    /// A frame and its fields.
    fn packet(&mut self) -> (Vec<u8>, Headers) {
        let version = self.random.pick(&[4, 4, 6]);
        let (source, destination) = (self.address(version), self.address(version));
        let protocol = self.protocol();
        let mut ports = (self.port(), self.port());
        if self.random.below(2) == 0 {
            ports.1 = self.random.below(200) as u16;
        }
        let mut upper = match protocol {
            TCP => Segment::new(ports.0, ports.1, 16, b"x").bytes(),
            _ => udp(ports.0, ports.1, b"x"),
        };
        let mut has_ports = [TCP, UDP].contains(&protocol);
        if self.random.below(10) == 0 {
            // A transport header that ends before, at or after its ports.
            upper.truncate(self.random.below(6) as usize);
            has_ports &= upper.len() >= 4;
        }
        let fragment = self.random.pick(&[0u16, 0, 0, 0, 0x2000, 1, 0x10, 0x100, 0x1000, 0x3001, 0x1fff, 0x4000]);
        has_ports &= u32::from(fragment) % 0x2000 == 0;
        let frame = if version == 4 {
            let options = vec![1; self.random.pick(&[0, 0, 0, 4, 40])];
            let [source, destination] = [&source, &destination].map(|a| <[u8; 4]>::try_from(&a[..]).unwrap());
            Ipv4 { fragment, options, ..Ipv4::new(source, destination, protocol) }.frame(&upper)
        } else {
            let [source, destination] = [&source, &destination].map(|a| u128::from_be_bytes(a[..].try_into().unwrap()));
            // Extension headers: hop-by-hop, routing, destination options, authentication, fragment.
            let mut next = protocol;
            if fragment & 0x3fff != 0 {
                let field = ((fragment & 0x1fff) << 3).to_be_bytes();
                upper = [vec![next, 0, field[0], field[1], 0, 0, 0, 9], upper].concat();
                next = 44;
            }
            for _ in 0..self.random.pick(&[0, 0, 1, 2]) {
                let kind = self.random.pick(&[0, 43, 51, 60]);
                let (units, length) = if kind == 51 { (4, 24) } else { (2, 24) };
                upper = [vec![next, units], vec![0; length - 2], upper].concat();
                next = kind;
            }
            ethernet(&[(0x88a8, 1), (0x8100, 2)], 0x86dd, &ipv6(source, destination, next, &upper))
        };
        let ports = has_ports.then_some(ports);
        (frame, Headers { version, protocol, source, destination, ports })
    }
}

fn check(build: Spine, classifier: Classifier, filters: &[Filter], packets: &[(Vec<u8>, Headers)], seed: u64) {
    let config = Config {
        classifier,
        classify_in_os: seed % 2 == 1,
        filters: filters.to_vec(),
        default_application: app::NONE,
        heap_bytes: 8 << 20,
        ..Config::of(app::NULL)
    };
    let machine = run(build, &config, seed, packets.iter().map(|(frame, _)| frame.clone()));
    for (packet, (_, headers)) in machine.by_number().iter().zip(packets) {
        let expected = filters.iter().position(|filter| matches(filter, headers));
        let found = (packet.class != u32::MAX).then_some(packet.class as usize);
        assert_eq!(found, expected, "{classifier:?}, seed {seed}: {headers:?} among {filters:#?}");
        let why = if expected.is_some() { reason::HANDLER } else { reason::NO_CLASS };
        assert_eq!((packet.verdict, packet.reason), (verdict::DROP, why));
    }
}

#[test]
fn both_classifiers_find_the_first_filter_that_matches() {
    let mut matched = 0;
    for seed in 0..40 {
        let mut values = Values { random: Random::of(seed, &[]) };
        let count = values.random.pick(&[0, 1, 2, 3, 8, 32, 128]);
        let exact = seed % 5 == 0;
        let filters: Vec<Filter> = (0..count).map(|_| values.filter(exact)).collect();
        let packets: Vec<_> = (0..150).map(|_| values.packet()).collect();
        matched += packets.iter().filter(|(_, headers)| filters.iter().any(|f| matches(f, headers))).count();
        check(Spine::Plain, Classifier::Dpf, &filters, &packets, seed);
        check(Spine::Plain, Classifier::Table, &filters, &packets, seed);
        if seed % 3 == 0 {
            check(Spine::BitManipulation, Classifier::Dpf, &filters, &packets, seed);
        }
    }
    assert!(matched > 40 * 150 / 4, "{matched} packets match");
}

#[test]
fn many_overlapping_prefixes_are_separated() {
    let mut values = Values { random: Random::of(11, &[]) };
    let address = |random: &mut Random| {
        let noise = random.next().to_le_bytes();
        [10 + (noise[0] & 3), noise[1] & 3, noise[2], noise[3]]
    };
    let filters: Vec<Filter> = (0..256)
        .map(|_| {
            let random = &mut values.random;
            let mut prefix = || Prefix::of(&address(random), random.within(8, 28) as u8);
            let (source, destination) = (prefix(), prefix());
            let port = random.pick(&[22, 25, 80]);
            Filter { version: Some(4), source, destination, ..Filter::service(TCP, port, app::NULL) }
        })
        .collect();
    let packets: Vec<_> = (0..400)
        .map(|_| {
            let random = &mut values.random;
            let (source, destination) = (address(random), address(random));
            let ports = (9, random.pick(&[22, 25, 80]));
            let frame = Ipv4::new(source, destination, TCP).frame(&Segment::new(ports.0, ports.1, 16, b"").bytes());
            let [source, destination] = [source, destination].map(|address| address.to_vec());
            (frame, Headers { version: 4, protocol: TCP, source, destination, ports: Some(ports) })
        })
        .collect();
    check(Spine::Plain, Classifier::Dpf, &filters, &packets, 1);
    check(Spine::BitManipulation, Classifier::Dpf, &filters, &packets, 2);
}

#[test]
fn filters_whose_tree_does_not_fit_are_an_error() {
    let mut random = Random::of(12, &[]);
    let mut filter = || {
        let mut range = || {
            let (a, b) = (random.next() as u16, random.next() as u16);
            (a.min(b), a.max(b))
        };
        let (source_port, destination_port) = (range(), range());
        let mut prefix = || Prefix::of(&random.next().to_be_bytes()[..4], random.within(1, 4) as u8);
        let (source, destination) = (prefix(), prefix());
        Filter { version: Some(4), source, destination, source_port, destination_port, ..Filter::any(app::NULL) }
    };
    let filters = (0..56).map(|_| filter()).collect();
    let config = Config { classifier: Classifier::Dpf, filters, heap_bytes: 16 << 20, ..Config::of(app::NULL) };
    let mut machine = HandlerMachine::new(Spine::Plain, &config, 1);
    assert_eq!(machine.start(), Err(Stop::Error { hart: 0, error: 5 }));
}

/// Instructions of one classification on average; half of the packets are for one of `count`
/// services, each equally often, and half for none.
pub(crate) fn cost(build: Spine, classifier: Classifier, count: u16) -> f64 {
    let filters: Vec<Filter> = (0..count).map(|i| Filter::service(TCP, 1000 + 7 * i, app::NULL)).collect();
    let config = Config { classifier, filters, heap_bytes: 4 << 20, ..Config::of(app::NULL) };
    let frames = (0..256).map(|i| {
        let port = if i % 2 == 0 { 1000 + 7 * (i / 2 % count) } else { 80 };
        Ipv4::new([1, 2, 3, 4], [5, 6, 7, 8], TCP).frame(&Segment::new(4000, port, 16, b"x").bytes())
    });
    run(build, &config, 1, frames).counts(phase::CLASSIFY).total() as f64 / 256.0
}

#[test]
fn generated_code_grows_with_the_logarithm_of_the_filters_and_the_table_linearly() {
    let of = |classifier| [1, 8, 32, 128].map(|count| cost(Spine::Plain, classifier, count));
    let (dpf, table) = (of(Classifier::Dpf), of(Classifier::Table));
    // A step of the binary search is a constant of two instructions and a branch; the halves of the
    // values are not quite equal, which is less than one step.
    for (few, many, doublings) in [(dpf[0], dpf[1], 3.0), (dpf[1], dpf[2], 2.0), (dpf[2], dpf[3], 2.0)] {
        assert!(few + 2.0 * doublings <= many && many <= few + 3.0 * doublings + 3.0, "{dpf:?}");
    }
    let slope = (table[3] - table[2]) / (table[2] - table[1]);
    assert!((slope / 4.0 - 1.0).abs() < 0.05, "{table:?}");
}

#[test]
fn invalid_filters_are_named() {
    let any = Filter::any(app::NULL);
    let long = Prefix { bits: 33, ..Prefix::ANY };
    let cases = [
        Filter { version: Some(5), ..any },
        Filter { source: Prefix { bits: 1, ..Prefix::ANY }, ..any },
        Filter { version: Some(4), destination: long, ..any },
        Filter { version: Some(4), destination: Prefix { address: [255; 16], bits: 8 }, ..any },
        Filter { source_port: (2, 1), ..any },
        Filter { application: 6, ..any },
    ];
    for (i, case) in cases.into_iter().enumerate() {
        let config = Config { filters: vec![any, case], ..Config::of(app::NULL) };
        let mut machine = HandlerMachine::new(Spine::Plain, &config, 1);
        assert_eq!(machine.start(), Err(Stop::Error { hart: 0, error: 3 }), "case {i}");
        let (_, error, _, value) = machine.error(0);
        assert_eq!((error, value), (3, 1), "case {i}");
    }
}

#[test]
fn the_hardware_classifier_is_taken_from_the_slot() {
    use crate::machine::Arrival;
    let filters = vec![Filter::any(app::MD5), Filter::any(app::NULL)];
    let config = Config { filters, ..Config::of(app::NONE) };
    let mut machine = HandlerMachine::new(Spine::Plain, &config, 1);
    let frame = Ipv4::new([1, 2, 3, 4], [5, 6, 7, 8], UDP).frame(&udp(1, 2, b"x"));
    let classes = [Some(0), Some(1), None];
    machine.run(classes.map(|class| Arrival { class, ..Arrival::of(frame.clone()) })).unwrap();
    let found: Vec<_> = machine.by_number().iter().map(|packet| (packet.application, packet.verdict)).collect();
    assert_eq!(found, [(app::MD5, verdict::FORWARD), (app::NULL, verdict::DROP), (app::NONE, verdict::DROP)]);
    assert_eq!(machine.counts(phase::CLASSIFY).total(), 0);
}
