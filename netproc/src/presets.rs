// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: a value with its source for every parameter, for each architecture of crowley2000 at 1 to 8 units.
//!
//! `smt1` to `smt8` have as many contexts as units; `cmp1` to `cmp8` have cores of one unit; `cmp2_1` to `cmp2_8` have
//! cores of two units, so that `cmp2_4` has 8 units and `cmp2_8` is the processor of section 5.3 with 16.

use mb_core::Clock;
use mb_core::parameters::{ParameterError, ParameterSet, Sourced};

use crate::contract::{Classifier, ClassifyIn, Idle, OsThread};
use crate::parameters::{
    Arrivals, CoreOrder, Handler, PacketMachineParameters, Policy, ProcessorTiming, SourcedCacheParameters,
    SourcedLatencyParameters, SourcedNetprocParameters, SourcedProcessorParameters,
};
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
fn crowley2000(processor: SourcedProcessorParameters) -> SourcedNetprocParameters {
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
        processor,
        line: paper(64, "table 4"),
        caches: caches(),
    }
}

/// Cores of `family` with `number` units.
fn cores(family: Family, number: u32) -> SourcedProcessorParameters {
    let (cores, contexts, width) = match family {
        Family::Smt => (1, number, 8),
        Family::Cmp => (number, 1, 1),
        Family::Cmp2 => (number, 1, 2),
    };
    let units = if family == Family::Smt { number } else { width };
    let (fetch_threads, fetch_queue, instruction_queue, rename_registers) = match family {
        Family::Smt => (2, 32, 32, 100),
        Family::Cmp => (1, 16, 8, 12),
        Family::Cmp2 => (1, 16, 8, 25),
    };
    let figures = "table 4; figures 3 and 4 have 1 to 8 units";
    SourcedProcessorParameters {
        cores: paper(cores as usize, figures),
        contexts: paper(contexts as usize, figures),
        fetch_width: paper(width, "table 4"),
        fetch_threads: paper(fetch_threads, "section 3.3: fetch from at most two threads"),
        fetch_policy: assumed(
            Policy::Icount,
            "section 3.3 does not say; the best of the policies in the SMT papers it builds on",
        ),
        fetch_block: assumed(32, "8 instructions of 4 bytes"),
        fetch_queue: assumed(fetch_queue, "not given; the fetches of the three cycles before rename, and one more"),
        front_end: assumed(3, "no pipeline is given"),
        misfetch: assumed(2, "no pipeline is given"),
        redirect: assumed(1, "no pipeline is given"),
        rename_width: assumed(width, "as wide as fetch"),
        instruction_queue: paper(instruction_queue, "table 4"),
        rename_registers: assumed(
            rename_registers,
            "table 4 has 100 for the SMT beyond the architectural ones, and as many for all cores of a CMP together",
        ),
        reorder_buffer: assumed(64, "not given; rename registers and instruction queue fill first"),
        load_store_queue: assumed(32, "not given; half of the reorder buffer"),
        issue_width: paper(units, figures),
        order: assumed(
            CoreOrder::OutOfOrder,
            "table 4 gives instruction queues and registers beyond the architectural ones",
        ),
        commit_width: assumed(width, "as wide as fetch"),
        latencies: SourcedLatencyParameters {
            integer: paper(1, "table 3"),
            multiply_word: paper(8, "table 3, read as 8 cycles for 32 bits and 16 for 64"),
            multiply: paper(16, "table 3, read as 8 cycles for 32 bits and 16 for 64"),
            divide: paper(16, "table 3"),
            branch: paper(2, "table 3"),
            load: paper(1, "table 3"),
            store: paper(1, "table 3"),
            synchronisation: paper(4, "table 3"),
        },
        predictor_counters: assumed(2048, "the paper gives the BTB only"),
        predictor_history: assumed(11, "as many bits as select a counter"),
        btb_sets: paper(64, "table 4: 256 entries; four ways are assumed"),
        btb_ways: assumed(4, "table 4 gives 256 entries and no ways"),
        return_stack: paper(12, "table 4"),
    }
}

fn caches() -> SourcedCacheParameters {
    SourcedCacheParameters {
        l1_bytes: paper(32_768, "table 4, read as the size of each core's caches"),
        l1_ways: paper(2, "table 4"),
        l1_banks: paper(8, "table 4"),
        l1_hit: paper(1, "table 4"),
        l1_mshrs: assumed(8, "not given; one for each context of the SMT"),
        write_buffer: assumed(8, "not given; the caches write through"),
        l2_bus: paper(32, "table 4"),
        l2_bytes: paper(524_288, "table 4"),
        l2_hit: paper(10, "table 4"),
        l2_interval: assumed(1, "one bank that begins an access in each cycle"),
        l2_mshrs: assumed(16, "not given"),
        write_backs: assumed(8, "not given"),
        memory_latency: paper(68, "table 4"),
        memory_bus: paper(16, "table 4"),
        device_latency: assumed(20, "not given: twice the time of an L2 hit"),
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
    ParameterSet::from_sourced::<PacketMachineParameters>(crowley2000(cores(family, number)))
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
