// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The arrivals at the controller, from a capture.

use std::collections::BTreeMap;

use mb_netproc::Arrival;

use crate::capture::{Capture, CaptureError};
use crate::check::key;
use crate::filters::FilterSet;
use crate::headers::Headers;

/// The packets of a capture as frames, with their flows and with the filters that match. Packets without ports are one
/// flow for each pair of hosts; frames without an IP datagram are flow 0. Time stamps count from the first packet; one
/// that is earlier than that of the packet before becomes equal to it, as a capture of several queues may have them.
///
/// # Errors
/// A packet whose link header was not captured.
pub fn arrivals(capture: &Capture, filters: &FilterSet) -> Result<Vec<Arrival>, CaptureError> {
    let mut flows = BTreeMap::new();
    let mut arrivals = Vec::with_capacity(capture.packets.len());
    let first = capture.packets.first().map_or(0, |packet| packet.time_ns);
    let mut stamp_ns = 0;
    for (number, packet) in (1..).zip(&capture.packets) {
        let frame = packet.frame(number)?.into_owned();
        let headers = Headers::of(&frame);
        let flow = headers.as_ref().map_or(0, |headers| {
            let hosts = || ((headers.source, 0), (headers.destination, 0), headers.protocol);
            let key = key(headers).map_or_else(hosts, |(key, _)| key);
            let next = flows.len() as u32 + 1;
            *flows.entry(key).or_insert(next)
        });
        let class = headers.and_then(|headers| filters.first(&headers)).map(|place| place as u32);
        stamp_ns = packet.time_ns.saturating_sub(first).max(stamp_ns);
        arrivals.push(Arrival { frame, flow, class, stamp_ns });
    }
    Ok(arrivals)
}
