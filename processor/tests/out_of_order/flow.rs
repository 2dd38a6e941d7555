// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Branches, and instructions that execute alone.

use mb_core::Cycles;
use mb_processor::out_of_order::{OutOfOrderStop, ppc440};
use mb_processor::predictor::Direction;
use mb_processor::{BranchKind, InstructionClass, Memory};

use crate::perfect;
use crate::script::{Bench, CoreConfig, DATA, Program, Script, TEXT};

fn predicting(direction: Direction) -> CoreConfig {
    let (mut core, caches) = ppc440(32);
    core.predictor.direction = direction;
    (core, caches)
}

const BIMODAL: Direction = Direction::Bimodal { entries: 2048 };

fn fetched(bench: &Bench) -> Vec<u64> {
    bench.timings.iter().map(|timing| timing.fetched.0).collect()
}

#[test]
fn a_taken_branch_ends_the_fetch_of_its_cycle() {
    let mut program = Program::new();
    program.constant(InstructionClass::Integer, 3);
    program.branch(BranchKind::Conditional, None, 0, false);
    program.constant(InstructionClass::Integer, 3);
    program.branch(BranchKind::Conditional, None, TEXT + 0x100, true);
    program.branch(BranchKind::Jump, None, TEXT + 0x200, true);
    program.constant(InstructionClass::Integer, 3);
    program.constant(InstructionClass::Integer, 3);
    let mut bench = Bench::warm(&perfect(), 0);
    bench.run(&program);
    assert_eq!(fetched(&bench), [0, 0, 1, 1, 2, 3, 3]);
}

#[test]
fn a_misprediction_costs_the_time_to_its_resolution_and_the_penalty() {
    for (direction, taken) in [(Direction::NotTaken, true), (Direction::Taken, false), (BIMODAL, true)] {
        for penalty in [0, 1, 3] {
            let mut config = predicting(direction);
            config.0.mispredicted = Cycles(penalty);
            let mut program = Program::new();
            program.branch(BranchKind::Conditional, None, TEXT + 0x100, taken);
            program.constant(InstructionClass::Integer, 3);
            let mut bench = Bench::warm(&config, 0);
            bench.run(&program);
            // Fetched in 0, resolved in 3. After a correct prediction the next fetch would be in 1.
            assert_eq!(fetched(&bench), [0, 3 + penalty], "{direction:?}");
            assert_eq!((bench.statistics().mispredicted, bench.statistics().misfetched), (1, 0));
            // The branch commits in 4, and the next instruction is dispatched one cycle after its
            // fetch.
            assert_eq!(bench.statistics().cycles.mispredicted, penalty, "cycles 5 to 4 + {penalty}");
        }
    }
    // A branch that depends on a multiplication issued in 2 resolves in 6.
    let mut program = Program::new();
    program.constant(InstructionClass::Multiply, 4);
    program.branch(BranchKind::Conditional, Some(4), TEXT + 0x100, true);
    program.constant(InstructionClass::Integer, 3);
    let mut bench = Bench::warm(&predicting(Direction::NotTaken), 0);
    bench.run(&program);
    assert_eq!(fetched(&bench), [0, 0, 6 + 3]);
}

#[test]
fn an_unknown_target_is_detected_at_decode_if_it_is_fixed_and_at_execution_if_not() {
    for (branch, from, resumed, misfetched) in [
        (BranchKind::Jump, None, 1 + 3, 1),
        (BranchKind::Call, None, 1 + 3, 1),
        (BranchKind::Conditional, None, 1 + 3, 1),
        (BranchKind::Indirect, Some(5), 3 + 3, 0),
        (BranchKind::Call, Some(5), 3 + 3, 0),
    ] {
        let mut program = Program::new();
        for _ in 0..2 {
            program.jump(TEXT);
            program.branch(branch, from, TEXT + 0x100, true);
            // Enough instructions for the first jump to commit before the second is fetched.
            for _ in 0..40 {
                program.constant(InstructionClass::Integer, 3);
            }
        }
        let mut bench = Bench::warm(&predicting(Direction::Taken), 0);
        bench.run(&program);
        let fetched = fetched(&bench);
        assert_eq!(fetched[..2], [0, resumed], "{branch:?}");
        assert_eq!(fetched[42], fetched[41] + 1, "the second time, the BTB has the target: {branch:?}");
        assert_eq!((bench.statistics().misfetched, bench.statistics().mispredicted), (misfetched, 1 - misfetched));
    }
}

