// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match unit by itself, from Python: lists and headers in, answers, rows, waveforms and the debugger out.

use mb_asm::Program;
use mb_core::Clock;
use mb_microcode::engine::memory;
use mb_microcode::export::{Kanata, Vcd};
use mb_microcode::layout::{Header, Item, Words, flags, op, options};
use mb_microcode::list_manager::{Cause, List};
use mb_microcode::machine::{Event, Observer as _, Stalls};
use mb_microcode::profile::Profile;
use mb_microcode::programs::Builtin;
use mb_microcode::session::{AfterMatch, Answered, Progress, Session};
use mb_microcode::trace::{Row, Tracer};
use mb_microcode::unit::{Tag, Unit};
use pyo3::prelude::*;

use crate::asm::Microcode;
use crate::catalog::Engine;
use crate::errors::bad_input;

/// The fields of an item; a dictionary in Python.
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
    Words(Words),
    Fields(ItemFields),
}

impl From<ItemInput> for Item {
    fn from(input: ItemInput) -> Self {
        match input {
            ItemInput::Words(words) => Self::from_words(&words),
            ItemInput::Fields(fields) => Self {
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
            },
        }
    }
}

/// The fields of a header; a dictionary in Python.
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
            HeaderInput::Fields(fields) => Header {
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

/// One header, answered; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct AnswerShape {
    header: usize,
    list_name: &'static str,
    item: Option<u64>,
    visits: u32,
    words: Vec<u64>,
    begun: u64,
    answered: u64,
}

impl From<&Answered> for AnswerShape {
    fn from(answered: &Answered) -> Self {
        let answer = &answered.answer;
        Self {
            header: answered.header,
            list_name: list_name(answered.list),
            item: answered.item,
            visits: answer.visits,
            words: answer.words[..answer.count].to_vec(),
            begun: answered.begun,
            answered: answer.at,
        }
    }
}

