// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark on the match unit and its list manager.
//!
//! Contract: every number is measured on the model.
//! Cost: for the four lists of the paper, some 10 million microcode words.

use mb_asm::word::Word;
use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, op, options};
use mb_unit::list_manager::{List, ListManagerParameters, ProtocolError};
use mb_unit::match_processor::{IssueEvent, MatchProcessor};
use mb_unit::unit::{MatchUnit, WRITE_STAGE};

use super::{BenchmarkRun, HEADERS, System};
use crate::error::MeasureError;

/// Cycles between headers that come one by one: long enough for everything of the search before to
/// be over.
const APART: u64 = 1000;

/// [`HEADERS`] matches on the match unit, in cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitPass {
    /// Headers that follow each other, from the first read stage to the last write stage.
    pub streamed: u64,
    /// Headers that come one by one, each timed by itself in the same way, added up.
    pub one_by_one: u64,
    /// Words issued while the headers followed each other.
    pub words: u64,
    /// Cycles in which the unit waited meanwhile.
    pub stalls: u64,
}

/// The match unit with a list of items that each accept one header.
#[derive(Debug)]
pub struct MatchUnitSystem(MatchProcessor);

impl MatchUnitSystem {
    /// A unit that runs the program `words` on a posted list of `length` items.
    ///
    /// # Errors
    /// When the program breaks the protocol of the list manager.
    pub fn new(words: &[Word], memory: ListManagerParameters, length: usize) -> Result<Self, ProtocolError> {
        let mut machine = MatchProcessor::new(words, memory)?;
        for bits in 0..length as u64 {
            machine.lists_mut().append(List::Posted, item(bits), bits, 0);
        }
        Ok(Self(machine))
    }
}

/// Runs the benchmark with the program `words` on a list of `length` items.
///
/// # Errors
/// When the program breaks the protocol of the list manager or a header does not match where it
/// should.
pub fn run(
    words: &[Word],
    memory: ListManagerParameters,
    length: usize,
) -> Result<BenchmarkRun<UnitPass>, MeasureError> {
    super::run(&mut MatchUnitSystem::new(words, memory, length)?, length)
}

impl System for MatchUnitSystem {
    type Pass = UnitPass;

    fn pass(&mut self, position: usize) -> Result<UnitPass, MeasureError> {
        let Self(machine) = self;
        let header = MessageHeader { op: op::PUT, bits: position as u64, ..MessageHeader::default() }.words();
        let search = |machine: &mut MatchProcessor, arrival, watch: &mut dyn FnMut(&IssueEvent, &MatchUnit)| {
            let found = machine.search(List::Posted, header, arrival, watch)?.found;
            if found == Some(position) { Ok(()) } else { Err(MeasureError::NotSeen("a match at its position")) }
        };
        let (words, stalls) = (machine.issued(), machine.stalls().total());
        let arrival = machine.now();
        let streamed = timed(machine, |machine, watch| (0..HEADERS).try_for_each(|_| search(machine, arrival, watch)))?;
        let (words, stalls) = (machine.issued() - words, machine.stalls().total() - stalls);
        let mut one_by_one = 0;
        for _ in 0..HEADERS {
            let arrival = machine.now() + APART;
            one_by_one += timed(machine, |machine, watch| search(machine, arrival, watch))?;
        }
        Ok(UnitPass { streamed, one_by_one, words, stalls })
    }
}

/// Cycles from the read stage of the first word to the write stage of the last.
fn timed<F>(machine: &mut MatchProcessor, run: F) -> Result<u64, MeasureError>
where
    F: FnOnce(&mut MatchProcessor, &mut dyn FnMut(&IssueEvent, &MatchUnit)) -> Result<(), MeasureError>,
{
    let (mut first, mut last) = (None, 0);
    let mut watch = |event: &IssueEvent, _: &MatchUnit| {
        first.get_or_insert(event.cycle);
        last = event.cycle;
    };
    run(machine, &mut watch)?;
    Ok(last + WRITE_STAGE + 1 - first.unwrap_or(last))
}

/// An item that accepts exactly the header with its bits, in every program.
fn item(bits: u64) -> Item {
    Item {
        bits,
        care: u64::MAX,
        nid: ANY_NID,
        pid: ANY_PID,
        options: options::VALID | options::PUT | options::TRUNCATE | options::ANY_SOURCE,
        length: 4096,
        threshold: 1,
        ..Item::default()
    }
}
