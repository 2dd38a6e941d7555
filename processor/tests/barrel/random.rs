// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Properties of random programs on random cores.

use proptest::prelude::*;

use super::*;

fn instruction() -> impl Strategy<Value = Vec<Do>> {
    prop_oneof![
        4 => Just(vec![Do::Add]),
        1 => Just(vec![Do::Multiply]),
        1 => Just(vec![LOOK]),
        2 => (0..64_u64).prop_map(|word| vec![Do::Load(word * 16)]),
        2 => (0..64_u64).prop_map(|word| vec![Do::Store(word * 16)]),
        1 => (0..4_u64).prop_map(|lock| vec![acquire(lock), Do::Add, Do::Load(lock * 64), LOOK, release(lock)]),
        1 => (0..2_u64).prop_map(|lock| vec![Do::Spin(4096 + lock * 64), LOOK, Do::Clear(4096 + lock * 64)]),
    ]
}

proptest! {
    #[test]
    fn a_run_in_pieces_is_the_run_in_one_and_every_cycle_is_accounted_for(
        body in prop::collection::vec(instruction(), 1..60),
        machine in (1..4_usize, 1..4_usize, 1..16_u64),
        quantum in 50..200_u64,
        invalidate in any::<bool>(),
        pieces in prop::collection::vec(prop_oneof![1..300_u64, Just(1)], 1..20),
    ) {
        let (cores, contexts, threads) = machine;
        let mut config = BarrelConfig { quantum: Cycles(quantum), ..config(cores, contexts) };
        config.calls.transfer = Cycles(3);
        if invalidate {
            config.hierarchy.coherence = Coherence::Invalidate { upgrade: Cycles(2), transfer: Cycles(8) };
        }
        let body = body.concat();
        let code = program(&[&body, &[FINISH]]);
        let start = || {
            let mut barrel = barrel(&config, &code);
            for number in 0..threads {
                barrel.spawn(CODE, &[], Cycles(number * 3));
            }
            barrel
        };
        let mut whole = start();
        let notes = finish(&mut whole);
        let mut parts = start();
        let mut of_parts = Notes::default();
        let mut until = 0;
        for piece in pieces.iter().cycle() {
            until += piece;
            if parts.run_until(Cycles(until), &mut of_parts).unwrap() == BarrelStop::Waiting {
                break;
            }
        }
        prop_assert_eq!(&notes.marks, &of_parts.marks);
        let mut instructions = 0;
        for core in 0..cores {
            let (a, b) = (whole.statistics(core), parts.statistics(core));
            prop_assert_eq!((a.instructions, a.swaps), (b.instructions, b.swaps));
            prop_assert_eq!(a.cycles, a.instructions + a.waited.iter().sum::<u64>());
            prop_assert_eq!(b.cycles, b.instructions + b.waited.iter().sum::<u64>());
            instructions += a.instructions;
        }
        // Each attempt of a spin lock is an instruction; all others are executed once.
        let once = threads * code.iter().filter(|instruction| !matches!(instruction, Do::Spin(_))).count() as u64;
        prop_assert!(instructions >= once);
        if !code.iter().any(|instruction| matches!(instruction, Do::Spin(_))) {
            prop_assert_eq!(instructions, once);
        }
        // Marks are in order of time, with at most one per cycle and core.
        let mut cycles: Vec<u64> = notes.marks.iter().map(|mark| mark.1).collect();
        prop_assert!(cycles.is_sorted());
        cycles.dedup();
        prop_assert!(notes.marks.len() <= cycles.len() * cores);
    }
}
