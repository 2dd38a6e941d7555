// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections 5.1 to 5.3 with tables 2 and 3: what the processors are, and what the benchmark does on
//! them.
//!
//! The values of tables 2 and 3 are inputs of the models. Those that a run can give back are measured
//! without a verdict: caches and memory by accesses, issue slots by instructions that depend on
//! nothing. The others are not measured; tests of `mb-kit` check that the models keep to them.

use std::cell::RefCell;
use std::rc::Rc;

use mb_core::Cycles;
use mb_firmware::watched::MarkHost;
use mb_processor::barrel::{Barrel, BarrelConfig, Stacks};
use mb_processor::hierarchy::{AccessKind, Hierarchy, HierarchyConfig, Reply};
use mb_processor::{
    BranchKind, Fault, Hart, InstructionClass, Isa, Memory, Ppc32, RegisterNumber, Retired, StaticInstruction, Step,
    SyscallHandler,
};

use super::figure5::cores::{self, CorePass};
use super::figure5::{BenchmarkRun, HEADERS};
use super::processors::Simulated;
use super::setup::{Build, PaperProcessor, Setup};

use super::Subject;
use crate::claim_test::{
    ClaimTest, Interpretation, Interpretations, cannot, count, differs, fact, measure, number, shown,
};
use crate::error::MeasureError;
use crate::verdict::Measured;

use PaperProcessor::{Embedded, Threads1, Threads2, Threads16};

type Found<T> = Result<T, MeasureError>;

/// What the committed programs were compiled with, by `processor/firmware/README.md`; a test there compiles them
/// again.
const COMPILER: &str = "gcc 12.2";

const INPUT: &str = "an input that the model is built from";

/// The claims of one column of table 3.
macro_rules! threaded {
    ($name:literal, $processor:ident) => {
        [
            shown(concat!("hemmert2007.", $name, ".fetch_width"), |subject| issue_slots(subject, $processor), INPUT),
            shown(concat!("hemmert2007.", $name, ".issue_width"), |subject| issue_slots(subject, $processor), INPUT),
            shown(concat!("hemmert2007.", $name, ".commit_width"), |subject| issue_slots(subject, $processor), INPUT),
            shown(concat!("hemmert2007.", $name, ".int_alus"), |subject| issue_slots(subject, $processor), INPUT),
            shown(
                concat!("hemmert2007.", $name, ".dl1_kb"),
                |subject| kilobytes(subject, $processor, AccessKind::Load),
                INPUT,
            ),
            shown(
                concat!("hemmert2007.", $name, ".dl1_ways"),
                |subject| ways(subject, $processor, AccessKind::Load),
                INPUT,
            ),
            shown(
                concat!("hemmert2007.", $name, ".il1_kb"),
                |subject| kilobytes(subject, $processor, AccessKind::Fetch),
                INPUT,
            ),
            shown(
                concat!("hemmert2007.", $name, ".il1_ways"),
                |subject| ways(subject, $processor, AccessKind::Fetch),
                INPUT,
            ),
            shown(concat!("hemmert2007.", $name, ".l2_kb"), |subject| beyond_l1(subject, $processor), INPUT),
            shown(concat!("hemmert2007.", $name, ".lat_l1"), |subject| hit(subject, $processor), INPUT),
            shown(
                concat!("hemmert2007.", $name, ".lat_mem"),
                |subject| number(memory(subject, $processor)?.0 as f64),
                INPUT,
            ),
            shown(
                concat!("hemmert2007.", $name, ".mem_bw"),
                |subject| number(memory(subject, $processor)?.1 as f64),
                INPUT,
            ),
        ]
    };
}

pub(super) const MT1: &[ClaimTest<Subject>] = &threaded!("mt1", Threads1);
pub(super) const MT2: &[ClaimTest<Subject>] = &threaded!("mt2", Threads2);
pub(super) const MT16: &[ClaimTest<Subject>] = &threaded!("mt16", Threads16);

