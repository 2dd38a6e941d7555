// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structures of `netproc/spine/netproc.h`, as the tests write and read them.

use mb_processor::{Memory, Program};

/// Numbers of the applications.
pub(crate) mod app {
    pub(crate) const NULL: u32 = 0;
    pub(crate) const IP_FORWARD: u32 = 1;
    pub(crate) const HTTPMON: u32 = 2;
    pub(crate) const MD5: u32 = 3;
    pub(crate) const TRIPLE_DES: u32 = 4;
    pub(crate) const USER: u32 = 5;
    pub(crate) const NONE: u32 = 0xff;
}

/// Numbers of the verdicts.
pub(crate) mod verdict {
    pub(crate) const FORWARD: u8 = 1;
    pub(crate) const DROP: u8 = 2;
}

/// Reasons of dropped packets.
pub(crate) mod reason {
    pub(crate) const HANDLER: u8 = 1;
    pub(crate) const TRUNCATED: u8 = 2;
    pub(crate) const TOO_LONG: u8 = 3;
    pub(crate) const CHECK: u8 = 4;
    pub(crate) const TYPE: u8 = 5;
    pub(crate) const HEADER: u8 = 6;
    pub(crate) const CHECKSUM: u8 = 7;
    pub(crate) const TTL: u8 = 8;
    pub(crate) const NO_ROUTE: u8 = 9;
    pub(crate) const NO_CLASS: u8 = 10;
    pub(crate) const FLOWS: u8 = 11;
}

/// Phases of a hart.
pub(crate) mod phase {
    pub(crate) const START: usize = 0;
    pub(crate) const IDLE: usize = 1;
    pub(crate) const OS: usize = 2;
    pub(crate) const CLASSIFY: usize = 3;
    pub(crate) const HANDLER: usize = 4;
    pub(crate) const COMPLETE: usize = 5;
    pub(crate) const COUNT: usize = 7;
}

/// Who classifies packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Classifier {
    Hardware = 0,
    Dpf = 1,
    Table = 2,
}

/// An address prefix: the address in network byte order (IPv4: the first 4 bytes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prefix {
    pub(crate) address: [u8; 16],
    pub(crate) bits: u8,
}

impl Prefix {
    pub(crate) const ANY: Self = Self { address: [0; 16], bits: 0 };

    /// The first `bits` of an address; the others become zero.
    pub(crate) fn of(address: &[u8], bits: u8) -> Self {
        let mut own = [0; 16];
        own[..address.len()].copy_from_slice(address);
        let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
        Self { address: (u128::from_be_bytes(own) & mask).to_be_bytes(), bits }
    }

    pub(crate) fn covers(&self, address: &[u8]) -> bool {
        address.len() * 8 >= self.bits.into() && Self::of(address, self.bits) == *self
    }
}

/// A filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Filter {
    pub(crate) version: Option<u8>,
    pub(crate) protocol: Option<u8>,
    pub(crate) source: Prefix,
    pub(crate) destination: Prefix,
    pub(crate) source_port: (u16, u16),
    pub(crate) destination_port: (u16, u16),
    pub(crate) application: u32,
}

/// All ports.
pub(crate) const ANY_PORT: (u16, u16) = (0, u16::MAX);

impl Filter {
    pub(crate) const fn any(application: u32) -> Self {
        Self {
            version: None,
            protocol: None,
            source: Prefix::ANY,
            destination: Prefix::ANY,
            source_port: ANY_PORT,
            destination_port: ANY_PORT,
            application,
        }
    }

    /// A filter on protocol and destination port.
    pub(crate) const fn service(protocol: u8, port: u16, application: u32) -> Self {
        Self { protocol: Some(protocol), destination_port: (port, port), ..Self::any(application) }
    }

    fn bytes(&self) -> Vec<u8> {
        let any = u8::from(self.protocol.is_none());
        let mut bytes = vec![self.version.unwrap_or(0), any, self.protocol.unwrap_or(0)];
        bytes.extend([self.source.bits, self.destination.bits, 0, 0, 0]);
        for port in [self.source_port.0, self.source_port.1, self.destination_port.0, self.destination_port.1] {
            bytes.extend(port.to_le_bytes());
        }
        bytes.extend(self.source.address);
        bytes.extend(self.destination.address);
        bytes.extend(self.application.to_le_bytes());
        bytes.extend([0; 4]);
        bytes
    }
}

