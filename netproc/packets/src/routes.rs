// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Route tables, and the longest prefix that matches an address.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use ip_network_table_deps_treebitmap::IpLookupTable;
use mb_core::random::Random;
use mb_netproc::contract::{Route, Route6};

/// Different prefixes, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RouteTable {
    routes: Vec<Route>,
}

/// Prefixes of each length in 1,000. The numbers are assumed: as in tables of the Internet's backbone, nearly half of
/// the prefixes have 24 bits, and more have 16 bits than 15 or 17.
const LENGTHS: [(u8, u64); 18] = [
    (8, 1),
    (9, 1),
    (10, 1),
    (11, 1),
    (12, 2),
    (13, 4),
    (14, 6),
    (15, 8),
    (16, 120),
    (17, 15),
    (18, 30),
    (19, 70),
    (20, 45),
    (21, 50),
    (22, 75),
    (23, 85),
    (24, 476),
    (32, 10),
];

/// Next hops of generated tables.
pub const NEXT_HOPS: u32 = 16;

impl RouteTable {
    /// The largest number of prefixes.
    pub const MAX: usize = 4_000_000;

    /// These routes; of two with the same prefix the last.
    #[must_use]
    pub fn new(routes: impl IntoIterator<Item = Route>) -> Self {
        let mut table = BTreeMap::new();
        for route in routes {
            let address = route.address & mask(route.length);
            table.insert((address, route.length), Route { address, ..route });
        }
        Self { routes: table.into_values().collect() }
    }

    /// `count` different prefixes in the address space of unicast, drawn from `seed`, and a default route to next hop
    /// 0 among them. Next hops are 0 to [`NEXT_HOPS`] - 1.
    ///
    /// # Panics
    /// `count` is 0 or above [`MAX`](Self::MAX).
    #[must_use]
    pub fn generate(count: usize, seed: u64) -> Self {
        assert!((1..=Self::MAX).contains(&count), "1 to {} prefixes", Self::MAX);
        let mut random = Random::of(seed, &[0x7007e]);
        let total: u64 = LENGTHS.iter().map(|(_, weight)| weight).sum();
        let mut table = BTreeMap::from([((0, 0), 0)]);
        while table.len() < count {
            let mut drawn = random.below(total);
            let (length, _) = LENGTHS
                .into_iter()
                .find(|(_, weight)| {
                    let here = drawn < *weight;
                    drawn = drawn.saturating_sub(*weight);
                    here
                })
                .expect("below the total");
            let address = random_unicast(&mut random) & mask(length);
            let next_hop = random.below(NEXT_HOPS.into()) as u32;
            table.entry((address, length)).or_insert(next_hop);
        }
        let routes = table.into_iter().map(|((address, length), next_hop)| Route { address, length, next_hop });
        Self { routes: routes.collect() }
    }

    /// The routes, in the order of their addresses and lengths.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The same routes for the IPv6 addresses that generated traffic uses ([`embed`]).
    #[must_use]
    pub fn routes6(&self) -> Vec<Route6> {
        let of = |route: &Route| Route6 {
            address: u128::from(embed(route.address.into())),
            length: 96 + route.length,
            next_hop: route.next_hop,
        };
        self.routes.iter().map(of).collect()
    }

    /// A destination: an address in a random prefix, with random bits after the prefix.
    #[must_use]
    pub fn destination(&self, random: &mut Random) -> Ipv4Addr {
        let route = self.routes[random.below(self.routes.len() as u64) as usize];
        if route.length == 0 {
            return random_unicast(random).into();
        }
        (route.address | random.next() as u32 & !mask(route.length)).into()
    }

    /// The table for look-ups.
    #[must_use]
    pub fn lookup(&self) -> Lookup {
        let mut table = IpLookupTable::with_capacity(self.routes.len());
        for route in &self.routes {
            table.insert(Ipv4Addr::from(route.address), route.length.into(), route.next_hop);
        }
        let mut table6 = IpLookupTable::with_capacity(self.routes.len());
        for route in self.routes6() {
            table6.insert(Ipv6Addr::from(route.address), route.length.into(), route.next_hop);
        }
        Lookup { table, table6 }
    }
}

/// Addresses 1.0.0.0 to 223.255.255.255.
fn random_unicast(random: &mut Random) -> u32 {
    random.within(0x0100_0000, 0xdfff_ffff) as u32
}

/// The first `length` bits.
const fn mask(length: u8) -> u32 {
    if length == 0 { 0 } else { u32::MAX << (32 - length) }
}

/// Finds routes with the tree bitmap of the crate `ip_network_table-deps-treebitmap`.
pub struct Lookup {
    table: IpLookupTable<Ipv4Addr, u32>,
    table6: IpLookupTable<Ipv6Addr, u32>,
}

/// The IPv6 address that stands for an IPv4 address: the prefix `2001:db8::/32` for documentation (RFC 3849), zeros,
/// and the IPv4 address.
#[must_use]
pub fn embed(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from(0x2001_0db8_u128 << 96 | u128::from(u32::from(address)))
}

impl Lookup {
    /// The next hop of the longest prefix of `address`.
    #[must_use]
    pub fn next_hop(&self, address: Ipv4Addr) -> Option<u32> {
        self.table.longest_match(address).map(|(_, _, next_hop)| *next_hop)
    }

    /// The same for IPv6.
    #[must_use]
    pub fn next_hop6(&self, address: Ipv6Addr) -> Option<u32> {
        self.table6.longest_match(address).map(|(_, _, next_hop)| *next_hop)
    }
}
