// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: a value with its source for every parameter, for each architecture of crowley2000 at 1 to 8 units.
//!
//! `smt1` to `smt8` have as many contexts as units; `cmp1` to `cmp8` have cores of one unit; `cmp2_1` to `cmp2_8` have
//! cores of two units, so that `cmp2_4` has 8 units and `cmp2_8` is the processor of section 5.3 with 16.

use std::borrow::Cow;

use mb_core::parameters::{ParameterError, ParameterSet, Parameters, Source};

use crate::parameters::NetprocParameters;

/// The four processors that the paper compares.
pub const PAPER: [&str; 4] = ["smt8", "cmp8", "cmp2_4", "cmp2_8"];

/// A family of processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Smt,
    Cmp,
    Cmp2,
}

const fn paper(place: &'static str) -> Source {
    Source::Paper { key: Cow::Borrowed("crowley2000"), place: Cow::Borrowed(place) }
}

const fn assumed(why: &'static str) -> Source {
    Source::Assumed(Cow::Borrowed(why))
}

type Value = (&'static str, &'static str, Source);

/// What all presets share.
const SHARED: &[Value] = &[
    ("clock", "500", paper("section 3.3: all processors at 500 MHz")),
    ("timing", "cycles", paper("section 1: a simulator that is cycle accurate")),
    ("input", "saturated", paper("section 3.4: an unbounded line rate")),
    ("rate", "1000000", assumed("without effect: the input is saturated")),
    ("input_queue", "256", assumed("without effect: the input is saturated")),
    (
        "dma_transfers",
        "8",
        assumed("section 3.4 has a high bandwidth DMA engine; 8 transfers hide the latency of memory"),
    ),
    ("transmit", "off", paper("section 3.1: forwarding of processed packets is not simulated")),
    ("application", "by_filter", paper("section 5.1: filters map packets to applications")),
    ("classifier", "dpf", paper("section 4.2: the results after table 5 use software classification")),
    ("classify_in", "worker", paper("section 4.1: packets are classified in the worker")),
    ("filters", "8", paper("section 4.2")),
    ("routes", "1000", paper("section 3.2: 1000 routes")),
    (
        "idle",
        "wait",
        assumed("section 3.4: a worker waits for work; a worker that spins takes slots from others on the SMT"),
    ),
    ("os_idle", "spin", paper("section 3.4: the OS thread polls the controller")),
    ("os", "pinned", paper("section 3.4: the OS thread is pinned to a context")),
    ("ring_slots", "64", assumed("more than the packets that arrive while the OS thread handles one")),
    ("buffers", "192", assumed("the ring, and more than the 100 packets of section 5.1 on the work list")),
    ("buffer_bytes", "2048", assumed("an Ethernet frame of 1514 bytes with tags, rounded up")),
    ("flow_buckets", "1024", assumed("more than the open connections of generated traffic")),
    ("flows", "16384", assumed("more than the connections of generated traffic")),
    ("heap_bytes", "67108864", assumed("no limit: tables of 100,000 routes fit")),
    ("handler_limit", "50000000", assumed("a thousand times the cycles of 3DES on a long packet")),
    ("setup_limit", "2000000000", assumed("tables of 1,000,000 routes are built in less")),
    (
        "fetch_policy",
        "icount",
        assumed("section 3.3 does not say; the best of the policies in the SMT papers it builds on"),
    ),
    ("fetch_block", "32", assumed("8 instructions of 4 bytes")),
    ("front_end", "3", assumed("no pipeline is given")),
    ("misfetch", "2", assumed("no pipeline is given")),
    ("redirect", "1", assumed("no pipeline is given")),
    ("reorder_buffer", "64", assumed("not given; rename registers and instruction queue fill first")),
    ("load_store_queue", "32", assumed("not given; half of the reorder buffer")),
    ("order", "out_of_order", assumed("table 4 gives instruction queues and registers beyond the architectural ones")),
    ("latency_integer", "1", paper("table 3")),
    ("latency_multiply_word", "8", paper("table 3, read as 8 cycles for 32 bits and 16 for 64")),
    ("latency_multiply", "16", paper("table 3, read as 8 cycles for 32 bits and 16 for 64")),
    ("latency_divide", "16", paper("table 3")),
    ("latency_branch", "2", paper("table 3")),
    ("latency_load", "1", paper("table 3")),
    ("latency_store", "1", paper("table 3")),
    ("latency_synchronisation", "4", paper("table 3")),
    ("predictor_counters", "2048", assumed("the paper gives the BTB only")),
    ("predictor_history", "11", assumed("as many bits as select a counter")),
    ("btb_sets", "64", paper("table 4: 256 entries; four ways are assumed")),
    ("btb_ways", "4", assumed("table 4 gives 256 entries and no ways")),
    ("return_stack", "12", paper("table 4")),
    ("line", "64", paper("table 4")),
    ("l1_bytes", "32768", paper("table 4, read as the size of each core's caches")),
    ("l1_ways", "2", paper("table 4")),
    ("l1_banks", "8", paper("table 4")),
    ("l1_hit", "1", paper("table 4")),
    ("l1_mshrs", "8", assumed("not given; one for each context of the SMT")),
    ("write_buffer", "8", assumed("not given; the caches write through")),
    ("l2_bus", "32", paper("table 4")),
    ("l2_bytes", "524288", paper("table 4")),
    ("l2_hit", "10", paper("table 4")),
    ("l2_interval", "1", assumed("one bank that begins an access in each cycle")),
    ("l2_mshrs", "16", assumed("not given")),
    ("write_backs", "8", assumed("not given")),
    ("memory_latency", "68", paper("table 4")),
    ("memory_bus", "16", paper("table 4")),
    ("device_latency", "20", assumed("not given: twice the time of an L2 hit")),
];