pub(super) const EMBEDDED: &[ClaimTest<Subject>] = &[
    shown("hemmert2007.ppc440.membw_ratio", |subject| bandwidth_over_the_unit(subject, Embedded), INPUT),
    shown("hemmert2007.mt16.membw_ratio", |subject| bandwidth_over_the_unit(subject, Threads16), INPUT),
    shown("hemmert2007.ppc440.dl1_kb", |subject| kilobytes(subject, Embedded, AccessKind::Load), INPUT),
    shown("hemmert2007.ppc440.dl1_ways", |subject| ways(subject, Embedded, AccessKind::Load), INPUT),
    shown("hemmert2007.ppc440.il1_kb", |subject| kilobytes(subject, Embedded, AccessKind::Fetch), INPUT),
    shown("hemmert2007.ppc440.il1_ways", |subject| ways(subject, Embedded, AccessKind::Fetch), INPUT),
    shown("hemmert2007.ppc440.l2_kb", |subject| beyond_l1(subject, Embedded), INPUT),
    shown("hemmert2007.ppc440.lat_l1", |subject| hit(subject, Embedded), INPUT),
    shown("hemmert2007.ppc440.lat_mem", |subject| number(memory(subject, Embedded)?.0 as f64), INPUT),
    cannot("hemmert2007.ppc440.int_mults", INPUT),
    shown("hemmert2007.ppc440.mem_bw", |subject| number(memory(subject, Embedded)?.1 as f64), INPUT),
    shown("hemmert2007.ppc440.mem_ports", ports, INPUT),
    differs(
        "hemmert2007.ppc440.isa",
        instruction_set,
        "The committed program is compiled with a current compiler. gcc 3.3.3 is of 2004.",
    ),
    cannot("hemmert2007.area.t4_ppc440_cores", INPUT),
];

pub(super) const BENCHMARK: &[ClaimTest<Subject>] = &[
    measure("hemmert2007.mt.context_switch", turns),
    differs(
        "hemmert2007.bench.prime",
        instruction_misses,
        "The priming pass matches the first item only and ends before it has used each of 16 cores. The other cores find \
         their instruction caches empty later. On one core there is no miss.",
    ),
    measure("hemmert2007.bench.iterations", |subject| {
        count(subject.processors.of(Embedded)?.runs.first().map_or(0, |run| run.passes.len()))
    }),
    measure("hemmert2007.bench.thread_per_match", |subject| {
        let passes = measured(subject.processors.of(Threads16)?);
        let (threads, headers) = passes.fold((0, 0), |sum, pass| (sum.0 + pass.threads, sum.1 + pass.headers));
        number(threads as f64 / headers as f64)
    }),
    measure("hemmert2007.bench.locking", order_of_threads),
    measure("hemmert2007.bench.src_nid", source_argument),
    measure("hemmert2007.bench.single_header_no_gain", one_header_at_a_time),
    differs(
        "hemmert2007.all.no_cache_effects",
        lines_that_do_not_fit,
        "A visit that fails reads the first 32 of an item's 64 bytes. With lines of 32 bytes that is every other line, and \
         items share half of the sets. 16 KB of 64 ways then hold 256 of 300 items; lists of up to 100 items fit.",
    ),
];

fn hierarchy(subject: &Subject, processor: PaperProcessor) -> Found<&HierarchyConfig> {
    Ok(subject.processors.of(processor)?.setup.build.hierarchy())
}

fn barrel(subject: &Subject, processor: PaperProcessor) -> Found<&BarrelConfig> {
    match &subject.processors.of(processor)?.setup.build {
        Build::Barrel(config) => Ok(config),
        Build::OutOfOrder(..) => Err(MeasureError::NotSeen("a barrel-threaded core")),
    }
}

fn measured(simulated: &Simulated) -> impl Iterator<Item = &CorePass> {
    simulated.runs.iter().flat_map(BenchmarkRun::measured)
}

/// A cache hierarchy with a long time between accesses.
struct Probe {
    hierarchy: Hierarchy,
    now: Cycles,
}

impl Probe {
    fn new(config: &HierarchyConfig) -> Found<Self> {
        Ok(Self { hierarchy: Hierarchy::new(config)?, now: Cycles::ZERO })
    }

    /// Cycles of one access of core 0.
    fn access(&mut self, access: AccessKind, address: u64) -> u64 {
        self.now += Cycles(1000);
        match self.hierarchy.access(0, access, address, 1, self.now) {
            Reply::Ready(ready) | Reply::Retry(ready) => (ready - self.now).0,
        }
    }

