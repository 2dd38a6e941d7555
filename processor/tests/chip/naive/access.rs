// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The accesses of the naive chip.

use mb_processor::rv64::{Counter, Effect, Rounding};

use super::{Fault, Naive, What};

/// Where a load takes its value.
enum From {
    Memory,
    /// A store in flight, which gives it this value.
    Store(u64),
}

impl Naive {
    pub(super) fn access(&mut self, core: usize) {
        let now = self.now;
        for index in self.turns() {
            self.execute_oldest(core, index);
        }
        // Loads, the oldest first; each is tried once.
        let mut tried = 0;
        loop {
            let harts = self.cores[core].harts.iter().enumerate();
            let loads = harts.flat_map(|(index, hart)| hart.list.iter().map(move |load| (load, index)));
            let next = loads
                .filter(|(load, _)| load.what == What::Load && load.issued.is_some() && !load.bound && !load.sent)
                .filter(|(load, _)| load.age >= tried)
                .map(|(load, index)| (load.age, index))
                .min();
            let Some((age, index)) = next else { return };
            tried = age + 1;
            let place = self.place(core, index, age).expect("just found");
            if let Some(from) = self.may_access(core, index, place) {
                let load = &mut self.cores[core].harts[index].list[place];
                load.accessed = Some(now);
                if let From::Store(value) = from {
                    self.bind(core, index, place, value);
                } else if self.latency == 1 {
                    let load = load.clone();
                    let value = self.load(load.address, load.width);
                    self.bind(core, index, place, value);
                } else {
                    load.sent = true;
                    self.requests.push((now + self.latency, core, index, age));
                }
            }
        }
    }

    /// Where a load takes its value, if it may have it.
    fn may_access(&mut self, core: usize, index: usize, place: usize) -> Option<From> {
        let (now, part) = (self.now, self.has(Fault::PartOfAStore));
        let hart = &mut self.cores[core].harts[index];
        let load = hart.list[place].clone();
        let in_flight = hart.committed..place;
        for older in &hart.list[in_flight.clone()] {
            let orders = older.what == What::Atomic
                || older.what == What::Alone
                    && matches!(older.operation.evaluate(0, [0; 3], Rounding::NearestEven), Effect::Fence(_));
            if orders && !older.ended(now) {
                return None;
            }
            if matches!(older.what, What::Store | What::Atomic) && older.issued.is_none() {
                return None;
            }
        }
        for other in in_flight.clone().rev() {
            let store = hart.list[other].clone();
            if matches!(store.what, What::Store | What::Atomic) && store.overlaps(&load) {
                let ends = load.address + load.width <= store.address + store.width;
                let covers = store.address <= load.address && (ends || part);
                if store.what == What::Atomic || !covers || !hart.ready(other, 1, now) {
                    return None;
                }
                hart.list[place].store = Some(store.age);
                return Some(From::Store(hart.operand(other, 1) >> (8 * (load.address - store.address))));
            }
        }
        let waits = hart.list[in_flight]
            .iter()
            .any(|older| older.what == What::Load && older.issued.is_some() && !older.bound && older.overlaps(&load));
        if waits { None } else { Some(From::Memory) }
    }

    /// Executes the oldest instruction of a hart, if it has been issued and executes alone.
    fn execute_oldest(&mut self, core: usize, index: usize) {
        let (now, config) = (self.now, self.config);
        let hart = &mut self.cores[core].harts[index];
        let place = hart.committed;
        if place == hart.list.len() {
            return;
        }
        let first = hart.operand(place, 0);
        let oldest = &mut hart.list[place];
        let waits = oldest.issued.is_some() && oldest.end.is_none() && !oldest.sent;
        if !waits || !matches!(oldest.what, What::Atomic | What::Alone | What::CsrWrite | What::Call) {
            return;
        }
        oldest.accessed = Some(now);
        match oldest.what {
            What::Alone | What::CsrWrite => {
                if let Effect::Csr(access) = oldest.operation.evaluate(0, [first, 0, 0], Rounding::NearestEven) {
                    oldest.value = match access.counter() {
                        Some(Counter::Retired) => place as u64,
                        Some(_) => now,
                        None => hart.float_status.access(&access).expect("a CSR of floating point"),
                    };
                }
                oldest.end = Some(now + config.latencies.integer);
            }
            What::Call => {
                hart.squash(place);
                hart.halted = true;
            }
            _ if self.latency > 1 => {
                oldest.sent = true;
                let age = oldest.age;
                self.requests.push((now + self.latency, core, index, age));
            }
            _ => {
                let instruction = oldest.clone();
                let operand = self.operand_of_atomic(core, index, place);
                let value = self.access_memory(core, index, &instruction, operand);
                self.bind(core, index, place, value);
            }
        }
    }
}
