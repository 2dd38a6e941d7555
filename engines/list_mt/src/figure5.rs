// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark of hemmert2007 figure 5 on barrel-threaded cores: 64 identical headers, a thread
//! for each, that match at 0 to 100 % of a list.
//!
//! Contract: every number is measured on the simulated cores that run `guest/bench.c`. Headers are
//! delivered again before each pass, to memory or caches by the parameter `header`. With a cold
//! `list`, all lines of items are invalidated whenever a thread starts.
//! Source: Hemmert et al. (`hemmert2007`) sections 5.1 and 5.3.

use mb_core::Cycles;
use mb_core::ParameterError;
use mb_guest::{Bench, Guest, HEADERS, position};
use mb_processor::barrel::{Barrel, BarrelConfig, BarrelObserver, Stacks, Stop};
use mb_processor::hierarchy::Access;
use mb_processor::{Hart, Isa, Memory, Ppc32, Program, Retired, Rv64, Syscall, SyscallHandler, SyscallResult};

use crate::machine::STACK;
use crate::parameters::{Delivery, Entries, LockStyle, Parameters};

/// Lengths of the list in hemmert2007 figures 6 and 7.
pub const LENGTHS: [usize; 4] = [10, 30, 100, 300];

/// A data point of hemmert2007 figures 6 and 7: the cycles of 64 matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Items of the list.
    pub length: usize,
    /// Depth of the match, in percent of the list.
    pub percent: u32,
    /// Items traversed for each header, including the matching one.
    pub traversed: usize,
    /// Cycles.
    pub cycles: u64,
}

/// The system-call handler of the benchmark, which records that a thread started.
struct BenchHost {
    bench: Bench,
    started: bool,
}

impl SyscallHandler for BenchHost {
    fn set_cycle(&mut self, cycle: u64) {
        self.bench.set_cycle(cycle);
    }

    fn cycle(&self) -> u64 {
        self.bench.cycle()
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        self.bench.call(call, memory)
    }
}

impl BarrelObserver for BenchHost {
    fn started(&mut self, _: usize, _: u64) {
        self.started = true;
    }

    fn retired(&mut self, _: usize, _: usize, _: (Cycles, Cycles), _: &Retired) {}
}

/// All data points for one length of the list, 1 to 1024. There are twelve passes; the first is a
/// warm-up and not reported.
///
/// # Errors
/// An invalid core or cache configuration.
///
/// # Panics
/// When `length` is out of range, or a match is at the wrong position.
pub fn run(parameters: &Parameters, length: usize) -> Result<Vec<Row>, ParameterError> {
    assert!((1..=1024).contains(&length), "length is {length}; expected 1 to 1024 items");
    let guest = match parameters.locks {
        LockStyle::Hardware => Guest::BenchMt,
        LockStyle::Spin => Guest::BenchMtSpin,
    };
    let program = guest.program(parameters.machine);
    let one = "one thread";
    match parameters.machine {
        Isa::Ppc32 => passes(parameters, &program, Ppc32::load(&program, 1).expect(one).remove(0), length),
        Isa::Rv64 => passes(parameters, &program, Rv64::load(&program, 1).expect(one).remove(0), length),
    }
}

fn passes<H: Hart + Clone>(
    parameters: &Parameters,
    program: &Program,
    hart: H,
    length: usize,
) -> Result<Vec<Row>, ParameterError> {
    // The main thread, and one for each header.
    let config = BarrelConfig { threads: HEADERS as usize + 1, ..parameters.cores };
    let cores = config.hierarchy.cores;
    let mut memory = program.memory(0);
    let top = memory.range().end.next_multiple_of(64) + config.threads as u64 * STACK;
    memory.grow((top - memory.range().end) as usize);
    let mut barrel = Barrel::new(&config, hart, memory, Stacks { top, bytes: STACK })?;
    barrel.spawn(program.entry(), &[length as u64], Cycles::ZERO);
    let mut host = BenchHost { bench: Bench::new(length as u64), started: false };
    let cold = parameters.entries == Entries::Cold;
    loop {
        // The cores run cycle by cycle to detect each start.
        let until = if cold { barrel.now() + Cycles(1) } else { Cycles::MAX };
        let stop = barrel.run_observed(until, &mut host).expect("the benchmark does not fault");
        if cold && std::mem::take(&mut host.started) {
            let list = host.bench.list();
            barrel.hierarchy().invalidate(list.start, list.end - list.start);
        }
        match stop {
            Stop::Until | Stop::Paused => {}
            Stop::Waiting => {
                assert!(host.bench.begins(), "the benchmark waits when a pass begins");
                let headers = host.bench.headers();
                let (start, bytes) = (headers.start, headers.end - headers.start);
                barrel.hierarchy().invalidate(start, bytes);
                if parameters.delivery == Delivery::Cache {
                    for core in 0..cores {
                        barrel.hierarchy().warm(core, Access::Load, start, bytes);
                    }
                }
                let now = barrel.now();
                assert!(barrel.wake(now + Cycles(1)), "the benchmark waits");
            }
            Stop::Exited(status) => {
                assert_eq!(status, 0, "a match is at the wrong position");
                break;
            }
        }
    }
    let row = |(pass, cycles): (usize, Cycles)| {
        let percent = 10 * (pass as u32 - 1);
        Row { length, percent, traversed: position(u64::from(percent), length as u64) as usize + 1, cycles: cycles.0 }
    };
    Ok(host.bench.cycles().enumerate().skip(1).map(row).collect())
}
