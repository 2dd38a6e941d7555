// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets of filters, and the application that they select for a packet.

use std::net::IpAddr;

use mb_core::random::Random;
use mb_netproc::contract::{ANY_PORT, Application, Filter};

use crate::headers::Headers;
pub use crate::headers::{TCP, UDP};

/// A server's protocol and port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FilteredService {
    /// Protocol number.
    pub protocol: u8,
    /// Port.
    pub port: u16,
}

impl FilteredService {
    /// The filters of packets to and from the service.
    #[must_use]
    pub const fn filters(self, application: Application) -> [Filter; 2] {
        let any = Filter { protocol: Some(self.protocol), ..Filter::any(application) };
        let ports = (self.port, self.port);
        [Filter { destination_ports: ports, ..any }, Filter { source_ports: ports, ..any }]
    }
}

/// The services of the scenarios: the web, the terminal sessions, mail in both directions. With two filters each they
/// are the 8 filters on protocol and port of crowley2000, section 4.2, which names HTTP, telnet and SMTP.
const SERVICES: [(FilteredService, Application); 4] = [
    (FilteredService { protocol: TCP, port: 80 }, Application::HttpMon),
    (FilteredService { protocol: TCP, port: 23 }, Application::IpForward),
    (FilteredService { protocol: TCP, port: 25 }, Application::TripleDes),
    (FilteredService { protocol: TCP, port: 110 }, Application::Md5),
];

/// Filters in the order in which they apply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterSet {
    filters: Vec<Filter>,
}

impl FilterSet {
    /// `count` filters: those of the scenarios, and then filters on other ports that forward, drawn from `seed`. All
    /// are different.
    ///
    /// # Panics
    /// `count` is above [`Filter::MAX`].
    #[must_use]
    pub fn of_scenarios(count: usize, seed: u64) -> Self {
        assert!(count <= Filter::MAX, "at most {} filters", Filter::MAX);
        let mut filters: Vec<Filter> =
            SERVICES.iter().flat_map(|(service, application)| service.filters(*application)).collect();
        let mut random = Random::of(seed, &[0xf117]);
        while filters.len() < count {
            let service = FilteredService { protocol: random.pick(&[TCP, UDP]), port: random.within(1, 1023) as u16 };
            let [to, from] = service.filters(Application::IpForward);
            let known = |filter: &Filter| {
                filter.protocol == to.protocol
                    && [filter.source_ports, filter.destination_ports].contains(&to.destination_ports)
            };
            if !filters.iter().any(known) {
                filters.extend([to, from]);
            }
        }
        filters.truncate(count);
        Self { filters }
    }

    /// These filters.
    #[must_use]
    pub const fn new(filters: Vec<Filter>) -> Self {
        Self { filters }
    }

    /// The filters.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// The services whose packets the filters map to `application`: filters on one destination port.
    #[must_use]
    pub fn services(&self, application: Application) -> Vec<FilteredService> {
        let of = |filter: &Filter| match (filter.protocol, filter.destination_ports) {
            (Some(protocol @ (TCP | UDP)), (port, last)) if port == last => Some(FilteredService { protocol, port }),
            _ => None,
        };
        self.filters.iter().filter(|filter| filter.application == application).filter_map(of).collect()
    }

    /// The place of the first filter that matches a packet with these headers.
    #[must_use]
    pub fn first(&self, headers: &Headers) -> Option<usize> {
        self.filters.iter().position(|filter| matches(filter, headers))
    }
}

fn matches(filter: &Filter, headers: &Headers) -> bool {
    let bytes = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let version = if headers.source.is_ipv4() { 4 } else { 6 };
    let port_in = |(first, last): (u16, u16), port: Option<u16>| match port {
        Some(port) => (first..=last).contains(&port),
        None => (first, last) == ANY_PORT,
    };
    filter.version.is_none_or(|expected| expected == version)
        && filter.protocol.is_none_or(|expected| expected == headers.protocol)
        && filter.source.covers(&bytes(headers.source))
        && filter.destination.covers(&bytes(headers.destination))
        && port_in(filter.source_ports, headers.ports.map(|(source, _)| source))
        && port_in(filter.destination_ports, headers.ports.map(|(_, destination)| destination))
}