/// A route: prefix in the upper bits, length, next hop.
pub(crate) type Route<Address> = (Address, u8, u32);

/// What the host writes before the start.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) harts: u32,
    pub(crate) classifier: Classifier,
    pub(crate) classify_in_os: bool,
    pub(crate) spin: bool,
    pub(crate) spread: bool,
    pub(crate) ring_slots: u32,
    pub(crate) buffers: u32,
    pub(crate) buffer_bytes: u32,
    pub(crate) default_application: u32,
    pub(crate) filters: Vec<Filter>,
    pub(crate) routes4: Vec<Route<u32>>,
    pub(crate) routes6: Vec<Route<u128>>,
    pub(crate) flow_buckets: u32,
    pub(crate) flows: u32,
    pub(crate) des_keys: [u8; 24],
    pub(crate) des_iv: [u8; 8],
    pub(crate) heap_bytes: usize,
}

impl Config {
    /// One application for all packets.
    pub(crate) fn of(application: u32) -> Self {
        Self {
            harts: 4,
            classifier: Classifier::Hardware,
            classify_in_os: false,
            spin: false,
            spread: false,
            ring_slots: 16,
            buffers: 40,
            buffer_bytes: 2048,
            default_application: application,
            filters: Vec::new(),
            routes4: Vec::new(),
            routes6: Vec::new(),
            flow_buckets: 64,
            flows: 256,
            des_keys:
                *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x23\x45\x67\x89\xab\xcd\xef\x01\x45\x67\x89\xab\xcd\xef\x01\x23",
            des_iv: [1, 2, 3, 4, 5, 6, 7, 8],
            heap_bytes: 2 << 20,
        }
    }

    /// The program's memory with this configuration.
    pub(crate) fn memory(&self, program: &Program) -> Memory {
        let filters: Vec<u8> = self.filters.iter().flat_map(Filter::bytes).collect();
        let mut routes4 = Vec::new();
        for &(prefix, bits, next_hop) in &self.routes4 {
            routes4.extend([prefix, bits.into(), next_hop, 0].iter().flat_map(|field| field.to_le_bytes()));
        }
        let mut routes6 = Vec::new();
        for &(prefix, bits, next_hop) in &self.routes6 {
            routes6.extend([(prefix >> 64) as u64, prefix as u64].iter().flat_map(|field| field.to_le_bytes()));
            routes6.extend([bits.into(), next_hop].iter().flat_map(|field: &u32| field.to_le_bytes()));
        }
        let arrays = [filters, routes4, routes6];
        let end = program.memory(0).range().end;
        let mut at = end.next_multiple_of(64);
        let spare = (at - end) as usize + arrays.iter().map(|array| array.len() + 64).sum::<usize>() + self.heap_bytes;
        let mut memory = program.memory(spare);
        let addresses = arrays.map(|array| {
            let address = at;
            memory.write(address, &array).unwrap();
            at = (address + array.len() as u64).next_multiple_of(64);
            address
        });
        let mut config = Vec::new();
        let words = [
            0x0031_504e,
            self.harts,
            self.classifier as u32,
            u32::from(self.classify_in_os),
            u32::from(self.spin),
            u32::from(self.spin),
            u32::from(self.spread),
            self.ring_slots,
            self.buffers,
            self.buffer_bytes,
            self.default_application,
            self.filters.len() as u32,
        ];
        config.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        config.extend(addresses.iter().flat_map(|address| address.to_le_bytes()));
        let words = [self.routes4.len() as u32, self.routes6.len() as u32, self.flow_buckets, self.flows];
        config.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        config.extend(self.des_keys);
        config.extend(self.des_iv);
        config.extend([at, at + self.heap_bytes as u64].iter().flat_map(|word| word.to_le_bytes()));
        let symbol = program.symbol("np_config").expect("np_config");
        assert_eq!(config.len() as u64, symbol.bytes);
        memory.write(symbol.address, &config).unwrap();
        memory
    }
}