#[test]
fn a_full_set_of_the_btb_evicts_the_least_recently_updated_target() {
    // Four jumps of one set, which has three ways. Each jump is followed by enough instructions to
    // commit.
    let mut config = predicting(Direction::Taken);
    (config.0.predictor.target_sets, config.0.predictor.target_ways) = (4, 3);
    let mut program = Program::new();
    for which in [0, 1, 2, 3, 1, 2, 0] {
        program.jump(TEXT + 16 * which);
        program.branch(BranchKind::Jump, None, TEXT + 0x1000, true);
        for _ in 0..40 {
            program.constant(InstructionClass::Integer, 3);
        }
    }
    let mut bench = Bench::warm(&config, 0);
    bench.run(&program);
    let known: Vec<bool> =
        (0..7).map(|jump| fetched(&bench)[jump * 41 + 1] == fetched(&bench)[jump * 41] + 1).collect();
    assert_eq!(known, [false, false, false, false, true, true, false]);
}

#[test]
fn the_return_stack_predicts_as_many_returns_as_it_has_entries() {
    for (depth, mispredicted) in [(0, 4), (1, 3), (3, 1), (4, 0), (8, 0)] {
        let mut config = predicting(Direction::Taken);
        config.0.predictor.return_stack = depth;
        let mut program = Program::new();
        let mut callers = Vec::new();
        for call in 0..4 {
            callers.push(program.pc() + 4);
            program.branch(BranchKind::Call, None, TEXT + 0x100 * (call + 1), true);
        }
        while let Some(caller) = callers.pop() {
            let branch = if callers.len() % 2 == 0 { BranchKind::Return } else { BranchKind::ConditionalReturn };
            program.branch(branch, Some(1), caller, true);
        }
        let mut bench = Bench::warm(&config, 0);
        bench.run(&program);
        assert_eq!(bench.statistics().mispredicted, mispredicted, "depth {depth}");
        assert_eq!(bench.statistics().misfetched, 4, "the calls");
    }
}

/// Mispredictions of a branch in the second half of its rounds; `taken` is its direction by round.
fn mispredicted(direction: Direction, taken: impl Fn(usize) -> bool) -> u64 {
    const ROUNDS: usize = 64;
    let mut bench = Bench::warm(&predicting(direction), 0);
    let mut half = 0;
    let mut program = Program::new();
    for round in 0..ROUNDS {
        if round == ROUNDS / 2 {
            bench.run(&program);
            half = bench.statistics().mispredicted;
            program.instructions.clear();
        }
        program.jump(TEXT);
        program.branch(BranchKind::Conditional, None, TEXT + 0x100, taken(round));
        // The branch commits before its next round.
        for _ in 0..40 {
            program.constant(InstructionClass::Integer, 3);
        }
    }
    bench.run(&program);
    bench.statistics().mispredicted - half
}

#[test]
fn counters_learn_a_bias_and_history_learns_a_pattern() {
    let gshare = Direction::Gshare { entries: 1024, history: 4 };
    let alternating = |round: usize| round.is_multiple_of(2);
    let every_fourth = |round: usize| round.is_multiple_of(4);
    for (direction, bias, alternation, fourth) in [
        (Direction::Perfect, 0, 0, 0),
        (Direction::NotTaken, 32, 16, 8),
        (Direction::Taken, 0, 16, 24),
        // Two-bit counters, weakly not taken: each taken branch changes the prediction for the next
        // one, which is not taken.
        (BIMODAL, 0, 32, 8),
        (gshare, 0, 0, 0),
    ] {
        assert_eq!(mispredicted(direction, |_| true), bias, "{direction:?}");
        assert_eq!(mispredicted(direction, alternating), alternation, "{direction:?}");
        assert_eq!(mispredicted(direction, every_fourth), fourth, "{direction:?}");
    }
    // After two branches not taken, the next one can be the third or the taken one; both are
    // mispredicted.
    assert_eq!(mispredicted(Direction::Gshare { entries: 1024, history: 2 }, every_fourth), 16);
}

