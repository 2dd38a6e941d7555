// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random programs on random cores.
//!
//! There is no test that a larger core is never slower, because that is not true: an operation that
//! is issued earlier can delay a more critical one.

use mb_core::Cycles;
use mb_processor::out_of_order::{Disambiguation, FloatUnits, OutOfOrderConfig, UnitConfig, ppc440};
use mb_processor::predictor::{Direction, PredictorConfig};
use mb_processor::{BranchKind, FloatLatencies, InstructionClass, RegisterNumber, Retired, StaticInstruction};
use proptest::prelude::*;

use crate::naive::{Naive, Times};
use crate::script::{Bench, CoreConfig, DATA, Program, TEXT};

/// A register out of few, so that many instructions depend on each other.
fn register() -> impl Strategy<Value = RegisterNumber> {
    prop_oneof![1 => Just(RegisterNumber::NONE), 3 => (3_u8..9).prop_map(RegisterNumber)]
}

fn instruction() -> impl Strategy<Value = (StaticInstruction, u64, u64)> {
    let class = prop_oneof![
        8 => Just(InstructionClass::Integer),
        2 => Just(InstructionClass::Multiply),
        1 => Just(InstructionClass::Divide),
        1 => Just(InstructionClass::FloatMove),
        1 => Just(InstructionClass::FloatConvert),
        2 => Just(InstructionClass::FloatAdd),
        2 => Just(InstructionClass::FloatMultiply),
        2 => Just(InstructionClass::FloatFused),
        1 => Just(InstructionClass::FloatDivide),
        1 => Just(InstructionClass::FloatSquareRoot),
        8 => Just(InstructionClass::Load),
        5 => Just(InstructionClass::Store),
        1 => Just(InstructionClass::Atomic),
    ];
    let branch = prop_oneof![
        6 => Just(BranchKind::Conditional),
        1 => Just(BranchKind::Jump),
        1 => Just(BranchKind::Call),
        1 => Just(BranchKind::Return),
        1 => Just(BranchKind::ConditionalReturn),
        1 => Just(BranchKind::Indirect),
    ];
    let what = prop_oneof![
        20 => class.prop_map(|class| (class, BranchKind::None)),
        6 => branch.prop_map(|branch| (InstructionClass::Integer, branch)),
        1 => Just((InstructionClass::Fence, BranchKind::None)),
        1 => Just((InstructionClass::System, BranchKind::None)),
    ];
    // Addresses in few lines, so that accesses overlap. `choice` selects direction and target of
    // branches.
    let bytes = prop_oneof![Just(2_u8), Just(4)];
    let length = prop_oneof![Just(1_u8), Just(4), Just(8)];
    (what, [register(), register(), register()], [register(), register()], bytes, length, 0_u64..96, any::<u64>())
        .prop_map(|((class, branch), sources, [first, second], bytes, length, place, choice)| {
            let access = if matches!(class, InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic)
            {
                length
            } else {
                0
            };
            let second = if second == first { RegisterNumber::NONE } else { second };
            let destinations = [first, second, RegisterNumber::NONE];
            (StaticInstruction { class, branch, sources, destinations, bytes, access }, DATA + place, choice)
        })
}

fn program() -> impl Strategy<Value = Program> {
    prop::collection::vec(instruction(), 1..120).prop_map(|parts| {
        let mut pc = TEXT;
        let mut program = Program::new();
        for (instruction, address, choice) in parts {
            let taken = match instruction.branch {
                BranchKind::None => false,
                BranchKind::Conditional | BranchKind::ConditionalReturn => choice % 3 > 0,
                _ => true,
            };
            let next = if taken { TEXT + 16 * (choice >> 8 & 7) } else { pc + u64::from(instruction.bytes) };
            program.instructions.push(Retired { pc, next, address, taken, instruction });
            pc = next;
        }
        program
    })
}

