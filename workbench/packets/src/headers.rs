// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a frame's headers say.

use std::net::IpAddr;
use std::ops::Range;

use etherparse::{IpNumber, Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice, UdpSlice};

/// Flags of a TCP segment, as in the header (RFC 9293, section 3.1).
pub mod tcp {
    /// No more data from the sender.
    pub const FIN: u8 = 1;
    /// Synchronises sequence numbers: the first segment of each direction.
    pub const SYN: u8 = 2;
    /// Resets the connection.
    pub const RST: u8 = 4;
    /// Delivers the data to the application.
    pub const PSH: u8 = 8;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 16;
}

/// The headers of an IPv4 or IPv6 datagram in an Ethernet frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Headers {
    /// VLAN tags before the datagram.
    pub vlan_tags: usize,
    /// First byte of the IP header in the frame.
    pub ip_offset: usize,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol of the transport layer (IANA protocol numbers), after IPv6 extension headers.
    pub protocol: u8,
    /// Source and destination port of TCP or UDP; none in a fragment without the transport header.
    pub ports: Option<(u16, u16)>,
    /// Flags ([`tcp`]), of TCP only.
    pub flags: Option<u8>,

    /// What the datagram carries, without the transport header of TCP and UDP, and without padding of the frame.
    pub payload: Range<usize>,
}

impl Headers {
    /// The headers of `frame`; none if it holds no IP datagram.
    #[must_use]
    pub fn of(frame: &[u8]) -> Option<Self> {
        let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
        let at = |part: &[u8]| place(frame, part);
        let (ip_offset, source, destination, ip_payload, is_first) = match packet.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let is_first = header.fragments_offset().value() == 0;
                (
                    at(header.slice())?,
                    header.source_addr().into(),
                    header.destination_addr().into(),
                    ip.payload(),
                    is_first,
                )
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let is_later = |extension| match extension {
                    Ipv6ExtensionSlice::Fragment(fragment) => fragment.fragment_offset().value() != 0,
                    _ => false,
                };
                let is_first = !ip.extensions().clone().into_iter().any(is_later);
                (
                    at(header.slice())?,
                    header.source_addr().into(),
                    header.destination_addr().into(),
                    ip.payload(),
                    is_first,
                )
            }
            LaxNetSlice::Arp(_) => return None,
        };
        // The parser leaves the transport header of every fragment out; the first fragment has one.
        let transport = match (&packet.transport, ip_payload.ip_number) {
            (Some(found), _) => Some(found.clone()),
            (None, IpNumber::TCP) if is_first => TcpSlice::from_slice(ip_payload.payload).ok().map(TransportSlice::Tcp),
            (None, IpNumber::UDP) if is_first => {
                UdpSlice::from_slice_lax(ip_payload.payload).ok().map(TransportSlice::Udp)
            }
            _ => None,
        };
        let (ports, flags, payload) = match &transport {
            Some(TransportSlice::Tcp(tcp)) => {
                let ports = (tcp.source_port(), tcp.destination_port());
                (Some(ports), tcp.slice().get(13).copied(), tcp.payload())
            }
            Some(TransportSlice::Udp(udp)) => (Some((udp.source_port(), udp.destination_port())), None, udp.payload()),
            _ => (None, None, ip_payload.payload),
        };
        let start = at(payload)?;
        Some(Self {
            vlan_tags: packet.vlan_ids().len(),
            ip_offset,
            source,
            destination,
            protocol: ip_payload.ip_number.0,
            ports,
            flags,
            payload: start..start + payload.len(),
        })
    }
}

/// Where `part` begins in `frame`.
fn place(frame: &[u8], part: &[u8]) -> Option<usize> {
    let start = (part.as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
    (start + part.len() <= frame.len()).then_some(start)
}
