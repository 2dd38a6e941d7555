// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether processes make progress, and where they wait.
//!
//! Processes that wait for messages execute instructions, so that a deadlock is not an idle machine. There is progress
//! while a hart computes (`STRETCH` instructions without a wait), calls the host or waits for its timer, while a
//! device takes or completes descriptors of messages, and while the shared segment of a program changes.
//! A process that probes without end takes descriptors too; one that finds nothing does not count as progress.

use std::collections::BTreeSet;
use std::ops::Range;

use mb_processor::functional::HartState;
use mb_processor::linux::Files;
use mb_processor::rv64::supervisor::Privilege;
use mb_processor::rv64::sv39;

use super::Machine;
use super::progress::{Sample, Waiting, Watch};

/// Samples without progress in [`MachineParameters::patience`](super::MachineParameters::patience).
const SAMPLES: u64 = 4;
const PAGE: u64 = sv39::PAGE_BYTES;
const PAGE_LENGTH: usize = 4096;
/// Entries of the root table for the shared segment (`SHARED_BASE` and `SHARED_GIB` of moped/kernel/kernel.h).
const SHARED_ENTRIES: Range<u64> = 0x31_0000_0000 >> 30..(0x31_0000_0000 >> 30) + 8;
const ENTRIES: u64 = 512;
/// Words of the stack in which a return address into a call of MPI is looked for.
const STACK_WORDS: u64 = 2048;
const STACK_POINTER: usize = 2;
const RETURN_ADDRESS: usize = 1;

impl<F: Files> Machine<F> {
    /// A watch with a first sample.
    pub(super) fn begin_watch(&mut self) -> Watch {
        Watch { sample: sample(self), still: 0 }
    }

    /// Takes a sample; true if there was no progress for `SAMPLES` of them.
    pub(super) fn stands_still(&mut self, watch: &mut Watch) -> bool {
        let found = sample(self);
        let sleeps =
            (0..self.harts()).any(|hart| self.is_waiting(hart) && self.state(hart).supervisor.next_timer() != u64::MAX);
        if sleeps || found != watch.sample {
            (watch.sample, watch.still) = (found, 0);
            return false;
        }
        watch.still += 1;
        let shared = (0..self.harts()).any(|hart| self.state(hart).supervisor.next_timer() != u64::MAX);
        let turns = self.slice.saturating_mul(2 * self.processes.len() as u64);
        let needed = if shared { self.patience.max(turns) } else { self.patience };
        watch.still >= SAMPLES * needed.div_ceil(self.patience)
    }
}

fn sample<F: Files>(machine: &mut Machine<F>) -> Sample {
    let harts = machine.harts();
    let descriptors = (0..harts)
        .map(|node| machine.device(node))
        .map(|counters| counters.posted + counters.matched + counters.completed + counters.revoked + counters.faults)
        .sum();
    Sample {
        calls: machine.host.calls,
        stretches: (0..harts).map(|hart| machine.stretches(hart)).sum(),
        descriptors,
        shared: shared(machine),
    }
}

/// The tables or pages that these entries of a page table point to.
fn targets<F: Files>(machine: &Machine<F>, table: u64, entries: Range<u64>) -> Vec<u64> {
    let length = (entries.end - entries.start) * 8;
    let bytes = machine.bytes(table + entries.start * 8, length as usize).unwrap_or_default();
    let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    words.filter(|entry| entry & 1 == 1).map(|entry| (entry >> 10 & ((1 << 44) - 1)) * PAGE).collect()
}

/// A hash of the shared segments of the programs that hold a hart.
fn shared<F: Files>(machine: &Machine<F>) -> u64 {
    let roots: BTreeSet<_> = (0..machine.harts()).filter_map(|hart| machine.state(hart).supervisor.root()).collect();
    let below = |tables: BTreeSet<u64>, entries: Range<u64>| -> BTreeSet<u64> {
        tables.into_iter().flat_map(|table| targets(machine, table, entries.clone())).collect()
    };
    let middles = below(roots.into_iter().map(|root| root * PAGE).collect(), SHARED_ENTRIES);
    let pages = below(below(middles, 0..ENTRIES), 0..ENTRIES);
    // FNV-1a over words (Fowler, Noll, Vo).
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for page in pages {
        let bytes = machine.bytes(page, PAGE_LENGTH).unwrap_or_default();
        for chunk in bytes.as_chunks::<8>().0 {
            hash = (hash ^ u64::from_le_bytes(*chunk)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// The process that runs on each hart.
pub(super) fn waiting<F: Files>(machine: &Machine<F>) -> Vec<Waiting> {
    let running = |hart: usize| {
        let state = machine.state(hart);
        // The kernel numbers processes from 1 on and uses the number as address-space identifier.
        let number = usize::from(state.supervisor.asid()).checked_sub(1)?;
        let &(program, rank) = machine.processes.get(number).filter(|_| !machine.is_waiting(hart))?;
        let symbols = &machine.symbols[program as usize];
        let user = state.supervisor.privilege() == Privilege::User;
        let symbol = if user { symbols.name(state.pc) } else { None };
        let addresses = [state.registers[RETURN_ADDRESS]].into_iter().chain(stack(machine, &state));
        let (call, caller) = user.then(|| symbols.innermost_call(state.pc, addresses)).flatten().unzip();
        let call = call.map(str::to_owned);
        Some(Waiting { program, rank, hart, pc: state.pc, symbol, call, caller: caller.flatten() })
    };
    (0..machine.harts()).filter_map(running).collect()
}

/// Words of the stack of a process, from the top on.
fn stack<F: Files>(machine: &Machine<F>, state: &HartState) -> impl Iterator<Item = u64> {
    let top = state.registers[STACK_POINTER] & !7;
    let root = state.supervisor.root();
    (0..STACK_WORDS).map_while(move |index| {
        let address = top.wrapping_add(index * 8);
        let leaf = sv39::walk(root?, address, |entry| machine.word(entry)).ok()?;
        machine.word(leaf.physical(address))
    })
}
