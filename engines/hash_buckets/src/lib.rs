// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists by hash: the hash-based MPI processor that Xiong et al. compare with, and what MPI libraries do today.
//!
//! Contract: each queue is split into lists by a key of its entries; ages keep the order across lists, wildcards included. One
//! list manager serves both queues, one operation after the other, and takes `operation + list * lists + element * elements`
//! cycles for what it reads; linking and unlinking follow the answer.
//! Operations wait in a queue of `commands` places; with all of them taken an offer is refused until the next one starts.
//! A full memory refuses nothing: what makes room would be behind the refused operation; entries go to host memory.
//! Cost on the host: in proportion to the elements that the modelled search reads.
//! Source: `xiong2018`, sections III-C2 and IV-B, and the libraries named by the presets.

mod memory;
mod queue;

use std::collections::BTreeMap;

use mb_core::engine::{Completion, EngineCard, EngineEntry, Placement, Preset, Timing, keeps_order};
use mb_core::settings::{SettingError, SettingSpec, Settings, Unit};
use mb_core::{Clock, Cycles, MsgId, Op, Outcome, Pattern, Picos, RecvId};
use mb_kit::{InputQueue, Served, Server, Service};

use memory::Memory;
use queue::{Effort, Key, Queue};

/// What the catalog knows of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "hash_buckets",
        summary: "Lists by source or by hash: the hash-based MPI processor, and what MPI libraries do today",
        reference: "P. Mattheakis, I. Papaefstathiou: Significantly Reducing MPI Intercommunication Latency and Power \
                    Overhead in Both Embedded and HPC Systems, ACM TACO 2013, as xiong2018 describes it",
        timing: Timing::Simulated,
    },
    settings: SETTINGS,
    presets: &[
        Preset { name: "xiong2018", toml: include_str!("../presets/xiong2018.toml") },
        Preset { name: "flajslik", toml: include_str!("../presets/flajslik.toml") },
        Preset { name: "openmpi", toml: include_str!("../presets/openmpi.toml") },
        Preset { name: "ucx", toml: include_str!("../presets/ucx.toml") },
    ],
    placement: |settings| if settings.word("placement") == "host" { Placement::Host } else { Placement::Nic },
    breaks_order: keeps_order,
    build: |settings| Ok(Box::new(Server::new(HashBuckets::new(settings)?))),
};

const SETTINGS: &[SettingSpec] = &[
    SettingSpec {
        key: "clock",
        unit: Unit::Megahertz,
        help: "Clock that all costs are counted in; 10 GHz for libraries, whose costs are known to a tenth of a nanosecond.",
        range: (1, 100_000),
    },
    SettingSpec {
        key: "key",
        unit: Unit::Choice(&["source", "peer", "envelope"]),
        help: "What decides an entry's list: the source modulo `buckets`; communicator and source; a hash of all.",
        range: (0, 0),
    },
    SettingSpec {
        key: "buckets",
        unit: Unit::Count,
        help: "Modulus of the hash, a prime for the key `envelope`, whose fields lie at powers of two; without effect for `peer`.",
        range: (1, 65_536),
    },
    SettingSpec {
        key: "any",
        unit: Unit::Choice(&["tour", "chain"]),
        help: "How an unexpected message is looked for without a key: in one list after the other, or along a chain of all.",
        range: (0, 0),
    },
    SettingSpec {
        key: "links",
        unit: Unit::Choice(&["one_way", "two_way"]),
        help: "Whether a cancel walks to its receive, since lists are linked one way, or unlinks it at once.",
        range: (0, 0),
    },
    SettingSpec { key: "operation", unit: Unit::Cycles, help: "Fixed cost of every operation.", range: (0, 1_000_000) },
    SettingSpec { key: "list", unit: Unit::Cycles, help: "Cost of each list looked at.", range: (0, 1_000_000) },
    SettingSpec { key: "element", unit: Unit::Cycles, help: "Cost of each element read.", range: (0, 1_000_000) },
    SettingSpec {
        key: "insert",
        unit: Unit::Cycles,
        help: "Appending an entry, after the answer.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "remove",
        unit: Unit::Cycles,
        help: "Taking an entry out, after the answer.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "capacity",
        unit: Unit::Count,
        help: "Elements of the memory, both queues together; more are in host memory.",
        range: (0, 2_000_000_000),
    },
    SettingSpec {
        key: "spill",
        unit: Unit::Cycles,
        help: "Cost of each element read in host memory.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "commands",
        unit: Unit::Count,
        help: "Operations that can wait; more are refused for the time being.",
        range: (1, 1_000_000_000),
    },
    SettingSpec {
        key: "placement",
        unit: Unit::Choice(&["nic", "host"]),
        help: "Whose time is spent: the NIC's, or the host processor's.",
        range: (0, 0),
    },
];

/// Cycles of what the list manager does.
#[derive(Clone, Copy, Debug)]
struct Costs {
    operation: u64,
    list: u64,
    element: u64,
    spill: u64,
    insert: u64,
    remove: u64,
}

