// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Generated traffic: shares, bursts, sizes and connections.

use std::collections::BTreeMap;
use std::net::IpAddr;

use mb_core::parameters::Choice;
use mb_netproc::contract::Application;
use mb_packets::headers::tcp;
use mb_packets::traffic::generate;
use mb_packets::{Capture, FilterSet, FilteredService, Headers, Mix, RouteTable, Sizes, TrafficParameters};

fn capture(parameters: &TrafficParameters, seed: u64) -> Capture {
    generate(parameters, &FilterSet::of_scenarios(8, 0), &RouteTable::generate(1000, 1), seed).unwrap()
}

fn applications(capture: &Capture) -> Vec<Application> {
    let filters = FilterSet::of_scenarios(8, 0);
    let of = |frame| filters.filters()[filters.first(&Headers::of(frame).unwrap()).unwrap()].application;
    capture.packets.iter().map(|packet| of(&packet.bytes)).collect()
}

#[test]
fn shares_are_those_of_table_6() {
    for &mix in Mix::ALL {
        let found = applications(&capture(&TrafficParameters { mix, ..TrafficParameters::default() }, 5));
        let shares: [u64; 4] = std::array::from_fn(|index| {
            let packets = found.iter().filter(|application| **application == Application::PAPER[index]).count() as u64;
            assert_eq!(packets * 100 % 2000, 0);
            packets * 100 / 2000
        });
        assert_eq!(shares, mix.shares(), "{mix:?}");
    }
}

#[test]
fn bursts_have_the_mean_length() {
    for mean_burst in [1, 8, 32] {
        let mix = Mix::Router;
        let parameters = TrafficParameters { packets: 200_000, mix, mean_burst, ..TrafficParameters::default() };
        let found = applications(&capture(&parameters, 7));
        let runs = 1 + found.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Two neighbouring bursts are of different applications with the probability 1 - sum of squared shares.
        let same: f64 = mix.shares().iter().map(|share| (*share as f64 / 100.0).powi(2)).sum();
        let mean = found.len() as f64 / runs as f64 * (1.0 - same);
        assert!((mean / mean_burst as f64 - 1.0).abs() < 0.05, "{mean} for {mean_burst}");
    }
}

#[test]
fn sizes_are_those_of_the_distribution() {
    let of = |sizes, mix| {
        let capture = capture(&TrafficParameters { sizes, mix, ..TrafficParameters::default() }, 1);
        capture.packets.iter().map(|packet| packet.bytes.len() - 14).collect::<Vec<_>>()
    };
    assert!(of(Sizes::Fixed, Mix::Md5).iter().all(|bytes| *bytes == 256));
    assert!(of(Sizes::Imix, Mix::TripleDes).iter().all(|bytes| [40, 576, 1500].contains(bytes)));
    let digests = of(Sizes::Table2, Mix::Md5);
    let mean = digests.iter().sum::<usize>() as f64 / digests.len() as f64;
    assert!((mean - 190.0).abs() < 5.0, "{mean}");
    assert!(digests.iter().all(|bytes| (95..=285).contains(bytes)));
}

#[test]
fn the_seed_determines_the_capture() {
    let parameters = TrafficParameters::default();
    assert_eq!(capture(&parameters, 1), capture(&parameters, 1));
    assert_ne!(capture(&parameters, 1), capture(&parameters, 2));
}

#[test]
fn packets_arrive_at_the_rate() {
    let capture = capture(&TrafficParameters { packets: 20_000, rate: 1_000_000, ..TrafficParameters::default() }, 3);
    let last = capture.packets.last().unwrap().time_ns;
    assert!((last as f64 / 20e6 - 1.0).abs() < 0.03, "{last}");
}

