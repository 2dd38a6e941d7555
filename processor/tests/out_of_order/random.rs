// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random programs on random cores.
//!
//! That more of something is never slower is no theorem of such a core (what is issued first may delay what matters more), and
//! is not tested.

use mb_core::Cycles;
use mb_processor::out_of_order::{Disambiguation, OutOfOrderConfig, UnitConfig, ppc440};
use mb_processor::predictor::{Direction, PredictorConfig};
use mb_processor::{Class, Control, Register, Retired, Shape};
use proptest::prelude::*;

use crate::naive::{Naive, Times};
use crate::script::{Bench, DATA, Machine, Program, TEXT};

/// Few registers, so that many instructions depend on each other.
fn register() -> impl Strategy<Value = Register> {
    prop_oneof![1 => Just(Register::NONE), 3 => (3_u8..9).prop_map(Register)]
}

fn instruction() -> impl Strategy<Value = (Shape, u64, u64)> {
    let class = prop_oneof![
        8 => Just(Class::Integer),
        2 => Just(Class::Multiply),
        1 => Just(Class::Divide),
        8 => Just(Class::Load),
        5 => Just(Class::Store),
        1 => Just(Class::Atomic),
    ];
    let control = prop_oneof![
        6 => Just(Control::Branch),
        1 => Just(Control::Jump),
        1 => Just(Control::Call),
        1 => Just(Control::Return),
        1 => Just(Control::ConditionalReturn),
        1 => Just(Control::Indirect),
    ];
    let what = prop_oneof![
        20 => class.prop_map(|class| (class, Control::None)),
        6 => control.prop_map(|control| (Class::Integer, control)),
        1 => Just((Class::Fence, Control::None)),
        1 => Just((Class::System, Control::None)),
    ];
    // Addresses of few lines, so that they meet; a second choice decides what is taken and where to.
    let bytes = prop_oneof![Just(2_u8), Just(4)];
    let length = prop_oneof![Just(1_u8), Just(4), Just(8)];
    (what, [register(), register(), register()], [register(), register()], bytes, length, 0_u64..96, any::<u64>())
        .prop_map(|((class, control), sources, [first, second], bytes, length, place, choice)| {
            let access = if matches!(class, Class::Load | Class::Store | Class::Atomic) { length } else { 0 };
            let second = if second == first { Register::NONE } else { second };
            let destinations = [first, second, Register::NONE];
            (Shape { class, control, sources, destinations, bytes, access }, DATA + place, choice)
        })
}

fn program() -> impl Strategy<Value = Program> {
    prop::collection::vec(instruction(), 1..120).prop_map(|parts| {
        let mut pc = TEXT;
        let mut program = Program::new();
        for (shape, address, choice) in parts {
            let taken = match shape.control {
                Control::None => false,
                Control::Branch | Control::ConditionalReturn => choice % 3 > 0,
                _ => true,
            };
            let next = if taken { TEXT + 16 * (choice >> 8 & 7) } else { pc + u64::from(shape.bytes) };
            program.instructions.push(Retired { pc, next, address, taken, shape });
            pc = next;
        }
        program
    })
}

fn machine() -> impl Strategy<Value = Machine> {
    let unit = |least: u32| {
        (least..3, 1_u64..5, 1_u64..5).prop_map(|(count, latency, interval)| UnitConfig {
            count,
            latency: Cycles(latency),
            interval: Cycles(interval),
        })
    };
    let direction = prop_oneof![
        Just(Direction::Perfect),
        Just(Direction::NotTaken),
        Just(Direction::Taken),
        Just(Direction::Bimodal { entries: 8 }),
        Just(Direction::Gshare { entries: 16, history: 3 }),
    ];
    let predictor = (direction, prop_oneof![Just(0_usize), Just(2)], 1_usize..3, 0_usize..3).prop_map(
        |(direction, target_sets, target_ways, return_stack)| PredictorConfig {
            direction,
            target_sets,
            target_ways,
            return_stack,
            address_shift: 1,
        },
    );
    let widths = (1_u32..4, 1_usize..9, 4_u32..7, 1_u64..4, 1_u32..4, 1_u32..5, 1_u32..4, 1_usize..20, 1_usize..7);
    let units = (unit(1), unit(1), unit(0), unit(0));
    let caches = (1_u32..3, 1_usize..4, 1_u64..4, 0_u64..3, 1_u64..80, 1_u32..3);
    let rest = (any::<bool>(), predictor, 0_u64..4, 0_u64..4);
    (widths, units, caches, rest).prop_map(|(widths, units, caches, rest)| {
        let core = OutOfOrderConfig {
            fetch_width: widths.0,
            fetch_queue: widths.1,
            fetch_block: 1 << widths.2,
            front_end: Cycles(widths.3),
            decode_width: widths.4,
            issue_width: widths.5,
            commit_width: widths.6,
            window: widths.7,
            memory_queue: widths.8,
            integer: units.0,
            multiply: units.1,
            divide: units.2,
            address: units.3,
            disambiguation: if rest.0 { Disambiguation::AllAddresses } else { Disambiguation::Foreseen },
            predictor: rest.1,
            mispredicted: Cycles(rest.2),
            misfetched: Cycles(rest.3),
        };
        let (_, mut hierarchy) = ppc440(32);
        hierarchy.data.bytes = 128;
        hierarchy.data.ways = 2;
        hierarchy.data.ports = caches.0;
        hierarchy.data.misses = caches.1;
        hierarchy.data.hit = Cycles(caches.2);
        hierarchy.data.lookup = Cycles(caches.3);
        hierarchy.instruction.bytes = 128;
        hierarchy.instruction.ways = 1;
        hierarchy.instruction.ports = caches.5;
        hierarchy.memory.latency = Cycles(caches.4);
        (core, hierarchy)
    })
}