    /// The longest access in the second of two walks over `places` addresses, `stride` bytes apart.
    fn second_walk(&mut self, access: AccessKind, places: u64, stride: u64) -> u64 {
        let mut longest = 0;
        for walk in 0..2 {
            for place in 0..places {
                let cycles = self.access(access, place * stride);
                longest = if walk == 1 { longest.max(cycles) } else { longest };
            }
        }
        longest
    }
}

/// Bytes of the largest set, a power of two of kilobytes, whose second walk takes at most `cycles`
/// for each access.
fn largest_set(config: &HierarchyConfig, access: AccessKind, cycles: u64) -> Found<u64> {
    let line = config.data.line.min(config.instruction.line);
    let mut bytes = 0;
    for power in 0..12 {
        let next = 1024 << power;
        if Probe::new(config)?.second_walk(access, next / line, line) > cycles {
            break;
        }
        bytes = next;
    }
    Ok(bytes)
}

/// Kilobytes that are found again as fast as a line that was used just before.
fn kilobytes(subject: &Subject, processor: PaperProcessor, access: AccessKind) -> Interpretations {
    let config = hierarchy(subject, processor)?;
    let mut probe = Probe::new(config)?;
    probe.access(access, 0);
    let again = probe.access(access, 0);
    number(largest_set(config, access, again)? as f64 / 1024.0)
}

/// Lines of one set that are found again.
fn ways(subject: &Subject, processor: PaperProcessor, access: AccessKind) -> Interpretations {
    let config = hierarchy(subject, processor)?;
    let mut probe = Probe::new(config)?;
    probe.access(access, 0);
    let again = probe.access(access, 0);
    // Addresses as far apart as any of these caches is large share a set.
    let stride = 1 << 20;
    let most = (1..=1024).take_while(|&places| {
        Probe::new(config).is_ok_and(|mut probe| probe.second_walk(access, places, stride) <= again)
    });
    count(most.count())
}

/// Kilobytes that are found again sooner than in memory, beyond those of the first level.
fn beyond_l1(subject: &Subject, processor: PaperProcessor) -> Interpretations {
    let config = hierarchy(subject, processor)?;
    let mut probe = Probe::new(config)?;
    let missing = probe.access(AccessKind::Load, 0);
    let again = probe.access(AccessKind::Load, 0);
    let first = largest_set(config, AccessKind::Load, again)?;
    number((largest_set(config, AccessKind::Load, missing - 1)? - first) as f64 / 1024.0)
}

fn hit(subject: &Subject, processor: PaperProcessor) -> Interpretations {
    let mut probe = Probe::new(hierarchy(subject, processor)?)?;
    probe.access(AccessKind::Load, 0);
    number(probe.access(AccessKind::Load, 0) as f64)
}

/// Cycles to the first bits of a missing line, and bits of each cycle after.
fn memory(subject: &Subject, processor: PaperProcessor) -> Found<(u64, u64)> {
    let config = hierarchy(subject, processor)?;
    let mut probe = Probe::new(config)?;
    let whole = probe.access(AccessKind::Load, 0);
    // Two lines at once: the second is there when the channel has carried it too.
    let line = config.data.line;
    let now = probe.now + Cycles(1000);
    let mut caches = probe.hierarchy;
    let mut ready = [Cycles::ZERO; 2];
    for (place, ready) in ready.iter_mut().enumerate() {
        let address = (place as u64 + 1) * line;
        // A port may allow one access in a cycle; the next one is late enough to wait for the
        // channel alone.
        let at = now + Cycles(place as u64);
        *ready = match caches.access(0, AccessKind::Load, address, 1, at) {
            Reply::Ready(cycle) | Reply::Retry(cycle) => cycle,
        };
    }
    let carried = (ready[1] - ready[0]).0.max(1);
    Ok((whole + 1 - carried, line * 8 / carried))
}

/// Bits that memory delivers in a cycle over those that the match unit takes.
fn bandwidth_over_the_unit(subject: &Subject, processor: PaperProcessor) -> Interpretations {
    let unit = 64 * subject.memory.words_per_cycle;
    number(memory(subject, processor)?.1 as f64 / unit as f64)
}

/// Loads of lines that are there which can begin in one cycle.
fn ports(subject: &Subject) -> Interpretations {
    let mut probe = Probe::new(hierarchy(subject, Embedded)?)?;
    probe.access(AccessKind::Load, 0);
    let now = probe.now + Cycles(1000);
    let begun =
        (0..64).take_while(|_| matches!(probe.hierarchy.access(0, AccessKind::Load, 0, 4, now), Reply::Ready(_)));
    count(begun.count())
}

