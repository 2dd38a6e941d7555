// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network between ranks: `LogGP` parameters with their sources.
//!
//! ```text
//!  sender's CPU   |--o_s--|
//!  sender's NIC           |inject: max(gap, bytes * per_byte)|
//!  wire                   |------latency------|
//!  receiver's NIC                             |header: the engine starts| ... bytes * per_byte |data there|
//!  receiver's CPU                                                         completion |--o_r--|
//! ```
//!
//! Up to `eager_limit` bytes travel with the header. Larger (and synchronous) messages send a header alone; when the
//! receiver's engine has matched it, a reply crosses back, then the data. NICs do this without their hosts
//! (not modelled: protocols that need the sender's CPU to notice the reply). Topology and
//! contention inside the network are not modelled; contention at both NICs is.
//!
//! Model: Alexandrov, Ionescu, Schauser, Scheiman, "`LogGP`", SPAA 1995.

use mb_core::{ParameterError, ParameterSet, Parameters, Picos, Source, Sourced, names};

/// Parameters of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
#[parameters(sourced = SourcedNetworkParameters)]
pub struct NetworkParameters {
    /// From the sender's NIC to the receiver's, for the first byte.
    #[parameter(range = 1..=1_000_000_000)]
    pub latency: Picos,
    /// CPU time of the sender per message.
    #[parameter(range = 0..=1_000_000_000)]
    pub send_overhead: Picos,
    /// CPU time of the receiver per completed receive.
    #[parameter(range = 0..=1_000_000_000)]
    pub recv_overhead: Picos,
    /// Smallest distance between two messages at one NIC.
    #[parameter(range = 0..=1_000_000_000)]
    pub gap: Picos,
    /// Time per byte at a NIC, the inverse of its bandwidth.
    #[parameter(range = 0..=1_000_000)]
    pub per_byte: Picos,
    /// Time per byte to copy an unexpected eager message to its receive's buffer.
    #[parameter(range = 0..=1_000_000)]
    pub copy_per_byte: Picos,
    /// Largest message, in bytes, that travels with its header.
    #[parameter(range = 0..=u64::MAX)]
    pub eager_limit: u64,
}

/// A network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Name of the preset it began as.
    pub name: String,
    /// The parameters with their sources.
    pub parameters: ParameterSet,
}

/// A named set of parameters.
#[derive(Clone, Copy, Debug)]
pub struct NetworkPreset {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    parameters: fn() -> SourcedNetworkParameters,
}

const SLINGSHOT_PAPER: &str = "De Sensi et al., An In-Depth Analysis of the Slingshot Interconnect, SC 2020";
const SHM_MEASURED: &str = "half of the 200 ns one way of a zero-depth ping-pong of Open MPI 5.0.11 over UCX shared memory, where no wire \
     adds to it (software peers, anchors of part A.0)";

/// A default of `LogGOPSim`.
const fn default<T>(value: T) -> Sourced<T> {
    Sourced::paper(
        value,
        "LogGOPSim, HPDC 2010, and its source",
        "default parameters L 2500, o 1500, g 1000, G 6, S 65535",
    )
}

