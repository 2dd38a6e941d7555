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

use mb_core::{ParameterError, ParameterSet, Parameters, Picos, Source};

/// Parameters of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
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
    values: fn() -> [(&'static str, &'static str, Source); 7],
}

fn paper(key: &'static str, place: &'static str) -> Source {
    Source::Paper { key: key.into(), place: place.into() }
}

fn assumed(why: &'static str) -> Source {
    Source::Assumed(why.into())
}

const SLINGSHOT_PAPER: &str = "De Sensi et al., An In-Depth Analysis of the Slingshot Interconnect, SC 2020";
const SHM_MEASURED: &str = "half of the 200 ns one way of a zero-depth ping-pong of Open MPI 5.0.11 over UCX shared memory, where no wire \
     adds to it (software peers, anchors of part A.0)";

/// Every network preset; the first is the default.
pub const NETWORKS: &[NetworkPreset] = &[
    NetworkPreset {
        name: "slingshot",
        summary: "A present-day HPC fabric: 200 Gb/s ports, three switch traversals.",
        values: || {
            [
                (
                    "latency",
                    "1050",
                    paper(SLINGSHOT_PAPER, "section II: 350 ns per switch; three switches on a minimal global path"),
                ),
                ("send_overhead", "100", Source::Measured(SHM_MEASURED.into())),
                ("recv_overhead", "100", Source::Measured(SHM_MEASURED.into())),
                (
                    "gap",
                    "5",
                    assumed("200 M messages/s per NIC; published message rates of current NICs are of this order"),
                ),
                ("per_byte", "0.04", paper(SLINGSHOT_PAPER, "section II: 200 Gb/s per port and direction")),
                ("copy_per_byte", "0.1", assumed("10 GB/s, one core copying from memory")),
                ("eager_limit", "16384", assumed("common default of MPI libraries on current fabrics: 8 to 64 KiB")),
            ]
        },
    },
    NetworkPreset {
        name: "papers200",
        summary: "The 200 ns network of the papers' simulations, otherwise as slingshot.",
        values: || {
            [
                ("latency", "200", paper("xiong2018", "evaluation: simulated network of 200 ns")),
                ("send_overhead", "100", Source::Measured(SHM_MEASURED.into())),
                ("recv_overhead", "100", Source::Measured(SHM_MEASURED.into())),
                ("gap", "5", assumed("as slingshot")),
                ("per_byte", "0.04", paper(SLINGSHOT_PAPER, "section II: 200 Gb/s per port and direction")),
                ("copy_per_byte", "0.1", assumed("as slingshot")),
                ("eager_limit", "16384", assumed("as slingshot")),
            ]
        },
    },
    NetworkPreset {
        name: "loggopsim",
        summary: "The defaults of LogGOPSim, for comparisons with it.",
        values: || {
            let defaults = || {
                paper("LogGOPSim, HPDC 2010, and its source", "default parameters L 2500, o 1500, g 1000, G 6, S 65535")
            };
            [
                ("latency", "2500", defaults()),
                ("send_overhead", "1500", defaults()),
                ("recv_overhead", "1500", defaults()),
                ("gap", "1000", defaults()),
                ("per_byte", "6", defaults()),
                ("copy_per_byte", "0", assumed("LogGOPSim charges no copy")),
                ("eager_limit", "65535", defaults()),
            ]
        },
    },
    NetworkPreset {
        name: "qsnet2",
        summary: "Quadrics QsNET-II, the network of Tanabe and Ohta's comparison.",
        values: || {
            [
                ("latency", "300", assumed("what the overheads leave of the minimum latency of 1300 ns")),
                ("send_overhead", "500", paper("tanabe2013", "minimum latency 1.3 us, of which two halves of 1000 ns")),
                ("recv_overhead", "500", paper("tanabe2013", "minimum latency 1.3 us, of which two halves of 1000 ns")),
                ("gap", "100", assumed("ten million messages/s per NIC")),
                ("per_byte", "1.1", assumed("about 900 MB/s, the PCI-X generation")),
                ("copy_per_byte", "0.5", assumed("2 GB/s, one core of that time")),
                ("eager_limit", "16384", assumed("as slingshot")),
            ]
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
    /// When a preset is incomplete or out of range, which a test excludes.
    pub fn preset(name: &str) -> Result<Self, String> {
        let Some(preset) = NETWORKS.iter().find(|preset| preset.name == name) else {
            let known: Vec<_> = NETWORKS.iter().map(|preset| preset.name).collect();
            return Err(format!("unknown network `{name}`; expected one of: {}", known.join(", ")));
        };
        let parameters = ParameterSet::complete(NetworkParameters::SPECS, (preset.values)());
        let parameters = parameters.expect("network presets are complete and in range");
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
    fn every_preset_gives_every_parameter() {
        for preset in NETWORKS {
            let network = Network::preset(preset.name).unwrap();
            assert_eq!(network.parameters.iter().count(), NetworkParameters::SPECS.len());
        }
    }

    #[test]
    fn an_unknown_network_names_those_that_exist() {
        let error = Network::preset("infiniband").unwrap_err();
        assert_eq!(error, "unknown network `infiniband`; expected one of: slingshot, papers200, loggopsim, qsnet2");
    }
}