#[test]
fn versions_and_tags_have_their_shares() {
    let parameters = TrafficParameters {
        packets: 4000,
        flows: 4000,
        ipv6_percent: 30,
        vlan_percent: 20,
        ..TrafficParameters::default()
    };
    let capture = capture(&parameters, 3);
    let headers: Vec<Headers> = capture.packets.iter().map(|packet| Headers::of(&packet.bytes).unwrap()).collect();
    let percent = |count: usize| count as f64 / headers.len() as f64 * 100.0;
    let six = percent(headers.iter().filter(|found| matches!(found.source, IpAddr::V6(_))).count());
    let tagged = percent(headers.iter().filter(|found| found.vlan_tags == 1).count());
    assert!((six - 30.0).abs() < 5.0 && (tagged - 20.0).abs() < 5.0, "{six} {tagged}");
    let offset = |found: &Headers| 14 + 4 * found.vlan_tags;
    assert!(headers.iter().all(|found| found.ip_offset == offset(found)));
}

/// Each connection opens with SYN, SYN and ACK, ACK; its sequence numbers have no gap; it closes with FIN from both
/// ends or with RST.
#[test]
fn connections_have_handshake_requests_and_end() {
    let parameters = TrafficParameters { packets: 5000, mix: Mix::HttpMon, ..TrafficParameters::default() };
    let capture = capture(&parameters, 11);
    let mut connections: BTreeMap<_, Vec<(bool, Headers, &[u8])>> = BTreeMap::new();
    for packet in &capture.packets {
        let headers = Headers::of(&packet.bytes).unwrap();
        let (source, destination) = headers.ports.unwrap();
        let from_client = destination == 80;
        let key = if from_client {
            (headers.source, source, headers.destination, destination)
        } else {
            (headers.destination, destination, headers.source, source)
        };
        connections.entry(key).or_default().push((from_client, headers, &packet.bytes));
    }
    let (mut finished, mut reset, mut requests) = (0, 0, 0);
    for segments in connections.values() {
        let flags: Vec<_> = segments.iter().map(|(_, headers, _)| headers.flags.unwrap()).collect();
        let mut next = [None, None];
        for (place, (from_client, headers, bytes)) in segments.iter().enumerate() {
            let tcp = headers.ip_offset + if headers.source.is_ipv4() { 20 } else { 40 };
            let sequence = u32::from_be_bytes(bytes[tcp + 4..tcp + 8].try_into().unwrap());
            let side = usize::from(!from_client);
            let control = (flags[place] & (tcp::SYN | tcp::FIN)).count_ones();
            assert!(next[side].is_none_or(|expected| expected == sequence), "segment {place}");
            next[side] = Some(sequence.wrapping_add(headers.payload.len() as u32 + control));
            let has = |flag| flags[place] & flag != 0;
            assert_eq!((has(tcp::SYN), has(tcp::ACK)), (place < 2, place > 0));
            let payload = &bytes[headers.payload.clone()];
            if *from_client && !payload.is_empty() {
                let line = payload.split(|byte| *byte == b'\r').next().unwrap();
                assert!(line.ends_with(b" HTTP/1.1"), "{}", String::from_utf8_lossy(line));
                requests += 1;
            }
        }
        let fins = flags.iter().filter(|flags| *flags & tcp::FIN != 0).count();
        finished += usize::from(fins == 2);
        reset += usize::from(flags.iter().any(|flags| flags & tcp::RST != 0));
    }
    assert!(finished > 150 && reset > 2 && requests > finished, "{finished} {reset} {requests}");
    // All but the open ones have ended.
    assert!(connections.len() - finished - reset <= 32);
}

#[test]
fn an_application_that_no_filter_selects_is_named() {
    let filters = FilterSet::new(vec![]);
    let routes = RouteTable::generate(10, 1);
    let found = generate(&TrafficParameters::default(), &filters, &routes, 1);
    assert!(found.is_err());
}

