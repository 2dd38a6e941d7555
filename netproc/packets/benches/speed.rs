// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Speed of the simulation of network processors: whole runs of 3DES and of the router's mix of applications, from the
//! start of the firmware to the last packet, with every decision checked.
//!
//! Instructions of waiting loops are not counted. A waiting loop is found by its instruction `pause` or `wrs`: the
//! instructions of a hart from one such instruction to the next are waiting if they store nothing but the hart's phase
//! (`np_status`). So what the OS thread executes between two looks at an empty ring is not counted, nor what a worker
//! executes that finds no packet or a lock held; the same code is counted if it finds a packet. They are counted once,
//! with an observer, in a run that is not timed; every run executes the same instructions. The start of the firmware is
//! executed without timing and not counted either, though its time is: the runs have packets enough to outweigh it.
//!
//! The references are the cores of other machines, on MD5. All are run in turns; the ratio is that of two runs in
//! succession, and its spread is that of the turns. Times are those in which the host ran this process.
//! `cargo bench -p mb-packets --bench speed -- "3des cmp8"` runs those whose names begin so.

use std::ops::ControlFlow;
use std::path::Path;

use mb_core::Cycles;
use mb_core::parameters::ParameterSet;
use mb_netproc::contract::HartStatus;
use mb_netproc::parameters::Handler;
use mb_netproc::{LoadedProgram, PacketMachineParameters, PassageObserver, Spine, presets};
use mb_packets::traffic::generate;
use mb_packets::{CaptureSession, FilterSet, Mix, TrafficParameters, session};
use mb_processor::barrel::{Barrel, BarrelConfig, Stacks};
use mb_processor::chip::IssueOrder;
use mb_processor::chip::Passage;
use mb_processor::hierarchy::Hierarchy;
use mb_processor::out_of_order::{OutOfOrder, cortex_a72};
use mb_processor::{InstructionClass, Memory, Ppc32, Program, Rv64, Service, Syscall, SyscallHandler, SyscallResult};

const TURNS: usize = 7;

/// Accepts every call.
struct Mute;

impl SyscallHandler for Mute {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        if call.service == Service::Exit { SyscallResult::Exit(call.arguments[0]) } else { SyscallResult::Value(0) }
    }
}

fn firmware(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../processor/firmware/elf/{name}.elf"));
    Program::load(&std::fs::read(path).expect("a committed file")).expect("a program")
}

/// Executes MD5 on the out-of-order core; returns the number of instructions.
fn out_of_order(program: &Program) -> u64 {
    let (core, caches) = cortex_a72();
    let mut hart = Rv64::load(program, 1).expect("RV64").remove(0);
    let mut core = OutOfOrder::new(core, 0).expect("a core");
    let mut hierarchy = Hierarchy::new(&caches).expect("a hierarchy");
    core.run(&mut hart, &mut program.memory(0), &mut Mute, &mut hierarchy, Cycles::MAX).expect("no fault");
    core.statistics().instructions
}

/// Executes MD5 on one barrel core; returns the number of instructions.
fn barrel(program: &Program) -> u64 {
    let config = BarrelConfig::hemmert2007(1).expect("a preset");
    let hart = Ppc32::load(program, 1).expect("PPC32").remove(0);
    let memory = program.memory(66 << 10);
    let stacks = Stacks { top: memory.range().end & !15, bytes: 1024 };
    let mut barrel = Barrel::new(&config, hart, memory, stacks).expect("cores");
    barrel.spawn(program.entry(), &[], Cycles(0));
    barrel.run_until(Cycles::MAX, &mut Mute).expect("no fault");
    barrel.statistics(0).instructions
}

/// Counts instructions, those of waiting loops apart.
struct Waiting<'a> {
    image: &'a LoadedProgram,
    /// Where the first hart's phase is.
    phase: u64,
    harts: Vec<Hart>,
}

/// Instructions of a hart.
#[derive(Clone, Copy, Default)]
struct Hart {
    all: u64,
    waiting: u64,
    /// Since the last `pause` or `wrs`.
    since: u64,
    /// Whether something but the phase was stored since then.
    stored: bool,
}

impl<'a> Waiting<'a> {
    fn new(image: &'a LoadedProgram) -> Self {
        let status = image.program().symbol("np_status").expect("SPINE has a status for each hart");
        Self { image, phase: status.address + 8, harts: vec![Hart::default(); image.harts() as usize] }
    }

    fn waits(&self, pc: u64) -> bool {
        // pause, wrs.nto and wrs.sto
        let word = self.image.memory().read::<4>(pc).map(u32::from_le_bytes);
        matches!(word, Some(0x0100_000f | 0x00d0_0073 | 0x01d0_0073))
    }
}

impl PassageObserver for Waiting<'_> {
    fn committed(&mut self, passage: &Passage, _: u64) {
        let waits = self.waits(passage.pc);
        let phase = self.phase + HartStatus::BYTES * passage.hart as u64;
        let hart = &mut self.harts[passage.hart];
        hart.all += 1;
        hart.since += 1;
        hart.stored |= passage.instruction.class == InstructionClass::Store && passage.address != phase;
        if waits {
            if !hart.stored {
                hart.waiting += hart.since;
            }
            (hart.since, hart.stored) = (0, false);
        }
    }
}

