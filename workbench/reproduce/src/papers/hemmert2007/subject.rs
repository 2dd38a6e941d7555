// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is measured: the match unit with its program, the list manager, and the hardware bound.
//!
//! Contract: the same subject gives the same measurements; no claim is used here.
//! Cost: the benchmark of figure 5 is run once, when a subject is made: some 10 million words of
//! microcode.

use mb_asm::MatchProgram;
use mb_catalog::EngineChoice;
use mb_core::engine::{Completion, Engine};
use mb_core::{Clock, Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId};
use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, op, options};
use mb_unit::list_manager::{List, ListManagerParameters, SearchResult};
use mb_unit::match_processor::{IssueEvent, MatchProcessor};
use mb_unit::unit::{FifoTag, MatchUnit, WRITE_STAGE};

use super::figure5::match_unit::{self, UnitPass};
use super::figure5::{HEADERS, LENGTHS};
use super::processors::Simulated;
use super::setup::PaperProcessor;
use crate::error::MeasureError;
use crate::study::{AssumptionSet, Study, StudyFile};

/// The preset of the match unit that is compared with the paper.
pub(super) const UNIT: &str = "match_unit:hemmert2007";

pub(super) const STUDY: StudyFile = StudyFile {
    name: "hemmert2007_figures",
    text: include_str!("../../../../../studies/hemmert2007_figures/study.toml"),
};

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

/// One point of figures 6 and 7: cycles for 64 matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Items of the list.
    pub length: usize,
    /// How deep the match lies, in percent of the list.
    pub percent: u32,
    /// Items traversed for each header, the one that matches included.
    pub traversed: usize,
    /// The match unit: headers in a stream, and one by one.
    pub unit: UnitPass,
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
    /// The processors under the baseline assumptions.
    pub processors: Processors,
    /// The processors under the assumptions that agree best with the paper.
    pub fitted: Option<Processors>,
}

/// The processors under one set of assumptions.
#[derive(Clone, Default, Debug)]
pub struct Processors {
    /// The assumptions, as a table shows them.
    pub assumptions: String,
    /// The benchmark on each.
    pub simulated: Vec<Simulated>,
}

impl Processors {
    /// All of the paper's under `assumptions`.
    ///
    /// # Errors
    /// When one cannot be built or its benchmark does not end well.
    pub fn new(study: &Study, assumptions: &AssumptionSet) -> Result<Self, MeasureError> {
        let simulated = PaperProcessor::ALL
            .iter()
            .map(|&processor| Simulated::new(processor, &study.seen_by(processor.name(), assumptions)))
            .collect::<Result<_, _>>()?;
        Ok(Self { assumptions: study.describe(assumptions), simulated })
    }

    /// One of them.
    pub(crate) fn of(&self, processor: PaperProcessor) -> Result<&Simulated, MeasureError> {
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
    /// The design point of the paper: preset `match_unit:hemmert2007`, program
    /// `portals_hemmert2007`.
    ///
    /// # Errors
    /// When a preset cannot be read or the program breaks the protocol.
    pub fn published() -> Result<Self, MeasureError> {
        let parameters: mb_match_unit::MatchUnitParameters = mb_catalog::find(UNIT)?.parameters.typed();
        let subject = Self::new(parameters.program.builtin().assemble(), parameters.memory(), parameters.clock)?;
        let study = STUDY.read()?;
        let processors = Processors::new(&study, &study.baseline())?;
        let fitted = Processors::new(&study, &study.fitted())?;
        Ok(Self { processors, fitted: Some(fitted), ..subject })
    }

    /// Any program and memory, without processors.
    ///
    /// # Errors
    /// When the program breaks the protocol, does not match, or lacks the segments that the paper
    /// counts.
    pub fn new(program: MatchProgram, memory: ListManagerParameters, clock: Clock) -> Result<Self, MeasureError> {
        let mut subject =
            Self { program, memory, clock, points: Vec::new(), processors: Processors::default(), fitted: None };
        if subject.search_nth(3)?.answer.found != Some(2) {
            return Err(MeasureError::NotSeen("the match of the third item"));
        }
        let stated = mb_catalog::find(Bound::Stated.spec())?;
        let reported = mb_catalog::find(Bound::Reported.spec())?;
        for length in LENGTHS {
            let run = match_unit::run(&subject.program.words, memory, length)?;
            for measured in run.points() {
                let (percent, traversed) = (measured.percent, measured.traversed);
                let search = subject.search_nth(traversed)?;
                let point = Point {
                    length,
                    percent,
                    traversed,
                    unit: *measured.pass,
                    counted: HEADERS * subject.counted_in_6_1(&search)?,
                    stated: bound_cycles(&stated, traversed)?,
                    reported: bound_cycles(&reported, traversed)?,
                };
                subject.points.push(point);
            }
        }
        Ok(subject)
    }

    /// The point with `n` items traversed.
    pub(crate) fn at(&self, n: usize) -> Result<&Point, MeasureError> {
        self.points.iter().find(|point| point.traversed == n).ok_or(MeasureError::NotSeen("this depth"))
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
        header: &MessageHeader,
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

    /// Cycles of one search that section 6.1 counts: header words taken, and the item code from
    /// read to write stage.
    fn counted_in_6_1(&self, search: &Search) -> Result<u64, MeasureError> {
        let items = self.in_segments(&search.events, &["shared", "fast", "slow"])?;
        Ok(words_taken(&search.events, FifoTag::Header) as u64 + cycles(&items))
    }
}

/// A header that [`item`] accepts.
pub(crate) const fn header() -> MessageHeader {
    MessageHeader { op: op::PUT, bits: 1, length: 64, nid: 7, pid: 9, flags: 0, remote_offset: 0, data: 0 }
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
