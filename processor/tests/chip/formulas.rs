// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Closed formulas: the cycle of each stage of small programs.

use mb_processor::chip::{Chip, ChipConfig, FetchPolicy, IssueStall, Passage, cmp, cmp2, in_order, smt};
use mb_processor::predictor::Direction;

use crate::assembler::{
    DATA, NOP, TEXT, add, addi, address, atomic, bne, cycle, divu, exit, jal, jalr, ld, mul, mulw, sd, store,
};
use crate::run::{passages, run};

/// One context of an eight-wide core.
fn wide() -> ChipConfig {
    ChipConfig { issue_width: 8, ..smt(1) }
}

fn then_exit(mut words: Vec<u32>) -> Vec<u32> {
    words.extend(exit());
    words
}

fn stages(passage: &(Passage, u64)) -> [u64; 5] {
    let (passage, committed) = passage;
    [passage.fetched, passage.renamed, passage.issued, passage.written, *committed]
}

#[test]
fn dependent_instructions_are_a_latency_apart() {
    for (word, latency) in
        [(addi(5, 5, 1), 1), (mulw(5, 5, 5), 8), (mul(5, 5, 5), 16), (divu(5, 5, 5), 16), (ld(5, 5, 0), 1)]
    {
        for config in [wide(), smt(1), cmp(1), cmp2(1), in_order(cmp(1))] {
            let mut words = address(5, DATA);
            // The loads load their own address.
            words.extend([addi(6, 5, 0), sd(5, 5, 0)]);
            let first = words.len();
            words.extend([word; 12]);
            let passages = passages(&config, &then_exit(words), 1);
            let chain = &passages[first..first + 12];
            for pair in chain.windows(2) {
                assert_eq!(pair[1].0.issued - pair[0].0.issued, latency, "{word:#x}");
                assert_eq!(pair[0].0.written - pair[0].0.issued, latency);
            }
        }
    }
}

#[test]
fn an_instruction_takes_one_cycle_in_each_stage() {
    // Fetch 0, rename 3 cycles later, issue in the next, end after the latency, commit in the next.
    let passages = passages(&wide(), &then_exit(vec![addi(5, 0, 1), mul(6, 0, 0)]), 1);
    assert_eq!(stages(&passages[0]), [0, 3, 4, 5, 6]);
    assert_eq!(stages(&passages[1]), [0, 3, 4, 20, 21]);
}

#[test]
fn independent_instructions_are_limited_by_the_units() {
    for width in 1..=8 {
        let config = ChipConfig { issue_width: width, ..smt(1) };
        let passages = passages(&config, &then_exit(vec![addi(5, 0, 1); 200]), 1);
        for (index, (passage, _)) in passages[..200].iter().enumerate() {
            assert_eq!(passage.issued, 4 + index as u64 / u64::from(width), "instruction {index}, {width} units");
        }
    }
}

#[test]
fn fetch_rename_and_commit_are_limited_by_their_widths() {
    for width in [1, 2, 3, 5, 8] {
        let narrow = |stage: usize| {
            let mut config = wide();
            *[&mut config.fetch_width, &mut config.rename_width, &mut config.commit_width][stage] = width;
            passages(&config, &then_exit(vec![addi(5, 0, 1); 64]), 1)
        };
        for index in 0..64 {
            let turn = index as u64 / u64::from(width);
            assert_eq!(narrow(0)[index].0.fetched, turn);
            assert_eq!(narrow(1)[index].0.renamed, 3 + turn);
            assert_eq!(narrow(2)[index].1, 6 + turn);
        }
    }
}

