// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Dictionaries that the match unit takes from Python and returns to it.

use mb_session::debugger::StopReason;
use mb_session::session::CompletedSearch;
use mb_session::trace::TraceRow;
use mb_unit::layout::{Item, MAX_ITEM_WORDS, MessageHeader, Words};
use mb_unit::list_manager::{List, ProtocolError, StallCause};
use mb_unit::match_processor::{IssueEvent, StallCycles};
use mb_unit::unit::FifoTag;
use pyo3::prelude::*;

/// The fields of an item.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ItemFields {
    bits: u64,
    care: u64,
    nid: u32,
    pid: u16,
    options: u16,
    length: u64,
    local_offset: u64,
    max_size: u32,
    threshold: u32,
    event_queue: u32,
    start: u64,
}

/// An item by its words or by its fields.
#[derive(FromPyObject)]
pub(crate) enum ItemInput {
    Words(Vec<u64>),
    Fields(ItemFields),
}

impl ItemInput {
    /// The item for a program with items of `item_words` words; `None` for another number of words.
    pub(super) fn encode(self, item_words: usize) -> Option<[u64; MAX_ITEM_WORDS]> {
        match self {
            Self::Words(words) if words.len() == item_words => {
                let mut all = [0; MAX_ITEM_WORDS];
                all[..item_words].copy_from_slice(&words);
                Some(all)
            }
            Self::Words(_) => None,
            Self::Fields(fields) => Some(Item::from(fields).encode(item_words)),
        }
    }
}

impl From<ItemFields> for Item {
    fn from(fields: ItemFields) -> Self {
        Self {
            bits: fields.bits,
            care: fields.care,
            nid: fields.nid,
            pid: fields.pid,
            options: fields.options,
            length: fields.length,
            local_offset: fields.local_offset,
            max_size: fields.max_size,
            threshold: fields.threshold,
            event_queue: fields.event_queue,
            handle: 0,
            start: fields.start,
        }
    }
}

/// The fields of a header.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct HeaderFields {
    op: u8,
    flags: u8,
    pid: u16,
    nid: u32,
    bits: u64,
    length: u64,
    remote_offset: u64,
    data: u64,
}

/// A header by its words or by its fields.
#[derive(FromPyObject)]
pub(crate) enum HeaderInput {
    Words(Words),
    Fields(HeaderFields),
}

impl From<HeaderInput> for Words {
    fn from(input: HeaderInput) -> Self {
        match input {
            HeaderInput::Words(words) => words,
            HeaderInput::Fields(fields) => MessageHeader {
                op: fields.op,
                flags: fields.flags,
                pid: fields.pid,
                nid: fields.nid,
                bits: fields.bits,
                length: fields.length,
                remote_offset: fields.remote_offset,
                data: fields.data,
            }
            .words(),
        }
    }
}

/// The completed search of one header.
#[derive(IntoPyObject)]
pub(crate) struct SearchShape {
    pub(super) header: usize,
    pub(super) list_name: &'static str,
    pub(super) item: Option<u64>,
    pub(super) visits: u32,
    pub(super) words: Vec<u64>,
    pub(super) begun: u64,
    pub(super) answered: u64,
}

impl From<&CompletedSearch> for SearchShape {
    fn from(completed: &CompletedSearch) -> Self {
        let result = &completed.result;
        Self {
            header: completed.header,
            list_name: list_name(completed.list),
            item: completed.item,
            visits: result.visits,
            words: result.words[..result.count].to_vec(),
            begun: completed.begun,
            answered: result.at,
        }
    }
}