/// A whole run.
struct Work {
    name: String,
    session: CaptureSession,
    packets: u64,
    /// Instructions without those of waiting loops.
    instructions: u64,
    /// Instructions of waiting loops.
    waiting: u64,
    /// Index of the reference, and the least ratio to it that is expected.
    expected: (usize, f64),
}

impl Work {
    fn new(name: &str, set: &ParameterSet, order: IssueOrder, (application, packets): (Handler, u64)) -> Self {
        let mut parameters: PacketMachineParameters = set.typed();
        (parameters.application, parameters.processor.order) = (application, order);
        let traffic = TrafficParameters { packets: packets as usize, mix: Mix::Router, ..TrafficParameters::default() };
        let filters = FilterSet::of_scenarios(parameters.filters, session::TABLES_SEED);
        let capture = generate(&traffic, &filters, &session::routes(&parameters), 1).expect("a filter for each");
        let session = CaptureSession::new(&parameters, Spine::Plain.file(), &capture).expect("a program that fits");
        let mut observer = Waiting::new(session.image());
        run(&session, packets, Some(&mut observer));
        let sum = |count: fn(&Hart) -> u64| observer.harts.iter().map(count).sum::<u64>();
        let (all, waiting) = (sum(|hart| hart.all), sum(|hart| hart.waiting));
        let expected = if order == IssueOrder::InOrder { (1, 0.3) } else { (0, 0.8) };
        Self { name: name.to_owned(), session, packets, instructions: all - waiting, waiting, expected }
    }
}

fn run(session: &CaptureSession, packets: u64, observer: Option<&mut dyn PassageObserver>) {
    let checked = session.run(packets, observer, &mut |_| ControlFlow::Continue(())).expect("a processor");
    assert!(checked.run.error.is_none() && checked.mismatch_count == 0, "every decision is right");
}

/// Name of a core, and its run, which returns the number of instructions.
type Reference<'a> = (&'static str, Box<dyn Fn() -> u64 + 'a>);

/// Nanoseconds that this process has run, without the time in which the host ran others.
fn run_time() -> u64 {
    let statistics = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux host");
    statistics.split(' ').next().and_then(|first| first.parse().ok()).expect("a number")
}

/// Million instructions per second, and the seconds of one run. Repeated for at least 0.2 s.
fn rate(run: &dyn Fn() -> u64) -> (f64, f64) {
    let (begin, mut instructions, mut runs) = (run_time(), 0, 0);
    loop {
        instructions += run();
        runs += 1;
        let seconds = (run_time() - begin) as f64 / 1e9;
        if seconds > 0.2 {
            return (instructions as f64 / seconds / 1e6, seconds / f64::from(runs));
        }
    }
}

/// The median, the least and the largest.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[0], values[values.len() - 1]]
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    let (md5, md5_32) = (firmware("md5.rv64"), firmware("md5.ppc32"));
    let references: [Reference<'_>; 2] =
        [("cortex_a72", Box::new(|| out_of_order(&md5))), ("barrel", Box::new(|| barrel(&md5_32)))];
    let runs = [("3des", (Handler::TripleDes, 100)), ("router", (Handler::ByFilter, 1000))];
    let processors =
        [("smt8", IssueOrder::OutOfOrder), ("cmp8", IssueOrder::OutOfOrder), ("cmp8", IssueOrder::InOrder)];
    let beginning = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let work: Vec<Work> = runs
        .into_iter()
        .flat_map(|(name, run)| {
            processors.map(|(preset, order)| {
                let order_name = if order == IssueOrder::InOrder { " in order" } else { "" };
                (format!("{name} {preset}{order_name}"), preset, order, run)
            })
        })
        .filter(|(name, ..)| name.starts_with(&beginning))
        .map(|(name, preset, order, run)| Work::new(&name, &presets::preset(preset).expect("a preset"), order, run))
        .collect();
    let mut rates = vec![Vec::new(); references.len()];
    let mut ratios = vec![Vec::new(); work.len()];
    let mut speeds = vec![Vec::new(); work.len()];
    let mut seconds = vec![Vec::new(); work.len()];
    for _ in 0..TURNS {
        for (place, work) in work.iter().enumerate() {
            let (reference, _) = work.expected;
            let (base, _) = rate(&references[reference].1);
            let (speed, time) = rate(&|| {
                run(&work.session, work.packets, None);
                work.instructions
            });
            rates[reference].push(base);
            ratios[place].push(speed / base);
            speeds[place].push(speed);
            seconds[place].push(time);
        }
    }
    for ((name, _), rates) in references.iter().zip(rates) {
        if rates.is_empty() {
            continue;
        }
        let [rate, least, most] = spread(rates);
        println!("{name}: {rate:.2} million instructions per second ({least:.2} to {most:.2})");
    }
    println!("{:<22} {:>8} {:>8} {:>9} {:>7}  ratio", "run", "M inst", "waiting", "M inst/s", "host s");
    for (place, work) in work.iter().enumerate() {
        let [[speed, ..], [time, ..]] = [&speeds[place], &seconds[place]].map(|values| spread(values.clone()));
        let [ratio, least, most] = spread(ratios[place].clone());
        let (reference, expected) = work.expected;
        println!(
            "{:<22} {:>8.2} {:>8.2} {speed:>9.2} {time:>7.3}  {ratio:.2} of {} ({least:.2} to {most:.2}), expected \
             {expected}",
            work.name,
            work.instructions as f64 / 1e6,
            work.waiting as f64 / 1e6,
            references[reference].0
        );
    }
}
