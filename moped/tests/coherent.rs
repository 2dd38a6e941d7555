// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The devices on the coherent memory: each design moves its bytes and no others while cores write beside the buffers.

use mb_core::random::Random;
use mb_moped::contract::{
    Field, Go, Id, Kind, ProcessAddress, STATE_BITS, State, Word, data_store, poll_store, tag_value,
};
use mb_moped::{Moped, MopedParameters, presets};
use mb_processor::Memory;
use mb_processor::directory::{CoherentMemory, DirectoryConfig, protocol::DeviceTransactions};
use mb_processor::system::{Device, DeviceAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice, RequestKind};

const BASE: u64 = 0x8000_0000;
const PAGE: u64 = 4096;
const PAGES: u64 = 64;
/// First virtual address of the buffers: three pages to send from, and three to receive into.
const VIRTUAL: u64 = 0x10_0000;
const RECEIVE: u64 = VIRTUAL + 3 * PAGE;
const NODES: usize = 4;
const LENGTHS: [u64; 8] = [0, 1, 63, 64, 65, 200, 1000, 5000];

struct Chip {
    moped: Moped,
    memory: CoherentMemory,
    cycle: u64,
    random: Random,
    /// What memory must hold.
    model: Vec<u8>,
    /// Physical pages of the buffers of each process.
    pages: Vec<Vec<u64>>,
    /// Physical addresses that cores write to during a round.
    foreign: Vec<u64>,
}

/// A message from one process to another.
#[derive(Clone, Copy)]
struct Copy {
    sender: usize,
    receiver: usize,
    from: u64,
    to: u64,
    length: u64,
}

impl Chip {
    fn new(preset: &str, design: DeviceTransactions, seed: u64) -> Self {
        let mut random = Random::of(seed, &[3]);
        let mut model = vec![0; (PAGES * PAGE) as usize];
        let mut free = (0..PAGES).map(|page| BASE + page * PAGE);
        let mut take = || free.next().expect("a free page");
        let parameters = MopedParameters { nodes: NODES, active: 1 + seed as usize % 2, ..presets::parameters(preset) };
        let mut moped = Moped::new(&parameters);
        let mut pages = Vec::new();
        for core in 0..NODES {
            let [root, middle, leaf] = [take(), take(), take()];
            let own: Vec<u64> = (0..6).map(|_| take()).collect();
            let mut put = |address: u64, value: u64| {
                model[(address - BASE) as usize..][..8].copy_from_slice(&value.to_le_bytes());
            };
            put(root, middle >> 2 | 1);
            put(middle, leaf >> 2 | 1);
            for (page, number) in own.iter().zip(VIRTUAL / PAGE..) {
                put(leaf + number % 512 * 8, page >> 2 | 0xdf);
            }
            for page in &own {
                for byte in &mut model[(page - BASE) as usize..][..PAGE as usize] {
                    *byte = random.next() as u8;
                }
            }
            moped.set_page_table(core, root);
            pages.push(own);
        }
        let mut memory = Memory::new(BASE, model.len());
        memory.write(BASE, &model).expect("memory");
        let config = DirectoryConfig { design, ..DirectoryConfig::gu2011(NODES, 1) };
        let memory = CoherentMemory::new(&config, memory, NoDevice).expect("a valid configuration");
        Self { moped, memory, cycle: 0, random, model, pages, foreign: Vec::new() }
    }

    fn step(&mut self) {
        self.cycle += 1;
        self.memory.advance(self.cycle, &mut Vec::new());
        self.moped.advance(self.cycle, &mut self.memory);
        // One store of all cores is under way at a time, so that their order is known.
        let drained = (0..NODES).all(|core| self.memory.drained(core, 0));
        if drained && !self.foreign.is_empty() && self.random.below(20) == 0 {
            let address = self.foreign[self.random.below(self.foreign.len() as u64) as usize];
            let (core, value) = (self.random.below(NODES as u64) as usize, self.random.next() as u8);
            let kind = RequestKind::Store { value: value.into() };
            let request = MemoryRequest { core, context: 0, tag: 0, address, width: 1, kind };
            if let MemoryAnswer::Ready { .. } = self.memory.request(self.cycle, request) {
                self.model[(address - BASE) as usize] = value;
            }
        }
    }

