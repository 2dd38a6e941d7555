// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The front end of the naive chip: fetch, prediction and rename.

use std::collections::BTreeMap;

use mb_processor::BranchKind;
use mb_processor::chip::{ChipConfig, FetchPolicy};
use mb_processor::predictor::Direction;
use mb_processor::rv64::{Effect, FloatStatus, Operation, Rounding};

use super::{Core, Fault, Hart, Instruction, Naive, What};

impl Naive {
    pub(super) fn rename(&mut self, core: usize) {
        let (now, mut config) = (self.now, self.config);
        config.rename_registers += usize::from(self.has(Fault::RegisterTooMany));
        config.load_store_queue += usize::from(self.has(Fault::AccessTooMany));
        for hart in &mut self.cores[core].harts {
            if let Some((age, at, target)) = hart.misfetch
                && at <= now
            {
                let place = hart.list.iter().position(|instruction| instruction.age > age);
                hart.squash(place.unwrap_or(hart.list.len()));
                let branch = hart.list.last().expect("the branch");
                hart.past = branch.after.clone();
                hart.redirect(target, now);
            }
        }
        let mut blocked = vec![false; config.contexts];
        for _ in 0..config.rename_width {
            loop {
                let core = &mut self.cores[core];
                let next = (0..config.contexts).filter(|&index| !blocked[index] && !core.harts[index].halted);
                let next = next.filter_map(|index| {
                    let hart = &core.harts[index];
                    let instruction = hart.list.get(hart.renamed())?;
                    (instruction.fetched + config.front_end <= now).then_some((instruction.age, index))
                });
                let Some((_, index)) = next.min() else { return };
                let queued: usize = core.harts.iter().map(Hart::queued).sum();
                let registers: usize = core
                    .harts
                    .iter()
                    .map(|hart| {
                        let in_flight = &hart.list[hart.committed..hart.renamed()];
                        in_flight.iter().filter(|other| other.operation.destination() != 0).count()
                    })
                    .sum();
                let hart = &mut core.harts[index];
                let place = hart.renamed();
                let in_flight = &hart.list[hart.committed..place];
                let accesses = in_flight.iter().filter(|other| other.accesses()).count();
                let instruction = &hart.list[place];
                let is_full = in_flight.len() >= config.reorder_buffer
                    || queued >= config.instruction_queue
                    || instruction.operation.destination() != 0 && registers >= config.rename_registers
                    || instruction.accesses() && accesses >= config.load_store_queue;
                if is_full {
                    blocked[index] = true;
                    continue;
                }
                hart.list[place].renamed = Some(now);
                break;
            }
        }
    }

    pub(super) fn fetch(&mut self, core: usize) {
        let (now, config) = (self.now, self.config);
        let mut order: Vec<(u8, usize, usize, usize)> = Vec::new();
        for (turn, index) in self.turns().into_iter().enumerate() {
            let hart = &self.cores[core].harts[index];
            if self.can_fetch(hart) && hart.from <= now {
                let waiting = match config.fetch_policy {
                    FetchPolicy::Icount if self.has(Fault::IcountOfFetch) => hart.list.len() - hart.renamed(),
                    FetchPolicy::Icount => hart.list.len() - hart.renamed() + hart.queued(),
                    FetchPolicy::RoundRobin => 0,
                };
                order.push((config.priorities[index], waiting, turn, index));
            }
        }
        order.sort_unstable();
        let mut left = config.fetch_width;
        let at_once = self.has(Fault::CrossingAtOnce);
        for &(_, _, _, index) in order.iter().take(config.fetch_threads as usize) {
            if left == 0 {
                break;
            }
            let mut accessed = false;
            while left > 0 && self.can_fetch(&self.cores[core].harts[index]) {
                let hart = &mut self.cores[core].harts[index];
                let address = if hart.half { hart.pc + 2 } else { hart.pc };
                let block = address / config.fetch_block;
                if hart.block != Some(block) {
                    if accessed {
                        break;
                    }
                    accessed = true;
                    // A wrong path may lead outside of memory, where there is no block.
                    if self.memory.get(address, 2).is_some() {
                        hart.block = Some(block);
                    }
                }
                let bytes = self.memory.read::<4>(hart.pc).unwrap_or([0; 4]);
                let crosses = bytes[0] & 3 == 3 && (hart.pc + 2) / config.fetch_block != block;
                if !hart.half && crosses && !at_once {
                    hart.half = true;
                    continue;
                }
                hart.half = false;
                left -= 1;
                if self.append(core, index, u32::from_le_bytes(bytes)) {
                    break;
                }
            }
        }
    }

