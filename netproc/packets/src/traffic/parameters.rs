// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of generated traffic.

use mb_core::parameters::Choice;
use mb_core::random::Random;
use mb_netproc::contract::Application;

/// Parameters of generated traffic.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct TrafficParameters {
    /// Packets of the capture.
    #[parameter(range = 1..=10_000_000)]
    pub packets: usize,
    /// Shares of the applications.
    #[parameter]
    pub mix: Mix,
    /// Mean length of a burst: a run of packets of one application.
    #[parameter(range = 1..=100_000)]
    pub mean_burst: u64,
    /// Lengths of datagrams outside of HTTP connections, and of the segments of HTTP responses.
    #[parameter]
    pub sizes: Sizes,
    /// Length of every such datagram in bytes (`sizes` = `fixed`).
    #[parameter(range = 28..=9000)]
    pub datagram_bytes: u64,
    /// HTTP connections that are open at a time.
    #[parameter(range = 1..=100_000)]
    pub connections: usize,
    /// Distinct pairs of addresses and ports outside of HTTP connections.
    #[parameter(range = 1..=1_000_000)]
    pub flows: usize,
    /// Flows and connections of IPv6, per cent.
    #[parameter(range = 0..=100)]
    pub ipv6_percent: u64,
    /// Flows and connections with a VLAN tag, per cent.
    #[parameter(range = 0..=100)]
    pub vlan_percent: u64,
    /// Mean rate in packets per second: times between packets are exponential.
    #[parameter(range = 1..=1_000_000_000)]
    pub rate: u64,
}

impl Default for TrafficParameters {
    fn default() -> Self {
        Self {
            packets: 2000,
            mix: Mix::Router,
            mean_burst: 16,
            sizes: Sizes::Table2,
            datagram_bytes: 256,
            connections: 32,
            flows: 256,
            ipv6_percent: 0,
            vlan_percent: 0,
            rate: 1_000_000,
        }
    }
}

/// Shares of the applications.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Mix {
    /// 56, 29, 7 and 8 per cent IP-FORWARD, HTTPMON, MD5 and 3DES (crowley2000, table 6).
    Router,
    /// 9, 63, 25 and 3 per cent (crowley2000, table 6).
    WebSwitch,
    /// 3, 0, 70 and 27 per cent (crowley2000, table 6).
    Vpn,
    /// IP-FORWARD alone.
    IpForward,
    /// HTTPMON alone.
    #[choice("httpmon")]
    HttpMon,
    /// MD5 alone.
    #[choice("md5")]
    Md5,
    /// 3DES alone.
    #[choice("3des")]
    TripleDes,
}

impl Mix {
    /// Per cent of the packets for each application, in the order of [`Application::PAPER`].
    #[must_use]
    pub const fn shares(self) -> [u64; 4] {
        match self {
            Self::Router => [56, 29, 7, 8],
            Self::WebSwitch => [9, 63, 25, 3],
            Self::Vpn => [3, 0, 70, 27],
            Self::IpForward => [100, 0, 0, 0],
            Self::HttpMon => [0, 100, 0, 0],
            Self::Md5 => [0, 0, 100, 0],
            Self::TripleDes => [0, 0, 0, 100],
        }
    }
}

/// Distributions of datagram lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Sizes {
    /// One length.
    Fixed,
    /// 40, 576 and 1500 bytes in the ratio 7 : 4 : 1, the simple Internet mix of traffic generators.
    Imix,
    /// Uniform from 40 to 1500 bytes.
    Uniform,
    /// MD5 95 to 285 bytes and 3DES 175 to 525 bytes, uniform; the others as `imix`. The means, 190 and 350 bytes, are
    /// those at which code of 10.5 and 115 instructions per byte executes the 2,000 and 40,000 instructions of
    /// crowley2000, table 2: results that rest on those numbers are calibrated.
    Table2,
}

impl Sizes {
    pub(super) fn draw(self, application: Application, fixed: u64, random: &mut Random) -> usize {
        let bytes = match (self, application) {
            (Self::Fixed, _) => fixed,
            (Self::Uniform, _) => random.within(40, 1500),
            (Self::Table2, Application::Md5) => random.within(95, 285),
            (Self::Table2, Application::TripleDes) => random.within(175, 525),
            (Self::Imix | Self::Table2, _) => match random.below(12) {
                0..7 => 40,
                7..11 => 576,
                _ => 1500,
            },
        };
        bytes as usize
    }
}
