// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: a value with its source for every parameter, for each architecture of crowley2000 at 1 to 8 units.
//!
//! `smt1` to `smt8` have as many contexts as units; `cmp1` to `cmp8` have cores of one unit; `cmp2_1` to `cmp2_8` have
//! cores of two units, so that `cmp2_4` has 8 units and `cmp2_8` is the processor of section 5.3 with 16.

use mb_core::Clock;
use mb_core::parameters::{ParameterError, ParameterSet, Sourced};
use mb_processor::chip::{self, ChipConfig, cmp, cmp2, smt};
use mb_processor::shared_l2::SharedL2Config;

use crate::contract::{Classifier, ClassifyIn, Idle, OsThread};
use crate::parameters::{Arrivals, Handler, PacketMachineParameters, ProcessorTiming, SourcedNetprocParameters};
use crate::scheduling::Priorities;

/// The four processors that the paper compares.
pub const PAPER: [&str; 4] = ["smt8", "cmp8", "cmp2_4", "cmp2_8"];

/// A family of processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Smt,
    Cmp,
    Cmp2,
}

const fn paper<T>(value: T, place: &'static str) -> Sourced<T> {
    Sourced::paper(value, "crowley2000", place)
}

const fn assumed<T>(value: T, why: &'static str) -> Sourced<T> {
    Sourced::assumed(value, why)
}

/// The values that all presets share, with these cores.
fn crowley2000(processor: &ChipConfig) -> SourcedNetprocParameters {
    SourcedNetprocParameters {
        clock: paper(Clock::from_mhz(500), "section 3.3: all processors at 500 MHz"),
        memory_clock: paper(
            Clock::from_mhz(500),
            "section 3.3: one clock of 500 MHz; table 4 has the times of memory in its cycles",
        ),
        timing: paper(ProcessorTiming::Cycles, "section 1: a simulator that is cycle accurate"),
        input: paper(Arrivals::Saturated, "section 3.4: an unbounded line rate"),
        rate: assumed(1_000_000, "without effect: the input is saturated"),
        arrival_seed: assumed(1, "without effect: the input is saturated"),
        speed_percent: assumed(100, "without effect: the input is saturated"),
        input_queue: assumed(256, "without effect: the input is saturated"),
        dma_transfers: assumed(
            8,
            "section 3.4 has a high bandwidth DMA engine; 8 transfers hide the latency of memory",
        ),
        transmit: paper(false, "section 3.1: forwarding of processed packets is not simulated"),
        application: paper(Handler::ByFilter, "section 5.1: filters map packets to applications"),
        classifier: paper(Classifier::Dpf, "section 4.2: the results after table 5 use software classification"),
        classify_in: paper(ClassifyIn::Worker, "section 4.1: packets are classified in the worker"),
        filters: paper(8, "section 4.2"),
        routes: paper(1000, "section 3.2: 1000 routes"),
        idle: assumed(
            Idle::Wait,
            "section 3.4: a worker waits for work; a worker that spins takes slots from others on the SMT",
        ),
        os_idle: paper(Idle::Spin, "section 3.4: the OS thread polls the controller"),
        priorities: assumed(Priorities::Equal, "section 6 names priorities as further work"),
        os: paper(OsThread::Pinned, "section 3.4: the OS thread is pinned to a context"),
        ring_slots: assumed(64, "more than the packets that arrive while the OS thread handles one"),
        buffers: assumed(192, "the ring, and more than the 100 packets of section 5.1 on the work list"),
        buffer_bytes: assumed(2048, "an Ethernet frame of 1514 bytes with tags, rounded up"),
        flow_buckets: assumed(1024, "more than the open connections of generated traffic"),
        flows: assumed(16_384, "more than the connections of generated traffic"),
        heap_bytes: assumed(67_108_864, "no limit: tables of 100,000 routes fit"),
        handler_limit: assumed(50_000_000, "ten times the cycles of 3DES on the longest frame, 16 KB"),
        setup_limit: assumed(2_000_000_000, "tables of 1,000,000 routes are built in less"),
        processor: chip::crowley2000(*processor),
        caches: SharedL2Config::preset(processor.cores, processor.contexts),
    }
}

/// Cores of `family` with `number` units.
const fn cores(family: Family, number: usize) -> ChipConfig {
    match family {
        Family::Smt => smt(number),
        Family::Cmp => cmp(number),
        Family::Cmp2 => cmp2(number),
    }
}

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
    ParameterSet::from_sourced::<PacketMachineParameters>(crowley2000(&cores(family, number)))
}

fn split(name: &str) -> Option<(Family, usize)> {
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