    fn can_fetch(&self, hart: &Hart) -> bool {
        !hart.halted && !hart.stopped && hart.list.len() - hart.renamed() < self.config.fetch_queue
    }

    /// Appends the instruction at the address of fetch; returns whether fetch ends behind it.
    fn append(&mut self, core: usize, index: usize, word: u32) -> bool {
        let (now, config) = (self.now, self.config);
        let Core { harts, age, counters, targets } = &mut self.cores[core];
        let hart = &mut harts[index];
        let pc = hart.pc;
        let operation = Operation::decode(word, pc);
        let instruction = operation.instruction();
        let what = match operation.evaluate(pc, [0; 3], Rounding::NearestEven) {
            Effect::Value(_) | Effect::Float { .. } | Effect::Pause => What::Plain,
            Effect::Branch { .. } => What::Branch,
            Effect::Load { .. } => What::Load,
            Effect::Store { .. } => What::Store,
            Effect::Atomic { .. } => What::Atomic,
            Effect::Csr(access) if access.writes && access.number != FloatStatus::FFLAGS => What::CsrWrite,
            Effect::Fence(_) | Effect::Csr(_) => What::Alone,
            Effect::Call => What::Call,
            Effect::Illegal(_) => What::Illegal,
            effect => panic!("{effect:?} is not in the programs"),
        };
        let before = hart.past.clone();
        let after = pc + u64::from(instruction.bytes);
        let (mut predicted, mut follows, mut ends) = (after, after, false);
        let mut counter = 0;
        let stack = config.predictor.return_stack;
        let taken = match instruction.branch {
            BranchKind::None => false,
            BranchKind::Conditional => {
                let taken;
                (taken, counter) = direction(&config, counters, pc, hart.past.history);
                hart.past.history = hart.past.history << 1 | u64::from(taken);
                taken
            }
            BranchKind::Return if stack > 0 => {
                // A stack of fixed size is a ring: what was never pushed is 0.
                if hart.past.returns.is_empty() {
                    hart.past.returns = vec![0; stack];
                }
                let target = hart.past.returns.pop().expect("not empty");
                hart.past.returns.insert(0, target);
                (predicted, follows, ends) = (target, target, true);
                false
            }
            BranchKind::Call => {
                if stack > 0 {
                    if hart.past.returns.is_empty() {
                        hart.past.returns = vec![0; stack];
                    }
                    hart.past.returns.remove(0);
                    hart.past.returns.push(after);
                }
                true
            }
            _ => true,
        };
        if taken {
            let set = (pc >> 1).checked_rem(config.predictor.target_sets as u64).and_then(|set| targets.get(&set));
            let known = set.and_then(|set| set.iter().find(|target| target.0 == pc));
            if let Some(&(_, target)) = known {
                (predicted, follows, ends) = (target, target, true);
            } else if let Some(target) = operation.target() {
                predicted = target;
                if hart.misfetch.is_none() {
                    hart.misfetch = Some((*age, now + config.misfetch, target));
                }
            }
        }
        if matches!(what, What::Call | What::CsrWrite | What::Illegal) {
            (hart.stopped, ends) = (true, true);
        }
        hart.pc = follows;
        let after = hart.past.clone();
        hart.list.push(Instruction {
            pc,
            operation,
            what,
            age: *age,
            predicted,
            counter,
            before,
            after,
            fetched: now,
            renamed: None,
            issued: None,
            accessed: None,
            end: None,
            committed: None,
            value: 0,
            address: 0,
            width: 0,
            next: 0,
            taken: false,
            sent: false,
            bound: false,
            flags: 0,
            store: None,
        });
        *age += 1;
        ends
    }
}

/// The predicted direction of a conditional branch, and its counter.
fn direction(config: &ChipConfig, counters: &BTreeMap<u64, u8>, pc: u64, history: u64) -> (bool, usize) {
    let (entries, history) = match config.predictor.direction {
        Direction::Gshare { entries, history: length } => (entries, history % (1 << length)),
        Direction::Bimodal { entries } => (entries, 0),
        _ => (1, 0),
    };
    let counter = (pc >> 1 ^ history) as usize % entries;
    let taken = match config.predictor.direction {
        Direction::Taken => true,
        Direction::NotTaken => false,
        _ => counters.get(&(counter as u64)).copied().unwrap_or(1) >= 2,
    };
    (taken, counter)
}
