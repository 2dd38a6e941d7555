// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The checks of link and network headers, and forwarding (RFC 1812, section 5.2; RFC 8200).

use std::net::{Ipv4Addr, Ipv6Addr};

use mb_netproc::contract::PacketDecision;

use crate::routes::Lookup;

/// Reasons of drops (`NP_DROP_*`).
const TRUNCATED: u8 = 2;
const TYPE: u8 = 5;
const HEADER: u8 = 6;
const CHECKSUM: u8 = 7;
const TIME_TO_LIVE: u8 = 8;
const NO_ROUTE: u8 = 9;

/// The network header of a frame that SPINE gives to a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkHeader {
    /// Its first byte in the frame.
    pub offset: usize,
    /// Whether it is that of IPv4.
    pub is_v4: bool,
}

/// Finds the network header behind at most two VLAN tags and an IEEE 802.2 header.
///
/// # Errors
/// The reason of the drop.
pub fn admit(frame: &[u8]) -> Result<NetworkHeader, u8> {
    let half = |at: usize| frame.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]])).ok_or(TRUNCATED);
    let mut at = 14;
    let mut ether_type = half(at - 2)?;
    for tag in 0.. {
        if ![0x8100, 0x88a8].contains(&ether_type) {
            break;
        }
        if tag == 2 {
            return Err(TYPE);
        }
        at += 4;
        ether_type = half(at - 2)?;
    }
    if ether_type <= 1500 {
        // The subnetwork access protocol with organisation 0 (RFC 1042).
        let header = frame.get(at..at + 8).ok_or(TRUNCATED)?;
        if header[..6] != [0xaa, 0xaa, 3, 0, 0, 0] {
            return Err(TYPE);
        }
        ether_type = u16::from_be_bytes([header[6], header[7]]);
        at += 8;
    }
    let network = &frame[at..];
    let (is_v4, header, total) = match ether_type {
        0x0800 => {
            let header = network.get(..20).ok_or(TRUNCATED)?;
            (true, usize::from(header[0] & 15) * 4, usize::from(u16::from_be_bytes([header[2], header[3]])))
        }
        0x86dd => {
            let header = network.get(..40).ok_or(TRUNCATED)?;
            (false, 40, 40 + usize::from(u16::from_be_bytes([header[4], header[5]])))
        }
        _ => return Err(TYPE),
    };
    let version = if is_v4 { 4 } else { 6 };
    if network[0] >> 4 != version || header < 20 || total < header {
        return Err(HEADER);
    }
    if total > network.len() {
        return Err(TRUNCATED);
    }
    Ok(NetworkHeader { offset: at, is_v4 })
}

/// The decision that IP-FORWARD must make, and the frame that it must leave in the buffer.
#[must_use]
pub fn forward(frame: &[u8], network: NetworkHeader, routes: &Lookup) -> (PacketDecision, Vec<u8>) {
    let mut after = frame.to_vec();
    let header = &mut after[network.offset..];
    let next_hop = if network.is_v4 {
        let length = usize::from(header[0] & 15) * 4;
        if checksum(&header[..length]) != 0 {
            return (PacketDecision::Drop(CHECKSUM), after);
        }
        routes.next_hop(Ipv4Addr::from([header[16], header[17], header[18], header[19]]))
    } else {
        let address: [u8; 16] = std::array::from_fn(|index| header[24 + index]);
        routes.next_hop6(Ipv6Addr::from(address))
    };
    let hops = if network.is_v4 { 8 } else { 7 };
    if header[hops] <= 1 {
        return (PacketDecision::Drop(TIME_TO_LIVE), after);
    }
    let Some(next_hop) = next_hop else { return (PacketDecision::Drop(NO_ROUTE), after) };
    header[hops] -= 1;
    if network.is_v4 {
        let length = usize::from(header[0] & 15) * 4;
        header[10..12].fill(0);
        let sum = checksum(&header[..length]);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    (PacketDecision::Forward(next_hop), after)
}

/// The Internet checksum (RFC 1071); 0 over a header that contains the right one.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