#[test]
fn contexts_share_the_width_of_fetch() {
    // 64 instructions in 8 blocks for each context: a fetch of 8 leaves nothing for a second context.
    for policy in [FetchPolicy::Icount, FetchPolicy::RoundRobin] {
        for contexts in [1, 2, 4, 8] {
            let config = ChipConfig { contexts, fetch_policy: policy, fetch_queue: 64, issue_width: 8, ..smt(8) };
            let (_, log) = run(&config, &then_exit(vec![NOP; 64]), 1);
            let fetched: Vec<u64> =
                log.committed.iter().flat_map(|hart| hart[..64].iter().map(|(passage, _)| passage.fetched)).collect();
            for cycle in 0..8 * contexts as u64 {
                assert_eq!(fetched.iter().filter(|&&fetched| fetched == cycle).count(), 8, "cycle {cycle}");
            }
        }
    }
    // With blocks of 16 bytes, two contexts fetch 4 each, and one alone 4.
    for (threads, contexts, expected) in [(1, 2, 4), (2, 2, 8), (2, 1, 4), (2, 4, 8)] {
        let config = ChipConfig { contexts, fetch_threads: threads, fetch_block: 16, issue_width: 8, ..smt(8) };
        let (_, log) = run(&config, &then_exit(vec![NOP; 64]), 1);
        let first = log.committed.iter().flatten().filter(|(passage, _)| passage.fetched < 4).count();
        assert_eq!(first, 4 * expected, "{threads} of {contexts}");
    }
}

#[test]
fn a_context_with_priority_fetches_first() {
    let mut config = ChipConfig { fetch_queue: 64, issue_width: 8, ..smt(4) };
    config.priorities[..4].copy_from_slice(&[1, 1, 0, 1]);
    let (_, log) = run(&config, &then_exit(vec![NOP; 48]), 1);
    let fetched = |hart: usize| log.committed[hart].iter().map(|(passage, _)| passage.fetched);
    // 50 instructions in 7 blocks, the last of them with 2.
    assert_eq!(fetched(2).max(), Some(6));
    for hart in [0, 1, 3] {
        assert!(fetched(hart).min() >= Some(6), "hart {hart}");
    }
}

#[test]
fn a_mispredicted_branch_costs_its_passage_and_the_redirection() {
    for redirect in [1, 5] {
        for front_end in [2, 3, 9] {
            let mut config = ChipConfig { redirect, front_end, ..wide() };
            config.predictor.direction = Direction::NotTaken;
            // A taken branch over one instruction, which is fetched and squashed.
            let words = then_exit(vec![addi(5, 0, 1), bne(5, 0, 8), NOP, addi(6, 0, 1)]);
            let (chip, log) = run(&config, &words, 1);
            let passages = &log.committed[0];
            let branch = &passages[1].0;
            // It waits one cycle for its operand. A branch takes 2 cycles.
            assert_eq!(branch.issued, front_end + 2);
            assert_eq!(branch.written, branch.issued + 2);
            assert!(branch.mispredicted);
            assert_eq!(passages[2].0.pc, TEXT + 12);
            assert_eq!(passages[2].0.fetched, branch.written + redirect);
            assert_eq!(chip.statistics(0).mispredicted, 1);
            assert!(log.squashed.iter().any(|squashed| squashed.pc == TEXT + 8));
        }
    }
}

#[test]
fn a_branch_without_a_target_is_redirected_when_it_is_decoded() {
    for misfetch in [1, 2, 3] {
        let config = ChipConfig { misfetch, ..wide() };
        // The second call of the function finds the target of the jump in the BTB.
        let mut words = vec![jal(1, 16), jal(1, 12), NOP, NOP];
        words.extend([jal(0, 32), NOP, NOP, NOP, NOP, NOP, NOP, NOP, jalr(0, 1, 0)]);
        words[2..4].copy_from_slice(&exit());
        let (chip, log) = run(&config, &words, 1);
        let passages = &log.committed[0];
        let pcs: Vec<u64> = passages.iter().map(|(passage, _)| (passage.pc - TEXT) / 4).collect();
        assert_eq!(pcs, [0, 4, 12, 1, 4, 12, 2]);
        let fetched: Vec<u64> = passages.iter().map(|(passage, _)| passage.fetched).collect();
        // Without a target, with one from the BTB, and from the return stack.
        assert_eq!(fetched[1] - fetched[0], misfetch);
        assert_eq!(fetched[2] - fetched[1], misfetch);
        assert_eq!(fetched[3] - fetched[2], 1);
        assert_eq!(fetched[4] - fetched[3], misfetch);
        assert_eq!(chip.statistics(0).mispredicted, 0);
        // The jump in the function has its target in the BTB from its first commit on.
        let second = if fetched[4] < passages[1].1 { misfetch } else { 1 };
        assert_eq!(fetched[5] - fetched[4], second);
        assert_eq!(chip.statistics(0).misfetched, 3 + u64::from(fetched[4] < passages[1].1));
    }
}

