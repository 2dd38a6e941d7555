// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames for tests, written field by field.

/// Protocol numbers.
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// TCP flags.
pub(crate) mod flag {
    pub(crate) const FIN: u8 = 1;
    pub(crate) const SYN: u8 = 2;
    pub(crate) const RST: u8 = 4;
    pub(crate) const ACK: u8 = 16;
}

/// An Ethernet frame with VLAN tags (type and tag control information).
pub(crate) fn ethernet(tags: &[(u16, u16)], ethertype: u16, network: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for (kind, tag) in tags {
        frame.extend(kind.to_be_bytes());
        frame.extend(tag.to_be_bytes());
    }
    frame.extend(ethertype.to_be_bytes());
    frame.extend(network);
    frame.resize(frame.len().max(60), 0);
    frame
}

/// The one's complement sum of a header, for its checksum.
pub(crate) fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// An IPv4 packet.
pub(crate) struct Ipv4 {
    pub(crate) source: [u8; 4],
    pub(crate) destination: [u8; 4],
    pub(crate) protocol: u8,
    pub(crate) ttl: u8,
    /// Flags and fragment offset.
    pub(crate) fragment: u16,
    /// Options, a multiple of 4 bytes.
    pub(crate) options: Vec<u8>,
}

impl Ipv4 {
    pub(crate) fn new(source: [u8; 4], destination: [u8; 4], protocol: u8) -> Self {
        Self { source, destination, protocol, ttl: 64, fragment: 0, options: Vec::new() }
    }

    pub(crate) fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let header = 20 + self.options.len();
        let mut bytes = vec![0x40 | (header / 4) as u8, 0];
        bytes.extend(((header + payload.len()) as u16).to_be_bytes());
        bytes.extend([0x12, 0x34]);
        bytes.extend(self.fragment.to_be_bytes());
        bytes.extend([self.ttl, self.protocol, 0, 0]);
        bytes.extend(self.source);
        bytes.extend(self.destination);
        bytes.extend(&self.options);
        let sum = checksum(&bytes).to_be_bytes();
        bytes[10..12].copy_from_slice(&sum);
        bytes.extend(payload);
        bytes
    }

    pub(crate) fn frame(&self, payload: &[u8]) -> Vec<u8> {
        ethernet(&[], 0x0800, &self.packet(payload))
    }
}

/// An IPv6 packet; `next` is the first next-header value.
pub(crate) fn ipv6(source: u128, destination: u128, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((payload.len() as u16).to_be_bytes());
    bytes.extend([next, 64]);
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A UDP datagram, without a checksum.
pub(crate) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in [source, destination, payload.len() as u16 + 8, 0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// A TCP segment; `options` is a multiple of 4 bytes.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) sequence: u32,
    pub(crate) acknowledgment: u32,
    pub(crate) flags: u8,
    pub(crate) options: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

impl Segment {
    pub(crate) fn new(source: u16, destination: u16, flags: u8, payload: &[u8]) -> Self {
        let (sequence, acknowledgment) = (1, 1);
        Self { source, destination, sequence, acknowledgment, flags, options: Vec::new(), payload: payload.to_vec() }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.source.to_be_bytes());
        bytes.extend(self.destination.to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.acknowledgment.to_be_bytes());
        bytes.extend([((5 + self.options.len() / 4) << 4) as u8, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        bytes.extend(&self.options);
        bytes.extend(&self.payload);
        bytes
    }
}
