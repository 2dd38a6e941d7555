// SPDX-License-Identifier: Apache-2.0 OR MIT
//! IP-FORWARD: next hops against a tree bitmap of another author, header updates, bad routes.

use std::net::{Ipv4Addr, Ipv6Addr};

use ip_network_table_deps_treebitmap::{IpLookupTable, address::Address};
use mb_core::random::Random;
use mb_netproc::spine::Spine;

use crate::contract::{Config, Route, app, phase, reason, verdict};
use crate::frames::{Ipv4, UDP, checksum, ethernet, ipv6, udp};
use crate::machine::{HandlerMachine, Stop, run};

/// Ordered and unique routes with random prefixes; many are prefixes of others.
pub(crate) fn routes4(random: &mut Random, count: usize, lengths: (u64, u64)) -> Vec<Route<u32>> {
    let mut routes: Vec<Route<u32>> = Vec::new();
    while routes.len() < count {
        let more = count - routes.len();
        for _ in 0..more {
            let bits = random.within(lengths.0, lengths.1) as u8;
            // Half of them below an earlier prefix.
            let base = match routes.len() {
                0 => 0,
                known if random.below(2) == 0 => routes[random.below(known as u64) as usize].0,
                _ => random.next() as u32,
            };
            let address = base ^ random.next() as u32 >> random.within(0, 31);
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            routes.push((address & mask, bits, 0));
        }
        routes.sort_unstable();
        routes.dedup();
    }
    for (i, route) in routes.iter_mut().enumerate() {
        route.2 = i as u32 + 1;
    }
    routes
}

pub(crate) fn routes6(random: &mut Random, count: usize) -> Vec<Route<u128>> {
    let mut routes: Vec<Route<u128>> = Vec::new();
    for _ in 0..count {
        let bits = random.within(0, 128) as u8;
        let base = match routes.len() {
            0 => 0,
            known if random.below(2) == 0 => routes[random.below(known as u64) as usize].0,
            _ => u128::from(random.next()) << 64 | u128::from(random.next()),
        };
        let noise = u128::from(random.next()) << 64 | u128::from(random.next());
        let address = base ^ noise >> random.within(0, 127);
        routes.push((address & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0), bits, 0));
    }
    routes.sort_unstable();
    routes.dedup();
    for (i, route) in routes.iter_mut().enumerate() {
        route.2 = i as u32 + 1;
    }
    routes
}

fn table<A: Address, B: Copy + Into<A>, C: Copy>(routes: &[Route<C>], of: impl Fn(C) -> B) -> IpLookupTable<A, u32> {
    let mut table = IpLookupTable::new();
    for &(prefix, bits, next_hop) in routes {
        table.insert(of(prefix).into(), bits.into(), next_hop);
    }
    table
}

/// Addresses inside routes, at their ends, and anywhere.
pub(crate) fn addresses4(random: &mut Random, routes: &[Route<u32>], count: usize) -> Vec<u32> {
    let mut address = || {
        let (prefix, bits, _) = routes[random.below(routes.len() as u64) as usize];
        let free = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
        match random.below(5) {
            0 => random.next() as u32,
            1 => prefix,
            2 => (prefix | free).wrapping_add(random.below(2) as u32),
            3 => prefix.wrapping_sub(1),
            _ => prefix | random.next() as u32 & free,
        }
    };
    (0..count).map(|_| address()).collect()
}

fn forward4(address: u32) -> Vec<u8> {
    Ipv4::new([1, 1, 1, 1], address.to_be_bytes(), UDP).frame(&udp(1, 2, b"x"))
}

/// Compares the next hops of addresses.
fn check4(routes: &[Route<u32>], addresses: &[u32], seed: u64, heap_bytes: usize) -> HandlerMachine {
    let reference: IpLookupTable<Ipv4Addr, u32> = table(routes, |prefix: u32| Ipv4Addr::from(prefix));
    let config = Config { routes4: routes.to_vec(), heap_bytes, ..Config::of(app::IP_FORWARD) };
    let machine = run(Spine::Plain, &config, seed, addresses.iter().map(|&address| forward4(address)));
    for (packet, &address) in machine.by_number().iter().zip(addresses) {
        let found = (packet.verdict == verdict::FORWARD).then_some(packet.next_hop);
        let expected = reference.longest_match(Ipv4Addr::from(address)).map(|(_, _, next_hop)| *next_hop);
        assert_eq!(found, expected, "{}", Ipv4Addr::from(address));
        if found.is_none() {
            assert_eq!((packet.verdict, packet.reason), (verdict::DROP, reason::NO_ROUTE));
        }
    }
    machine
}

#[test]
fn next_hops_of_ipv4_equal_those_of_a_tree_bitmap() {
    for seed in 0..40 {
        let mut random = Random::of(seed, &[]);
        let count = [1, 2, 3, 10, 100, 1000][seed as usize % 6];
        let lengths = if seed % 4 == 0 { (0, 4) } else { (0, 32) };
        let routes = routes4(&mut random, count.min(if lengths.1 == 4 { 20 } else { 1000 }), lengths);
        let addresses = addresses4(&mut random, &routes, 300);
        check4(&routes, &addresses, seed, 2 << 20);
    }
}