#[test]
fn a_system_call_executes_alone_and_fetch_continues_after_it() {
    let mut program = Program::new();
    program.constant(InstructionClass::Multiply, 3);
    program.alone(InstructionClass::System);
    program.constant(InstructionClass::Integer, 4);
    let mut bench = Bench::warm(&perfect(), 0);
    bench.run(&program);
    // The multiplication commits in 6; the call is executed and dispatched then, and commits in 9.
    assert_eq!(bench.host.calls, [6]);
    assert_eq!(bench.timings[1].dispatched, Cycles(6));
    assert_eq!(bench.timings[1].committed, Cycles(9));
    assert_eq!(bench.timings[2].fetched, Cycles(6));
}

#[test]
fn a_waiting_system_call_stops_the_core_until_it_has_a_result() {
    let mut program = Program::new();
    program.alone(InstructionClass::System);
    let mut bench = Bench::warm(&perfect(), 0);
    bench.host.waits = true;
    let mut hart = Script { instructions: program.instructions, at: 0 };
    let mut memory = Memory::new(0, 0);
    let mut run = |bench: &mut Bench, until| {
        bench.core.run(&mut hart, &mut memory, &mut bench.host, &mut bench.hierarchy, Cycles(until)).unwrap()
    };
    assert_eq!(run(&mut bench, 100), OutOfOrderStop::Waiting);
    assert_eq!(run(&mut bench, 100), OutOfOrderStop::Waiting);
    assert_eq!(bench.core.now(), Cycles(1), "fetched in 0");
    bench.core.skip(Cycles(50));
    bench.host.waits = false;
    assert_eq!(run(&mut bench, 53), OutOfOrderStop::Until);
    assert_eq!(run(&mut bench, 100), OutOfOrderStop::Exited(0));
    assert_eq!(bench.host.calls, [1, 1, 50]);
    assert_eq!(
        bench.core.now(),
        Cycles(53),
        "the call commits, and then the exit, which was fetched in 50, ends the run"
    );
    assert_eq!(bench.statistics().cycles.total(), 1 + 4, "cycle 0 and 50 to 53");
    assert_eq!(bench.statistics().instructions, 1);
}

#[test]
fn a_fence_waits_for_all_instructions_before_it_and_blocks_those_after_it() {
    let mut program = Program::new();
    program.load(3, 4, DATA);
    program.alone(InstructionClass::Fence);
    program.load(3, 4, DATA + 8);
    let mut bench = Bench::warm(&perfect(), 0);
    bench.run(&program);
    // The load misses and commits in 15; the fence is issued in 16, ends in 17 and commits in 18.
    assert_eq!(bench.timings[1].dispatched, Cycles(15));
    assert_eq!(bench.timings[2].dispatched, Cycles(18));
}

#[test]
fn an_atomic_waits_until_it_is_the_oldest_and_later_loads_wait_for_it() {
    let mut program = Program::new();
    program.constant(InstructionClass::Multiply, 5);
    program.atomic(3, 6, 4, DATA);
    program.load(3, 7, DATA + 8);
    let mut bench = Bench::warm(&perfect(), 64);
    bench.run(&program);
    // The multiplication commits in 6. The atomic accesses memory then and ends in 7; then the load
    // begins.
    assert_eq!(bench.timings[1].accessed, Cycles(6));
    assert_eq!(bench.timings[2].accessed, Cycles(7));
}
