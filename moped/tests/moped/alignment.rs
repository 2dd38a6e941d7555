// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every alignment of both buffers, with time and without.

use mb_core::random::Random;
use mb_moped::contract::{Id, REFUSED, STATE_BITS, State, Word, data_store, poll_store};
use mb_moped::{FunctionalMoped, Moped};
use mb_processor::Memory;
use mb_processor::system::{Device, DeviceAnswer};

use crate::chip::{Chip, Post, VIRTUAL, rank, small};
use crate::lines::{BASE, Timing};

const LENGTHS: [u64; 12] = [0, 1, 2, 63, 64, 65, 100, 127, 128, 129, 200, 321];

/// A memory with a pattern and its image, and two processes with 3 pages each.
fn chip(preset: &str, seed: u64) -> Chip {
    let mut chip = Chip::new(&small(preset, 2, 64), Timing::RANDOM, seed);
    for core in 0..2 {
        let space = chip.space(3, 0);
        let root = chip.spaces[space].root;
        chip.moped.set_page_table(core, root);
        for page in chip.spaces[space].pages.clone() {
            let at = (page - BASE) as usize;
            for offset in 0..4096 {
                chip.lines.bytes[at + offset] = (((at + offset) * 31) >> 3) as u8;
            }
        }
    }
    chip
}

/// Virtual addresses of the buffers for two offsets: in the middle of a page, or across two.
fn addresses(random: &mut Random, offsets: (u64, u64)) -> (u64, u64) {
    let mut place = |offset| VIRTUAL + random.pick(&[1024, 4096 - 64, 4096 - 128, 4096 - 256]) + offset;
    (place(offsets.0), place(offsets.1))
}

#[test]
fn every_alignment_moves_its_bytes_and_no_others() {
    for (preset, seed) in mb_moped::presets::PAPER.into_iter().zip(1..) {
        let mut random = Random::of(seed, &[9]);
        let mut chip = chip(preset, seed);
        let mut expected = chip.lines.bytes.clone();
        // A third of the alignments for each design; the functional test has all of them.
        for alignment in (0..4096_u64).filter(|alignment| (alignment + alignment / 64) % 3 == seed - 1) {
            let length = random.pick(&LENGTHS);
            let (from, to) = addresses(&mut random, (alignment / 64, alignment % 64));
            let receive = chip.post(1, rank(1), &Post::receive(Some(0), Some(1), to, length as u32));
            let send = chip.post(0, rank(0), &Post::send(1, 0, 1, from, length as u32));
            assert_eq!(chip.finish(1, rank(1), receive), State::Complete);
            assert_eq!(chip.finish(0, rank(0), send), State::Complete);
            for byte in 0..length {
                expected[chip.place(1, to + byte)] = expected[chip.place(0, from + byte)];
            }
            for address in to - 128..to + length + 128 {
                let place = chip.place(1, address);
                assert_eq!(chip.lines.bytes[place], expected[place], "{preset}: {alignment}, {length} bytes");
            }
        }
        assert!(expected == chip.lines.bytes, "{preset}");
    }
}

/// Devices without time on a plain memory.
struct Functional {
    device: FunctionalMoped,
    memory: Memory,
}

impl Functional {
    fn access(&mut self, core: usize, address: u64, width: u8, value: Option<u64>) -> u64 {
        loop {
            let answer = match value {
                Some(value) => self.device.write(0, core, 0, address, width, value),
                None => self.device.read(0, core, 0, address, width),
            };
            self.device.settle(&mut self.memory);
            if let DeviceAnswer::Value(value) = answer {
                return value;
            }
        }
    }

    fn post(&mut self, core: usize, post: &Post) -> Id {
        let port = rank(core as u16).port();
        let number = self.access(core, port, 4, None);
        assert_ne!(number, REFUSED);
        for (field, value) in post.stores() {
            self.access(core, port, 8, Some(data_store(Id::of(number), field, value)));
        }
        Id::of(number)
    }

    fn state(&mut self, core: usize, id: Id) -> Option<State> {
        let poll = rank(core as u16).port() + 4;
        self.access(core, poll, 4, Some(poll_store(id, Word::State)));
        State::of(self.access(core, poll, 4, None) & STATE_BITS)
    }
}

#[test]
fn without_time_an_access_has_all_its_consequences_at_once() {
    for preset in mb_moped::presets::PAPER {
        let chip = chip(preset, 1);
        let mut expected = chip.lines.bytes.clone();
        let mut memory = Memory::new(BASE, expected.len());
        memory.write(BASE, &expected).expect("memory");
        let mut moped = Moped::new(&small(preset, 2, 64));
        for core in 0..2 {
            moped.set_page_table(core, chip.spaces[core].root);
        }
        let mut functional = Functional { device: FunctionalMoped::new(moped), memory };
        let mut random = Random::of(7, &[9]);
        for alignment in 0..4096_u64 {
            let length = random.pick(&LENGTHS);
            let (from, to) = addresses(&mut random, (alignment / 64, alignment % 64));
            let receive = Post::receive(Some(0), Some(1), to, length as u32);
            let send = Post::send(1, 0, 1, from, length as u32);
            let (receive, send) = if alignment % 2 == 0 {
                let receive = functional.post(1, &receive);
                (receive, functional.post(0, &send))
            } else {
                let send = functional.post(0, &send);
                (functional.post(1, &receive), send)
            };
            assert_eq!(functional.state(1, receive), Some(State::Complete));
            assert_eq!(functional.state(0, send), Some(State::Complete));
            for byte in 0..length {
                expected[chip.place(1, to + byte)] = expected[chip.place(0, from + byte)];
            }
            for address in to - 128..to + length + 128 {
                let place = chip.place(1, address);
                let found: [u8; 1] = functional.memory.read(BASE + place as u64).expect("a byte");
                assert_eq!(found[0], expected[place], "{preset}: {alignment}, {length} bytes");
            }
        }
        for (page, bytes) in expected.chunks(4096).enumerate() {
            let found: [u8; 4096] = functional.memory.read(BASE + page as u64 * 4096).expect("a page");
            assert!(found == bytes, "{preset}: page {page}");
        }
        assert!(functional.device.refused().is_empty());
    }
}

#[test]
fn without_time_a_full_table_backs_off_and_a_line_outside_of_memory_is_told() {
    let chip = chip("base", 1);
    let mut memory = Memory::new(BASE, chip.lines.bytes.len());
    memory.write(BASE, &chip.lines.bytes).expect("memory");
    let mut moped = Moped::new(&small("base", 2, 4));
    moped.set_page_table(0, chip.spaces[0].root);
    moped.set_page_table(1, 0x1000);
    let mut functional = Functional { device: FunctionalMoped::new(moped), memory };
    functional.post(1, &Post::receive(Some(0), Some(1), VIRTUAL, 8));
    functional.post(0, &Post::send(1, 0, 1, VIRTUAL, 8));
    // The page table of rank 1 is not memory: zeros are read, which are no page.
    assert_eq!(functional.device.refused().first(), Some(&0x1000));
    assert!(functional.device.moped().interrupts(1));
    for _ in 0..3 {
        assert_ne!(functional.access(0, rank(0).port(), 4, None), REFUSED);
    }
    assert_eq!(functional.access(0, rank(0).port(), 4, None), REFUSED);
    assert_eq!(functional.access(1, rank(1).port(), 4, None), REFUSED);
}
