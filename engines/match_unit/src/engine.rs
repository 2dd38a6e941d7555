// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `match_unit`: every operation of a receiver runs on the match unit and its list manager.
//!
//! Contract: arrivals search the posted list, posts and probes the unexpected list, each by the
//! selected program; cancels go by handle. One operation is served after the other, and appending
//! is part of the search that found nothing. At most `commands` operations wait; with the queue
//! full an offer is refused until the next one starts. Full lists refuse nothing, since an
//! operation behind the refused one could be the one that frees an item: items beyond
//! `capacity` go to host memory.
//! Cost: that of the words the unit issues, see [`mb_unit::match_processor`]; items that fail alike
//! cost a few nanoseconds.

use mb_asm::MatchProgram;
use mb_asm::program::DEFAULT_ITEM_WORDS;
use mb_core::engine::{Completion, EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::parameters::Choice;
use mb_core::{
    CapacityEvents, Clock, Cycles, Delays, EngineFault, Envelope, Initiator, MsgId, Op, Outcome, Parameters, Pattern,
    Picos, QueueLengths, RecvId,
};
use mb_kit::{InputQueue, OperationServer, Served, Server};

use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, flags, op, options};
use mb_unit::list_manager::{List, ListManagerParameters, MAX_HEAD_CACHE, ProtocolError, SearchResult};
use mb_unit::match_processor::MatchProcessor;
use mb_unit::programs::BuiltinProgram;

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "match_unit",
        summary: "A microcoded match unit and its list manager, cycle by cycle, running real match programs",
        reference: "K. S. Hemmert, K. D. Underwood, A. Rodrigues: An Architecture to Perform NIC Based MPI Matching \
                    (hemmert2007)",
        timing: Timing::Simulated,
    },
    parameters: MatchUnitParameters::SPECS,
    presets: mb_core::presets!("hemmert2007", "mpi", "fpga", "asic"),
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(MatchUnitEngine::new(&set.typed())))),
};

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct MatchUnitParameters {
    /// Clock of unit and list manager.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Match program, a file of `ucode/`, or the path of one of your own.
    #[parameter(file = "match program")]
    pub program: ProgramName,
    /// From a request to local memory to its first word.
    #[parameter(range = 1..=1_000_000)]
    pub memory_latency: Cycles,
    /// 64-bit words that local memory delivers in a cycle.
    #[parameter(range = 1..=8)]
    pub words_per_cycle: u64,
    /// First items of each list that are cached, and memory requests in flight.
    #[parameter(range = 1..=MAX_HEAD_CACHE as u64)]
    pub head_cache: usize,
    /// From an answer in the output FIFO to the list manager's action on it.
    #[parameter(range = 1..=1_000_000)]
    pub reaction: Cycles,
    /// Removing an item from its list.
    #[parameter(range = 0..=1_000_000)]
    pub unlink: Cycles,
    /// Words that the input FIFO holds.
    #[parameter(range = 2..=4096)]
    pub fifo: usize,
    /// Items that local memory holds, both lists together; the rest is in host memory.
    #[parameter(range = 0..=1_000_000_000, holds = PlacesOfBoth)]
    pub capacity: usize,
    /// From a request to host memory to its first word.
    #[parameter(range = 1..=1_000_000)]
    pub spill_latency: Cycles,
    /// Operations that can wait; more are refused for the time being.
    #[parameter(range = 1..=1_000_000_000)]
    pub commands: usize,
}

/// A match program of `ucode/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ProgramName {
    /// [`BuiltinProgram::Mpi`].
    Mpi,
    /// [`BuiltinProgram::PortalsHemmert2007`].
    PortalsHemmert2007,
    /// [`BuiltinProgram::PortalsLean`].
    PortalsLean,
    /// [`BuiltinProgram::Portals4`].
    Portals4,
}

impl ProgramName {
    /// The program's text.
    #[must_use]
    pub const fn builtin(self) -> BuiltinProgram {
        match self {
            Self::Mpi => BuiltinProgram::Mpi,
            Self::PortalsHemmert2007 => BuiltinProgram::PortalsHemmert2007,
            Self::PortalsLean => BuiltinProgram::PortalsLean,
            Self::Portals4 => BuiltinProgram::Portals4,
        }
    }
}

