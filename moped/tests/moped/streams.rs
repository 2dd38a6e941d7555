// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random streams of messages: outcomes against the reference matcher, and every byte of memory.

use mb_core::random::Random;
use mb_moped::MopedParameters;
use mb_moped::contract::ProcessAddress;

use crate::chip::{Chip, Post, VIRTUAL, small};
use crate::driver::{Driver, Habits, Operation};
use crate::lines::{Lines, Plant, Timing};

/// What a random stream has.
#[derive(Clone, Copy, Debug)]
struct Shape {
    cores: usize,
    programs: u16,
    ranks: u16,
    batches: usize,
    messages: usize,
    longest: u64,
    wildcards: u64,
    habits: Habits,
}

const SMALL: Shape = Shape {
    cores: 4,
    programs: 2,
    ranks: 4,
    batches: 2,
    messages: 24,
    longest: 400,
    wildcards: 40,
    habits: Habits { moves: 0, returns: false },
};

/// Buffers of a process follow each other with gaps of a few bytes.
struct Arena {
    next: u64,
    gaps: Vec<(u64, u64)>,
}

impl Arena {
    fn take(&mut self, random: &mut Random, length: u64) -> u64 {
        let gap = random.below(20);
        self.gaps.push((self.next, gap));
        let address = self.next + gap;
        self.next = address + length;
        address
    }
}

/// Runs a stream; returns the driver, the memory before it, and what it must be after it.
fn run(parameters: &MopedParameters, timing: Timing, plant: Plant, shape: Shape, seed: u64) -> (Driver, Vec<u8>) {
    const PAGES: usize = 8;
    let mut random = Random::of(seed, &[4]);
    let mut chip = Chip::new(parameters, timing, seed);
    chip.lines.plant = plant;
    let count = usize::from(shape.programs * shape.ranks);
    let process = |index: usize| ProcessAddress {
        program: (index / usize::from(shape.ranks)) as u16,
        rank: (index % usize::from(shape.ranks)) as u16,
    };
    let spaces: Vec<usize> = (0..count).map(|_| chip.space(PAGES, 0)).collect();
    let mut arenas: Vec<Arena> = (0..count).map(|_| Arena { next: VIRTUAL + 3, gaps: Vec::new() }).collect();
    let mut batches: Vec<Vec<Vec<Operation>>> = vec![vec![Vec::new(); shape.batches]; count];
    for batch in 0..shape.batches {
        // A receive for each message, with at most one kind of wildcard for each receiver and batch, so that every
        // receive finds a message whatever the order of arrival.
        for program in 0..usize::from(shape.programs) {
            let base = program * usize::from(shape.ranks);
            let wild: Vec<u64> = (0..shape.ranks).map(|_| random.below(100)).collect();
            for _ in 0..shape.messages / shape.batches {
                let (from, to) = (random.below(shape.ranks.into()) as u16, random.below(shape.ranks.into()) as u16);
                let tag = random.below(3) as u32;
                let length = if random.below(8) == 0 { 0 } else { random.below(shape.longest + 1) };
                let room = if random.below(6) == 0 { random.below(length + 1) } else { length + random.below(9) };
                let (any_rank, any_tag) = match wild[usize::from(to)] {
                    kind if kind >= shape.wildcards => (false, false),
                    kind => (kind % 3 != 0, kind % 3 != 1),
                };
                let sender = base + usize::from(from);
                let receiver = base + usize::from(to);
                let source = arenas[sender].take(&mut random, length);
                let target = arenas[receiver].take(&mut random, room);
                let send = Post::send(to, from, tag, source, length as u32);
                let rank = (!any_rank).then_some(from);
                let receive = Post::receive(rank, (!any_tag).then_some(tag), target, room as u32);
                batches[sender][batch].push(Operation { number: 0, process: sender, post: send });
                batches[receiver][batch].push(Operation { number: 0, process: receiver, post: receive });
            }
        }
        for (index, list) in batches.iter_mut().enumerate() {
            random.shuffle(&mut list[batch]);
            for (place, operation) in list[batch].iter_mut().enumerate() {
                operation.number = index * 1_000_000 + batch * 10_000 + place;
            }
        }
    }
    let pages: Vec<u64> = spaces.iter().flat_map(|space| chip.spaces[*space].pages.clone()).collect();
    for page in pages {
        let at = (page - crate::lines::BASE) as usize;
        for byte in &mut chip.lines.bytes[at..at + 4096] {
            *byte = random.next() as u8;
        }
    }
    for (space, arena) in spaces.iter().zip(&arenas) {
        assert!(arena.next < VIRTUAL + (PAGES as u64) * 4096, "buffers need more pages");
        for (start, length) in &arena.gaps {
            for address in *start..start + length {
                let place = chip.place(*space, address);
                chip.lines.foreign[place] = true;
            }
        }
    }
    let before = chip.lines.bytes.clone();
    let mut driver = Driver::new(chip, shape.habits, seed);
    for (index, own) in batches.into_iter().enumerate() {
        let process = process(index);
        driver.judge.programs.insert(index, (process.program, process.rank));
        driver.process(process, spaces[index], own);
    }
    driver.run();
    (driver, before)
}

