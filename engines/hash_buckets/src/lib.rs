// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists by hash: the hash-based MPI processor that Xiong et al. compare with, and what MPI libraries do today.
//!
//! Contract: each queue is split into lists by a key of its entries; ages keep the order across
//! lists, wildcards included. One list manager serves both queues, one operation after the other,
//! and takes `operation + list * lists + element * elements` cycles for what it reads; linking and
//! unlinking follow the answer. At most `commands` operations wait; with the queue full an offer is
//! refused until the next one starts. A full memory refuses nothing, since an operation behind the
//! refused one could be the one that frees an entry; entries go to host memory. Cost on the host:
//! in proportion to the elements that the modelled search reads. Source: `xiong2018`, sections
//! III-C2 and IV-B, and the libraries named by the presets.

mod memory;
mod queue;

use std::collections::BTreeMap;

use mb_core::engine::{Completion, EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::parameters::Choice;
use mb_core::{
    CapacityEvents, Clock, Cycles, Delays, MsgId, Op, Outcome, Parameters, Pattern, Picos, QueueLengths, RecvId,
};
use mb_kit::{InputQueue, OperationServer, Served, Server};

use memory::Memory;
pub use queue::BucketKey;
use queue::{Effort, Queue};

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "hash_buckets",
        summary: "Lists by source or by hash: the hash-based MPI processor, and what MPI libraries do today",
        reference: "P. Mattheakis, I. Papaefstathiou: Significantly Reducing MPI Intercommunication Latency and Power \
                    Overhead in Both Embedded and HPC Systems, ACM TACO 2013, as xiong2018 describes it",
        timing: Timing::Simulated,
    },
    parameters: HashBucketsParameters::SPECS,
    presets: mb_core::presets!("xiong2018", "flajslik", "openmpi", "ucx"),
    placement: |set| set.typed::<HashBucketsParameters>().placement,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(HashBuckets::new(&set.typed())))),
};

/// How an unexpected message is searched for when the pattern has no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum WildcardSearch {
    /// In one list after the other.
    AllLists,
    /// Along a chain of all messages.
    Chain,
}

/// How the entries of a list are linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Links {
    /// To the next one: a cancel walks to its receive.
    Single,
    /// To the next one and the one before: a cancel unlinks its receive at once.
    Double,
}

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct HashBucketsParameters {
    /// Clock in which all costs are counted; 10 GHz for libraries, whose costs are known to a tenth of a nanosecond.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Key that selects an entry's list: the source modulo `buckets`; communicator and source; a hash of all.
    #[parameter]
    pub key: BucketKey,
    /// Modulus of the hash, a prime for the key `envelope`, whose fields lie at powers of two;
    /// without effect for `peer`.
    #[parameter(range = 1..=65_536)]
    pub buckets: u64,
    /// How a search for a message without a key proceeds: in one list after the other, or along a chain of all.
    #[parameter]
    pub wildcard_search: WildcardSearch,
    /// Whether a cancel walks to its receive, since lists are linked one way, or unlinks it at once.
    #[parameter]
    pub links: Links,
    /// Fixed cost of every operation.
    #[parameter(range = 0..=1_000_000)]
    pub operation: Cycles,
    /// Cost of each list searched.
    #[parameter(range = 0..=1_000_000)]
    pub list: Cycles,
    /// Cost of each element read.
    #[parameter(range = 0..=1_000_000)]
    pub element: Cycles,
    /// Appending an entry, after the answer.
    #[parameter(range = 0..=1_000_000)]
    pub insert: Cycles,
    /// Removing an entry, after the answer.
    #[parameter(range = 0..=1_000_000)]
    pub remove: Cycles,
    /// Elements of the memory, both queues together; more are in host memory.
    #[parameter(range = 0..=2_000_000_000, holds = PlacesOfBoth)]
    pub capacity: u32,
    /// Cost of each element read in host memory.
    #[parameter(range = 0..=1_000_000)]
    pub spill: Cycles,
    /// Operations that can wait; more are refused for the time being.
    #[parameter(range = 1..=1_000_000_000)]
    pub commands: usize,
    /// Processor whose time is spent: that of the NIC, or that of the host.
    #[parameter]
    pub placement: Placement,
}

impl HashBucketsParameters {
    /// Cycles of a search.
    const fn search(&self, effort: Effort) -> u64 {
        self.operation.0 + self.list.0 * effort.lists + self.element.0 * effort.local + self.spill.0 * effort.spilled
    }
}