/// Every network preset; the first is the default.
pub const NETWORKS: &[NetworkPreset] = &[
    NetworkPreset {
        name: "slingshot",
        summary: "A present-day HPC fabric: 200 Gb/s ports, three switch traversals.",
        parameters: || SourcedNetworkParameters {
            latency: Sourced::paper(
                Picos::from_ns(1050),
                SLINGSHOT_PAPER,
                "section II: 350 ns per switch; three switches on a minimal global path",
            ),
            send_overhead: Sourced::measured(Picos::from_ns(100), SHM_MEASURED),
            recv_overhead: Sourced::measured(Picos::from_ns(100), SHM_MEASURED),
            gap: Sourced::assumed(
                Picos::from_ns(5),
                "200 M messages/s per NIC; published message rates of current NICs are of this order",
            ),
            per_byte: Sourced::paper(Picos(40), SLINGSHOT_PAPER, "section II: 200 Gb/s per port and direction"),
            copy_per_byte: Sourced::assumed(Picos(100), "10 GB/s, one core copying from memory"),
            eager_limit: Sourced::assumed(16_384, "common default of MPI libraries on current fabrics: 8 to 64 KiB"),
        },
    },
    NetworkPreset {
        name: "papers200",
        summary: "The 200 ns network of the papers' simulations, otherwise as slingshot.",
        parameters: || SourcedNetworkParameters {
            latency: Sourced::paper(Picos::from_ns(200), "xiong2018", "evaluation: simulated network of 200 ns"),
            send_overhead: Sourced::measured(Picos::from_ns(100), SHM_MEASURED),
            recv_overhead: Sourced::measured(Picos::from_ns(100), SHM_MEASURED),
            gap: Sourced::assumed(Picos::from_ns(5), "as slingshot"),
            per_byte: Sourced::paper(Picos(40), SLINGSHOT_PAPER, "section II: 200 Gb/s per port and direction"),
            copy_per_byte: Sourced::assumed(Picos(100), "as slingshot"),
            eager_limit: Sourced::assumed(16_384, "as slingshot"),
        },
    },
    NetworkPreset {
        name: "loggopsim",
        summary: "The defaults of LogGOPSim, for comparisons with it.",
        parameters: || SourcedNetworkParameters {
            latency: default(Picos::from_ns(2500)),
            send_overhead: default(Picos::from_ns(1500)),
            recv_overhead: default(Picos::from_ns(1500)),
            gap: default(Picos::from_ns(1000)),
            per_byte: default(Picos::from_ns(6)),
            copy_per_byte: Sourced::assumed(Picos::ZERO, "LogGOPSim charges no copy"),
            eager_limit: default(65_535),
        },
    },
    NetworkPreset {
        name: "qsnet2",
        summary: "Quadrics QsNET-II, the network of Tanabe and Ohta's comparison.",
        parameters: || SourcedNetworkParameters {
            latency: Sourced::assumed(
                Picos::from_ns(300),
                "what the overheads leave of the minimum latency of 1300 ns",
            ),
            send_overhead: Sourced::paper(
                Picos::from_ns(500),
                "tanabe2013",
                "minimum latency 1.3 us, of which two halves of 1000 ns",
            ),
            recv_overhead: Sourced::paper(
                Picos::from_ns(500),
                "tanabe2013",
                "minimum latency 1.3 us, of which two halves of 1000 ns",
            ),
            gap: Sourced::assumed(Picos::from_ns(100), "ten million messages/s per NIC"),
            per_byte: Sourced::assumed(Picos(1100), "about 900 MB/s, the PCI-X generation"),
            copy_per_byte: Sourced::assumed(Picos(500), "2 GB/s, one core of that time"),
            eager_limit: Sourced::assumed(16_384, "as slingshot"),
        },
    },
];

impl Network {
    /// The preset `name`.
    ///
    /// # Errors
    /// A sentence that names the presets that exist.
    ///
    /// # Panics
    /// When a value of a preset is out of range, which a test excludes.
    pub fn preset(name: &str) -> Result<Self, String> {
        let Some(preset) = NETWORKS.iter().find(|preset| preset.name == name) else {
            return Err(names::unknown("network", name, NETWORKS.iter().map(|preset| preset.name)));
        };
        let parameters = ParameterSet::from_sourced::<NetworkParameters>((preset.parameters)());
        let parameters = parameters.expect("network presets are in range");
        Ok(Self { name: name.to_owned(), parameters })
    }

    /// Replaces one parameter.
    ///
    /// # Errors
    /// [`ParameterError`] when the key is unknown or the value out of range.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ParameterError> {
        self.parameters.set(key, text, Source::User)
    }

    /// The parameters without names and sources, for the inner loop.
    pub(crate) fn typed(&self) -> NetworkParameters {
        self.parameters.typed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_every_preset_are_in_their_ranges() {
        for preset in NETWORKS {
            assert_eq!(Network::preset(preset.name).unwrap().name, preset.name);
        }
    }

    #[test]
    fn an_unknown_network_names_those_that_exist() {
        let error = Network::preset("infiniband").unwrap_err();
        assert_eq!(error, "unknown network `infiniband`; expected one of: slingshot, papers200, loggopsim, qsnet2");
    }
}
