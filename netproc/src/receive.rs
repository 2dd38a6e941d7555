// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The firmware of a receive engine as a packet handler of SPINE (`netproc/receive/receive.c`): a packet for each
//! operation.
//!
//! | bytes of the frame | contents |
//! |---|---|
//! | 14 | Ethernet header, type IPv4 |
//! | 20 | IPv4 header without options |
//! | 8 | UDP header |
//! | 4 | zero; they align the descriptor |
//! | 64 | the descriptor ([`layout`]) |

use mb_core::{Op, Outcome};
use mb_processor::Isa;

use mb_firmware::layout::{self, ByteOrder};

/// A committed program: SPINE with the receive firmware as its handler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Receive {
    /// For MPI envelopes.
    Mpi,
    /// With the match function of Hemmert et al. for arrivals.
    Portals,
    /// `Mpi` with a planted fault: operations enter the lists in any order. For tests.
    WithoutTurns,
    /// `Mpi` with a planted fault: operations on both lists at the same time. For tests.
    WithoutKinds,
}

impl Receive {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mpi, Self::Portals, Self::WithoutTurns, Self::WithoutKinds];

    /// The bytes of its ELF file.
    #[must_use]
    pub const fn file(self) -> &'static [u8] {
        match self {
            Self::Mpi => include_bytes!("../elf/netproc_receive.rv64.elf"),
            Self::Portals => include_bytes!("../elf/netproc_receive_portals.rv64.elf"),
            Self::WithoutTurns => include_bytes!("../elf/netproc_receive_without_turns.rv64.elf"),
            Self::WithoutKinds => include_bytes!("../elf/netproc_receive_without_kinds.rv64.elf"),
        }
    }
}

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
const ALIGNMENT: usize = 4;

/// Length of a frame.
pub const FRAME_BYTES: usize = ETHERNET + IPV4 + UDP + ALIGNMENT + layout::BYTES as usize;

/// The frame of an operation. Its addresses are those that RFC 5737 reserves for documentation.
#[must_use]
pub fn frame(op: &Op) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    let (ethernet, rest) = frame.split_at_mut(ETHERNET);
    ethernet.copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00]);
    let length = (rest.len() as u16).to_be_bytes();
    let (ipv4, rest) = rest.split_at_mut(IPV4);
    // Version and header length, type of service, length, identification, do not fragment, time to
    // live, protocol UDP, checksum, addresses.
    ipv4.copy_from_slice(&[0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    let checksum = internet_checksum(ipv4).to_be_bytes();
    ipv4[10..12].copy_from_slice(&checksum);
    let length = (rest.len() as u16).to_be_bytes();
    // Ports 49152, the first of the dynamic ones; no checksum.
    rest[..UDP].copy_from_slice(&[0xc0, 0, 0xc0, 0, length[0], length[1], 0, 0]);
    rest[UDP + ALIGNMENT..].copy_from_slice(&layout::descriptor(ByteOrder(Isa::Rv64), op));
    frame
}

/// The checksum of RFC 1071.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Length of the result of a packet.
pub const RESULT_BYTES: usize = 16;

/// The outcome of an operation by the result of its packet.
#[must_use]
pub fn outcome(op: &Op, result: &[u8; RESULT_BYTES]) -> Outcome {
    let [partner @ .., f0, f1, f2, f3, _, _, _, _] = *result;
    let (partner, found) = (u64::from_le_bytes(partner), u32::from_le_bytes([f0, f1, f2, f3]) != 0);
    layout::outcome_of(op, found.then_some(partner))
}

#[cfg(test)]
mod tests {
    use mb_core::RecvId;

    use super::*;

    #[test]
    fn a_frame_has_valid_headers() {
        let frame = frame(&Op::Cancel { recv: RecvId(7) });
        let ipv4 = &frame[ETHERNET..ETHERNET + IPV4];
        // RFC 1071: over a header with its checksum the result is 0.
        assert_eq!(internet_checksum(ipv4), 0);
        assert_eq!(usize::from(u16::from_be_bytes([ipv4[2], ipv4[3]])), FRAME_BYTES - ETHERNET);
        let udp = &frame[ETHERNET + IPV4..];
        assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), udp.len());
    }

    #[test]
    fn a_result_is_read_as_an_answer() {
        let op = Op::Cancel { recv: RecvId(7) };
        let mut result = [0; RESULT_BYTES];
        assert_eq!(outcome(&op, &result), Outcome::NotCancelled(RecvId(7)));
        result[8] = 1;
        assert_eq!(outcome(&op, &result), Outcome::Cancelled(RecvId(7)));
    }
}
