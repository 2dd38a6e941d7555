// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any bytes as a capture: an error, or packets whose frames and headers are inside their bytes.

use mb_packets::{FilterSet, Headers};

/// The magic numbers of the formats; the first byte of the input selects one, so that most inputs pass the first check.
const MAGICS: [&[u8]; 6] = [
    &[],
    &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0],
    &[0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4],
    &[0x34, 0xcd, 0xb2, 0xa1, 2, 0, 4, 0],
    &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
    &[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0],
];

/// Runs the target on an input.
///
/// # Panics
/// The target does not accept the input.
pub fn capture_read(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let file = [MAGICS[usize::from(choice) % MAGICS.len()], rest].concat();
    let Ok(capture) = mb_packets::read::read(&file) else { return };
    assert!(capture.packets.iter().map(|packet| packet.bytes.len()).sum::<usize>() <= file.len());
    let filters = FilterSet::of_scenarios(8, 0);
    for (index, packet) in capture.packets.iter().enumerate() {
        let Ok(frame) = packet.frame(index + 1) else { continue };
        if let Some(headers) = Headers::of(&frame) {
            assert!(headers.payload.end <= frame.len());
            assert!(filters.first(&headers).is_none_or(|place| place < 8));
        }
    }
    if capture.packets.iter().all(is_in_range)
        && let Ok(written) = mb_packets::write::write(&capture)
    {
        assert_eq!(mb_packets::read::read(&written), Ok(capture));
    }
}

/// Whether pcap's 32 bits of seconds hold the time.
fn is_in_range(packet: &mb_packets::Packet) -> bool {
    u32::try_from(packet.time_ns / 1_000_000_000).is_ok()
}
