// SPDX-License-Identifier: Apache-2.0 OR MIT
//! pcap and pcapng files: what is written is read, and damaged files are refused with the packet's number.

use mb_packets::capture::MAX_WIRE_BYTES;
use mb_packets::read::read;
use mb_packets::write::write;
use mb_packets::{Capture, LinkType, Packet};
use proptest::prelude::*;

/// Three packets of Ethernet; the second is snapped to 20 of 60 bytes.
fn three() -> Capture {
    let packet = |time_ns, captured: usize, wire_bytes| Packet {
        time_ns,
        link: LinkType::Ethernet,
        wire_bytes,
        bytes: (0..captured as u8).collect(),
    };
    Capture { packets: vec![packet(5, 60, 60), packet(1_000_000_007, 20, 60), packet(2_999_999_999, 64, 64)] }
}

/// A pcap file with one packet of `captured` bytes.
fn pcap(magic: u32, link: u32, fraction: u32, captured: u32, wire: u32, big: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = word(magic).to_vec();
    file.extend(half(2));
    file.extend(half(4));
    for field in [0, 0, 65535, link, 1, fraction, captured, wire] {
        file.extend(word(field));
    }
    file.extend(std::iter::repeat_n(0x45, captured as usize));
    file
}

/// A block of pcapng, padded.
fn block(kind: u32, body: &[u8], big: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let length = 12 + body.len().next_multiple_of(4) as u32;
    let mut bytes = [word(kind), word(length)].concat();
    bytes.extend_from_slice(body);
    bytes.resize(length as usize - 4, 0);
    bytes.extend(word(length));
    bytes
}

/// A section with one interface; `resolution` is the option `if_tsresol`.
fn section(link: u16, snapshot: u32, resolution: u8, big: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let head = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let options = [&half(9)[..], &half(1), &[resolution, 0, 0, 0], &half(0), &half(0)].concat();
    let interface = [&half(link)[..], &half(0), &word(snapshot), &options].concat();
    [block(0x0a0d_0d0a, &head, big), block(1, &interface, big)].concat()
}

/// An Enhanced Packet Block.
fn enhanced(interface: u32, time: u64, wire: u32, bytes: &[u8], big: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let fields = [interface, (time >> 32) as u32, time as u32, bytes.len() as u32, wire];
    let mut body: Vec<u8> = fields.into_iter().flat_map(word).collect();
    body.extend_from_slice(bytes);
    block(6, &body, big)
}

fn refused(file: &[u8]) -> String {
    read(file).unwrap_err().to_string()
}

#[test]
fn a_written_capture_is_read_back_and_snapped_packets_are_counted() {
    let capture = three();
    assert_eq!(read(&write(&capture).unwrap()), Ok(capture.clone()));
    assert_eq!(capture.snapped(), 1);
    assert_eq!(read(&write(&Capture::default()).unwrap()), Ok(Capture::default()));
}

#[test]
fn every_truncation_names_the_packet() {
    let file = write(&three()).unwrap();
    // Records end here: a header of 24 bytes, and 16 before each packet.
    let ends = [24, 24 + 76, 24 + 76 + 36, 24 + 76 + 36 + 80];
    assert_eq!(file.len(), ends[3]);
    for length in 0..file.len() {
        let found = read(&file[..length]);
        if let Some(packets) = ends.iter().position(|end| *end == length) {
            assert_eq!(found.unwrap().packets, three().packets[..packets]);
            continue;
        }
        let message = found.unwrap_err().to_string();
        let expected = match length {
            0..4 => format!("found {length} bytes at the beginning; expected a pcap or pcapng file"),
            4..24 => format!("file header: found {length} bytes; expected 24 bytes"),
            _ => {
                let packet = ends.iter().filter(|end| **end < length).count();
                format!("packet {packet}: the file ends ")
            }
        };
        assert!(message.starts_with(&expected), "{length}: {message}");
    }
}

#[test]
fn both_byte_orders_and_resolutions_are_read() {
    for (magic, fraction, expected) in [(0xa1b2_c3d4, 250, 1_000_250_000), (0xa1b2_3c4d, 250, 1_000_000_250)] {
        for big in [false, true] {
            let capture = read(&pcap(magic, 1, fraction, 14, 14, big)).unwrap();
            assert_eq!(capture.packets[0].time_ns, expected, "{magic:#x} {big}");
        }
    }
    for big in [false, true] {
        // 10^-6 and 2^-10 seconds.
        for (resolution, time, expected) in [(6, 3_000_001, 3_000_001_000), (0x8a, 512, 500_000_000)] {
            let file = [section(1, 0, resolution, big), enhanced(0, time, 20, &[7; 17], big)].concat();
            let packet = Packet { time_ns: expected, link: LinkType::Ethernet, wire_bytes: 20, bytes: vec![7; 17] };
            assert_eq!(read(&file), Ok(Capture { packets: vec![packet] }));
        }
    }
}

#[test]
fn simple_packets_have_the_bytes_of_the_snapshot_length() {
    let body = [&70_u32.to_le_bytes()[..], &[9; 32]].concat();
    let file = [section(101, 30, 6, false), block(3, &body, false)].concat();
    let packet = Packet { time_ns: 0, link: LinkType::Raw, wire_bytes: 70, bytes: vec![9; 30] };
    assert_eq!(read(&file), Ok(Capture { packets: vec![packet] }));
}

#[test]
fn sections_have_their_own_interfaces_and_byte_orders() {
    let packet = [0x45; 20];
    let file = [
        section(101, 0, 6, true),
        enhanced(0, 1, 20, &packet, true),
        // An unknown block and statistics are passed over.
        block(0x0bad, &[1, 2, 3, 4], true),
        section(228, 0, 6, false),
        enhanced(0, 2, 20, &packet, false),
    ]
    .concat();
    let links: Vec<_> = read(&file).unwrap().packets.iter().map(|packet| packet.link).collect();
    assert_eq!(links, [LinkType::Raw, LinkType::Ipv4]);
}