/// A thread of instructions that depend on nothing; all threads note their turns in one list.
#[derive(Clone, Debug)]
struct Straight {
    pc: u64,
    thread: u32,
    turns: Rc<RefCell<Vec<u32>>>,
}

impl Straight {
    const SHAPE: StaticInstruction = StaticInstruction {
        class: InstructionClass::Integer,
        branch: BranchKind::None,
        sources: [RegisterNumber::NONE; 3],
        destinations: [RegisterNumber::NONE; 3],
        bytes: 4,
        access: 0,
    };
}

impl Hart for Straight {
    fn pc(&self) -> u64 {
        self.pc
    }

    fn jump(&mut self, pc: u64) {
        self.pc = pc;
    }

    fn set_argument(&mut self, _index: usize, _value: u64) {}

    fn set_stack(&mut self, _address: u64) {}

    fn set_thread(&mut self, thread: u32) {
        self.thread = thread;
    }

    fn instruction_at(&self, _pc: u64) -> Option<StaticInstruction> {
        Some(Self::SHAPE)
    }

    fn step<H: SyscallHandler>(&mut self, _memory: &mut Memory, _host: &mut H) -> Result<Step, Fault> {
        self.turns.borrow_mut().push(self.thread);
        // The same instruction again and again, so that it is in the cache.
        Ok(Step::Retired(Retired { pc: self.pc, next: self.pc, address: 0, taken: false, instruction: Self::SHAPE }))
    }
}

/// The threads whose instructions were executed, in order, and the number of cycles. A core has as
/// many threads as contexts, and its caches are warm.
fn turns_of_a_core(config: &BarrelConfig) -> Found<(Vec<u32>, u64)> {
    const WARM: Cycles = Cycles(100);
    const END: Cycles = Cycles(1000);
    let turns = Rc::new(RefCell::new(Vec::new()));
    let thread = Straight { pc: 0, thread: 0, turns: turns.clone() };
    let config = BarrelConfig { hierarchy: HierarchyConfig { cores: 1, ..config.hierarchy }, ..*config };
    let mut core = Barrel::new(&config, thread, Memory::new(0, 64), Stacks { top: 64, bytes: 0 })?;
    for _ in 0..config.contexts {
        core.spawn(0, &[], Cycles::ZERO);
    }
    core.run_until(WARM, &mut MarkHost::default())?;
    turns.borrow_mut().clear();
    core.run_until(END, &mut MarkHost::default())?;
    let found = turns.borrow().clone();
    Ok((found, (END - WARM).0))
}

/// Instructions that begin, issue and end in a cycle when nothing delays them.
fn issue_slots(subject: &Subject, processor: PaperProcessor) -> Interpretations {
    let (turns, cycles) = turns_of_a_core(barrel(subject, processor)?)?;
    number(turns.len() as f64 / cycles as f64)
}

/// Cycles after which another thread has its turn.
fn turns(subject: &Subject) -> Interpretations {
    let (turns, cycles) = turns_of_a_core(barrel(subject, Threads1)?)?;
    let switches = turns.windows(2).filter(|pair| pair[0] != pair[1]).count() + 1;
    number(cycles as f64 / switches as f64)
}

/// The instruction set and the compiler of the benchmark.
fn instruction_set(subject: &Subject) -> Interpretations {
    let machine = match subject.processors.of(Embedded)?.setup.program.program(Isa::Ppc32).isa() {
        Isa::Ppc32 => "PowerPC (32-bit)",
        Isa::Rv64 => "RISC-V (64-bit)",
    };
    Ok(vec![Interpretation::new("", Measured::Text(format!("{machine}, {COMPILER}")))])
}

/// Instruction lines that miss in measured passes.
fn instruction_misses(subject: &Subject) -> Interpretations {
    let misses = |processor: PaperProcessor| -> Found<f64> {
        Ok(measured(subject.processors.of(processor)?).map(|pass| pass.instruction_misses).sum::<u64>() as f64)
    };
    let all = PaperProcessor::ALL.iter().map(|&processor| misses(processor)).sum::<Found<f64>>()?;
    Ok(vec![
        Interpretation::new("all processors", Measured::Number(all)),
        Interpretation::new("the embedded processor", Measured::Number(misses(Embedded)?)),
    ])
}