#[test]
fn the_return_stack_holds_twelve_addresses() {
    // A function that calls itself `depth` times, and returns as often.
    let mispredicted = |depth: i32| {
        let words = [
            addi(9, 0, depth),
            jal(1, 12),
            addi(17, 0, 93),
            crate::assembler::ECALL,
            // The function: pushes ra, calls itself until x9 is 0, returns.
            addi(2, 2, -8),
            sd(1, 2, 0),
            addi(9, 9, -1),
            crate::assembler::branch(0, 9, 0, 8),
            jal(1, -16),
            ld(1, 2, 0),
            addi(2, 2, 8),
            jalr(0, 1, 0),
        ];
        let mut config = wide();
        config.predictor.direction = Direction::NotTaken;
        let mut memory = crate::assembler::flat(&words, (1, 1), 1, 1);
        let mut chip = Chip::new(&config, TEXT).unwrap();
        chip.set_register(0, 2, DATA + 0x1000);
        crate::run::finish(&mut chip, &mut memory, &mut crate::run::Log::default());
        chip.statistics(0).mispredicted
    };
    // The branch at the end of the recursion is mispredicted once. With more than twelve calls, the
    // oldest return addresses are lost; all of them but the first are the same.
    for depth in 1..=12 {
        assert_eq!(mispredicted(depth), 1, "depth {depth}");
    }
    for depth in 13..=16 {
        assert_eq!(mispredicted(depth), 2, "depth {depth}");
    }
}

/// A division that the next instructions do not need, and whose end lets it commit.
fn behind_a_division(rest: &[u32]) -> Vec<u32> {
    let mut words = vec![divu(5, 5, 5)];
    words.extend(rest);
    then_exit(words)
}

#[test]
fn rename_registers_limit_the_instructions_behind_a_long_one() {
    for registers in [1, 2, 12, 25, 60] {
        let config = ChipConfig { rename_registers: registers, instruction_queue: 64, ..wide() };
        let passages = passages(&config, &behind_a_division(&[addi(6, 0, 1); 63]), 1);
        let division = passages[0].1;
        // The division and those behind it that found a register.
        for (index, (passage, _)) in passages[..64].iter().enumerate() {
            let renamed = passage.renamed;
            assert_eq!(renamed < division, index < registers, "instruction {index} of {registers}: {renamed}");
        }
        // The commit of the division frees one in its cycle.
        assert_eq!(passages[registers].0.renamed, division);
    }
}

#[test]
fn the_reorder_buffer_limits_the_instructions_behind_a_long_one() {
    for entries in [1, 7, 32, 64] {
        let config = ChipConfig { reorder_buffer: entries, ..wide() };
        // Without destinations.
        let passages = passages(&config, &behind_a_division(&[NOP; 80]), 1);
        let division = passages[0].1;
        for (index, (passage, _)) in passages[..80].iter().enumerate() {
            assert_eq!(passage.renamed < division, index < entries, "instruction {index} of {entries}");
        }
        assert_eq!(passages[entries].0.renamed, division);
    }
}