fn machine() -> impl Strategy<Value = CoreConfig> {
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
    let float = (1_u32..3, prop::array::uniform7(1_u64..6)).prop_map(|(count, cycles)| {
        let [simple, convert, add, multiply, fused, divide, square_root] = cycles;
        let latencies = FloatLatencies { simple, convert, add, multiply, fused, divide, square_root };
        FloatUnits { count, latencies }
    });
    let units = (unit(1), unit(1), unit(0), unit(0), float);
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
            rob: widths.7,
            lsq: widths.8,
            integer: units.0,
            multiply: units.1,
            divide: units.2,
            address: units.3,
            float: units.4,
            disambiguation: if rest.0 { Disambiguation::AllAddresses } else { Disambiguation::Predicted },
            predictor: rest.1,
            mispredicted: Cycles(rest.2),
            misfetched: Cycles(rest.3),
        };
        let (_, mut hierarchy) = ppc440(32);
        hierarchy.data.bytes = 128;
        hierarchy.data.ways = 2;
        hierarchy.data.ports = caches.0;
        hierarchy.data.mshrs = caches.1;
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
    let row = |timing: &mb_processor::out_of_order::InstructionTiming| {
        [
            timing.fetched.0,
            timing.dispatched.0,
            timing.issued.0,
            timing.accessed.0,
            timing.written.0,
            timing.committed.0,
        ]
    };
    bench.timings.iter().map(row).collect()
}

proptest! {
    #[test]
    fn every_stage_of_every_instruction_has_the_cycle_of_the_naive_core(program in program(), machine in machine()) {
        let mut bench = Bench::new(&machine);
        bench.run(&program);
        prop_assert_eq!(times(&bench), Naive::new(&machine, &program.instructions).run());
    }

    #[test]
    fn a_run_in_parts_equals_the_run_in_one_call(program in program(), machine in machine(), step in 1_u64..40) {
        // With a step of one cycle no cycle is skipped.
        let mut whole = Bench::new(&machine);
        whole.run(&program);
        for step in [1, step] {
            let mut parts = Bench::new(&machine);
            parts.run_by(&program, step);
            prop_assert_eq!(&parts.timings, &whole.timings);
            prop_assert_eq!(parts.statistics(), whole.statistics());
            prop_assert_eq!(parts.core.now(), whole.core.now());
        }
        // The cycle of the exit is counted if something commits in it.
        let now = whole.core.now();
        let commits = u64::from(whole.timings.last().unwrap().committed == now);
        prop_assert_eq!(whole.statistics().cycles.total(), now.0 + commits);
        prop_assert_eq!(whole.statistics().instructions, program.instructions.len() as u64);
    }

    #[test]
    fn no_program_is_faster_than_the_widths_and_its_dependences(program in program(), machine in machine()) {
        let core = &machine.0;
        let mut bench = Bench::new(&machine);
        let last = bench.run(&program);
        let n = program.instructions.len() as u64;
        for width in [core.fetch_width, core.decode_width, core.issue_width, core.commit_width] {
            prop_assert!(last + 1 >= n.div_ceil(u64::from(width)) + core.front_end.0 + 3, "{width} per cycle");
        }
        // The earliest cycle in which each register is available. An access takes its address
        // computation and at least one cycle.
        let mut available = [0; RegisterNumber::LIMIT];
        for retired in &program.instructions {
            let instruction = &retired.instruction;
            let latest = |sources: &[RegisterNumber]| {
                let cycles = sources.iter().filter_map(|source| available.get(usize::from(source.0)));
                cycles.max().copied().unwrap_or(0)
            };
            let begin = latest(&instruction.sources);
            let (first, whole) = match instruction.class {
                InstructionClass::Integer => (core.integer.latency.0, core.integer.latency.0),
                InstructionClass::Multiply => (core.multiply.latency.0, core.multiply.latency.0),
                InstructionClass::Divide => (core.divide.latency.0, core.divide.latency.0),
                InstructionClass::Load | InstructionClass::Atomic => {
                    (core.address.latency.0, core.address.latency.0 + 1)
                }
                // The data of a store can come later than its address; its destinations depend only
                // on the address.
                InstructionClass::Store => (core.address.latency.0, core.address.latency.0),
                InstructionClass::Fence | InstructionClass::System => (1, 1),
                class => {
                    let cycles = core.float.latencies.of(class).expect("a class of floating point");
                    (cycles, cycles)
                }
            };
            let address = latest(&instruction.sources[..2]);
            for (place, destination) in instruction.destinations.iter().enumerate() {
                let Some(register) = available.get_mut(usize::from(destination.0)) else { continue };
                *register = match instruction.class {
                    InstructionClass::Store => address + first,
                    InstructionClass::Load if place > 0 => begin + first,
                    _ => begin + whole,
                };
            }
        }
        let longest = available.iter().max().copied().unwrap_or(0);
        prop_assert!(last > longest + core.front_end.0, "a chain of {longest}");
    }
}
