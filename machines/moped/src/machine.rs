// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole machine without time: harts that run the kernel of `guest/kernel`, memory, the devices, and the programs
//! with their files.

mod symbols;
mod watch;

use mb_guest::kernel::{Boot, BootError, Ended, KernelHost, UserProgram};
use mb_processor::functional::{Counts, Functional, Host, HostAnswer, HostCall, HostMemory, Parameters, Stop};
use mb_processor::linux::Files;

use self::symbols::Symbols;
pub use self::watch::Waiting;
use self::watch::Watch;
use crate::contract::{CONTROL, PORTS};
use crate::{Counters, FunctionalMoped, Moped, MopedParameters};

/// What the machine is built from. Times are those of [`Functional`]: instructions of one hart.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineParameters {
    /// Harts, 1 to 64; process r of a program starts on hart r modulo this.
    pub harts: u32,
    /// Bytes of memory, a multiple of 4096.
    pub memory: u64,
    /// Units of time in a second, as programs see it.
    pub frequency: u64,
    /// Time between timer interrupts while processes share a hart.
    pub slice: u64,
    /// Instructions of a hart's turn.
    pub quantum: u32,
    /// The devices; without them, programs have no ports. Their number of nodes becomes that of harts.
    pub moped: Option<MopedParameters>,
    /// Time without progress that is a deadlock. While processes share a hart it is at least two slices of every
    /// process.
    pub patience: u64,
    /// Time at which a run stops.
    pub limit: u64,
    /// Seed of the random numbers that programs get.
    pub seed: u64,
}

impl Default for MachineParameters {
    /// 16 harts of 1 GHz, 1 GiB, no device, no limit; 100 million instructions of a hart without progress are a
    /// deadlock.
    fn default() -> Self {
        Self {
            harts: 16,
            memory: 1 << 30,
            frequency: 1_000_000_000,
            slice: 10_000_000,
            quantum: 64,
            moped: None,
            patience: 100_000_000,
            limit: u64::MAX,
            seed: 1,
        }
    }
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All processes ended; the status is the first that is not 0, or 0.
    Exited(u64),
    /// For [`MachineParameters::patience`], no hart computed and nothing moved between processes.
    Deadlock(Vec<Waiting>),
    /// The time is up.
    Limit(Vec<Waiting>),
    /// A hart takes traps without end.
    TrapLoop {
        /// The hart.
        hart: usize,
        /// Address of the handler.
        handler: u64,
    },
}

/// The whole machine without time.
#[derive(Clone, Debug)]
pub struct Machine<F> {
    functional: Functional<FunctionalMoped>,
    host: Counted<F>,
    symbols: Vec<Symbols>,
    /// Program and rank of each process, in the order of the kernel's process numbers.
    processes: Vec<(u32, u32)>,
    patience: u64,
    slice: u64,
    limit: u64,
    watch: Option<Watch>,
}

/// The host, and how often it was called.
#[derive(Clone, Debug)]
struct Counted<F> {
    host: KernelHost<F>,
    calls: u64,
}

impl<F: Files> Host for Counted<F> {
    fn call(&mut self, call: HostCall, memory: &mut dyn HostMemory) -> HostAnswer {
        self.calls += 1;
        self.host.call(call, memory)
    }
}

