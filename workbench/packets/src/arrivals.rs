// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the controller receives, from a capture.

use std::collections::BTreeMap;

use mb_netproc::Arrival;

use crate::capture::{Capture, CaptureError};
use crate::check::key;
use crate::filters::FilterSet;
use crate::headers::Headers;

/// The packets of a capture as frames, with their flows and with the filters that match. Packets without ports are one
/// flow for each pair of hosts; frames without an IP datagram are flow 0.
///
/// # Errors
/// A packet whose link header was not captured.
pub fn arrivals(capture: &Capture, filters: &FilterSet) -> Result<Vec<Arrival>, CaptureError> {
    let mut flows = BTreeMap::new();
    let mut arrivals = Vec::with_capacity(capture.packets.len());
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
        arrivals.push(Arrival { frame, flow, class });
    }
    Ok(arrivals)
}