impl MatchUnitParameters {
    /// The list manager and its memory.
    #[must_use]
    pub const fn memory(&self) -> ListManagerParameters {
        ListManagerParameters {
            latency: self.memory_latency.0,
            words_per_cycle: self.words_per_cycle,
            head_cache: self.head_cache,
            reaction: self.reaction.0,
            unlink: self.unlink.0,
            fifo: self.fifo,
            capacity: self.capacity,
            spill_latency: self.spill_latency.0,
            item_words: DEFAULT_ITEM_WORDS,
        }
    }
}

/// One receiver's engine.
#[derive(Debug)]
pub struct MatchUnitEngine {
    clock: Clock,
    machine: MatchProcessor,
    queue: InputQueue,
    events: CapacityEvents,
}

impl MatchUnitEngine {
    /// An engine with empty lists.
    ///
    /// # Panics
    /// When a program of `ucode/` is wrong, which the tests exclude.
    #[must_use]
    pub fn new(parameters: &MatchUnitParameters) -> Self {
        let program = parameters.program.builtin().assemble();
        Self::with_program(&program, parameters).expect("the program waits for a header")
    }

    /// An engine with empty lists that runs `program` in place of the one that the parameters name. Items have the size
    /// that the program declares.
    ///
    /// A program that violates the protocol of the list manager in a later search raises an [`EngineFault`].
    ///
    /// # Errors
    /// When the program does not reach the wait for its first header.
    pub fn with_program(program: &MatchProgram, parameters: &MatchUnitParameters) -> Result<Self, ProtocolError> {
        let memory = ListManagerParameters { item_words: program.item_words, ..parameters.memory() };
        Ok(Self {
            clock: parameters.clock,
            machine: MatchProcessor::new(&program.words, memory)?,
            queue: InputQueue::new(parameters.commands),
            events: CapacityEvents::default(),
        })
    }

    /// The machine inside.
    #[must_use]
    pub const fn machine(&self) -> &MatchProcessor {
        &self.machine
    }

    fn search(&mut self, list: List, header: MessageHeader, start: u64) -> SearchResult {
        self.machine
            .search_fast(list, header.words(), start)
            .unwrap_or_else(|error| EngineFault(error.to_string()).raise())
    }

    /// Searches the unexpected list for `pattern`; takes what it finds if `take` says so.
    fn find_message(&mut self, pattern: &Pattern, take: bool, start: u64) -> (Option<MsgId>, SearchResult) {
        let answer = self.search(List::Unexpected, pattern_header(pattern), start);
        let found = answer.found.map(|position| {
            MsgId(if take {
                self.machine.lists_mut().remove(List::Unexpected, position, answer.at)
            } else {
                self.machine.lists().item(List::Unexpected, position).1
            })
        });
        (found, answer)
    }

    /// Performs one operation from cycle `start` on: its outcome, its visits, and the cycle of its completion.
    fn perform(&mut self, operation: Op, start: u64) -> (Outcome, u32, u64) {
        match operation {
            Op::Arrive { msg, envelope } => {
                let answer = self.search(List::Posted, envelope_header(&envelope), start);
                let outcome = if let Some(position) = answer.found {
                    let recv = self.machine.lists_mut().remove(List::Posted, position, answer.at);
                    Outcome::Matched(RecvId(recv), msg)
                } else {
                    let lists = self.machine.lists_mut();
                    let spilled = lists.append(List::Unexpected, envelope_item(&envelope), msg.0, answer.at);
                    self.events.unexpected_overflows += u64::from(spilled);
                    Outcome::Unexpected(msg)
                };
                (outcome, answer.visits, answer.at)
            }
            Op::Post { recv, pattern } => match self.find_message(&pattern, true, start) {
                (Some(msg), answer) => (Outcome::Matched(recv, msg), answer.visits, answer.at),
                (None, answer) => {
                    let lists = self.machine.lists_mut();
                    let spilled = lists.append(List::Posted, pattern_item(&pattern), recv.0, answer.at);
                    self.events.posted_overflows += u64::from(spilled);
                    (Outcome::Posted(recv), answer.visits, answer.at)
                }
            },
            Op::Probe { probe, pattern } => {
                let (found, answer) = self.find_message(&pattern, false, start);
                (Outcome::Probed(probe, found), answer.visits, answer.at)
            }
            Op::MatchedProbe { probe, pattern } => {
                let (found, answer) = self.find_message(&pattern, true, start);
                (Outcome::Probed(probe, found), answer.visits, answer.at)
            }
            Op::Cancel { recv } => {
                let lists = self.machine.lists_mut();
                let outcome = if let Some(position) = lists.position(List::Posted, recv.0) {
                    lists.remove(List::Posted, position, start);
                    Outcome::Cancelled(recv)
                } else {
                    lists.occupy(start);
                    Outcome::NotCancelled(recv)
                };
                (outcome, 0, lists.free_at())
            }
        }
    }
}