/// The names of all presets.
#[must_use]
pub fn names() -> Vec<String> {
    let numbered = |prefix| (1..=8).map(move |units| format!("{prefix}{units}"));
    ["smt", "cmp", "cmp2_"].into_iter().flat_map(numbered).collect()
}

/// The preset of this name.
///
/// # Errors
/// There is none, or a value is wrong.
pub fn preset(name: &str) -> Result<ParameterSet, ParameterError> {
    let (family, number) = split(name).ok_or_else(|| ParameterError::Bad {
        key: "architecture".to_owned(),
        found: name.to_owned(),
        expected: "smt1 to smt8, cmp1 to cmp8, or cmp2_1 to cmp2_8".to_owned(),
    })?;
    let text = number.to_string();
    let (cores, contexts, width) = match family {
        Family::Smt => ("1", text.as_str(), 8),
        Family::Cmp => (text.as_str(), "1", 1),
        Family::Cmp2 => (text.as_str(), "1", 2),
    };
    let table4 = || paper("table 4");
    let figures = || paper("table 4; figures 3 and 4 have 1 to 8 units");
    let wide = width.to_string();
    let units = if family == Family::Smt { text.clone() } else { wide.clone() };
    let (threads, fetched, queue, registers) = match family {
        Family::Smt => ("2", "32", "32", "100"),
        Family::Cmp => ("1", "16", "8", "12"),
        Family::Cmp2 => ("1", "16", "8", "25"),
    };
    let own = [
        ("cores", cores, figures()),
        ("contexts", contexts, figures()),
        ("fetch_width", &wide, table4()),
        ("fetch_threads", threads, paper("section 3.3: fetch from at most two threads")),
        ("fetch_queue", fetched, assumed("not given; the fetches of the three cycles before rename, and one more")),
        ("rename_width", &wide, assumed("as wide as fetch")),
        ("instruction_queue", queue, table4()),
        (
            "rename_registers",
            registers,
            assumed(
                "table 4 has 100 for the SMT beyond the architectural ones, and as many for all cores of a CMP together",
            ),
        ),
        ("issue_width", &units, figures()),
        ("commit_width", &wide, assumed("as wide as fetch")),
    ];
    let shared = SHARED.iter().map(|(key, value, source)| (*key, *value, source.clone()));
    ParameterSet::complete(NetprocParameters::SPECS, shared.chain(own))
}

fn split(name: &str) -> Option<(Family, u32)> {
    let (family, number) = if let Some(number) = name.strip_prefix("cmp2_") {
        (Family::Cmp2, number)
    } else if let Some(number) = name.strip_prefix("cmp") {
        (Family::Cmp, number)
    } else {
        (Family::Smt, name.strip_prefix("smt")?)
    };
    let units = number.parse().ok().filter(|units| (1..=8).contains(units) && number.len() == 1)?;
    Some((family, units))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mb_processor::chip::{ChipConfig, cmp, cmp2, smt};
    use mb_processor::shared_l2::SharedL2Config;

    #[test]
    fn every_preset_is_complete_and_has_the_cores_of_the_paper() {
        for name in names() {
            let parameters: NetprocParameters = preset(&name).unwrap().typed();
            let number: usize = name[name.len() - 1..].parse().unwrap();
            let expected: ChipConfig = match &name[..name.len() - 1] {
                "smt" => smt(number),
                "cmp" => cmp(number),
                _ => cmp2(number),
            };
            assert_eq!(parameters.chip(), expected, "{name}");
            assert_eq!(parameters.memory(), SharedL2Config::crowley2000(expected.cores, expected.contexts), "{name}");
        }
        assert!(PAPER.iter().all(|name| names().iter().any(|known| known == name)));
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["smt0", "smt9", "cmp", "cmp2_", "cmp16", "smt08", "xeon"] {
            assert_eq!(
                preset(name).unwrap_err().to_string(),
                format!(
                    "parameter `architecture`: found `{name}`, expected smt1 to smt8, cmp1 to cmp8, or cmp2_1 to cmp2_8"
                )
            );
        }
    }
}
