// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark of hemmert2007 figure 5: 64 identical headers that match at 0 to 100 % of a list, nothing removed.
//!
//! Contract: every number of a row except the two bounds is measured on the model. One bound is the formula that Hemmert
//! et al. state (8 cycles per header and 8 per item), the other the one that their percentages imply (17 and 8).
//! Source: Hemmert et al. (`hemmert2007`) sections 5.1 and 6.1.

use mb_asm::word::Word;

use mb_unit::layout::{ANY_NID, ANY_PID, Header, Item, op, options};
use mb_unit::list_manager::{List, ListManagerParameters, ProtocolError};
use mb_unit::match_processor::{IssueEvent, MatchProcessor};
use mb_unit::unit::{MatchUnit, WRITE_STAGE};

/// Headers of one pass.
pub const HEADERS: u64 = 64;

/// Lengths of the list in hemmert2007 figures 6 and 7.
pub const LENGTHS: [usize; 4] = [10, 30, 100, 300];

/// One point of hemmert2007 figures 6 and 7: cycles for [`HEADERS`] matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Items of the list.
    pub length: usize,
    /// Position of the match, in percent of the list.
    pub percent: u32,
    /// Items traversed per header, including the matching one.
    pub traversed: usize,
    /// Cycles for back-to-back headers, from the first read stage to the last write stage.
    pub streamed: u64,
    /// Cycles for isolated headers, each timed in the same way, summed.
    pub one_by_one: u64,
    /// Words issued.
    pub words: u64,
    /// Stall cycles of the back-to-back headers.
    pub stalls: u64,
    /// The hardware bound that hemmert2007 6.1 states.
    pub bound_stated: u64,
    /// The hardware bound that the percentages of hemmert2007 6.1 imply.
    pub bound_reported: u64,
}

/// Cycles of the hardware bound for [`HEADERS`] headers: `fixed` per header and 8 per item.
const fn bound(fixed: u64, traversed: usize) -> u64 {
    HEADERS * (fixed + 8 * traversed as u64)
}

/// The matching position at `percent` of a list: 0 % is the first item, 100 % the last.
const fn position(percent: u32, length: usize) -> usize {
    (percent as usize * (length - 1) + 50) / 100
}

/// All points for one list length. The first of twelve passes warms up and is not reported.
///
/// # Errors
/// When the program violates the protocol of the list manager.
///
/// # Panics
/// When `length` is zero.
pub fn run(words: &[Word], memory: ListManagerParameters, length: usize) -> Result<Vec<Row>, ProtocolError> {
    assert!(length > 0, "the benchmark needs an item to match");
    let mut machine = MatchProcessor::new(words, memory)?;
    for bits in 0..length as u64 {
        machine.lists_mut().append(List::Posted, item(bits), bits, 0);
    }
    let percents = std::iter::once(0).chain((0..=100).step_by(10));
    let mut rows = Vec::new();
    for percent in percents {
        rows.push(pass(&mut machine, length, percent)?);
    }
    rows.remove(0);
    Ok(rows)
}

/// One iteration of the outer loop of hemmert2007 figure 5: back-to-back headers, then isolated ones.
fn pass(machine: &mut MatchProcessor, length: usize, percent: u32) -> Result<Row, ProtocolError> {
    let position = position(percent, length);
    let header = Header { op: op::PUT, bits: position as u64, ..Header::default() }.words();
    let (words, stalls) = (machine.issued(), machine.stalls().total());
    let arrival = machine.now();
    let streamed = timed(machine, |machine, watch| {
        for _ in 0..HEADERS {
            let answer = machine.search(List::Posted, header, arrival, watch)?;
            debug_assert_eq!(answer.found, Some(position), "the header matches at the intended position");
        }
        Ok(())
    })?;
    let (words, stalls) = (machine.issued() - words, machine.stalls().total() - stalls);
    let mut one_by_one = 0;
    for _ in 0..HEADERS {
        // Late enough for the previous search to be complete.
        let arrival = machine.now() + 1000;
        one_by_one +=
            timed(machine, |machine, watch| machine.search(List::Posted, header, arrival, watch).map(|_| ()))?;
    }
    Ok(Row {
        length,
        percent,
        traversed: position + 1,
        streamed,
        one_by_one,
        words,
        stalls,
        bound_stated: bound(8, position + 1),
        bound_reported: bound(17, position + 1),
    })
}

/// Cycles from the read stage of the first word to the write stage of the last.
fn timed<F>(machine: &mut MatchProcessor, run: F) -> Result<u64, ProtocolError>
where
    F: FnOnce(&mut MatchProcessor, &mut dyn FnMut(&IssueEvent, &MatchUnit)) -> Result<(), ProtocolError>,
{
    let (mut first, mut last) = (None, 0);
    let mut watch = |event: &IssueEvent, _: &MatchUnit| {
        first.get_or_insert(event.cycle);
        last = event.cycle;
    };
    run(machine, &mut watch)?;
    Ok(last + WRITE_STAGE + 1 - first.unwrap_or(last))
}

/// An item that matches exactly the header with the same bits, in every program.
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
