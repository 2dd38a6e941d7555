// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changes of the flow, and instructions that have to be alone.

use mb_core::Cycles;
use mb_processor::out_of_order::{Stop, ppc440};
use mb_processor::predictor::Direction;
use mb_processor::{Class, Control, Memory};

use crate::foreseen;
use crate::script::{Bench, DATA, Machine, Program, Script, TEXT};

fn predicting(direction: Direction) -> Machine {
    let (mut core, caches) = ppc440(32);
    core.predictor.direction = direction;
    (core, caches)
}

const BIMODAL: Direction = Direction::Bimodal { entries: 2048 };

fn fetched(bench: &Bench) -> Vec<u64> {
    bench.passages.iter().map(|passage| passage.fetched.0).collect()
}

#[test]
fn a_taken_change_of_the_flow_ends_the_fetch_of_its_cycle() {
    let mut program = Program::new();
    program.constant(Class::Integer, 3);
    program.change(Control::Branch, None, 0, false);
    program.constant(Class::Integer, 3);
    program.change(Control::Branch, None, TEXT + 0x100, true);
    program.change(Control::Jump, None, TEXT + 0x200, true);
    program.constant(Class::Integer, 3);
    program.constant(Class::Integer, 3);
    let mut bench = Bench::warm(&foreseen(), 0);
    bench.run(&program);
    assert_eq!(fetched(&bench), [0, 0, 1, 1, 2, 3, 3]);
}

#[test]
fn a_misprediction_costs_the_way_to_its_execution_and_the_penalty() {
    for (direction, taken) in [(Direction::NotTaken, true), (Direction::Taken, false), (BIMODAL, true)] {
        for penalty in [0, 1, 3] {
            let mut config = predicting(direction);
            config.0.mispredicted = Cycles(penalty);
            let mut program = Program::new();
            program.change(Control::Branch, None, TEXT + 0x100, taken);
            program.constant(Class::Integer, 3);
            let mut bench = Bench::warm(&config, 0);
            bench.run(&program);
            // Fetched in 0, executed in 3; had it been foreseen and taken, the next would be fetched in 1.
            assert_eq!(fetched(&bench), [0, 3 + penalty], "{direction:?}");
            assert_eq!((bench.statistics().mispredicted, bench.statistics().misfetched), (1, 0));
            // The branch commits in 4 and what follows is dispatched a cycle after its fetch.
            assert_eq!(bench.statistics().cycles.mispredicted, penalty, "cycles 5 to 4 + {penalty}");
        }
    }
    // A branch that waits for a multiplication, issued in 2, is executed in 6.
    let mut program = Program::new();
    program.constant(Class::Multiply, 4);
    program.change(Control::Branch, Some(4), TEXT + 0x100, true);
    program.constant(Class::Integer, 3);
    let mut bench = Bench::warm(&predicting(Direction::NotTaken), 0);
    bench.run(&program);
    assert_eq!(fetched(&bench), [0, 0, 6 + 3]);
}

#[test]
fn a_target_that_no_table_knows_is_found_when_decoded_if_the_instruction_holds_it_and_else_when_executed() {
    for (control, from, resumed, misfetched) in [
        (Control::Jump, None, 1 + 3, 1),
        (Control::Call, None, 1 + 3, 1),
        (Control::Branch, None, 1 + 3, 1),
        (Control::Indirect, Some(5), 3 + 3, 0),
        (Control::Call, Some(5), 3 + 3, 0),
    ] {
        let mut program = Program::new();
        for _ in 0..2 {
            program.jump(TEXT);
            program.change(control, from, TEXT + 0x100, true);
            // So many that the first jump has committed when the second is fetched.
            for _ in 0..40 {
                program.constant(Class::Integer, 3);
            }
        }
        let mut bench = Bench::warm(&predicting(Direction::Taken), 0);
        bench.run(&program);
        let fetched = fetched(&bench);
        assert_eq!(fetched[..2], [0, resumed], "{control:?}");
        assert_eq!(fetched[42], fetched[41] + 1, "the second time, the target buffer knows: {control:?}");
        assert_eq!((bench.statistics().misfetched, bench.statistics().mispredicted), (misfetched, 1 - misfetched));
    }
}

#[test]
fn a_full_set_of_the_target_buffer_forgets_the_target_unused_for_longest() {
    // Four jumps of one set, which has three ways; each jump is followed by enough to let it commit.
    let mut config = predicting(Direction::Taken);
    (config.0.predictor.target_sets, config.0.predictor.target_ways) = (4, 3);
    let mut program = Program::new();
    for which in [0, 1, 2, 3, 1, 2, 0] {
        program.jump(TEXT + 16 * which);
        program.change(Control::Jump, None, TEXT + 0x1000, true);
        for _ in 0..40 {
            program.constant(Class::Integer, 3);
        }
    }
    let mut bench = Bench::warm(&config, 0);
    bench.run(&program);
    let known: Vec<bool> =
        (0..7).map(|jump| fetched(&bench)[jump * 41 + 1] == fetched(&bench)[jump * 41] + 1).collect();
    assert_eq!(known, [false, false, false, false, true, true, false]);
}