#[test]
fn next_hops_of_ipv6_equal_those_of_a_tree_bitmap() {
    for seed in 0..20 {
        let mut random = Random::of(seed, &[6]);
        let routes = routes6(&mut random, [1, 2, 5, 50, 500][seed as usize % 5]);
        let reference: IpLookupTable<Ipv6Addr, u32> = table(&routes, |prefix: u128| Ipv6Addr::from(prefix));
        let addresses: Vec<u128> = (0..200)
            .map(|_| {
                let (prefix, bits, _) = routes[random.below(routes.len() as u64) as usize];
                let noise = u128::from(random.next()) << 64 | u128::from(random.next());
                match random.below(4) {
                    0 => noise,
                    1 => prefix,
                    2 => prefix.wrapping_sub(1),
                    _ => prefix | noise & u128::MAX.checked_shr(bits.into()).unwrap_or(0),
                }
            })
            .collect();
        let config = Config { routes6: routes.clone(), ..Config::of(app::IP_FORWARD) };
        let frames = addresses.iter().map(|&to| ethernet(&[], 0x86dd, &ipv6(1, to, UDP, &udp(1, 2, b"x"))));
        let machine = run(Spine::Plain, &config, seed, frames);
        for (packet, &address) in machine.by_number().iter().zip(&addresses) {
            let found = (packet.verdict == verdict::FORWARD).then_some(packet.next_hop);
            let expected = reference.longest_match(Ipv6Addr::from(address)).map(|(_, _, next_hop)| *next_hop);
            assert_eq!(found, expected, "{}", Ipv6Addr::from(address));
            assert_eq!(packet.frame[14 + 7], if found.is_some() { 63 } else { 64 }, "hop limit");
        }
    }
}

/// Compares the instructions for a packet with those of a thousand routes.
fn search_takes_as_long_as_in_a_thousand(count: usize, heap_bytes: usize) {
    let mut random = Random::of(7, &[]);
    let routes = routes4(&mut random, count, (8, 28));
    let addresses = addresses4(&mut random, &routes, 400);
    let large = check4(&routes, &addresses, 1, heap_bytes);
    let small = routes4(&mut random, 1000, (8, 28));
    let addresses = addresses4(&mut random, &small, 400);
    let small = check4(&small, &addresses, 1, 2 << 20);
    let [large, small] = [large, small].map(|machine| machine.counts(phase::HANDLER).total() / 400);
    assert!(large < 2 * small, "{large} and {small} instructions for each packet");
}

#[test]
fn a_hundred_thousand_routes_are_searched_as_a_thousand_are() {
    search_takes_as_long_as_in_a_thousand(100_000, 12 << 20);
}

#[test]
#[ignore = "its tables take ten times as long to build"]
fn a_million_routes_are_searched_as_a_thousand_are() {
    search_takes_as_long_as_in_a_thousand(1_000_000, 96 << 20);
}

#[test]
fn headers_are_updated_as_rfc_1812_demands() {
    let config = Config { routes4: vec![(0, 0, 9)], ..Config::of(app::IP_FORWARD) };
    let mut frames = Vec::new();
    let mut expected = Vec::new();
    for ttl in 0..=255 {
        let packet =
            Ipv4 { ttl, options: vec![1; usize::from(ttl % 11) * 4], ..Ipv4::new([9, 8, 7, 6], [5, 4, 3, ttl], 1) };
        frames.push(packet.frame(&[ttl; 9]));
        expected.push((ttl > 1).then(|| Ipv4 { ttl: ttl - 1, ..packet }.frame(&[ttl; 9])));
    }
    let machine = run(Spine::Plain, &config, 1, frames.clone());
    for (packet, (frame, expected)) in machine.by_number().iter().zip(frames.iter().zip(expected)) {
        if let Some(expected) = expected {
            assert_eq!((packet.verdict, packet.next_hop), (verdict::FORWARD, 9));
            assert_eq!(packet.frame, expected);
            let header = usize::from(packet.frame[14] & 15) * 4;
            assert_eq!(checksum(&packet.frame[14..14 + header]), 0);
        } else {
            assert_eq!((packet.verdict, packet.reason), (verdict::DROP, reason::TTL));
            assert_eq!(packet.frame, *frame);
        }
    }
}

#[test]
fn a_wrong_checksum_of_the_header_drops_the_packet() {
    let config = Config { routes4: vec![(0, 0, 9)], ..Config::of(app::IP_FORWARD) };
    let good = forward4(0x0a00_0001);
    // Every bit of the header but version, lengths and the time to live, which have reasons of their own.
    let bits: Vec<usize> = (0..160).filter(|bit| ![0, 2, 3, 8].contains(&(bit / 8))).collect();
    let frames = bits.iter().map(|bit| {
        let mut frame = good.clone();
        frame[14 + bit / 8] ^= 1 << (bit % 8);
        frame
    });
    let machine = run(Spine::Plain, &config, 1, frames);
    for packet in machine.by_number() {
        assert_eq!((packet.verdict, packet.reason), (verdict::DROP, reason::CHECKSUM), "bit {}", bits[packet.number]);
    }
}

#[test]
fn routes_out_of_order_or_with_bits_after_their_length_are_named() {
    let cases: [(Vec<Route<u32>>, u64); 5] = [
        (vec![(0x0a00_0000, 8, 1), (0x0900_0000, 8, 2)], 1),
        (vec![(0x0a00_0000, 8, 1), (0x0a00_0000, 8, 2)], 1),
        (vec![(0x0a00_0000, 16, 1), (0x0a00_0000, 8, 2)], 1),
        (vec![(0x0a00_0001, 8, 1)], 0),
        (vec![(0, 0, 1), (0, 33, 1)], 1),
    ];
    for (routes, number) in cases {
        let config = Config { routes4: routes, ..Config::of(app::IP_FORWARD) };
        let mut machine = HandlerMachine::new(Spine::Plain, &config, 1);
        assert_eq!(machine.start(), Err(Stop::Error { hart: 0, error: 4 }));
        let (_, error, _, value) = machine.error(0);
        assert_eq!((error, value), (4, number));
    }
}