impl Costs {
    const fn of(&self, effort: Effort) -> u64 {
        self.operation + self.list * effort.lists + self.element * effort.local + self.spill * effort.spilled
    }
}

/// What an operation came to.
struct Applied {
    outcome: Outcome,
    effort: Effort,
    /// Cycles after the answer.
    after: u64,
}

/// One receiver's engine.
#[derive(Debug)]
pub struct HashBuckets {
    clock: Clock,
    costs: Costs,
    walks_to_cancel: bool,
    memory: Memory,
    posted: Queue,
    unexpected: Queue,
    /// Where each posted receive is: its handle.
    handles: BTreeMap<u64, u32>,
    ages: u64,
    /// Cycle from which the list manager is free.
    free: u64,
    answered: Picos,
    queue: InputQueue,
}

impl HashBuckets {
    /// An engine with empty lists.
    ///
    /// # Errors
    /// Never: no two settings of this engine can contradict each other.
    pub fn new(settings: &Settings) -> Result<Self, SettingError> {
        let key = match settings.word("key") {
            "source" => Key::Source,
            "peer" => Key::Peer,
            _ => Key::Envelope,
        };
        let buckets = settings.whole("buckets");
        let cycles = |key| settings.cycles(key).0;
        Ok(Self {
            clock: settings.clock("clock"),
            costs: Costs {
                operation: cycles("operation"),
                list: cycles("list"),
                element: cycles("element"),
                spill: cycles("spill"),
                insert: cycles("insert"),
                remove: cycles("remove"),
            },
            walks_to_cancel: settings.word("links") == "one_way",
            memory: Memory::new(settings.whole("capacity") as u32),
            posted: Queue::new(key, buckets, false),
            unexpected: Queue::new(key, buckets, settings.word("any") == "chain"),
            handles: BTreeMap::new(),
            ages: 0,
            free: 0,
            answered: Picos::ZERO,
            queue: InputQueue::new(settings.whole("commands") as usize),
        })
    }

    fn apply(&mut self, op: Op) -> Applied {
        self.ages += 1;
        let Self { memory, posted, unexpected, costs, .. } = self;
        match op {
            Op::Arrive { msg, envelope } => {
                let (found, effort) = posted.find_receive(memory, &envelope);
                let Some(slot) = found else {
                    unexpected.append(memory, msg.0, Pattern::exactly(envelope), self.ages);
                    return Applied { outcome: Outcome::Unexpected(msg), effort, after: costs.insert };
                };
                let name = memory.get(slot).name;
                posted.remove(memory, slot);
                self.handles.remove(&name);
                Applied { outcome: Outcome::Matched(RecvId(name), msg), effort, after: costs.remove }
            }
            Op::Post { recv, pattern } => {
                let (found, effort) = unexpected.find_message(memory, &pattern);
                let Some(slot) = found else {
                    let slot = posted.append(memory, recv.0, pattern, self.ages);
                    self.handles.insert(recv.0, slot);
                    return Applied { outcome: Outcome::Posted(recv), effort, after: costs.insert };
                };
                let msg = MsgId(memory.get(slot).name);
                unexpected.remove(memory, slot);
                Applied { outcome: Outcome::Matched(recv, msg), effort, after: costs.remove }
            }
            Op::Probe { probe, pattern } => {
                let (found, effort) = unexpected.find_message(memory, &pattern);
                let msg = found.map(|slot| MsgId(memory.get(slot).name));
                Applied { outcome: Outcome::Probed(probe, msg), effort, after: 0 }
            }
            Op::MatchedProbe { probe, pattern } => {
                let (found, effort) = unexpected.find_message(memory, &pattern);
                let msg = found.map(|slot| MsgId(memory.get(slot).name));
                if let Some(slot) = found {
                    unexpected.remove(memory, slot);
                }
                let after = if found.is_some() { costs.remove } else { 0 };
                Applied { outcome: Outcome::Probed(probe, msg), effort, after }
            }
            Op::Cancel { recv } => {
                let Some(slot) = self.handles.remove(&recv.0) else {
                    return Applied { outcome: Outcome::NotCancelled(recv), effort: Effort::default(), after: 0 };
                };
                let effort = if self.walks_to_cancel { posted.walk_to(memory, slot) } else { Effort::default() };
                posted.remove(memory, slot);
                Applied { outcome: Outcome::Cancelled(recv), effort, after: costs.remove }
            }
        }
    }
}

impl Service for HashBuckets {
    fn refuses_until(&mut self, now: Picos, _: &Op) -> Option<Picos> {
        self.queue.full_until(now)
    }

    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let begin = self.clock.edge_at_or_after(now).0.max(self.free);
        let Applied { outcome, effort, after } = self.apply(op);
        let end = begin + self.costs.of(effort);
        self.free = end + after;
        self.queue.push(self.clock.span(Cycles(begin)));
        let (start, at) = (now.max(self.answered), self.clock.span(Cycles(end)));
        self.answered = at;
        Served { completion: Completion { at, outcome, visits: effort.elements() as u32 }, busy: at - start }
    }

    fn queue_lengths(&self) -> (usize, usize) {
        (self.posted.len(), self.unexpected.len())
    }
}