    fn access(&mut self, core: usize, address: u64, width: u8, value: Option<u64>) -> u64 {
        for _ in 0..100_000 {
            self.step();
            let answer = match value {
                Some(value) => self.moped.write(self.cycle, core, 0, address, width, value),
                None => self.moped.read(self.cycle, core, 0, address, width),
            };
            if let DeviceAnswer::Value(value) = answer {
                return value;
            }
        }
        panic!("an access of core {core} waits for ever");
    }

    fn post(&mut self, kind: Kind, copy: Copy) -> (usize, Id) {
        let (core, address) = match kind {
            Kind::Send => (copy.sender, copy.from),
            _ => (copy.receiver, copy.to),
        };
        let port = ProcessAddress { program: 0, rank: core as u16 }.port();
        let id = Id::of(self.access(core, port, 4, None));
        let go = Go { kind, context: 3, rank: Some(copy.sender as u16), any_tag: false };
        for (field, value) in [
            (Field::Address, address),
            (Field::Length, copy.length),
            (Field::Tag, tag_value(5, copy.receiver as u16)),
            (Field::Go, go.value()),
        ] {
            self.access(core, port, 8, Some(data_store(id, field, value)));
        }
        (core, id)
    }

    fn finish(&mut self, core: usize, id: Id) {
        let poll = ProcessAddress { program: 0, rank: core as u16 }.port() + 4;
        for _ in 0..100_000 {
            self.access(core, poll, 4, Some(poll_store(id, Word::State)));
            let state = State::of(self.access(core, poll, 4, None) & STATE_BITS).expect("a state");
            if state.is_final() {
                assert_eq!(state, State::Complete);
                return;
            }
        }
        panic!("{id:?} never ends");
    }

    fn place(&self, process: usize, address: u64) -> usize {
        let offset = address - VIRTUAL;
        (self.pages[process][(offset / PAGE) as usize] + offset % PAGE - BASE) as usize
    }

    /// A message from each process to the one `distance` behind it, in any order of sends and receives.
    fn round(&mut self, distance: usize) {
        let mut copies = Vec::new();
        for sender in 0..NODES {
            let receiver = (sender + distance) % NODES;
            let length = self.random.pick(&LENGTHS);
            let (from, to) = (VIRTUAL + self.random.below(3000), RECEIVE + self.random.below(3000));
            copies.push(Copy { sender, receiver, from, to, length });
            for gap in 1..40 {
                for address in [to - gap, to + length + gap - 1] {
                    let place = self.place(receiver, address) as u64;
                    self.foreign.push(BASE + place);
                }
            }
        }
        let mut posted = Vec::new();
        for copy in &copies {
            let kinds =
                if self.random.below(2) == 0 { [Kind::Send, Kind::Receive] } else { [Kind::Receive, Kind::Send] };
            posted.extend(kinds.map(|kind| self.post(kind, *copy)));
        }
        for (core, id) in posted {
            self.finish(core, id);
        }
        self.foreign.clear();
        for copy in copies {
            for byte in 0..copy.length {
                let target = self.place(copy.receiver, copy.to + byte);
                self.model[target] = self.model[self.place(copy.sender, copy.from + byte)];
            }
        }
        while !(0..NODES).all(|core| self.memory.drained(core, 0)) {
            self.step();
        }
    }
}

#[test]
fn on_coherent_caches_a_message_moves_its_bytes_and_no_others() {
    let mut revocations = 0;
    for (preset, design) in presets::PAPER.into_iter().zip([
        DeviceTransactions::Base,
        DeviceTransactions::OptCopy,
        DeviceTransactions::OptCache,
    ]) {
        for seed in 0..4 {
            let mut chip = Chip::new(preset, design, seed);
            for round in 0..60 {
                let distance = chip.random.below(NODES as u64) as usize;
                chip.round(distance);
                let found = chip.memory.bytes(BASE, chip.model.len()).expect("memory");
                let wrong = found.iter().zip(&chip.model).filter(|(found, expected)| found != expected).count();
                assert_eq!(wrong, 0, "{preset}, seed {seed}, round {round}");
            }
            revocations += (0..NODES).map(|node| chip.moped.counters(node).revocations).sum::<u64>();
        }
    }
    assert!(revocations > 200, "{revocations}");
}
