// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs with the passage of every instruction.

use mb_processor::chip::{Chip, ChipConfig, ChipFault, ChipKanata, ChipObserver, ChipStop, Passage};
use mb_processor::system::MemorySystem;

use crate::Console;
use crate::assembler::{TEXT, flat};
use crate::devices::Guard;

/// The passages of each hart, with the cycles of their commits, and those that were squashed.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Log {
    pub(crate) committed: Vec<Vec<(Passage, u64)>>,
    pub(crate) squashed: Vec<Passage>,
}

/// What records passages: one type of observer, since the chip is compiled for each.
pub(crate) enum Watcher<'a> {
    Log(&'a mut Log),
    Diagram(&'a mut ChipKanata<fn(&Passage) -> String>),
}

impl ChipObserver for Watcher<'_> {
    fn committed(&mut self, passage: &Passage, cycle: u64) {
        match self {
            Self::Log(log) => {
                if log.committed.len() <= passage.hart {
                    log.committed.resize(passage.hart + 1, Vec::new());
                }
                log.committed[passage.hart].push((*passage, cycle));
            }
            Self::Diagram(diagram) => diagram.committed(passage, cycle),
        }
    }

    fn squashed(&mut self, passage: &Passage) {
        match self {
            Self::Log(log) => log.squashed.push(*passage),
            Self::Diagram(diagram) => diagram.squashed(passage),
        }
    }
}

/// Runs a chip, and observes every passage. The memory is behind a pointer, since the chip is compiled for each type.
pub(crate) fn run_watched(
    chip: &mut Chip,
    until: u64,
    mut memory: &mut dyn MemorySystem,
    watcher: &mut Watcher<'_>,
) -> Result<ChipStop, ChipFault> {
    chip.run_observed(until, &mut memory, &mut Console::default(), watcher)
}

/// Runs a chip with an observer that records no passage.
pub(crate) fn run_guarded(
    chip: &mut Chip,
    until: u64,
    mut memory: &mut dyn MemorySystem,
    console: &mut Console,
    guard: &mut Guard,
) -> Result<ChipStop, ChipFault> {
    chip.run_observed(until, &mut memory, console, guard)
}

/// Runs a chip without observer.
pub(crate) fn run_until(
    chip: &mut Chip,
    until: u64,
    memory: &mut dyn MemorySystem,
    console: &mut Console,
) -> Result<ChipStop, ChipFault> {
    run_guarded(chip, until, memory, console, &mut Guard::default())
}

/// Runs a chip until every hart has ended.
pub(crate) fn finish(chip: &mut Chip, memory: &mut dyn MemorySystem, log: &mut Log) {
    loop {
        match run_watched(chip, 1_000_000, memory, &mut Watcher::Log(log)).unwrap() {
            ChipStop::Exited { .. } => {}
            ChipStop::Halted => return,
            stop => {
                let pcs: Vec<_> = (0..chip.config().harts()).map(|hart| chip.pc(hart)).collect();
                panic!("{stop:?}; the harts are at {pcs:x?}")
            }
        }
    }
}

/// Runs a program on every hart of a chip, with accesses of `latency` cycles and fetches of 1.
pub(crate) fn run(config: &ChipConfig, words: &[u32], latency: u64) -> (Chip, Log) {
    let mut memory = flat(words, (config.cores, config.contexts), latency, 1);
    let mut chip = Chip::new(config, TEXT).unwrap();
    let mut log = Log::default();
    finish(&mut chip, &mut memory, &mut log);
    (chip, log)
}

/// The passages of hart 0.
pub(crate) fn passages(config: &ChipConfig, words: &[u32], latency: u64) -> Vec<(Passage, u64)> {
    run(config, words, latency).1.committed.swap_remove(0)
}
