// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads pcap and pcapng files, both byte orders, with microseconds or nanoseconds. The crate `pcap-parser` splits the
//! file into records; this module checks what they claim.

use pcap_parser::nom::{Err as NomError, IResult, Needed};
use pcap_parser::pcapng::{
    Block, EnhancedPacketBlock, InterfaceDescriptionBlock, SectionHeaderBlock, SimplePacketBlock, parse_block_be,
    parse_block_le,
};
use pcap_parser::{
    LegacyPcapBlock, PcapError, PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header,
};

use crate::capture::{Capture, CaptureError, LinkType, MAX_WIRE_BYTES, Packet};

/// The obsolete Packet Block of pcapng.
const OBSOLETE_PACKET: u32 = 2;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// Reads a capture from the bytes of a file.
///
/// # Errors
/// The file is of another format, damaged or truncated, or has a link type that is not supported.
pub fn read(file: &[u8]) -> Result<Capture, CaptureError> {
    match file.first_chunk::<4>().map(|magic| u32::from_le_bytes(*magic)) {
        Some(0xa1b2_c3d4 | 0xa1b2_3c4d | 0xa1b2_cd34 | 0xd4c3_b2a1 | 0x4d3c_b2a1) => pcap(file),
        Some(0x0a0d_0d0a) => pcapng(file),
        Some(_) => {
            let start: Vec<String> = file.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            Err(CaptureError::Format(format!("the bytes {}", start.join(" "))))
        }
        None => Err(CaptureError::Format(format!("{} bytes", file.len()))),
    }
}

/// Why the parser refuses a record.
enum Refused {
    /// The file ends this many bytes early, at least.
    Incomplete(usize),
    Malformed,
}

impl From<NomError<PcapError<&[u8]>>> for Refused {
    fn from(error: NomError<PcapError<&[u8]>>) -> Self {
        match error {
            NomError::Incomplete(Needed::Size(bytes)) => Self::Incomplete(bytes.get()),
            NomError::Incomplete(Needed::Unknown) => Self::Incomplete(1),
            NomError::Error(_) | NomError::Failure(_) => Self::Malformed,
        }
    }
}

/// Splits a record of pcap off.
type ParseFrame = for<'a> fn(&'a [u8]) -> IResult<&'a [u8], LegacyPcapBlock<'a>, PcapError<&'a [u8]>>;

/// Counts packets and places.
struct Reader<'a> {
    file: &'a [u8],
    rest: &'a [u8],
    packets: Vec<Packet>,
}

impl<'a> Reader<'a> {
    /// The number of the next packet.
    fn number(&self) -> usize {
        self.packets.len() + 1
    }

    fn offset(&self) -> usize {
        self.file.len() - self.rest.len()
    }

    fn malformed(&self, found: impl Into<String>, expected: &'static str) -> CaptureError {
        CaptureError::Malformed { packet: self.number(), offset: self.offset(), found: found.into(), expected }
    }

    /// Reads one record; `self.rest` still begins with it, so that errors name its place.
    fn record<T>(
        &self,
        parse: impl Fn(&'a [u8]) -> IResult<&'a [u8], T, PcapError<&'a [u8]>>,
    ) -> Result<(&'a [u8], T), CaptureError> {
        parse(self.rest).map_err(|error| match error.into() {
            Refused::Incomplete(missing) => {
                CaptureError::Truncated { packet: self.number(), offset: self.offset(), missing }
            }
            Refused::Malformed => self.malformed("a record that cannot be read", "a record of the format"),
        })
    }

    fn push(&mut self, time_ns: u64, link: u32, wire_bytes: u32, bytes: &[u8]) -> Result<(), CaptureError> {
        let packet = self.number();
        let link = LinkType::of(link).ok_or(CaptureError::LinkType { packet, number: link })?;
        if wire_bytes > MAX_WIRE_BYTES {
            return Err(CaptureError::Length { packet, found: wire_bytes });
        }
        if bytes.len() > wire_bytes as usize {
            let found = format!("{} bytes captured of {wire_bytes}", bytes.len());
            return Err(self.malformed(found, "no more bytes captured than on the wire"));
        }
        self.packets.push(Packet { time_ns, link, wire_bytes, bytes: bytes.to_vec() });
        Ok(())
    }
}

fn pcap(file: &[u8]) -> Result<Capture, CaptureError> {
    let (rest, header) = parse_pcap_header(file)
        .map_err(|_| CaptureError::Header { found: format!("{} bytes", file.len()), expected: "24 bytes" })?;
    if header.version_major != 2 {
        let found = format!("version {}.{}", header.version_major, header.version_minor);
        return Err(CaptureError::Header { found, expected: "version 2.4" });
    }
    let mut reader = Reader { file, rest, packets: Vec::new() };
    let parse: ParseFrame = match (header.is_modified_format(), header.is_bigendian()) {
        (true, _) => parse_pcap_frame_modified,
        (false, true) => parse_pcap_frame_be,
        (false, false) => parse_pcap_frame,
    };
    while !reader.rest.is_empty() {
        let (rest, record) = reader.record(parse)?;
        let (fraction, limit) = if header.is_nanosecond_precision() { (1, SECOND as u32) } else { (1000, 1_000_000) };
        if record.ts_usec >= limit {
            return Err(reader.malformed(
                format!("a time with {} parts of {limit} of a second", record.ts_usec),
                "a fraction below one second",
            ));
        }
        let time_ns = u64::from(record.ts_sec) * SECOND + u64::from(record.ts_usec) * fraction;
        reader.push(time_ns, link_number(&header), record.origlen, record.data)?;
        reader.rest = rest;
    }
    Ok(Capture { packets: reader.packets })
}

/// The link type, without the upper bits, which hold the length of a frame check sequence.
const fn link_number(header: &PcapHeader) -> u32 {
    header.network.0 as u32 & 0x0fff_ffff
}

/// The part of the description of an interface that its packets need.
struct Interface {
    link: u32,
    /// 0: no limit.
    snapshot: u32,
    /// Units of time in a second.
    resolution: u64,
    /// Seconds added to times.
    offset: i64,
}

fn pcapng(file: &[u8]) -> Result<Capture, CaptureError> {
    let mut reader = Reader { file, rest: file, packets: Vec::new() };
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut big_endian = false;
    while !reader.rest.is_empty() {
        check_block(&reader, big_endian)?;
        let (rest, block) = reader.record(if big_endian { parse_block_be } else { parse_block_le })?;
        match block {
            Block::SectionHeader(section) => {
                section_version(&reader, &section)?;
                big_endian = section.big_endian();
                interfaces.clear();
            }
            Block::InterfaceDescription(description) => interfaces.push(interface(&reader, &description)?),
            Block::EnhancedPacket(packet) => enhanced(&mut reader, &interfaces, &packet)?,
            Block::SimplePacket(packet) => simple(&mut reader, &interfaces, &packet)?,
            Block::Unknown(block) if block.block_type == OBSOLETE_PACKET => {
                return Err(reader.malformed("an obsolete Packet Block", "an Enhanced Packet Block"));
            }
            // Statistics, names, secrets and blocks of others hold no packet.
            _ => {}
        }
        reader.rest = rest;
    }
    Ok(Capture { packets: reader.packets })
}

/// A block's length is that of its header at least, so that every block advances.
fn check_block(reader: &Reader<'_>, big_endian: bool) -> Result<(), CaptureError> {
    let Some(head) = reader.rest.first_chunk::<12>() else {
        let missing = 12 - reader.rest.len();
        return Err(CaptureError::Truncated { packet: reader.number(), offset: reader.offset(), missing });
    };
    let is_section = head[..4] == [0x0a, 0x0d, 0x0d, 0x0a];
    let big_endian = if is_section { head[8..12] == [0x1a, 0x2b, 0x3c, 0x4d] } else { big_endian };
    let length: [u8; 4] = head[4..8].try_into().expect("four bytes");
    let length = if big_endian { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) };
    if length < 12 || !length.is_multiple_of(4) {
        return Err(reader.malformed(format!("a block of {length} bytes"), "at least 12 and a multiple of 4"));
    }
    let missing = (length as usize).saturating_sub(reader.rest.len());
    if missing > 0 {
        return Err(CaptureError::Truncated { packet: reader.number(), offset: reader.offset(), missing });
    }
    Ok(())
}

