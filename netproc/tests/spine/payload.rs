// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MD5 and 3DES of payloads: known answers of the standards, and every length against the crates
//! `md-5` and `des`.

use std::fmt::Write as _;

use des::TdesEde3;
use des::cipher::{Block, BlockCipherEncrypt, KeyInit};
use mb_core::random::Random;
use mb_netproc::spine::Spine;
use md5::{Digest, Md5};

use crate::contract::{Config, app, verdict};
use crate::frames::{Ipv4, Segment, TCP, UDP, ethernet, ipv6, udp};
use crate::machine::{Completed, run};

/// Both builds; their results are equal.
const BUILDS: [Spine; 2] = [Spine::Plain, Spine::BitManipulation];

fn datagrams(payloads: &[Vec<u8>]) -> impl Iterator<Item = Vec<u8>> {
    payloads.iter().map(|payload| Ipv4::new([1, 2, 3, 4], [5, 6, 7, 8], UDP).frame(&udp(9, 10, payload)))
}

/// What UDP carries in a reported packet without options.
fn payload(packet: &Completed, bytes: usize) -> &[u8] {
    &packet.frame[14 + 20 + 8..][..bytes]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Encrypts in cipher block chaining; the rest of a block is combined with the encryption of the
/// last cipher block.
fn encrypt(keys: &[u8; 24], iv: [u8; 8], text: &[u8]) -> Vec<u8> {
    let cipher = TdesEde3::new(keys.into());
    let (mut chain, mut out) = (iv, Vec::new());
    let encrypted = |chain: [u8; 8]| {
        let mut block = Block::<TdesEde3>::from(chain);
        cipher.encrypt_block(&mut block);
        <[u8; 8]>::from(block)
    };
    for block in text.chunks(8) {
        if block.len() == 8 {
            chain = encrypted(std::array::from_fn(|i| chain[i] ^ block[i]));
            out.extend(chain);
        } else {
            let mask = encrypted(chain);
            out.extend(block.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
        }
    }
    out
}

#[test]
fn digests_are_those_of_rfc_1321() {
    let suite = [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ];
    let payloads = suite.map(|(text, _)| text.as_bytes().to_vec());
    for build in BUILDS {
        let machine = run(build, &Config::of(app::MD5), 1, datagrams(&payloads));
        for (packet, (_, digest)) in machine.by_number().iter().zip(suite) {
            assert_eq!((packet.verdict, hex(&packet.result)), (verdict::FORWARD, digest.to_owned()));
        }
    }
}

#[test]
fn digests_of_all_lengths_and_alignments_equal_those_of_md_5() {
    let mut random = Random::of(2, &[]);
    let text: Vec<u8> = (0..1500).map(|_| random.next() as u8).collect();
    let mut frames = Vec::new();
    let mut expected: Vec<[u8; 16]> = Vec::new();
    for length in (0..200).chain([511, 512, 513, 1400]) {
        frames.push(Ipv4::new([1, 2, 3, 4], [5, 6, 7, 8], UDP).frame(&udp(9, 10, &text[..length])));
        expected.push(Md5::digest(&text[..length]).into());
    }
    for length in 0..70 {
        // An IPv6 extension header (destination options, 8 bytes), then TCP with options.
        let segment = Segment { options: vec![1; 12], ..Segment::new(1, 2, 16, &text[..length]) };
        let upper = [vec![TCP, 0, 1, 4, 0, 0, 0, 0], segment.bytes()].concat();
        frames.push(ethernet(&[(0x8100, 5)], 0x86dd, &ipv6(1, 2, 60, &upper)));
        expected.push(Md5::digest(&text[..length]).into());
    }
    for length in 0..70 {
        // An unknown protocol: the payload is what IP carries.
        frames.push(Ipv4::new([1, 2, 3, 4], [5, 6, 7, 8], 99).frame(&text[..length]));
        expected.push(Md5::digest(&text[..length]).into());
    }
    for build in BUILDS {
        let machine = run(build, &Config::of(app::MD5), 3, frames.clone());
        for (packet, expected) in machine.by_number().iter().zip(&expected) {
            assert_eq!(packet.result, expected, "packet {}", packet.number);
        }
    }
}

/// NIST SP 800-67 appendix B.1 has these keys and blocks (ECB); a payload of one block with
/// initialisation vector 0 is one block of ECB.
#[test]
fn blocks_are_those_of_nist_sp_800_67() {
    let blocks = [
        ("5468652071756663", "a826fd8ce53b855f"),
        ("6b2062726f776e20", "cce21c8112256fe6"),
        ("666f78206a756d70", "68d5c05dd9b6b900"),
    ];
    let bytes = |text: &str| -> Vec<u8> {
        (0..8).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal digits")).collect()
    };
    let payloads = blocks.map(|(plain, _)| bytes(plain));
    let config = Config { des_iv: [0; 8], ..Config::of(app::TRIPLE_DES) };
    for build in BUILDS {
        let machine = run(build, &config, 1, datagrams(&payloads));
        for (packet, (_, cipher)) in machine.by_number().iter().zip(blocks) {
            assert_eq!(hex(payload(packet, 8)), cipher);
        }
    }
}

#[test]
fn ciphertext_of_all_lengths_equals_that_of_des() {
    let mut random = Random::of(4, &[]);
    let payloads: Vec<Vec<u8>> =
        (0..64).chain([1000, 1400]).map(|length| (0..length).map(|_| random.next() as u8).collect()).collect();
    for build in BUILDS {
        for seed in 0..4 {
            let des_keys = std::array::from_fn(|_| random.next() as u8);
            let des_iv = std::array::from_fn(|_| random.next() as u8);
            let config = Config { des_keys, des_iv, ..Config::of(app::TRIPLE_DES) };
            let machine = run(build, &config, seed, datagrams(&payloads));
            for (packet, plain) in machine.by_number().iter().zip(&payloads) {
                assert_eq!(hex(payload(packet, plain.len())), hex(&encrypt(&des_keys, des_iv, plain)));
            }
        }
    }
}