impl OperationServer for MatchUnitEngine {
    fn refuses_until(&mut self, now: Picos, _: &Op) -> Option<Picos> {
        self.queue.full_until(now)
    }

    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let start = self.clock.edge_at_or_after(now).0.max(self.machine.lists().free_at());
        let host_stalls = self.machine.lists().host_stalls();
        let (outcome, visits, end) = self.perform(op, start);
        // The stream can wait longer than the unit, which still has items in its FIFO.
        let beyond = Cycles((self.machine.lists().host_stalls() - host_stalls).min(end - start));
        let [start, at] = [start, end].map(|cycle| self.clock.span(Cycles(cycle)));
        self.queue.push(start);
        let delays = Delays { waiting: start - now, beyond: self.clock.span(beyond) };
        Served { completion: Completion { at, outcome, visits, delays }, busy: at - start }
    }

    fn queue_lengths(&self) -> QueueLengths {
        let lists = self.machine.lists();
        QueueLengths { posted: lists.len(List::Posted), unexpected: lists.len(List::Unexpected) }
    }

    fn capacity_events(&self) -> CapacityEvents {
        CapacityEvents { spilled: self.events.overflows(), ..self.events }
    }
}

/// The process id that goes with an initiator. Initiator 2^32 - 1 is the network id that stands for
/// any, so the process id distinguishes a pattern that names it from one that does not.
const fn pid(initiator: Initiator) -> u16 {
    if initiator.0 == ANY_NID { 1 } else { 0 }
}

/// The header of an arriving message: a put of no bytes, as sizes take no part in matching.
fn envelope_header(envelope: &Envelope) -> MessageHeader {
    let Envelope { bits, initiator } = *envelope;
    MessageHeader { op: op::PUT, pid: pid(initiator), nid: initiator.0, bits, ..MessageHeader::default() }
}

/// The item of an unexpected message.
fn envelope_item(envelope: &Envelope) -> Item {
    let Envelope { bits, initiator } = *envelope;
    Item { bits, care: u64::MAX, nid: initiator.0, pid: pid(initiator), ..Item::default() }
}

/// The header of a search for `pattern`.
fn pattern_header(pattern: &Pattern) -> MessageHeader {
    let any = if pattern.initiator.is_none() { flags::ANY_SOURCE } else { 0 };
    let nid = pattern.initiator.map_or(0, |initiator| initiator.0);
    MessageHeader {
        flags: flags::SEARCH | any,
        nid,
        bits: pattern.bits,
        length: !pattern.ignore,
        ..MessageHeader::default()
    }
}

/// The item of a posted receive: one use, any length, offset zero.
fn pattern_item(pattern: &Pattern) -> Item {
    let (nid, pid, any) = match pattern.initiator {
        Some(initiator) => (initiator.0, pid(initiator), 0),
        None => (ANY_NID, ANY_PID, options::ANY_SOURCE),
    };
    Item {
        bits: pattern.bits,
        care: !pattern.ignore,
        nid,
        pid,
        options: options::VALID | options::PUT | options::TRUNCATE | options::USE_ONCE | any,
        threshold: 1,
        ..Item::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_name_of_its_file() {
        let names: Vec<_> = ProgramName::ALL.iter().map(|program| program.builtin().name()).collect();
        assert_eq!(names, ProgramName::WORDS);
        assert_eq!(names, BuiltinProgram::NAMES);
    }
}
