// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is measured: the match unit with its program, the list manager, and the hardware bound.
//!
//! Contract: the same subject gives the same measurements; nothing here knows a claim.
//! Cost: the benchmark of figure 5 is run once, when a subject is made: some 10 million words of microcode.

use mb_asm::MatchProgram;
use mb_catalog::{CatalogError, EngineChoice};
use mb_core::ParameterError;
use mb_core::engine::{Completion, Engine};
use mb_core::{Clock, Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId};
use mb_processor::barrel::Trap;
use mb_processor::{Fault, LoadError};
use mb_session::figure5::{self, HEADERS, LENGTHS, Row};
use mb_unit::layout::{ANY_NID, ANY_PID, Header, Item, op, options};
use mb_unit::list_manager::{List, ListManagerParameters, ProtocolError, SearchResult};
use mb_unit::match_processor::{IssueEvent, MatchProcessor};
use mb_unit::unit::{FifoTag, MatchUnit, WRITE_STAGE};

use crate::hemmert2007::{Processor, Simulated};
use crate::study::{self, Study, StudyError, World};

/// Why a measurement could not be made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MeasureError {
    /// The match program breaks the protocol of the list manager.
    #[error("the match program: {0}")]
    Protocol(#[from] ProtocolError),
    /// A preset cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A small program that asks the unit something does not run.
    #[error("a probe of the match unit: {0}")]
    Probe(String),
    /// The match program has no segment of this name.
    #[error("the match program has no segment `{0}`")]
    NoSegment(&'static str),
    /// Cores cannot be built.
    #[error("a processor: {0}")]
    Setting(#[from] ParameterError),
    /// A program cannot be loaded.
    #[error("a guest program: {0}")]
    Load(#[from] LoadError),
    /// A program does what its processor cannot.
    #[error("a guest program: {0}")]
    Fault(#[from] Fault),
    /// A thread does what its processor cannot.
    #[error("a guest program: {0}")]
    Trap(#[from] Trap),
    /// The benchmark found that a match was not where it should be.
    #[error("the benchmark on a list of {length} items ended with status {status}")]
    Benchmark {
        /// Items of the list.
        length: usize,
        /// What it ended with.
        status: u64,
    },
    /// A study's anchor cannot be placed.
    #[error("the anchor of claim `{claim}`: {what}")]
    Anchor {
        /// The claim.
        claim: String,
        /// What is wrong.
        what: String,
    },
    /// A study's assumption has an answer that no model knows.
    #[error("assumption `{name}` has no answer `{answer}`")]
    Answer {
        /// The assumption.
        name: &'static str,
        /// The answer.
        answer: String,
    },
    /// A study cannot be read.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A run did not show what was to be measured.
    #[error("{0} did not show in the run that should show it")]
    NotSeen(&'static str),
}

/// The hardware bound in two versions, as presets of the engine `ideal`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// As the paper states it.
    Stated,
    /// As its percentages imply it; a parameter is calibrated.
    Reported,
}

impl Bound {
    /// Engine and preset.
    #[must_use]
    pub const fn spec(self) -> &'static str {
        match self {
            Self::Stated => "ideal:hemmert2007_stated",
            Self::Reported => "ideal:hemmert2007_reported",
        }
    }
}

/// The preset of the match unit that is compared with the paper.
pub const UNIT: &str = "microcode:hemmert2007";

/// The study whose designs and assumptions are measured.
pub const STUDY: &str = "hemmert2007_figures";

/// One point of figures 6 and 7: cycles for 64 matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// The match unit: headers in a stream, and one by one.
    pub unit: Row,
    /// The match unit by the cycles that section 6.1 counts: header words, item code, no flush.
    pub counted: u64,
    /// The bound as stated.
    pub stated: u64,
    /// The bound as the percentages imply it.
    pub reported: u64,
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The match program.
    pub program: MatchProgram,
    /// The list manager and its memory.
    pub memory: ListManagerParameters,
    /// Clock of all.
    pub clock: Clock,
    /// The benchmark of figure 5, all lengths of the list.
    pub points: Vec<Point>,
    /// The processors under the base assumptions.
    pub processors: Processors,
    /// The processors under the assumptions that agree best with the paper.
    pub fitted: Option<Processors>,
}

/// Processors in one world.
#[derive(Clone, Default, Debug)]
pub struct Processors {
    /// What is assumed, as a table says it.
    pub world: String,
    /// The benchmark on each.
    pub simulated: Vec<Simulated>,
}

impl Processors {
    /// All of the paper's in `world`.
    ///
    /// # Errors
    /// When one cannot be built or its benchmark does not end well.
    pub fn new(study: &Study, world: &World) -> Result<Self, MeasureError> {
        let simulated = Processor::ALL
            .iter()
            .map(|&processor| Simulated::new(processor, &study.seen_by(processor.name(), world)))
            .collect::<Result<_, _>>()?;
        Ok(Self { world: study.describe(world), simulated })
    }

    /// One of them.
    pub(crate) fn of(&self, processor: Processor) -> Result<&Simulated, MeasureError> {
        let found = self.simulated.iter().find(|simulated| simulated.processor == processor);
        found.ok_or(MeasureError::NotSeen(processor.name()))
    }
}

/// One search, word by word.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) events: Vec<IssueEvent>,
    pub(crate) answer: SearchResult,
    pub(crate) machine: MatchProcessor,
}

impl Subject {
    /// The design point of the paper: preset `microcode:hemmert2007`, program `portals_hemmert2007`.
    ///
    /// # Errors
    /// When a preset cannot be read or the program breaks the protocol.
    pub fn hemmert2007() -> Result<Self, MeasureError> {
        let parameters: mb_microcode::MicrocodeParameters = mb_catalog::find(UNIT)?.parameters.typed();
        let subject = Self::new(parameters.program.builtin().assemble(), parameters.memory(), parameters.clock)?;
        let study = study::find(STUDY)?;
        let processors = Processors::new(&study, &study.base())?;
        let fitted = Processors::new(&study, &study.fitted())?;
        Ok(Self { processors, fitted: Some(fitted), ..subject })
    }

    /// Any program and memory, without processors.
    ///
    /// # Errors
    /// When the program breaks the protocol, does not match, or lacks the segments that the paper counts.
    pub fn new(program: MatchProgram, memory: ListManagerParameters, clock: Clock) -> Result<Self, MeasureError> {
        let mut subject =
            Self { program, memory, clock, points: Vec::new(), processors: Processors::default(), fitted: None };
        if subject.search_nth(3)?.answer.found != Some(2) {
            return Err(MeasureError::NotSeen("the match of the third item"));
        }
        let stated = mb_catalog::find(Bound::Stated.spec())?;
        let reported = mb_catalog::find(Bound::Reported.spec())?;
        for length in LENGTHS {
            for unit in figure5::run(&subject.program.words, memory, length)? {
                let search = subject.search_nth(unit.traversed)?;
                let point = Point {
                    unit,
                    counted: HEADERS * subject.counted_in_6_1(&search)?,
                    stated: bound_cycles(&stated, unit.traversed)?,
                    reported: bound_cycles(&reported, unit.traversed)?,
                };
                subject.points.push(point);
            }
        }
        Ok(subject)
    }

    /// The point with `n` items traversed.
    pub(crate) fn at(&self, n: usize) -> Result<&Point, MeasureError> {
        self.points.iter().find(|point| point.unit.traversed == n).ok_or(MeasureError::NotSeen("this depth"))
    }

    /// A machine with `items` in its posted list.
    pub(crate) fn machine(
        &self,
        memory: ListManagerParameters,
        items: &[Item],
    ) -> Result<MatchProcessor, MeasureError> {
        let mut machine = MatchProcessor::new(&self.program.words, memory)?;
        for (item, id) in items.iter().zip(0..) {
            machine.lists_mut().append(List::Posted, *item, id, 0);
        }
        Ok(machine)
    }

    /// Searches `items` for `header`, with everything before long over.
    pub(crate) fn search_in(
        &self,
        memory: ListManagerParameters,
        items: &[Item],
        header: &Header,
    ) -> Result<Search, MeasureError> {
        let mut machine = self.machine(memory, items)?;
        let mut events = Vec::new();
        let mut watch = |event: &IssueEvent, _: &MatchUnit| events.push(*event);
        let arrival = machine.now() + 1000 + memory.latency;
        let answer = machine.search(List::Posted, header.words(), arrival, &mut watch)?;
        Ok(Search { events, answer, machine })
    }

    /// Searches `items` for [`header`].
    pub(crate) fn search(&self, items: &[Item]) -> Result<Search, MeasureError> {
        self.search_in(self.memory, items, &header())
    }

    /// A search that matches the `n`-th item, with one more behind it.
    pub(crate) fn search_nth(&self, n: usize) -> Result<Search, MeasureError> {
        self.search(&list(n))
    }

    /// Words of a segment of the program.
    pub(crate) fn segment_words(&self, name: &'static str) -> Result<usize, MeasureError> {
        Ok(self.segment(name)?.len())
    }

    /// The events whose words lie in one of the segments.
    pub(crate) fn in_segments(
        &self,
        events: &[IssueEvent],
        names: &[&'static str],
    ) -> Result<Vec<IssueEvent>, MeasureError> {
        let ranges = names.iter().map(|name| self.segment(name)).collect::<Result<Vec<_>, _>>()?;
        let within = |event: &&IssueEvent| ranges.iter().any(|range| range.contains(&usize::from(event.issued.at)));
        Ok(events.iter().filter(within).copied().collect())
    }

    fn segment(&self, name: &'static str) -> Result<std::ops::Range<usize>, MeasureError> {
        let segment = self.program.segments.iter().find(|segment| segment.name == name);
        segment.map(|found| found.first..found.first + found.words).ok_or(MeasureError::NoSegment(name))
    }

    /// Cycles of one search that section 6.1 counts: header words taken, and the item code from read to write stage.
    fn counted_in_6_1(&self, search: &Search) -> Result<u64, MeasureError> {
        let items = self.in_segments(&search.events, &["shared", "fast", "slow"])?;
        Ok(words_taken(&search.events, FifoTag::Header) as u64 + cycles(&items))
    }
}

/// A header that [`item`] accepts.
pub(crate) const fn header() -> Header {
    Header { op: op::PUT, bits: 1, length: 64, nid: 7, pid: 9, flags: 0, remote_offset: 0, data: 0 }
}

/// An item that accepts the header with these bits.
pub(crate) const fn item(bits: u64) -> Item {
    Item {
        bits,
        care: u64::MAX,
        nid: ANY_NID,
        pid: ANY_PID,
        options: options::VALID | options::PUT,
        length: 4096,
        local_offset: 0,
        max_size: 0,
        threshold: 1,
        event_queue: 0,
        handle: 0,
        start: 0,
    }
}

/// `n` items of which the last accepts [`header`], and one behind it.
pub(crate) fn list(n: usize) -> Vec<Item> {
    (1..=n + 1).map(|position| item(if position == n { 1 } else { 2 })).collect()
}

/// Cycles from the read stage of the first word to the write stage of the last.
pub(crate) fn cycles(events: &[IssueEvent]) -> u64 {
    match events {
        [] => 0,
        [first, ..] => events[events.len() - 1].cycle + WRITE_STAGE + 1 - first.cycle,
    }
}

/// Words with this tag that were taken from the input FIFO.
pub(crate) fn words_taken(events: &[IssueEvent], tag: FifoTag) -> usize {
    events.iter().filter(|event| event.took.is_some_and(|entry| entry.tag == tag)).count()
}

/// Cycles that an engine takes for 64 headers which arrive at once and match the `n`-th entry each.
pub(crate) fn bound_cycles(choice: &EngineChoice, n: usize) -> Result<u64, MeasureError> {
    let mut engine = choice.build()?;
    let mut done = Vec::new();
    let envelope = |bits: u64| Envelope { bits, initiator: Initiator(0) };
    // Entries that never match, then one for each header: the next is as deep as the one before.
    let deep = n as u64 - 1;
    for recv in 0..deep + HEADERS {
        let pattern = Pattern::exactly(envelope(u64::from(recv < deep)));
        engine.offer(Picos::ZERO, Op::Post { recv: RecvId(recv), pattern });
    }
    run_out(engine.as_mut(), &mut done);
    let start = done.iter().map(|completion| completion.at).max().unwrap_or_default();
    done.clear();
    for msg in 0..HEADERS {
        engine.offer(start, Op::Arrive { msg: MsgId(msg), envelope: envelope(0) });
    }
    run_out(engine.as_mut(), &mut done);
    let end = done.iter().map(|completion| completion.at).max().unwrap_or_default();
    let clock = choice.parameters.clock().expect("the match unit has a clock");
    Ok(clock.edge_at_or_after(end).0 - clock.edge_at_or_after(start).0)
}

fn run_out(engine: &mut dyn Engine, done: &mut Vec<Completion>) {
    while let Some(at) = engine.next_event() {
        engine.run_until(at, done);
    }
}
