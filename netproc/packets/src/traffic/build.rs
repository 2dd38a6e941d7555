// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames from addresses, ports and payload; the crate `etherparse` computes lengths and checksums.

use std::net::IpAddr;

use etherparse::{PacketBuilder, TcpOptionElement, VlanId};
use mb_core::random::Random;

use super::parameters::TrafficParameters;
use crate::capture::ETHERNET_HEADER;
use crate::filters::{FilteredService, TCP};
use crate::headers::tcp;
use crate::routes::{RouteTable, embed};

/// Hops that a generated datagram may take.
const TIME_TO_LIVE: u8 = 64;

/// The two ends of a flow: a client, and a server whose port selects the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Endpoints {
    source: IpAddr,
    destination: IpAddr,
    source_port: u16,
    destination_port: u16,
    protocol: u8,
    vlan: Option<u16>,
}

/// The TCP header of a frame; flows of UDP ignore it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    pub(super) sequence: u32,
    /// The acknowledgement number, and with it the flag.
    pub(super) acknowledge: Option<u32>,
    /// The other flags.
    pub(super) flags: u8,
}

impl Endpoints {
    /// A flow to the `service` at an address that `routes` know.
    pub(super) fn random(
        parameters: &TrafficParameters,
        service: FilteredService,
        routes: &RouteTable,
        random: &mut Random,
    ) -> Self {
        let (source, destination) = (routes.destination(random), routes.destination(random));
        let is_v6 = random.below(100) < parameters.ipv6_percent;
        let (source, destination) =
            if is_v6 { (embed(source).into(), embed(destination).into()) } else { (source.into(), destination.into()) };
        let vlan = (random.below(100) < parameters.vlan_percent).then(|| random.within(1, 4094) as u16);
        Self {
            source,
            destination,
            // The dynamic ports of RFC 6335, on which no filter is.
            source_port: random.within(49152, 65535) as u16,
            destination_port: service.port,
            protocol: service.protocol,
            vlan,
        }
    }

    /// The opposite direction.
    pub(super) const fn reversed(&self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..*self
        }
    }

    /// Bytes of a datagram before its payload, with `options` bytes of TCP options.
    pub(super) const fn header_bytes(&self, options: usize) -> usize {
        let ip = if self.source.is_ipv4() { 20 } else { 40 };
        ip + if self.protocol == TCP { 20 + options } else { 8 }
    }

    /// An Ethernet frame from the source to the destination. The first segment of a TCP connection announces its
    /// maximum segment size.
    pub(super) fn frame(&self, segment: &Segment, payload: &[u8]) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let id = self.vlan.map(|number| VlanId::try_new(number).expect("12 bits"));
        let builder = match (self.source, self.destination, id) {
            (IpAddr::V4(source), IpAddr::V4(destination), None) => {
                builder.ipv4(source.octets(), destination.octets(), TIME_TO_LIVE)
            }
            (IpAddr::V4(source), IpAddr::V4(destination), Some(id)) => {
                builder.single_vlan(id).ipv4(source.octets(), destination.octets(), TIME_TO_LIVE)
            }
            (IpAddr::V6(source), IpAddr::V6(destination), None) => {
                builder.ipv6(source.octets(), destination.octets(), TIME_TO_LIVE)
            }
            (IpAddr::V6(source), IpAddr::V6(destination), Some(id)) => {
                builder.single_vlan(id).ipv6(source.octets(), destination.octets(), TIME_TO_LIVE)
            }
            _ => unreachable!("both ends have one version"),
        };
        let mut frame = Vec::with_capacity(ETHERNET_HEADER + 4 + self.header_bytes(4) + payload.len());
        let written = if self.protocol == TCP {
            let mut header = builder.tcp(self.source_port, self.destination_port, segment.sequence, 65535);
            if let Some(number) = segment.acknowledge {
                header = header.ack(number);
            }
            if segment.flags & tcp::SYN != 0 {
                header = header.syn().options(&[TcpOptionElement::MaximumSegmentSize(1440)]).expect("four bytes fit");
            }
            if segment.flags & tcp::FIN != 0 {
                header = header.fin();
            }
            if segment.flags & tcp::RST != 0 {
                header = header.rst();
            }
            if segment.flags & tcp::PSH != 0 {
                header = header.psh();
            }
            header.write(&mut frame, payload)
        } else {
            builder.udp(self.source_port, self.destination_port).write(&mut frame, payload)
        };
        written.expect("a payload of at most 9,000 bytes fits, and a vector takes every byte");
        frame
    }
}

/// `length` random bytes.
pub(super) fn random_bytes(length: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
