// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables that the host gives to SPINE: filters and routes.

use super::application::Application;

/// An address prefix in network byte order; the bits after its length are zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Prefix {
    /// Length in bits; 0: any address.
    pub bits: u8,
    /// IPv4 addresses have the first four bytes.
    pub address: [u8; 16],
}

impl Prefix {
    /// Whether `address`, of 4 or 16 bytes, begins with the prefix.
    #[must_use]
    pub fn covers(&self, address: &[u8]) -> bool {
        let (whole, rest) = (usize::from(self.bits / 8), self.bits % 8);
        address.len() * 8 >= usize::from(self.bits)
            && self.address[..whole] == address[..whole]
            && (rest == 0 || (self.address[whole] ^ address[whole]) >> (8 - rest) == 0)
    }
}

/// A filter: all its conditions hold. The first filter that matches a packet classifies it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Filter {
    /// IP version 4 or 6; none: any.
    pub version: Option<u8>,
    /// IP protocol number, in IPv6 that of the upper layer; none: any.
    pub protocol: Option<u8>,
    /// Prefix of the source address.
    pub source: Prefix,
    /// Prefix of the destination address.
    pub destination: Prefix,
    /// First and last source port. A packet without ports matches only 0 to 65535.
    pub source_ports: (u16, u16),
    /// First and last destination port, likewise.
    pub destination_ports: (u16, u16),
    /// The application that handles the packets.
    pub application: Application,
}

/// Every port.
pub const ANY_PORT: (u16, u16) = (0, u16::MAX);

impl Filter {
    /// Length in guest memory.
    pub const BYTES: usize = 56;
    /// The largest number of filters (`NP_FILTERS`).
    pub const MAX: usize = 256;

    /// A filter that matches every packet.
    #[must_use]
    pub const fn any(application: Application) -> Self {
        let prefix = Prefix { bits: 0, address: [0; 16] };
        Self {
            version: None,
            protocol: None,
            source: prefix,
            destination: prefix,
            source_ports: ANY_PORT,
            destination_ports: ANY_PORT,
            application,
        }
    }

    /// As `struct np_filter`.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.version.unwrap_or(0);
        bytes[1] = u8::from(self.protocol.is_none());
        bytes[2] = self.protocol.unwrap_or(0);
        bytes[3] = self.source.bits;
        bytes[4] = self.destination.bits;
        let ports = [self.source_ports.0, self.source_ports.1, self.destination_ports.0, self.destination_ports.1];
        for (at, port) in (8..).step_by(2).zip(ports) {
            bytes[at..at + 2].copy_from_slice(&port.to_le_bytes());
        }
        bytes[16..32].copy_from_slice(&self.source.address);
        bytes[32..48].copy_from_slice(&self.destination.address);
        bytes[48..52].copy_from_slice(&(self.application as u32).to_le_bytes());
        bytes
    }
}

/// A route of IPv4: `address` has zeros after its first `length` bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Route {
    /// The prefix.
    pub address: u32,
    /// Bits of the prefix, 0 to 32.
    pub length: u8,
    /// Number of the next hop.
    pub next_hop: u32,
}

impl Route {
    /// Length in guest memory.
    pub const BYTES: usize = 16;

    /// As `struct np_route4`.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (at, field) in (0..).step_by(4).zip([self.address, self.length.into(), self.next_hop]) {
            bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }
}

/// A route of IPv6: `address` has zeros after its first `length` bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Route6 {
    /// The prefix.
    pub address: u128,
    /// Bits of the prefix, 0 to 128.
    pub length: u8,
    /// Number of the next hop.
    pub next_hop: u32,
}

impl Route6 {
    /// Length in guest memory.
    pub const BYTES: usize = 24;

    /// As `struct np_route6`.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&((self.address >> 64) as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&(self.address as u64).to_le_bytes());
        bytes[16..20].copy_from_slice(&u32::from(self.length).to_le_bytes());
        bytes[20..].copy_from_slice(&self.next_hop.to_le_bytes());
        bytes
    }
}
