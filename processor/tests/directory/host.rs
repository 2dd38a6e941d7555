// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host writes, and the memory that is left when the caches go.

use mb_core::random::Random;
use mb_processor::Memory;
use mb_processor::directory::{CoherentMemory, DirectoryConfig};
use mb_processor::system::{MemorySystem, NoDevice, RequestKind};

use super::bench::{BASE, Bench, request};

const LENGTH: usize = 64 * 64;
const NODES: usize = 4;

/// Cores load and store, and the host writes, also while accesses are under way; afterwards a flat memory agrees.
#[test]
fn all_copies_have_what_the_host_writes() {
    for (seed, migratory) in [(1, false), (2, true)] {
        let config = DirectoryConfig { migratory, ..DirectoryConfig::gu2011(NODES, 1) };
        let memory = CoherentMemory::new(&config, Memory::new(BASE, LENGTH), NoDevice).expect("a configuration");
        let mut bench = Bench { memory, now: 0, completed: Vec::new() };
        let mut random = Random::of(seed, &[]);
        let mut model = vec![0_u8; LENGTH];
        for round in 0..4000 {
            let place = random.below(LENGTH as u64 / 8) * 8;
            let at = place as usize;
            let core = random.below(NODES as u64) as usize;
            match random.below(4) {
                0 => {
                    // The stores of all cores are performed, but copies may be on their way.
                    bench.settle();
                    let other = request(core, 0, BASE + place, RequestKind::Load);
                    bench.memory.request(bench.now, other);
                    bench.to(bench.now + random.below(60));
                    let bytes: Vec<u8> = (0..=random.below(150)).map(|_| random.next() as u8).collect();
                    let bytes = &bytes[..bytes.len().min(LENGTH - at)];
                    assert!(bench.memory.set_bytes(BASE + place, bytes));
                    model[at..at + bytes.len()].copy_from_slice(bytes);
                    bench.settle();
                }
                1 => {
                    let value = random.next();
                    bench.takes(request(core, 0, BASE + place, RequestKind::Store { value }));
                    model[at..at + 8].copy_from_slice(&value.to_le_bytes());
                    bench.settle();
                }
                _ => {
                    let (_, value) = bench.takes(request(core, 0, BASE + place, RequestKind::Load));
                    let expected = model[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
                    assert_eq!(Some(value), expected, "seed {seed}, round {round}, {place:#x}");
                }
            }
        }
        assert!(!bench.memory.set_bytes(BASE + LENGTH as u64 - 1, &[0; 2]));
        assert_eq!(bench.memory.bytes(BASE, LENGTH), Some(&model[..]));
        // Not while an access is under way.
        let address = BASE + 64 * 7;
        for core in 0..NODES {
            bench.memory.request(bench.now, request(core, 0, address, RequestKind::Store { value: core as u64 }));
        }
        let mut memory = bench.memory.into_parts().expect_err("stores are under way");
        while let Some(next) = memory.next_event() {
            memory.advance(next, &mut Vec::new());
        }
        let latest = memory.bytes(BASE, LENGTH).expect("memory").to_vec();
        let Ok((flat, NoDevice)) = memory.into_parts() else { panic!("nothing is under way") };
        assert_eq!(flat.get(BASE, LENGTH), Some(&latest[..]));
    }
}