fn times(bench: &Bench) -> Vec<Times> {
    let row = |passage: &mb_processor::out_of_order::Passage| {
        [
            passage.fetched.0,
            passage.dispatched.0,
            passage.issued.0,
            passage.accessed.0,
            passage.written.0,
            passage.committed.0,
        ]
    };
    bench.passages.iter().map(row).collect()
}

proptest! {
    #[test]
    fn every_instruction_passes_when_the_naive_core_says(program in program(), machine in machine()) {
        let mut bench = Bench::new(&machine);
        bench.run(&program);
        prop_assert_eq!(times(&bench), Naive::new(&machine, &program.instructions).run());
    }

    #[test]
    fn it_does_not_matter_in_how_many_parts_a_core_is_run(program in program(), machine in machine(), step in 1_u64..40) {
        // Step by step, no cycle is skipped.
        let mut whole = Bench::new(&machine);
        whole.run(&program);
        for step in [1, step] {
            let mut parts = Bench::new(&machine);
            parts.run_by(&program, step);
            prop_assert_eq!(&parts.passages, &whole.passages);
            prop_assert_eq!(parts.statistics(), whole.statistics());
            prop_assert_eq!(parts.core.now(), whole.core.now());
        }
        // The cycle of the exit counts if something commits in it.
        let now = whole.core.now();
        let commits = u64::from(whole.passages.last().unwrap().committed == now);
        prop_assert_eq!(whole.statistics().cycles.total(), now.0 + commits);
        prop_assert_eq!(whole.statistics().instructions, program.instructions.len() as u64);
    }

    #[test]
    fn no_program_is_faster_than_its_widths_and_its_dependences(program in program(), machine in machine()) {
        let core = &machine.0;
        let mut bench = Bench::new(&machine);
        let last = bench.run(&program);
        let n = program.instructions.len() as u64;
        for width in [core.fetch_width, core.decode_width, core.issue_width, core.commit_width] {
            prop_assert!(last + 1 >= n.div_ceil(u64::from(width)) + core.front_end.0 + 3, "{width} per cycle");
        }
        // When each register is there at the earliest; an access takes its address and at least a cycle.
        let mut there = [0; Register::LIMIT];
        for retired in &program.instructions {
            let shape = &retired.shape;
            let begin = shape.sources.iter().filter_map(|source| there.get(usize::from(source.0))).max().copied().unwrap_or(0);
            let (first, whole) = match shape.class {
                Class::Integer => (core.integer.latency.0, core.integer.latency.0),
                Class::Multiply => (core.multiply.latency.0, core.multiply.latency.0),
                Class::Divide => (core.divide.latency.0, core.divide.latency.0),
                Class::Load | Class::Atomic => (core.address.latency.0, core.address.latency.0 + 1),
                // A store's data may come later than its address; what it writes depends on the address alone.
                Class::Store => (core.address.latency.0, core.address.latency.0),
                Class::Fence | Class::System => (1, 1),
            };
            let of_address = [shape.sources[0], shape.sources[1]];
            let address = of_address.iter().filter_map(|source| there.get(usize::from(source.0))).max().copied().unwrap_or(0);
            for (place, destination) in shape.destinations.iter().enumerate() {
                let Some(register) = there.get_mut(usize::from(destination.0)) else { continue };
                *register = match shape.class {
                    Class::Store => address + first,
                    Class::Load if place > 0 => begin + first,
                    _ => begin + whole,
                };
            }
        }
        let longest = there.iter().max().copied().unwrap_or(0);
        prop_assert!(last > longest + core.front_end.0, "a chain of {longest}");
    }
}