/// One issued word.
#[derive(IntoPyObject)]
pub(crate) struct RowShape {
    pub(super) cycle: u64,
    pub(super) address: u16,
    pub(super) stall: Option<(u64, &'static str)>,
    pub(super) took: Option<(u64, &'static str)>,
    pub(super) writes: Vec<(String, u64)>,
    pub(super) sent: Option<(u64, bool)>,
    pub(super) taken: bool,
    pub(super) cancelled: bool,
    pub(super) input: usize,
    pub(super) output: usize,
}

impl From<&TraceRow> for RowShape {
    fn from(row: &TraceRow) -> Self {
        let IssueEvent { cycle, issued, stall, took } = row.event;
        Self {
            cycle,
            address: issued.at,
            stall: stall.map(|(cycles, cause)| (cycles, cause.as_str())),
            took: took.map(|entry| (entry.word, tag_name(entry.tag))),
            writes: row.writes.iter().map(|(register, value)| (register.to_string(), *value)).collect(),
            sent: issued.sent.map(|sent| (sent.word, sent.last)),
            taken: issued.taken,
            cancelled: issued.cancelled,
            input: row.input,
            output: row.output,
        }
    }
}

/// Progress of a unit in one call.
#[derive(IntoPyObject)]
pub(crate) struct Advanced {
    pub(super) answers: Vec<SearchShape>,
    pub(super) rows: Vec<RowShape>,
    pub(super) kanata: String,
    pub(super) vcd: String,
    pub(super) idle: bool,
    pub(super) broken: Option<String>,
}

/// The words from one label to the next.
#[derive(IntoPyObject)]
pub(crate) struct LabelShape {
    pub(super) label: String,
    pub(super) first: usize,
    pub(super) words: usize,
    pub(super) issued: u64,
    pub(super) stalls: Vec<(&'static str, u64)>,
}

/// Profile of a run.
#[derive(IntoPyObject)]
pub(crate) struct ProfileShape {
    pub(super) parts: Vec<LabelShape>,
    pub(super) slots: Vec<(&'static str, u64)>,
    pub(super) issued: Vec<u64>,
}

/// Cycles, words and stall cycles so far.
#[derive(IntoPyObject)]
pub(crate) struct Totals {
    pub(super) cycles: u64,
    pub(super) words: u64,
    pub(super) stalls: Vec<(&'static str, u64)>,
}

/// Why the debugger stopped, with the row of a single step.
#[derive(IntoPyObject)]
pub(crate) struct Stopped {
    pub(super) why: &'static str,
    pub(super) row: Option<RowShape>,
    /// A watched register that changed, with its value before and after.
    pub(super) changed: Option<(String, u64, u64)>,
    pub(super) broken: Option<String>,
}

/// The state between two words.
#[derive(IntoPyObject)]
pub(crate) struct StateShape {
    pub(super) cycle: u64,
    pub(super) words: u64,
    pub(super) pc: u16,
    pub(super) alu: Vec<u64>,
    pub(super) ternary: Vec<u64>,
    pub(super) predicates: u16,
    pub(super) branch: Option<(u8, u16)>,
    pub(super) input: Vec<(u64, &'static str, u64)>,
    pub(super) output: Vec<(u64, bool, u64)>,
    pub(super) searching: Option<(usize, &'static str, usize)>,
    pub(super) waiting: usize,
}

/// An item of a list.
#[derive(IntoPyObject)]
pub(crate) struct ListEntryShape {
    pub(super) item: u64,
    pub(super) words: Vec<u64>,
    pub(super) handle: u32,
    pub(super) cached_since: Option<u64>,
    pub(super) spilled: bool,
}

impl Stopped {
    pub(super) fn new(stop: Result<StopReason, ProtocolError>, row: Option<&TraceRow>) -> Self {
        let why = match stop {
            Ok(StopReason::Stepped) => "stepped",
            Ok(StopReason::Breakpoint(_)) => "breakpoint",
            Ok(StopReason::Reached(_)) => "reached",
            Ok(StopReason::Changed { .. }) => "changed",
            Ok(StopReason::SearchDone(_)) => "answered",
            Ok(StopReason::Idle) => "idle",
            Err(_) => "broken",
        };
        let changed = match stop {
            Ok(StopReason::Changed { register, before, after }) => Some((register.to_string(), before, after)),
            _ => None,
        };
        let broken = stop.err().map(|error| error.to_string());
        Self { why, row: row.map(RowShape::from), changed, broken }
    }
}

pub(super) const fn list_name(list: List) -> &'static str {
    match list {
        List::Posted => "posted",
        List::Unexpected => "unexpected",
    }
}

pub(super) const fn tag_name(tag: FifoTag) -> &'static str {
    match tag {
        FifoTag::Header => "header",
        FifoTag::Item => "item",
        FifoTag::End => "end",
    }
}

pub(super) fn stalls(stalls: &StallCycles) -> Vec<(&'static str, u64)> {
    StallCause::ALL.map(|cause| (cause.as_str(), stalls.of(cause))).to_vec()
}
