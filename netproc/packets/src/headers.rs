// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The headers of a frame.

use std::net::IpAddr;
use std::ops::Range;

/// TCP's protocol number.
pub const TCP: u8 = 6;
/// UDP's protocol number.
pub const UDP: u8 = 17;

use etherparse::{
    IpAuthHeaderSlice, IpNumber, Ipv6ExtensionsSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice, LaxNetSlice,
    LaxSlicedPacket,
};

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
    /// Source and destination port of TCP or UDP; none in a fragment after the first.
    pub ports: Option<(u16, u16)>,
    /// Flags ([`tcp`]), of TCP only.
    pub flags: Option<u8>,

    /// What the datagram carries, without the transport header of TCP and UDP, and without padding of the frame; in a
    /// fragment after the first, what follows the first header of IP.
    pub payload: Range<usize>,
}

impl Headers {
    /// The headers of `frame`; none if it holds no IP datagram.
    #[must_use]
    pub fn of(frame: &[u8]) -> Option<Self> {
        let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
        let at = |part: &[u8]| place(frame, part);
        let (ip_offset, source, destination, ip_payload, is_first): (_, IpAddr, IpAddr, _, _) =
            match packet.net.as_ref()? {
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
                    let is_first = !is_later_fragment(ip.extensions());
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
        let source_is_v4 = source.is_ipv4();
        let protocol = ip_payload.ip_number.0;
        let (ports, flags, payload) = if is_first {
            transport(protocol, ip_payload.payload)
        } else {
            // The data after the first header, including extension headers of IPv6.
            let header = if source_is_v4 { usize::from(frame[ip_offset] & 15) * 4 } else { 40 };
            let end = at(ip_payload.payload)? + ip_payload.payload.len();
            (None, None, frame.get(ip_offset + header..end)?)
        };
        let start = at(payload)?;
        Some(Self {
            vlan_tags: packet.vlan_ids().len(),
            ip_offset,
            source,
            destination,
            protocol,
            ports,
            flags,
            payload: start..start + payload.len(),
        })
    }
}

/// Whether a datagram of IPv6 is a fragment after the first.
///
/// Walks the extension headers that are whole. The iterator of etherparse 0.21 cannot be used: if the last whole header
/// announces another one that is cut off, it reads beyond the frame.
fn is_later_fragment(extensions: &Ipv6ExtensionsSlice) -> bool {
    let (mut next, mut rest) = (extensions.first_header(), extensions.slice());
    loop {
        let walked = match next {
            Some(IpNumber::IPV6_FRAGMENTATION_HEADER) => Ipv6FragmentHeaderSlice::from_slice(rest).ok().map(|header| {
                let is_later = header.fragment_offset().value() != 0;
                (is_later, header.next_header(), header.slice().len())
            }),
            Some(IpNumber::AUTHENTICATION_HEADER) => IpAuthHeaderSlice::from_slice(rest)
                .ok()
                .map(|header| (false, header.next_header(), header.slice().len())),
            Some(
                IpNumber::IPV6_HEADER_HOP_BY_HOP | IpNumber::IPV6_ROUTE_HEADER | IpNumber::IPV6_DESTINATION_OPTIONS,
            ) => Ipv6RawExtHeaderSlice::from_slice(rest)
                .ok()
                .map(|header| (false, header.next_header(), header.slice().len())),
            _ => None,
        };
        let Some((is_later, following, length)) = walked else { return false };
        if is_later {
            return true;
        }
        (next, rest) = (Some(following), &rest[length..]);
    }
}

/// Ports, flags of TCP, and what follows the transport header: everything, if the header has an impossible length. The
/// length of UDP is ignored, as that of IP bounds it.
fn transport(protocol: u8, bytes: &[u8]) -> (Option<(u16, u16)>, Option<u8>, &[u8]) {
    if ![TCP, UDP].contains(&protocol) || bytes.len() < 4 {
        return (None, None, bytes);
    }
    let ports = (u16::from_be_bytes([bytes[0], bytes[1]]), u16::from_be_bytes([bytes[2], bytes[3]]));
    let header = match (protocol, bytes.get(12)) {
        (UDP, _) => 8,
        (_, Some(offset)) if bytes.len() >= 20 && offset >> 4 >= 5 => usize::from(offset >> 4) * 4,
        _ => 0,
    };
    let flags = if protocol == TCP && bytes.len() >= 20 { bytes.get(13).copied() } else { None };
    (Some(ports), flags, bytes.get(header..).unwrap_or(bytes))
}

/// Where `part` begins in `frame`.
fn place(frame: &[u8], part: &[u8]) -> Option<usize> {
    let start = (part.as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
    (start + part.len() <= frame.len()).then_some(start)
}
