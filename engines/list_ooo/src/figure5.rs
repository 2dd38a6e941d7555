// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark of hemmert2007 figure 5 on an out-of-order core: 64 identical headers that match at 0 to 100 % of a list.
//!
//! Contract: every number is measured on the core that runs `guest/bench.c`. Headers come anew before each pass, to
//! memory or cache as the setting `header` says; with `list` cold, every item's lines leave the cache whenever `match` is called.
//! Source: Hemmert et al. (`hemmert2007`) sections 5.1 and 6.1.

use mb_core::Cycles;
use mb_core::settings::SettingError;
use mb_guest::{Bench, Guest, Region, position};
use mb_processor::hierarchy::{Access, Hierarchy};
use mb_processor::out_of_order::{OutOfOrder, Stop};
use mb_processor::{Hart, Isa, Ppc32, Program, Rv64};

use crate::parameters::{Delivery, Entries, Parameters};

/// Lengths of the list in hemmert2007 figures 6 and 7.
pub const LENGTHS: [usize; 4] = [10, 30, 100, 300];

/// Where an item has its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// In the first 32 bytes, with all else that a failing visit reads.
    First,
    /// In the last 8 bytes.
    Last,
}

/// One point of hemmert2007 figures 6 and 7: the cycles of 64 matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Items of the list.
    pub length: usize,
    /// How deep the match lies, in percent of the list.
    pub percent: u32,
    /// Items traversed for each header, the one that matches included.
    pub traversed: usize,
    /// Cycles.
    pub cycles: u64,
}

/// All points for one length of the list, 1 to 1024: twelve passes, the first of which primes and is not reported.
///
/// # Errors
/// Parameters from which no core or cache can be built.
///
/// # Panics
/// When `length` is out of range, or a match is not where it should be.
pub fn run(parameters: &Parameters, link: Link, length: usize) -> Result<Vec<Row>, SettingError> {
    assert!((1..=1024).contains(&length), "the benchmark has 1 to 1024 items");
    let guest = match link {
        Link::First => Guest::Bench,
        Link::Last => Guest::BenchLinkLast,
    };
    let program = guest.program(parameters.machine);
    let one = "a program has its one thread";
    match parameters.machine {
        Isa::Ppc32 => passes(parameters, &program, Ppc32::load(&program, 1).expect(one).remove(0), length),
        Isa::Rv64 => passes(parameters, &program, Rv64::load(&program, 1).expect(one).remove(0), length),
    }
}

fn passes<H: Hart>(
    parameters: &Parameters,
    program: &Program,
    mut hart: H,
    length: usize,
) -> Result<Vec<Row>, SettingError> {
    let function = program.symbol("match").expect("the benchmark calls match").address;
    let mut core = OutOfOrder::new(parameters.core, 0)?;
    let mut hierarchy = Hierarchy::new(&parameters.hierarchy)?;
    let mut memory = program.memory(0);
    let mut bench = Bench::new(length as u64);
    hart.set_argument(0, length as u64);
    let mut was_called = false;
    loop {
        // To see each call, the core is run cycle by cycle: a call ends the fetch of its cycle.
        let until = if parameters.entries == Entries::Cold { core.now() + Cycles(1) } else { Cycles::MAX };
        let stop = core.run(&mut hart, &mut memory, &mut bench, &mut hierarchy, until);
        match stop.expect("the benchmark keeps to its memory") {
            Stop::Until => {
                let is_called = hart.pc() == function;
                if is_called && !was_called {
                    invalidate(&mut hierarchy, &bench.list());
                }
                was_called = is_called;
            }
            Stop::Waiting => {
                assert!(bench.begins(), "the benchmark waits when a pass begins");
                match parameters.delivery {
                    Delivery::Memory => invalidate(&mut hierarchy, &bench.headers()),
                    Delivery::Cache => {
                        let Region { start, end } = bench.headers();
                        hierarchy.warm(0, Access::Load, start, end - start);
                    }
                }
            }
            Stop::Exited(status) => {
                assert_eq!(status, 0, "a match is not where it should be");
                break;
            }
        }
    }
    let row = |(pass, cycles): (usize, Cycles)| {
        let percent = 10 * (pass as u32 - 1);
        Row { length, percent, traversed: position(u64::from(percent), length as u64) as usize + 1, cycles: cycles.0 }
    };
    Ok(bench.cycles().enumerate().skip(1).map(row).collect())
}

fn invalidate(hierarchy: &mut Hierarchy, region: &Region) {
    hierarchy.invalidate(region.start, region.end - region.start);
}