/// One issued word; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct RowShape {
    cycle: u64,
    address: u16,
    stall: Option<(u64, &'static str)>,
    took: Option<(u64, &'static str)>,
    writes: Vec<(String, u64)>,
    sent: Option<(u64, bool)>,
    taken: bool,
    cancelled: bool,
    input: usize,
    output: usize,
}

impl From<&Row> for RowShape {
    fn from(row: &Row) -> Self {
        let Event { cycle, issued, stall, took } = row.event;
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

/// What a unit did in one call; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Advanced {
    answers: Vec<AnswerShape>,
    rows: Vec<RowShape>,
    kanata: String,
    vcd: String,
    idle: bool,
    broken: Option<String>,
}

/// The words from one label to the next; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct PartShape {
    label: String,
    first: usize,
    words: usize,
    issued: u64,
    stalls: Vec<(&'static str, u64)>,
}

/// Where the cycles of a run went; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct ProfileShape {
    parts: Vec<PartShape>,
    slots: Vec<(&'static str, u64)>,
    issued: Vec<u64>,
}

/// Cycles, words and waits so far; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Totals {
    cycles: u64,
    words: u64,
    stalls: Vec<(&'static str, u64)>,
}

/// A match unit with its list manager, and what watches them.
#[pyclass(module = "matchbench._native")]
pub(crate) struct MatchUnit {
    program: Program,
    session: Session,
    clock: Clock,
    profile: Profile,
    kanata: Option<Kanata>,
    vcd: Option<Vcd>,
}

#[pymethods]
impl MatchUnit {
    /// A unit in reset that runs `program`, with the memory that `engine`'s settings describe.
    #[new]
    fn new(program: &Microcode, engine: &Engine, remove: bool) -> PyResult<Self> {
        let settings = &engine.choice.settings;
        if !settings.contains("memory_latency") {
            return Err(bad_input(format!("engine `{}` has no match unit", engine.choice.spec())));
        }
        let after_match = if remove { AfterMatch::Remove } else { AfterMatch::Keep };
        let program = program.program().clone();
        Ok(Self {
            session: Session::new(&program, memory(settings), after_match),
            profile: Profile::new(&program),
            clock: settings.clock("clock"),
            program,
            kanata: None,
            vcd: None,
        })
    }

    /// Appends an item to a list under an id.
    fn append(&mut self, list: &str, item: ItemInput, id: u64) -> PyResult<()> {
        self.session.append(list_of(list)?, item.into(), id);
        Ok(())
    }

    /// Queues a header that searches a list and is there from cycle `arrival` on.
    fn arrive(&mut self, list: &str, header: HeaderInput, arrival: u64) -> PyResult<()> {
        self.session.arrive_words(list_of(list)?, header.into(), arrival);
        Ok(())
    }

    /// From now on writes what happens for viewers.
    fn watch(&mut self, kanata: bool, vcd: bool) {
        self.kanata = kanata.then(|| Kanata::new(&self.program));
        self.vcd = vcd.then(|| Vcd::new(self.clock));
    }

    /// Issues up to `words` words, without the interpreter; `idle` when no header is left, `broken` when the program
    /// breaks the protocol.
    fn advance(&mut self, py: Python<'_>, words: u64, rows: bool) -> Advanced {
        py.detach(|| self.go(words, rows))
    }

    /// The rest of the files for viewers: Kanata, VCD.
    fn finish(&mut self) -> (String, String) {
        let kanata = self.kanata.take().map(Kanata::finish);
        let vcd = self.vcd.take().map(Vcd::finish);
        (kanata.unwrap_or_default(), vcd.unwrap_or_default())
    }

    /// Where the cycles went so far.
    fn profile(&self) -> ProfileShape {
        let parts = self.profile.parts(&self.program).into_iter().map(|part| PartShape {
            label: part.label,
            first: part.first,
            words: part.words,
            issued: part.issued,
            stalls: Cause::ALL.map(|cause| (cause.as_str(), part.stalled[cause as usize])).to_vec(),
        });
        ProfileShape {
            parts: parts.collect(),
            slots: self.profile.slots(&self.program).map(|(slot, words)| (slot.name(), words)).to_vec(),
            issued: (0..self.program.words.len()).map(|address| self.profile.issued(address)).collect(),
        }
    }

    /// Cycles, words and waits so far.
    fn totals(&self) -> Totals {
        let machine = self.session.machine();
        Totals { cycles: machine.now(), words: machine.issued(), stalls: stalls(machine.stalls()) }
    }

    /// Address of the next word.
    #[getter]
    fn pc(&self) -> u16 {
        self.session.machine().unit().pc()
    }
}

impl MatchUnit {
    fn go(&mut self, words: u64, rows: bool) -> Advanced {
        let Self { program, session, profile, kanata, vcd, .. } = self;
        let mut tracer = rows.then(|| Tracer::new(&program.words, session.machine()));
        let mut done = Advanced {
            answers: Vec::new(),
            rows: Vec::new(),
            kanata: String::new(),
            vcd: String::new(),
            idle: false,
            broken: None,
        };
        let mut issued = 0;
        while issued < words {
            let mut watch = |event: &Event, unit: &Unit| {
                profile.issued(event, unit);
                if let Some(kanata) = kanata {
                    kanata.issued(event, unit);
                }
                if let Some(vcd) = vcd {
                    vcd.issued(event, unit);
                }
            };
            match session.step(&mut watch) {
                Ok(Progress::Issued(event)) => {
                    issued += 1;
                    if let Some(tracer) = &mut tracer {
                        done.rows.push((&tracer.row(&event, session.machine())).into());
                    }
                }
                Ok(Progress::Answered(answered)) => done.answers.push((&answered).into()),
                Ok(Progress::Idle) => {
                    done.idle = true;
                    break;
                }
                Err(error) => {
                    done.broken = Some(error.to_string());
                    break;
                }
            }
        }
        done.kanata = kanata.as_mut().map_or_else(String::new, Kanata::take);
        done.vcd = vcd.as_mut().map_or_else(String::new, Vcd::take);
        done
    }
}

fn list_of(name: &str) -> PyResult<List> {
    match name {
        "posted" => Ok(List::Posted),
        "unexpected" => Ok(List::Unexpected),
        _ => Err(bad_input(format!("unknown list `{name}`; expected one of: posted, unexpected"))),
    }
}

const fn list_name(list: List) -> &'static str {
    match list {
        List::Posted => "posted",
        List::Unexpected => "unexpected",
    }
}

const fn tag_name(tag: Tag) -> &'static str {
    match tag {
        Tag::Header => "header",
        Tag::Item => "item",
        Tag::End => "end",
    }
}

fn stalls(stalls: &Stalls) -> Vec<(&'static str, u64)> {
    Cause::ALL.map(|cause| (cause.as_str(), stalls.of(cause))).to_vec()
}

/// The match programs that come with the engine.
#[pyfunction]
pub(crate) fn match_programs() -> Vec<(&'static str, &'static str)> {
    Builtin::ALL.map(|program| (program.name(), program.text())).to_vec()
}

/// Options of an item, operations and flags of a header: names and codes.
#[pyfunction]
pub(crate) fn match_codes() -> Vec<(&'static str, &'static str, u16)> {
    vec![
        ("option", "valid", options::VALID),
        ("option", "put", options::PUT),
        ("option", "get", options::GET),
        ("option", "truncate", options::TRUNCATE),
        ("option", "remote_offset", options::REMOTE_OFFSET),
        ("option", "max_size", options::MAX_SIZE),
        ("option", "any_source", options::ANY_SOURCE),
        ("option", "use_once", options::USE_ONCE),
        ("op", "put", op::PUT.into()),
        ("op", "get", op::GET.into()),
        ("flag", "any_source", flags::ANY_SOURCE.into()),
        ("flag", "search", flags::SEARCH.into()),
    ]
}