impl<F: Files> Machine<F> {
    /// A machine at its start.
    ///
    /// # Errors
    /// A parameter is out of its range, or the programs do not fit into memory.
    pub fn new(parameters: &MachineParameters, programs: &[UserProgram<'_>], files: F) -> Result<Self, BootError> {
        let has_device = parameters.moped.is_some();
        let boot = Boot {
            harts: parameters.harts,
            memory: parameters.memory,
            frequency: parameters.frequency,
            slice: parameters.slice,
            ports: if has_device { PORTS } else { 0 },
            control: if has_device { CONTROL } else { 0 },
        };
        let (memory, states) = boot.start(programs)?;
        let device = parameters.moped.clone().unwrap_or_else(|| crate::presets::parameters("base"));
        let device = MopedParameters { nodes: states.len(), ..device };
        let device = FunctionalMoped::new(Moped::new(&device));
        let turns = Parameters { quantum: parameters.quantum };
        let ranks =
            (0_u32..).zip(programs).flat_map(|(number, program)| (0..program.ranks).map(move |rank| (number, rank)));
        Ok(Self {
            functional: Functional::new(memory, device, &states, 0, turns),
            host: Counted { host: KernelHost::new(files, parameters.seed), calls: 0 },
            symbols: programs.iter().map(|program| Symbols::of(program.file)).collect(),
            processes: ranks.collect(),
            patience: parameters.patience.max(1),
            slice: parameters.slice,
            limit: parameters.limit,
            watch: None,
        })
    }

    /// Runs to the end.
    pub fn run(&mut self) -> End {
        loop {
            if let Some(end) = self.step() {
                return end;
            }
        }
    }

    /// Runs for a quarter of the patience, or to the end.
    pub fn step(&mut self) -> Option<End> {
        let mut watch = self.watch.take().unwrap_or_else(|| Watch::new(self));
        let end = loop {
            let until = self.functional.time().saturating_add(self.patience.div_ceil(4)).min(self.limit);
            match self.functional.run(&mut self.host, until) {
                Stop::Exited(status) => break Some(End::Exited(status)),
                Stop::Idle => break Some(End::Deadlock(self.waiting())),
                Stop::TrapLoop { hart, handler } => break Some(End::TrapLoop { hart, handler }),
                Stop::Host(_) => {}
                Stop::Until if self.functional.time() >= self.limit => break Some(End::Limit(self.waiting())),
                Stop::Until => break watch.stands_still(self).then(|| End::Deadlock(self.waiting())),
            }
        };
        self.watch = Some(watch);
        end
    }

    /// Where the processes are that hold a hart.
    #[must_use]
    pub fn waiting(&self) -> Vec<Waiting> {
        watch::waiting(self)
    }

    /// The processes that ended, in order of time.
    #[must_use]
    pub fn ended(&self) -> &[Ended] {
        self.host.host.ended()
    }

    /// Files, console and markers.
    #[must_use]
    pub fn host(&self) -> &KernelHost<F> {
        &self.host.host
    }

    /// What the kernel wrote, with the function of each address `pc`.
    #[must_use]
    pub fn messages(&self) -> String {
        let mut text = String::new();
        for line in self.host.host.messages().lines() {
            text.push_str(line);
            let number = |word: &str, radix| {
                let rest = line.split_once(word)?.1.trim_start_matches("0x");
                let end = rest.find(|letter: char| !letter.is_digit(radix)).unwrap_or(rest.len());
                u64::from_str_radix(&rest[..end], radix).ok()
            };
            let program = number("program ", 10).and_then(|program| self.symbols.get(usize::try_from(program).ok()?));
            if let (Some(symbols), Some(pc)) = (program, number("pc ", 16))
                && let Some(name) = symbols.name(pc)
            {
                text.push_str(" in ");
                text.push_str(&name);
            }
            text.push('\n');
        }
        text
    }

    /// What a hart did.
    #[must_use]
    pub fn counts(&self, hart: usize) -> Counts {
        self.functional.counts(hart)
    }

    /// Number of harts.
    #[must_use]
    pub fn harts(&self) -> usize {
        self.functional.harts()
    }

    /// The time: the longest way of a hart, with its waits.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.functional.time()
    }

    /// What the device of a node did.
    pub fn device(&mut self, node: usize) -> Counters {
        self.functional.device().moped().counters(node)
    }

    /// Descriptors in the table of a node.
    pub fn descriptors(&mut self, node: usize) -> usize {
        self.functional.device().moped().used(node)
    }

    /// Physical addresses of lines that the device copied and that are not memory.
    pub fn refused_lines(&mut self) -> &[u64] {
        self.functional.device().refused()
    }
}