/// Whether no thread came to an item before one of an earlier header did.
fn order_of_threads(subject: &Subject) -> Interpretations {
    let mut overtaken = 0;
    let mut visits = 0;
    for processor in [Threads1, Threads2, Threads16] {
        let simulated = subject.processors.of(processor)?;
        overtaken += simulated.runs.iter().flat_map(|run| &run.passes).map(|pass| pass.overtaken).sum::<u64>();
        visits += measured(simulated).map(|pass| pass.visits).sum::<u64>();
    }
    fact(overtaken == 0, format!("{overtaken} of {visits} visits out of order"))
}

/// The third argument of the match function.
fn source_argument(subject: &Subject) -> Interpretations {
    let program = subject.processors.of(Embedded)?.setup.program.program(Isa::Ppc32);
    let matcher = program.symbol("match").ok_or(MeasureError::NotSeen("match"))?.address;
    let mut thread = Ppc32::load(&program, 1)?.pop().ok_or(MeasureError::NotSeen("a thread"))?;
    let mut memory = program.memory(0);
    let mut host = MarkHost::default();
    // Arguments are in registers 3, 4, 5.
    while thread.pc() != matcher {
        match thread.step(&mut memory, &mut host)? {
            Step::Retired(_) => {}
            Step::Waiting => drop(host.allow()),
            Step::Exited(_) => return Err(MeasureError::NotSeen("a call of the match function")),
        }
    }
    number(thread.register(5))
}

/// Cycles of a match, when a header waits until the one before is matched: with two contexts, one
/// of which is the main thread's, and with all.
fn one_header_at_a_time(subject: &Subject) -> Interpretations {
    let time = |processor: PaperProcessor, contexts: Option<usize>| -> Found<f64> {
        let mut config = *barrel(subject, processor)?;
        // The main thread and one more: to start the next waits for the end of this one.
        config.threads = 2;
        config.contexts = contexts.unwrap_or(config.contexts);
        let setup = Setup { build: Build::Barrel(config), ..subject.processors.of(processor)?.setup.clone() };
        let run = cores::run(&setup, 10)?;
        Ok(run.measured().iter().map(|pass| pass.cycles).sum::<u64>() as f64
            / (run.measured().len() as u64 * HEADERS) as f64)
    };
    let one = time(Threads1, Some(2))?;
    let mut so = true;
    let mut shown = vec![format!("1 core, 2 contexts {one:.1}")];
    for processor in [Threads1, Threads2, Threads16] {
        let all = time(processor, None)?;
        shown.push(format!("{} {all:.1}", processor.name()));
        // On another core the main thread, which prepares the next header, runs in parallel: that is no
        // gain of this one.
        so &= all >= 0.9 * one;
    }
    fact(so, shown.join(", "))
}

/// Lines that miss because they do not fit: those that miss in a cache of 64 times the size are
/// first uses.
fn lines_that_do_not_fit(subject: &Subject) -> Interpretations {
    let on_list = |length: usize| -> Found<Measured> {
        let mut so = true;
        let mut shown = Vec::new();
        for processor in PaperProcessor::ALL {
            let simulated = subject.processors.of(processor)?;
            let mut hierarchy = *simulated.setup.build.hierarchy();
            hierarchy.data.bytes *= 64;
            let setup = simulated.setup.with_hierarchy(hierarchy);
            let misses = |run: &BenchmarkRun<CorePass>| run.passes.iter().map(|pass| pass.data_misses).sum::<u64>();
            let run = simulated.runs.iter().find(|run| run.length == length).ok_or(MeasureError::NotSeen("a list"))?;
            let first_uses = misses(&cores::run(&setup, length)?);
            let visits: u64 = run.passes.iter().map(|pass| pass.visits).sum();
            let of_a_visit = misses(run).saturating_sub(first_uses) as f64 / visits as f64;
            shown.push(format!("{} {of_a_visit:.3}", processor.name()));
            so &= of_a_visit < 0.01;
        }
        Ok(Measured::Fact(so, format!("misses of a visit: {}", shown.join(", "))))
    };
    Ok(vec![
        Interpretation::new("list of 300 items", on_list(300)?),
        Interpretation::new("list of 100 items", on_list(100)?),
    ])
}