#[test]
fn filters_are_different_and_map_services() {
    for count in [0, 1, 8, 32, 128, 256] {
        let set = FilterSet::of_scenarios(count, 4);
        let mut filters = set.filters().to_vec();
        filters.sort_unstable();
        filters.dedup();
        assert_eq!(filters.len(), count);
    }
    let services = FilterSet::of_scenarios(8, 4).services(Application::TripleDes);
    assert_eq!(services, [FilteredService { protocol: 6, port: 25 }]);
}

/// A datagram that is split: the first fragment has ports, the second none.
#[test]
fn only_the_first_fragment_has_ports() {
    let capture = capture(&TrafficParameters { mix: Mix::Md5, ..TrafficParameters::default() }, 1);
    let whole = &capture.packets[0].bytes;
    let ports = Headers::of(whole).unwrap().ports;
    assert!(ports.is_some());
    for (fragment_field, expected) in [([0x20, 0], ports), ([0x20, 5], None), ([0, 5], None)] {
        let mut fragment = whole.clone();
        fragment[14 + 6..14 + 8].copy_from_slice(&fragment_field);
        let headers = Headers::of(&fragment).unwrap();
        assert_eq!((headers.ports, headers.protocol), (expected, 6));
    }
}

/// Extension headers of IPv6 (RFC 8200, section 4), whole and cut off: whether a fragment is the first is known from
/// those that are whole, and nothing is read behind the frame.
#[test]
fn extension_headers_that_are_cut_off_end_the_walk() {
    const FRAGMENT: u8 = 44;
    const ROUTING: u8 = 43;
    const AUTHENTICATION: u8 = 51;
    const OPTIONS: u8 = 60;
    const UDP: u8 = 17;
    // Each header with 8 bytes and the number of the next one; fragments with their offset in units of 8 bytes.
    let header = |kind: u8, next: u8, offset: u16| match kind {
        FRAGMENT => [[next, 0].as_slice(), &(offset << 3).to_be_bytes(), &[0; 4]].concat(),
        AUTHENTICATION => [[next, 1].as_slice(), &[0; 10]].concat(),
        _ => vec![next, 0, 0, 0, 0, 0, 0, 0],
    };
    let frame = |kinds: &[u8], offset: u16, after: &[u8]| {
        let nexts = kinds.iter().skip(1).copied().chain([UDP]);
        let extensions: Vec<u8> =
            kinds.iter().zip(nexts).flat_map(|(&kind, next)| header(kind, next, offset)).collect();
        let length = (extensions.len() + after.len()) as u16;
        let fixed = [[0x60, 0, 0, 0].as_slice(), &length.to_be_bytes(), &[kinds[0], 64], &[1; 16], &[2; 16]].concat();
        [[0; 12].as_slice(), &[0x86, 0xdd], &fixed, &extensions, after].concat()
    };
    let udp = [0, 53, 0, 80, 0, 8, 0, 0];
    let headers = [FRAGMENT, ROUTING, AUTHENTICATION, OPTIONS];
    for others in [&headers[..0], &headers[1..2], &headers[1..3], &headers[1..]] {
        for offset in [0, 5] {
            let kinds = [others, &[FRAGMENT]].concat();
            let found = Headers::of(&frame(&kinds, offset, &udp)).unwrap();
            let ports = (offset == 0).then_some((53, 80));
            assert_eq!((found.ports, found.protocol), (ports, UDP), "{kinds:?} {offset}");
        }
    }
    for (first, cut) in headers.iter().flat_map(|first| headers.map(|cut| (*first, cut))) {
        let whole = frame(&[first, cut], 0, &[]);
        let end = whole.len() - header(cut, UDP, 0).len();
        for left in 0..8 {
            let cut_off = whole[..end + left].to_vec().into_boxed_slice();
            if let Some(found) = Headers::of(&cut_off) {
                assert!(found.payload.end <= cut_off.len(), "{first} {cut} {left}: {found:?}");
                assert_eq!(found.ports, None, "{first} {cut} {left}");
            }
        }
    }
}