#[test]
fn the_return_stack_knows_as_many_callers_as_it_is_deep() {
    for (depth, mispredicted) in [(0, 4), (1, 3), (3, 1), (4, 0), (8, 0)] {
        let mut config = predicting(Direction::Taken);
        config.0.predictor.return_stack = depth;
        let mut program = Program::new();
        let mut callers = Vec::new();
        for call in 0..4 {
            callers.push(program.pc() + 4);
            program.change(Control::Call, None, TEXT + 0x100 * (call + 1), true);
        }
        while let Some(caller) = callers.pop() {
            let control = if callers.len() % 2 == 0 { Control::Return } else { Control::ConditionalReturn };
            program.change(control, Some(1), caller, true);
        }
        let mut bench = Bench::warm(&config, 0);
        bench.run(&program);
        assert_eq!(bench.statistics().mispredicted, mispredicted, "depth {depth}");
        assert_eq!(bench.statistics().misfetched, 4, "the calls");
    }
}

/// Mispredictions of a branch that is taken when `taken` says so, in the second half of its rounds.
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
        program.change(Control::Branch, None, TEXT + 0x100, taken(round));
        // The branch has committed before it comes again.
        for _ in 0..40 {
            program.constant(Class::Integer, 3);
        }
    }
    bench.run(&program);
    bench.statistics().mispredicted - half
}

#[test]
fn counters_learn_a_habit_and_history_learns_a_pattern() {
    let gshare = Direction::Gshare { entries: 1024, history: 4 };
    let alternating = |round: usize| round.is_multiple_of(2);
    let every_fourth = |round: usize| round.is_multiple_of(4);
    for (direction, habit, alternation, fourth) in [
        (Direction::Perfect, 0, 0, 0),
        (Direction::NotTaken, 32, 16, 8),
        (Direction::Taken, 0, 16, 24),
        // Two counters' bits, weakly not taken: each taken branch makes it taken for the next, which is not.
        (BIMODAL, 0, 32, 8),
        (gshare, 0, 0, 0),
    ] {
        assert_eq!(mispredicted(direction, |_| true), habit, "{direction:?}");
        assert_eq!(mispredicted(direction, alternating), alternation, "{direction:?}");
        assert_eq!(mispredicted(direction, every_fourth), fourth, "{direction:?}");
    }
    // After two branches not taken, the next may be the third of them or the one that is taken: both are mispredicted.
    assert_eq!(mispredicted(Direction::Gshare { entries: 1024, history: 2 }, every_fourth), 16);
}

#[test]
fn a_system_call_is_executed_alone_and_fetch_goes_on_behind_it() {
    let mut program = Program::new();
    program.constant(Class::Multiply, 3);
    program.alone(Class::System);
    program.constant(Class::Integer, 4);
    let mut bench = Bench::warm(&foreseen(), 0);
    bench.run(&program);
    // The multiplication commits in 6; the call is executed and dispatched then, and commits in 9.
    assert_eq!(bench.host.calls, [6]);
    assert_eq!(bench.passages[1].dispatched, Cycles(6));
    assert_eq!(bench.passages[1].committed, Cycles(9));
    assert_eq!(bench.passages[2].fetched, Cycles(6));
}

#[test]
fn a_call_without_an_answer_stops_the_core_until_time_has_passed() {
    let mut program = Program::new();
    program.alone(Class::System);
    let mut bench = Bench::warm(&foreseen(), 0);
    bench.host.waits = true;
    let mut hart = Script { instructions: program.instructions, at: 0 };
    let mut memory = Memory::new(0, 0);
    let mut run = |bench: &mut Bench, until| {
        bench.core.run(&mut hart, &mut memory, &mut bench.host, &mut bench.hierarchy, Cycles(until)).unwrap()
    };
    assert_eq!(run(&mut bench, 100), Stop::Waiting);
    assert_eq!(run(&mut bench, 100), Stop::Waiting);
    assert_eq!(bench.core.now(), Cycles(1), "fetched in 0");
    bench.core.skip(Cycles(50));
    bench.host.waits = false;
    assert_eq!(run(&mut bench, 53), Stop::Until);
    assert_eq!(run(&mut bench, 100), Stop::Exited(0));
    assert_eq!(bench.host.calls, [1, 1, 50]);
    assert_eq!(bench.core.now(), Cycles(53), "the call commits, and the end, which was fetched in 50, is told");
    assert_eq!(bench.statistics().cycles.total(), 1 + 4, "cycle 0 and 50 to 53");
    assert_eq!(bench.statistics().instructions, 1);
}

#[test]
fn a_fence_waits_for_all_before_it_and_lets_none_after_it_begin() {
    let mut program = Program::new();
    program.load(3, 4, DATA);
    program.alone(Class::Fence);
    program.load(3, 4, DATA + 8);
    let mut bench = Bench::warm(&foreseen(), 0);
    bench.run(&program);
    // The load misses and commits in 15; the fence is issued in 16, ends in 17 and commits in 18.
    assert_eq!(bench.passages[1].dispatched, Cycles(15));
    assert_eq!(bench.passages[2].dispatched, Cycles(18));
}

#[test]
fn an_atomic_waits_until_it_is_the_oldest_and_later_loads_wait_for_it() {
    let mut program = Program::new();
    program.constant(Class::Multiply, 5);
    program.atomic(3, 6, 4, DATA);
    program.load(3, 7, DATA + 8);
    let mut bench = Bench::warm(&foreseen(), 64);
    bench.run(&program);
    // The multiplication commits in 6. The atomic reads and writes then, ends in 7, and the load goes on.
    assert_eq!(bench.passages[1].accessed, Cycles(6));
    assert_eq!(bench.passages[2].accessed, Cycles(7));
}
