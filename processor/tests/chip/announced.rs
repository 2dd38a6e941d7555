// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A memory that answers each load at once with a value that is usable much later.

use mb_processor::FixedLatency;
use mb_processor::chip::{Chip, ChipConfig, smt};
use mb_processor::system::{AddressKind, CompletedRequest, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem};

use crate::assembler::{DATA, TEXT, address, exit, flat, ld, sd};
use crate::run::{Log, finish};

struct Announced {
    memory: FixedLatency,
    later: u64,
}

impl MemorySystem for Announced {
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        self.memory.fetch(cycle, core, context, address)
    }

    fn code(&self, core: usize, address: u64) -> Option<u16> {
        self.memory.code(core, address)
    }

    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        match self.memory.request(cycle, request) {
            MemoryAnswer::Ready { at, value } => MemoryAnswer::Ready { at: at + self.later, value },
            answer => answer,
        }
    }

    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        self.memory.advance(cycle, completed);
    }

    fn next_event(&self) -> Option<u64> {
        self.memory.next_event()
    }

    fn drained(&self, core: usize, context: u8) -> bool {
        self.memory.drained(core, context)
    }

    fn reserved(&self, core: usize, context: u8) -> bool {
        self.memory.reserved(core, context)
    }

    fn invalidate_instructions(&mut self, core: usize) {
        self.memory.invalidate_instructions(core);
    }

    fn region(&self, address: u64, width: u8) -> AddressKind {
        self.memory.region(address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.memory.bytes(address, length)
    }
}

#[test]
fn a_value_is_used_in_the_cycle_for_which_memory_announces_it() {
    // Around the 64 cycles for which a core has masks, and around twice as many.
    for later in [0, 5, 61, 62, 63, 64, 65, 126, 127, 128, 1000] {
        let mut words = address(8, DATA);
        words.extend([sd(8, 8, 0), crate::assembler::FENCE]);
        words.extend([ld(8, 8, 0); 6]);
        words.extend(exit());
        let run = |every: bool| {
            let config = ChipConfig { issue_width: 8, ..smt(1) };
            let mut memory = Announced { memory: flat(&words, (1, 1), 1, 1), later };
            let mut chip = Chip::new(&config, TEXT).unwrap();
            chip.simulate_every_cycle(every);
            let mut log = Log::default();
            finish(&mut chip, &mut memory, &mut log);
            (log, chip.now(), *chip.statistics(0))
        };
        let (log, ..) = run(false);
        for pair in log.committed[0][5..10].windows(2) {
            assert_eq!(pair[0].0.written - pair[0].0.accessed, 1 + later);
            assert_eq!(pair[1].0.issued, pair[0].0.written);
        }
        assert!(run(false) == run(true), "{later}");
    }
}