/// The result of an operation.
struct Applied {
    outcome: Outcome,
    effort: Effort,
    /// Cycles after the answer.
    after: u64,
}

/// One receiver's engine.
#[derive(Debug)]
pub struct HashBuckets {
    parameters: HashBucketsParameters,
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
    events: CapacityEvents,
}

impl HashBuckets {
    /// An engine with empty lists.
    #[must_use]
    pub fn new(parameters: &HashBucketsParameters) -> Self {
        let &HashBucketsParameters { key, buckets, wildcard_search, capacity, commands, .. } = parameters;
        Self {
            parameters: parameters.clone(),
            memory: Memory::new(capacity),
            posted: Queue::new(key, buckets, false),
            unexpected: Queue::new(key, buckets, wildcard_search == WildcardSearch::Chain),
            handles: BTreeMap::new(),
            ages: 0,
            free: 0,
            answered: Picos::ZERO,
            queue: InputQueue::new(commands),
            events: CapacityEvents::default(),
        }
    }

    fn apply(&mut self, op: Op) -> Applied {
        self.ages += 1;
        let Self { memory, posted, unexpected, events, .. } = self;
        let HashBucketsParameters { insert: Cycles(insert), remove: Cycles(remove), links, .. } = self.parameters;
        match op {
            Op::Arrive { msg, envelope } => {
                let (found, effort) = posted.find_receive(memory, &envelope);
                let Some(slot) = found else {
                    let slot = unexpected.append(memory, msg.0, Pattern::exactly(envelope), self.ages);
                    events.unexpected_overflows += u64::from(memory.is_spilled(slot));
                    return Applied { outcome: Outcome::Unexpected(msg), effort, after: insert };
                };
                let name = memory.get(slot).name;
                posted.remove(memory, slot);
                self.handles.remove(&name);
                Applied { outcome: Outcome::Matched(RecvId(name), msg), effort, after: remove }
            }
            Op::Post { recv, pattern } => {
                let (found, effort) = unexpected.find_message(memory, &pattern);
                let Some(slot) = found else {
                    let slot = posted.append(memory, recv.0, pattern, self.ages);
                    events.posted_overflows += u64::from(memory.is_spilled(slot));
                    self.handles.insert(recv.0, slot);
                    return Applied { outcome: Outcome::Posted(recv), effort, after: insert };
                };
                let msg = MsgId(memory.get(slot).name);
                unexpected.remove(memory, slot);
                Applied { outcome: Outcome::Matched(recv, msg), effort, after: remove }
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
                let after = if found.is_some() { remove } else { 0 };
                Applied { outcome: Outcome::Probed(probe, msg), effort, after }
            }
            Op::Cancel { recv } => {
                let Some(slot) = self.handles.remove(&recv.0) else {
                    return Applied { outcome: Outcome::NotCancelled(recv), effort: Effort::default(), after: 0 };
                };
                let effort = if links == Links::Single { posted.walk_to(memory, slot) } else { Effort::default() };
                posted.remove(memory, slot);
                Applied { outcome: Outcome::Cancelled(recv), effort, after: remove }
            }
        }
    }
}

impl OperationServer for HashBuckets {
    fn refuses_until(&mut self, now: Picos, _: &Op) -> Option<Picos> {
        self.queue.full_until(now)
    }

    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let clock = self.parameters.clock;
        let begin = clock.edge_at_or_after(now).0.max(self.free);
        let Applied { outcome, effort, after } = self.apply(op);
        let end = begin + self.parameters.search(effort);
        self.free = end + after;
        self.queue.push(clock.span(Cycles(begin)));
        let (start, at) = (now.max(self.answered), clock.span(Cycles(end)));
        self.answered = at;
        let waiting = clock.span(Cycles(begin)) - now;
        let delays = Delays { waiting, beyond: clock.span(self.parameters.spill * effort.spilled) };
        let completion = Completion { at, outcome, visits: effort.elements() as u32, delays };
        Served { completion, busy: at - start }
    }

    fn queue_lengths(&self) -> QueueLengths {
        QueueLengths { posted: self.posted.len(), unexpected: self.unexpected.len() }
    }

    fn capacity_events(&self) -> CapacityEvents {
        CapacityEvents { spilled: self.events.overflows(), ..self.events }
    }
}
