// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The references against the known answers of their standards, and against naive code.

use std::net::Ipv4Addr;

use mb_core::random::Random;
use mb_netproc::contract::Route;
use mb_packets::RouteTable;
use mb_packets::reference::{md5, triple_des};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn md5_has_the_answers_of_rfc_1321() {
    for (text, digest) in [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ] {
        assert_eq!(md5(text.as_bytes()), hex(digest)[..]);
    }
}

fn encrypted(key: &[u8; 24], initial: [u8; 8], plain: &[u8]) -> Vec<u8> {
    let mut text = plain.to_vec();
    triple_des(key, initial, &mut text);
    text
}

/// NIST SP 800-67, appendix B. Its blocks are encrypted separately: the first one equals CBC with the initialisation
/// vector 0, the second one with the chain undone.
#[test]
fn triple_des_has_the_answers_of_sp_800_67() {
    let key = hex("0123456789abcdef23456789abcdef01456789abcdef0123");
    let key: &[u8; 24] = key.as_slice().try_into().unwrap();
    let plain = hex("5468652071756663");
    assert_eq!(encrypted(key, [0; 8], &plain), hex("a826fd8ce53b855f"));
    let second: Vec<u8> = hex("6b2062726f776e20").iter().zip(hex("a826fd8ce53b855f")).map(|(a, b)| a ^ b).collect();
    let both = encrypted(key, [0; 8], &[plain, second].concat());
    assert_eq!(both[8..], hex("cce21c8112256fe6")[..]);
}

#[test]
fn bytes_after_the_last_block_are_combined_with_the_encrypted_chain() {
    let key = [7; 24];
    let block = encrypted(&key, [1; 8], &[9; 8]);
    let chain = encrypted(&key, block.clone().try_into().unwrap(), &[0; 8]);
    let expected: Vec<u8> = block.into_iter().chain(chain[..3].iter().map(|byte| byte ^ 5)).collect();
    assert_eq!(encrypted(&key, [1; 8], &[9, 9, 9, 9, 9, 9, 9, 9, 5, 5, 5]), expected);
    assert_eq!(encrypted(&key, [1; 8], &[]), []);
}

#[test]
fn the_longest_prefix_is_that_of_a_search_of_all_routes() {
    let table = RouteTable::generate(1000, 3);
    let lookup = table.lookup();
    let mut random = Random::of(9, &[]);
    let naive = |address: u32| {
        let matches = |route: &&Route| route.length == 0 || (address ^ route.address) >> (32 - route.length) == 0;
        table.routes().iter().filter(matches).max_by_key(|route| route.length).map(|route| route.next_hop)
    };
    for _ in 0..20_000 {
        let address = if random.below(2) == 0 { table.destination(&mut random) } else { (random.next() as u32).into() };
        assert_eq!(lookup.next_hop(address), naive(address.into()), "{address}");
    }
}

#[test]
fn route_tables_have_different_prefixes_and_follow_the_seed() {
    let table = RouteTable::generate(1000, 1);
    assert_eq!(table.routes().len(), 1000);
    assert!(table.routes().is_sorted_by(|a, b| (a.address, a.length) < (b.address, b.length)));
    assert_eq!(table.routes()[0], Route { address: 0, length: 0, next_hop: 0 });
    assert_eq!(table, RouteTable::generate(1000, 1));
    assert_ne!(table, RouteTable::generate(1000, 2));
    assert_eq!(RouteTable::new(table.routes().to_vec()), table);
}

#[test]
fn a_million_prefixes_are_found() {
    let table = RouteTable::generate(1_000_000, 1);
    assert_eq!(table.routes().len(), 1_000_000);
    let lookup = table.lookup();
    for route in table.routes().iter().step_by(997) {
        // A longer prefix may cover the first address too, so that only its existence is certain.
        assert!(lookup.next_hop(Ipv4Addr::from(route.address)).is_some());
    }
}
