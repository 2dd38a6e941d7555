// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Captured packets and their link types.

use std::borrow::Cow;

/// The length of an Ethernet header without tags, in bytes.
pub const ETHERNET_HEADER: usize = 14;

/// The largest packet that is accepted, in bytes on the wire: the largest snapshot length of libpcap.
pub const MAX_WIRE_BYTES: u32 = 262_144;

/// Link types of captures; the numbers are those of <https://www.tcpdump.org/linktypes.html>.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkType {
    /// BSD loopback: an address family in the byte order of the capturing host (0).
    Null,
    /// Ethernet without the frame check sequence (1).
    Ethernet,
    /// An IPv4 or IPv6 datagram (101, and 12 and 14 of older files).
    Raw,
    /// OpenBSD loopback: an address family in network byte order (108).
    Loop,
    /// Linux cooked capture, version 1 (113).
    LinuxCooked,
    /// An IPv4 datagram (228).
    Ipv4,
    /// An IPv6 datagram (229).
    Ipv6,
    /// Linux cooked capture, version 2 (276).
    LinuxCooked2,
}

impl LinkType {
    /// The link type of a number, if it is supported.
    #[must_use]
    pub const fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            12 | 14 | 101 => Self::Raw,
            108 => Self::Loop,
            113 => Self::LinuxCooked,
            228 => Self::Ipv4,
            229 => Self::Ipv6,
            276 => Self::LinuxCooked2,
            _ => return None,
        })
    }

    /// The number in files.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Null => 0,
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Loop => 108,
            Self::LinuxCooked => 113,
            Self::Ipv4 => 228,
            Self::Ipv6 => 229,
            Self::LinuxCooked2 => 276,
        }
    }

    /// Bytes before the network layer; of Ethernet, without tags.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Null | Self::Loop => 4,
            Self::Ethernet => ETHERNET_HEADER,
            Self::Raw | Self::Ipv4 | Self::Ipv6 => 0,
            Self::LinuxCooked => 16,
            Self::LinuxCooked2 => 20,
        }
    }
}

/// A packet of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Nanoseconds since the epoch of the capture.
    pub time_ns: u64,
    /// The link type of the header with which `bytes` begin.
    pub link: LinkType,
    /// Length on the wire, at least that of `bytes`.
    pub wire_bytes: u32,
    /// The bytes captured.
    pub bytes: Vec<u8>,
}

/// Packets in the order of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capture {
    /// The packets.
    pub packets: Vec<Packet>,
}

impl Capture {
    /// Number of packets of which the capture holds fewer bytes than were on the wire.
    #[must_use]
    pub fn snapped(&self) -> usize {
        self.packets.iter().filter(|packet| packet.is_snapped()).count()
    }
}

/// Why a capture cannot be read or written. Packets are counted from 1, as other tools show them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CaptureError {
    /// Neither pcap nor pcapng.
    #[error(
        "found {0} at the beginning; expected a pcap or pcapng file; capture with `tcpdump -w` or convert with `editcap`"
    )]
    Format(String),
    /// The file header is malformed.
    #[error("file header: found {found}; expected {expected}; the file is damaged")]
    Header {
        /// What is wrong.
        found: String,
        /// The expected content.
        expected: &'static str,
    },
    /// The file ends inside a packet.
    #[error(
        "packet {packet}: the file ends {missing} bytes early, {offset} bytes from its start; expected a whole record; \
         copy the file again, or keep the packets before this one with `editcap -r`"
    )]
    Truncated {
        /// Its number.
        packet: usize,
        /// Place of the record in the file.
        offset: usize,
        /// Bytes that are missing at least.
        missing: usize,
    },
    /// A record or block is malformed.
    #[error(
        "packet {packet}: found {found}, {offset} bytes from the start of the file; expected {expected}; the file is damaged"
    )]
    Malformed {
        /// Number of the packet that the record holds, or of the next packet.
        packet: usize,
        /// Place of the record in the file.
        offset: usize,
        /// What is wrong.
        found: String,
        /// The expected content.
        expected: &'static str,
    },
    /// A link type that is not supported.
    #[error(
        "packet {packet}: found link type {number}; expected 0 (BSD loopback), 1 (Ethernet), 101, 228 or 229 (raw IP), 108 \
         (OpenBSD loopback), 113 or 276 (Linux cooked); capture on another interface"
    )]
    LinkType {
        /// Number of the first packet that has it.
        packet: usize,
        /// The link type.
        number: u32,
    },
    /// A packet that no link carries.
    #[error("packet {packet}: found {found} bytes on the wire; expected at most {MAX_WIRE_BYTES}; the file is damaged")]
    Length {
        /// Its number.
        packet: usize,
        /// Its length on the wire.
        found: u32,
    },
    /// A packet whose captured bytes end inside its link header.
    #[error(
        "packet {packet}: found {found} bytes captured; expected at least {expected}, the length of its link header; capture with a longer snapshot length"
    )]
    NoLinkHeader {
        /// Its number.
        packet: usize,
        /// Bytes captured.
        found: usize,
        /// Bytes of the link header.
        expected: usize,
    },
    /// A pcap file has one link type.
    #[error(
        "packet {packet}: found link type {found}; expected {expected}, that of the first packet: a pcap file has one; convert to Ethernet frames"
    )]
    Mixed {
        /// Number of the first packet that differs.
        packet: usize,
        /// Its link type.
        found: u32,
        /// The link type of the first packet.
        expected: u32,
    },
}

