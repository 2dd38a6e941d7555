// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark of hemmert2007 figure 5 on an out-of-order core: 64 identical headers that match
//! at 0 to 100 % of a list.
//!
//! Contract: every number is measured on the simulated core that runs `guest/bench.c`. Headers are
//! delivered again before each pass, to memory or cache by the parameter `header`. With a cold
//! `list`, all lines of items are invalidated at each call of `match`. Source: Hemmert et al.
//! (`hemmert2007`) sections 5.1 and 6.1.

use mb_core::Cycles;
use mb_core::ParameterError;
use mb_guest::{Bench, Guest, Region, position};
use mb_processor::hierarchy::{Access, Hierarchy};
use mb_processor::out_of_order::{OutOfOrder, Stop};
use mb_processor::{Hart, Isa, Ppc32, Program, Rv64};

use crate::parameters::{Delivery, Entries, Parameters};

/// Lengths of the list in hemmert2007 figures 6 and 7.
pub const LENGTHS: [usize; 4] = [10, 30, 100, 300];

/// The position of the link in an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// In the first 32 bytes, with the other fields that a failing visit reads.
    First,
    /// In the last 8 bytes.
    Last,
}

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

/// All data points for one length of the list, 1 to 1024. There are twelve passes; the first is a
/// warm-up and not reported.
///
/// # Errors
/// An invalid core or cache configuration.
///
/// # Panics
/// When `length` is out of range, or a match is at the wrong position.
pub fn run(parameters: &Parameters, link: Link, length: usize) -> Result<Vec<Row>, ParameterError> {
    assert!((1..=1024).contains(&length), "length is {length}; expected 1 to 1024 items");
    let guest = match link {
        Link::First => Guest::Bench,
        Link::Last => Guest::BenchLinkLast,
    };
    let program = guest.program(parameters.machine);
    let one = "one thread";
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
) -> Result<Vec<Row>, ParameterError> {
    let function = program.symbol("match").expect("a symbol of the benchmark").address;
    let mut core = OutOfOrder::new(parameters.core, 0)?;
    let mut hierarchy = Hierarchy::new(&parameters.hierarchy)?;
    let mut memory = program.memory(0);
    let mut bench = Bench::new(length as u64);
    hart.set_argument(0, length as u64);
    let mut was_called = false;
    loop {
        // The core runs cycle by cycle to detect each call of `match`, which ends the fetch of its
        // cycle.
        let until = if parameters.entries == Entries::Cold { core.now() + Cycles(1) } else { Cycles::MAX };
        let stop = core.run(&mut hart, &mut memory, &mut bench, &mut hierarchy, until);
        match stop.expect("the benchmark does not fault") {
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
                assert_eq!(status, 0, "a match is at the wrong position");
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