#[test]
fn the_instruction_queue_limits_the_instructions_that_wait() {
    for entries in [2, 8, 32] {
        let config = ChipConfig { instruction_queue: entries, ..wide() };
        let passages = passages(&config, &behind_a_division(&[add(6, 5, 5); 60]), 1);
        // The division leaves the queue when it is issued, its dependents when it ends.
        let end = passages[0].0.written;
        for (index, (passage, _)) in passages[1..61].iter().enumerate() {
            let at_once = index < entries;
            assert_eq!(passage.renamed < end, at_once, "instruction {index} of {entries}");
        }
        assert_eq!(passages[1 + entries].0.renamed, end);
    }
}

#[test]
fn the_load_store_queue_limits_accesses_behind_a_long_instruction() {
    for entries in [1, 5, 32] {
        let config = ChipConfig { load_store_queue: entries, ..wide() };
        let mut words = address(8, DATA);
        words.push(divu(5, 5, 5));
        words.extend([ld(0, 8, 0); 40]);
        let passages = passages(&config, &then_exit(words), 1);
        let division = passages[2].1;
        for (index, (passage, committed)) in passages[3..43].iter().enumerate() {
            assert_eq!(passage.renamed < division, index < entries, "load {index} of {entries}");
            assert!(*committed >= division);
        }
    }
}

#[test]
fn a_load_takes_its_latency_or_that_of_memory() {
    for (load, memory) in [(1, 1), (1, 2), (3, 2), (1, 70), (5, 200), (60, 64)] {
        let mut config = wide();
        config.latencies.load = load;
        let mut words = address(8, DATA);
        words.extend([sd(8, 8, 0), crate::assembler::FENCE, ld(8, 8, 0), ld(8, 8, 0), ld(8, 8, 0), ld(9, 8, 0)]);
        let passages = passages(&config, &then_exit(words), memory);
        // The first one waits for the fence.
        for pair in passages[5..8].windows(2) {
            assert_eq!(pair[0].0.accessed, pair[0].0.issued);
            assert_eq!(pair[1].0.issued - pair[0].0.issued, load.max(memory));
        }
    }
}

#[test]
fn a_load_takes_the_data_of_a_store_in_flight() {
    let run = |store_funct3: u32, offset: i32, data: &[u32]| {
        let mut words = address(8, DATA);
        words.extend(data);
        let first = words.len();
        words.extend([store(store_funct3, 5, 8, 0), ld(9, 8, offset)]);
        let passages = passages(&wide(), &then_exit(words), 50);
        (passages[first], passages[first + 1])
    };
    // Data that is ready: the load takes 1 cycle, not 50.
    let (store, load) = run(3, 0, &[]);
    assert_eq!(load.0.accessed, load.0.issued);
    assert_eq!(load.0.written, load.0.accessed + 1);
    assert_eq!(load.0.issued, store.0.issued);
    // Data of a division: the store is issued without it, the load waits for it.
    let (store, load) = run(3, 0, &[divu(5, 5, 5)]);
    assert_eq!(load.0.issued, store.0.issued);
    assert_eq!(load.0.accessed, store.1 - 1);
    assert_eq!(load.0.written, load.0.accessed + 1);
    // A store of fewer bytes than the load needs, and one of other bytes of it: from memory, after
    // the commit of the store.
    for (funct3, offset) in [(2, 0), (0, 0), (3, 4), (3, -4)] {
        let (store, load) = run(funct3, offset, &[]);
        assert_eq!(load.0.accessed, store.1);
        assert_eq!(load.0.written, load.0.accessed + 50);
    }
    // No overlap.
    let (store, load) = run(3, 8, &[divu(5, 5, 5)]);
    assert!(load.0.accessed < store.1);
    assert_eq!(load.0.written, load.0.accessed + 50);
}

