// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes pcap files: little-endian, version 2.4, nanoseconds.
//!
//! Source: `draft-ietf-opsawg-pcap`, sections 4 and 5.

use crate::capture::{Capture, CaptureError, LinkType, MAX_WIRE_BYTES};

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;

/// The file of a capture. A capture without packets has the link type Ethernet.
///
/// # Errors
/// The packets have several link types.
pub fn write(capture: &Capture) -> Result<Vec<u8>, CaptureError> {
    let link = capture.packets.first().map_or(LinkType::Ethernet, |first| first.link);
    if let Some(at) = capture.packets.iter().position(|packet| packet.link != link) {
        let found = capture.packets[at].link.number();
        return Err(CaptureError::Mixed { packet: at + 1, found, expected: link.number() });
    }
    let bytes: usize = capture.packets.iter().map(|packet| 16 + packet.bytes.len()).sum();
    let mut file = Vec::with_capacity(24 + bytes);
    file.extend_from_slice(&MAGIC_NANOSECONDS.to_le_bytes());
    file.extend_from_slice(&2_u16.to_le_bytes());
    file.extend_from_slice(&4_u16.to_le_bytes());
    // Time zone and accuracy are always 0.
    file.extend_from_slice(&[0; 8]);
    file.extend_from_slice(&MAX_WIRE_BYTES.to_le_bytes());
    file.extend_from_slice(&link.number().to_le_bytes());
    for packet in &capture.packets {
        let seconds = (packet.time_ns / 1_000_000_000) as u32;
        let nanoseconds = (packet.time_ns % 1_000_000_000) as u32;
        for field in [seconds, nanoseconds, packet.bytes.len() as u32, packet.wire_bytes] {
            file.extend_from_slice(&field.to_le_bytes());
        }
        file.extend_from_slice(&packet.bytes);
    }
    Ok(file)
}