fn section_version(reader: &Reader<'_>, section: &SectionHeaderBlock<'_>) -> Result<(), CaptureError> {
    if section.major_version != 1 {
        let found = format!("a section of version {}.{}", section.major_version, section.minor_version);
        return Err(reader.malformed(found, "version 1.0"));
    }
    Ok(())
}

fn interface(reader: &Reader<'_>, found: &InterfaceDescriptionBlock<'_>) -> Result<Interface, CaptureError> {
    // The upper bit distinguishes powers of 2 from powers of 10 (draft-ietf-opsawg-pcapng, section 4.2).
    let power = u32::from(found.if_tsresol & 0x7f);
    let resolution = if found.if_tsresol & 0x80 == 0 { 10_u64.checked_pow(power) } else { 1_u64.checked_shl(power) };
    let resolution = resolution.ok_or_else(|| {
        reader.malformed(format!("a time resolution of {:#04x}", found.if_tsresol), "10^-19 to 1 or 2^-63 to 1 seconds")
    })?;
    Ok(Interface { link: found.linktype.0 as u32, snapshot: found.snaplen, resolution, offset: found.ts_offset() })
}

fn enhanced(
    reader: &mut Reader<'_>,
    interfaces: &[Interface],
    packet: &EnhancedPacketBlock<'_>,
) -> Result<(), CaptureError> {
    let interface = interfaces.get(packet.if_id as usize).ok_or_else(|| {
        reader.malformed(format!("interface {} of {}", packet.if_id, interfaces.len()), "a described interface")
    })?;
    let bytes = packet.data.get(..packet.caplen as usize).ok_or_else(|| {
        let found = format!("{} bytes captured in a block with {}", packet.caplen, packet.data.len());
        reader.malformed(found, "captured bytes inside the block")
    })?;
    let units = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
    let since = (units * u128::from(SECOND) / u128::from(interface.resolution)) as i128;
    let time = since + i128::from(interface.offset) * i128::from(SECOND);
    let time_ns = u64::try_from(time)
        .map_err(|_| reader.malformed(format!("a time of {time} ns"), "a time from 1970 to 2554"))?;
    reader.push(time_ns, interface.link, packet.origlen, bytes)
}

fn simple(
    reader: &mut Reader<'_>,
    interfaces: &[Interface],
    packet: &SimplePacketBlock<'_>,
) -> Result<(), CaptureError> {
    let Some(interface) = interfaces.first() else {
        return Err(reader.malformed("a Simple Packet Block without an interface", "a described interface"));
    };
    let limit = if interface.snapshot == 0 { u32::MAX } else { interface.snapshot };
    let captured = packet.origlen.min(limit) as usize;
    let bytes = packet.data.get(..captured).ok_or_else(|| {
        let found = format!("{captured} bytes captured in a block with {}", packet.data.len());
        reader.malformed(found, "captured bytes inside the block")
    })?;
    // Simple packets have no time: they keep that of the packet before.
    let time_ns = reader.packets.last().map_or(0, |before| before.time_ns);
    reader.push(time_ns, interface.link, packet.origlen, bytes)
}