#[test]
fn damaged_files_are_refused_with_the_place() {
    assert_eq!(
        refused(b"GIF89a"),
        "found the bytes 47 49 46 38 at the beginning; expected a pcap or pcapng file; capture with `tcpdump -w` or convert with \
         `editcap`"
    );
    assert_eq!(
        refused(&pcap(0xa1b2_c3d4, 105, 0, 14, 14, false)),
        "packet 1: found link type 105; expected 0 (BSD loopback), 1 (Ethernet), 101, 228 or 229 (raw IP), 108 (OpenBSD \
         loopback), 113 or 276 (Linux cooked); capture on another interface"
    );
    assert_eq!(
        refused(&pcap(0xa1b2_c3d4, 1, 0, 14, MAX_WIRE_BYTES + 1, false)),
        "packet 1: found 262145 bytes on the wire; expected at most 262144; the file is damaged"
    );
    assert_eq!(
        refused(&pcap(0xa1b2_c3d4, 1, 0, 14, 13, true)),
        "packet 1: found 14 bytes captured of 13, 24 bytes from the start of the file; expected no more bytes captured than \
         on the wire; the file is damaged"
    );
    assert_eq!(
        refused(&pcap(0xa1b2_c3d4, 1, 1_000_000, 14, 14, false)),
        "packet 1: found a time with 1000000 parts of 1000000 of a second, 24 bytes from the start of the file; expected a \
         fraction below one second; the file is damaged"
    );
    let described = section(1, 0, 6, false);
    assert_eq!(
        refused(&[described.clone(), enhanced(1, 0, 14, &[0; 14], false)].concat()),
        format!(
            "packet 1: found interface 1 of 1, {} bytes from the start of the file; expected a described interface; the file \
             is damaged",
            described.len()
        )
    );
    let mut short = [described.clone(), enhanced(0, 0, 14, &[0; 14], false)].concat();
    short[described.len() + 20] = 200;
    assert!(refused(&short).contains("packet 1: "), "{}", refused(&short));
    let mut zero = described.clone();
    zero.extend_from_slice(&[6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(refused(&zero).contains("a block of 0 bytes"), "{}", refused(&zero));
    assert!(refused(&[section(1, 0, 6, false), block(2, &[0; 20], false)].concat()).contains("obsolete Packet Block"));
    assert!(refused(&section(1, 0, 90, false)).contains("a time resolution of 0x5a"));
}

#[test]
fn packets_of_several_link_types_are_not_written() {
    let mut capture = three();
    capture.packets[2].link = LinkType::Raw;
    assert_eq!(
        write(&capture).unwrap_err().to_string(),
        "packet 3: found link type 101; expected 1, that of the first packet: a pcap file has one; convert to Ethernet frames"
    );
}

#[test]
fn every_link_type_becomes_an_ethernet_frame() {
    let datagram = [0x45, 1, 2, 3];
    let cases: [(LinkType, Vec<u8>, [u8; 6], u16); 9] = [
        (LinkType::Raw, vec![], [0; 6], 0x0800),
        (LinkType::Ipv4, vec![], [0; 6], 0x0800),
        (LinkType::Ipv6, vec![], [0; 6], 0x86dd),
        (LinkType::Null, vec![2, 0, 0, 0], [0; 6], 0x0800),
        (LinkType::Null, vec![0, 0, 0, 30], [0; 6], 0x86dd),
        (LinkType::Loop, vec![0, 0, 0, 24], [0; 6], 0x86dd),
        (LinkType::LinuxCooked, vec![0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0], [1, 2, 3, 4, 5, 6], 0x0800),
        // The address is longer than Ethernet's.
        (LinkType::LinuxCooked, vec![0, 0, 0, 1, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 8, 0], [0; 6], 0x0800),
        (
            LinkType::LinuxCooked2,
            vec![0x86, 0xdd, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0],
            [1, 2, 3, 4, 5, 6],
            0x86dd,
        ),
    ];
    for (link, header, source, ether_type) in cases {
        let bytes = [&header[..], &datagram].concat();
        // Two bytes of the wire are not in the capture.
        let packet = Packet { time_ns: 0, link, wire_bytes: bytes.len() as u32 + 2, bytes };
        let expected = [&[0; 6][..], &source, &ether_type.to_be_bytes(), &datagram, &[0, 0]].concat();
        assert_eq!(packet.frame(1).unwrap(), expected, "{link:?}");
        assert_eq!(LinkType::of(link.number()), Some(link));
        for length in 0..link.header_bytes().max(1) {
            let cut = Packet { bytes: packet.bytes[..length].to_vec(), ..packet.clone() };
            let message = cut.frame(7).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("packet 7: found {length} bytes captured; expected at least ")),
                "{message}"
            );
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for start in [&[][..], &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0], &[0x0a, 0x0d, 0x0d, 0x0a]] {
            let _ = read(&[start, &bytes].concat());
        }
    }

    #[test]
    fn a_changed_byte_is_read_or_refused(at in 0_usize..1000, value in any::<u8>(), big in any::<bool>()) {
        let mut file = [section(1, 0, 6, big), enhanced(0, 1, 60, &[3; 60], big)].concat();
        let at = at % file.len();
        file[at] = value;
        if let Ok(capture) = read(&file) {
            for (index, packet) in capture.packets.iter().enumerate() {
                let _ = packet.frame(index + 1);
            }
        }
    }
}