impl Packet {
    /// Whether bytes of the packet are missing in the capture.
    #[must_use]
    pub fn is_snapped(&self) -> bool {
        (self.bytes.len() as u64) < u64::from(self.wire_bytes)
    }

    /// The packet as an Ethernet frame of its length on the wire. A link header of another type becomes an Ethernet
    /// header with the addresses that it has, 0 where it has none. Bytes that were not captured are 0.
    ///
    /// # Errors
    /// The captured bytes end inside the link header; `number` is the packet's number in the message.
    pub fn frame(&self, number: usize) -> Result<Cow<'_, [u8]>, CaptureError> {
        let header = self.link.header_bytes();
        // A raw datagram needs the byte that holds its version.
        let expected = header.max(1);
        if self.bytes.len() < expected {
            return Err(CaptureError::NoLinkHeader { packet: number, found: self.bytes.len(), expected });
        }
        if self.link == LinkType::Ethernet && !self.is_snapped() {
            return Ok(Cow::Borrowed(&self.bytes));
        }
        let (link, rest) = self.bytes.split_at(header);
        let missing = (self.wire_bytes as usize).saturating_sub(self.bytes.len());
        let mut frame = Vec::with_capacity(ETHERNET_HEADER + rest.len() + missing);
        if self.link == LinkType::Ethernet {
            frame.extend_from_slice(link);
        } else {
            frame.extend_from_slice(&[0; 6]);
            frame.extend_from_slice(&source_address(self.link, link));
            frame.extend_from_slice(&ether_type(self.link, link, rest).to_be_bytes());
        }
        frame.extend_from_slice(rest);
        frame.resize(frame.len() + missing, 0);
        Ok(Cow::Owned(frame))
    }
}

/// The source address of a link header, if it has one of six bytes.
fn source_address(link: LinkType, header: &[u8]) -> [u8; 6] {
    let address = match link {
        LinkType::LinuxCooked if header[4..6] == [0, 6] => &header[6..12],
        LinkType::LinuxCooked2 if header[11] == 6 => &header[12..18],
        _ => return [0; 6],
    };
    address.try_into().expect("six bytes")
}

/// The `EtherType` that a link header implies; 0 if it implies none.
fn ether_type(link: LinkType, header: &[u8], rest: &[u8]) -> u16 {
    const IPV4: u16 = 0x0800;
    const IPV6: u16 = 0x86dd;
    match link {
        LinkType::Ipv4 => IPV4,
        LinkType::Ipv6 => IPV6,
        LinkType::Raw => match rest[0] >> 4 {
            4 => IPV4,
            6 => IPV6,
            _ => 0,
        },
        LinkType::LinuxCooked => u16::from_be_bytes([header[14], header[15]]),
        LinkType::LinuxCooked2 => u16::from_be_bytes([header[0], header[1]]),
        LinkType::Ethernet => u16::from_be_bytes([header[12], header[13]]),
        LinkType::Null | LinkType::Loop => {
            let big = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
            // Address families are below 256, so that the byte order of the host shows in the number.
            match big.min(big.swap_bytes()) {
                2 => IPV4,
                // Linux; NetBSD and OpenBSD; FreeBSD; macOS.
                10 | 24 | 28 | 30 => IPV6,
                _ => 0,
            }
        }
    }
}