#[test]
fn an_atomic_waits_until_it_is_the_oldest() {
    for memory in [1, 4, 5, 30] {
        let mut words = address(8, DATA);
        // Two multiplications before it, a load behind it.
        words.extend([mul(5, 5, 5), mul(5, 5, 5), atomic(0, 3, 6, 8, 8), ld(7, 8, 64)]);
        let passages = passages(&wide(), &then_exit(words), memory);
        let (multiply, atomic, load) = (passages[3], passages[4], passages[5]);
        // In the cycle in which the multiplication commits.
        assert_eq!(atomic.0.accessed, multiply.1);
        assert_eq!(atomic.0.written, atomic.0.accessed + memory.max(4));
        assert!(load.0.issued < atomic.0.accessed);
        assert_eq!(load.0.accessed, atomic.0.written);
    }
}

#[test]
fn a_counter_is_read_in_the_cycle_of_its_access() {
    let (chip, log) = run(&wide(), &then_exit(vec![mul(5, 5, 5), cycle(9)]), 1);
    assert_eq!(chip.register(0, 9), log.committed[0][1].0.accessed);
    assert_eq!(log.committed[0][1].0.accessed, log.committed[0][0].1);
}

#[test]
fn in_order_issue_stops_at_the_first_instruction_that_waits() {
    let words = then_exit(vec![mul(5, 5, 5), addi(6, 5, 1), addi(7, 0, 1)]);
    let out_of_order = passages(&wide(), &words, 1);
    let in_order = passages(&in_order(wide()), &words, 1);
    assert_eq!(out_of_order[2].0.issued, 4);
    assert_eq!(in_order[1].0.issued, 20);
    assert_eq!(in_order[2].0.issued, 20);
    // In-order issue does not wait for the end of what nothing needs.
    let words = then_exit(vec![mul(5, 5, 5), addi(6, 0, 1)]);
    assert_eq!(passages(&mb_processor::chip::in_order(wide()), &words, 1)[1].0.issued, 4);
}

#[test]
fn every_issue_slot_is_used_or_has_a_cause() {
    let mut words = address(8, DATA);
    words.extend([addi(9, 0, 50), ld(5, 8, 0), mul(6, 5, 5), sd(6, 8, 8), atomic(0, 3, 7, 8, 9)]);
    words.extend([addi(9, 9, -1), bne(9, 0, -20)]);
    let words = then_exit(words);
    for config in [smt(8), smt(3), cmp(4), cmp2(2), ChipConfig { issue_width: 5, ..smt(3) }] {
        let (chip, _) = run(&config, &words, 20);
        for core in 0..config.cores {
            let harts = core * config.contexts..(core + 1) * config.contexts;
            let slots: u64 = harts.map(|hart| chip.statistics(hart).slots()).sum();
            assert_eq!(slots, chip.now() * u64::from(config.issue_width));
        }
        let statistics = chip.statistics(0);
        assert!(statistics.lost(IssueStall::Memory) > statistics.slots() / 4, "{statistics:?}");
        assert_eq!(statistics.committed + statistics.squashed, statistics.fetched);
    }
}

#[test]
fn icount_fetches_for_the_context_whose_instructions_do_not_wait() {
    // Hart 0 has a chain of divisions, hart 1 independent instructions.
    let mut words = vec![0];
    words.extend(vec![divu(5, 5, 5); 60]);
    words.extend(exit());
    words[0] = bne(10, 0, 4 * words.len() as i32);
    words.extend(vec![addi(6, 0, 1); 100]);
    words.extend(exit());
    let cycles = |policy| {
        let config = ChipConfig { fetch_width: 2, fetch_threads: 1, fetch_policy: policy, issue_width: 8, ..smt(2) };
        let (_, log) = run(&config, &words, 1);
        // The last 40, when enough divisions wait.
        log.committed[1][100].0.fetched - log.committed[1][60].0.fetched
    };
    // Two in each cycle, and two in each other cycle or fewer.
    assert_eq!(cycles(FetchPolicy::Icount), 40 / 2);
    assert!(cycles(FetchPolicy::RoundRobin) >= 40, "{}", cycles(FetchPolicy::RoundRobin));
}