/// Where memory differs from what the matches of the devices must have made of it.
fn wrong_bytes(driver: &Driver, before: &[u8]) -> usize {
    let mut expected = before.to_vec();
    let chip = &driver.chip;
    for (receive, send) in driver.judge.matches() {
        let (receive, send) = (driver.judge.operation(*receive), driver.judge.operation(*send));
        for byte in 0..u64::from(receive.post.length.min(send.post.length)) {
            let source = chip.place(send.process, send.post.address + byte);
            expected[chip.place(receive.process, receive.post.address + byte)] = before[source];
        }
    }
    let Lines { bytes, written, .. } = &chip.lines;
    for (at, value) in written {
        expected[*at] = *value;
    }
    expected.iter().zip(bytes).filter(|(expected, found)| expected != found).count()
}

fn check(parameters: &MopedParameters, timing: Timing, shape: Shape, seed: u64) -> Driver {
    let (driver, before) = run(parameters, timing, Plant::None, shape, seed);
    assert_eq!(driver.judge.objections(), Vec::<String>::new(), "seed {seed}");
    assert_eq!(driver.judge.overtaking(), Vec::<String>::new(), "seed {seed}");
    assert_eq!(wrong_bytes(&driver, &before), 0, "seed {seed}");
    for node in 0..shape.cores {
        assert_eq!(driver.chip.moped.used(node), 0, "seed {seed}: node {node}");
    }
    driver
}

#[test]
fn every_outcome_of_a_random_stream_is_the_oracles_and_every_byte_is_right() {
    let (mut revocations, mut matched) = (0, 0);
    for seed in 0..24 {
        for preset in mb_moped::presets::PAPER {
            let mut parameters = small(preset, SMALL.cores, 64);
            parameters.active = 1 + (seed % 3) as usize;
            let driver = check(&parameters, Timing::RANDOM, SMALL, seed);
            revocations += driver.counters().iter().map(|node| node.revocations).sum::<u64>();
            matched += driver.counters().iter().map(|node| node.matched).sum::<u64>();
        }
    }
    assert_eq!(matched, 24 * 3 * 48);
    assert!(revocations > 1000, "{revocations}");
}

#[test]
fn processes_that_share_cores_and_move_lose_no_message_and_no_order() {
    let (mut moved, mut retries) = (0, 0);
    for seed in 100..130 {
        let shape = Shape { cores: 3, habits: Habits { moves: 200, ..SMALL.habits }, ..SMALL };
        let driver = check(&small("optcopy", 3, 64), Timing::RANDOM, shape, seed);
        moved += driver.counters().iter().map(|node| node.moved_accesses).sum::<u64>();
        retries += driver.counters().iter().map(|node| node.retries).sum::<u64>();
    }
    assert!(moved > 1000 && retries > 100, "{moved} {retries}");
}

#[test]
fn tables_of_four_back_off_into_software_and_return() {
    let (mut refused, mut rejected, mut revoked, mut software, mut returns, mut hardware) = (0, 0, 0, 0, 0, 0);
    for seed in 200..260 {
        let habits = Habits { moves: if seed % 2 == 0 { 100 } else { 0 }, returns: true };
        let messages = if seed % 3 == 0 { 64 } else { 24 };
        let shape = Shape { batches: 8, messages, longest: 100, habits, ..SMALL };
        let driver = check(&small("base", shape.cores, 4), Timing::RANDOM, shape, seed);
        for node in driver.counters() {
            refused += node.refused;
            rejected += node.rejected;
            revoked += node.revoked;
            hardware += node.matched;
        }
        software += driver.software;
        returns += driver.returns;
    }
    assert!(refused > 100 && rejected > 10 && revoked > 50, "{refused} {rejected} {revoked}");
    assert!(software > 100 && returns > 30 && hardware > 500, "{software} {returns} {hardware}");
}

#[test]
fn the_judge_rejects_a_memory_with_planted_faults() {
    for plant in [Plant::WriteWithoutRight, Plant::RightWithoutBytes] {
        let wrong = (300..310).any(|seed| {
            let (driver, before) = run(&small("base", SMALL.cores, 64), Timing::RANDOM, plant, SMALL, seed);
            wrong_bytes(&driver, &before) > 0
        });
        assert!(wrong, "{plant:?}");
    }
}
