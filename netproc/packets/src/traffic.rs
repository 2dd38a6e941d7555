// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Generated traffic: a mix of applications in bursts, with packet sizes and HTTP connections.
//!
//! A burst is a run of packets of one application. Its length is geometric with the mean that the caller gives, and
//! the application changes only between bursts, so that the source is Markov-modulated by application. The shares of
//! the mix are exact: a random process of 2,000 packets with bursts of 32 would miss a share of 8 % by a third, and
//! the comparison of two architectures would depend on the seed.
//! Packets of HTTPMON belong to connections, each with handshake, requests, responses and end.

mod build;
mod http;
mod parameters;

use mb_core::random::Random;
use mb_netproc::contract::Application;

use crate::capture::{Capture, LinkType, Packet};
use crate::filters::{FilterSet, FilteredService};
use crate::routes::RouteTable;
use build::{Endpoints, Segment};
use http::Connections;
pub use parameters::{Mix, Sizes, TrafficParameters};

/// Generates a capture of Ethernet frames from `seed`. Ports select the applications by `filters`; destinations are
/// in the prefixes of `routes`.
///
/// # Errors
/// The name of an application that has a share and that no filter selects.
pub fn generate(
    parameters: &TrafficParameters,
    filters: &FilterSet,
    routes: &RouteTable,
    seed: u64,
) -> Result<Capture, Application> {
    let order = applications(parameters, &mut Random::of(seed, &[1]));
    let mut random = Random::of(seed, &[2]);
    let mut sources = Sources::new(parameters, filters, routes, &mut random);
    let mut capture = Capture::default();
    let mut time_ns = 0;
    for application in order {
        let bytes = sources.next(application, &mut random)?;
        capture.packets.push(Packet { time_ns, link: LinkType::Ethernet, wire_bytes: bytes.len() as u32, bytes });
        time_ns += gap(parameters.rate, &mut random);
    }
    Ok(capture)
}

/// Nanoseconds to the next packet, exponential with the mean that belongs to `rate`.
fn gap(rate: u64, random: &mut Random) -> u64 {
    // 53 bits, never 0, so that the logarithm is finite.
    let uniform = ((random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    (-uniform.ln() * 1e9 / rate as f64) as u64
}

/// The application of each packet: bursts of geometric lengths in random order, with exact shares.
fn applications(parameters: &TrafficParameters, random: &mut Random) -> Vec<Application> {
    let mut bursts: Vec<(Application, usize)> = Vec::new();
    let mut given = 0;
    let mut percent = 0;
    for (&application, share) in Application::PAPER.iter().zip(parameters.mix.shares()) {
        percent += share;
        // Rounded cumulatively, so that the shares add up to all packets.
        let end = (parameters.packets as u64 * percent / 100) as usize;
        let mut left = end - given;
        given = end;
        while left > 0 {
            let mut length = 1;
            // Geometric: a burst ends after each of its packets with the probability 1 / mean.
            while length < left && random.below(parameters.mean_burst) != 0 {
                length += 1;
            }
            bursts.push((application, length));
            left -= length;
        }
    }
    random.shuffle(&mut bursts);
    bursts.iter().flat_map(|&(application, length)| std::iter::repeat_n(application, length)).collect()
}

/// Where packets of each application come from.
struct Sources<'a> {
    parameters: &'a TrafficParameters,
    /// Services that filters map to each application.
    services: [Vec<FilteredService>; 4],
    /// Flows of each application but HTTPMON.
    flows: [Vec<Endpoints>; 4],
    connections: Connections<'a>,
}

impl<'a> Sources<'a> {
    fn new(
        parameters: &'a TrafficParameters,
        filters: &FilterSet,
        routes: &'a RouteTable,
        random: &mut Random,
    ) -> Self {
        let services = Application::PAPER.map(|application| filters.services(application));
        let flows = std::array::from_fn(|index| {
            if services[index].is_empty() || Application::PAPER[index] == Application::HttpMon {
                return Vec::new();
            }
            (0..parameters.flows)
                .map(|_| Endpoints::random(parameters, random.pick(&services[index]), routes, random))
                .collect()
        });
        Self { parameters, services, flows, connections: Connections::new(parameters, routes) }
    }

    fn next(&mut self, application: Application, random: &mut Random) -> Result<Vec<u8>, Application> {
        let index = application as usize - Application::PAPER[0] as usize;
        if self.services[index].is_empty() {
            return Err(application);
        }
        if application == Application::HttpMon {
            return Ok(self.connections.next(&self.services[index], random));
        }
        let flow = &self.flows[index][random.below(self.flows[index].len() as u64) as usize];
        let length = self.parameters.sizes.draw(application, self.parameters.datagram_bytes, random);
        let payload = build::random_bytes(length.saturating_sub(flow.header_bytes(0)), random);
        let segment =
            Segment { sequence: random.next() as u32, acknowledge: Some(random.next() as u32), ..Segment::default() };
        Ok(flow.frame(&segment, &payload))
    }
}
