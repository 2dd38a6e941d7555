// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match unit by itself, from Python: lists and headers in, answers, rows, waveforms and the debugger out.

use mb_core::Clock;
use mb_microcode::engine::memory;
use mb_session::export::{Kanata, Vcd};
use mb_session::profile::Profile;
use mb_session::session::{AfterMatch, Answered, Debugger, Progress, Session, Stop};
use mb_session::trace::{Row, Tracer};
use mb_unit::layout::{Header, Item, Words, flags, op, options};
use mb_unit::list_manager::{Cause, List, ProtocolError};
use mb_unit::machine::{Event, Observer as _, Stalls};
use mb_unit::programs::Builtin;
use mb_unit::unit::{Tag, Unit};
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

/// Why and where the debugger stopped; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Stopped {
    why: &'static str,
    row: Option<RowShape>,
    broken: Option<String>,
}

/// The state between two words; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct StateShape {
    cycle: u64,
    words: u64,
    pc: u16,
    alu: Vec<u64>,
    ternary: Vec<u64>,
    predicates: u16,
    branch: Option<(u8, u16)>,
    input: Vec<(u64, &'static str, u64)>,
    output: Vec<(u64, bool, u64)>,
    searching: Option<(usize, &'static str, usize)>,
    waiting: usize,
}

/// An entry of a list; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct EntryShape {
    item: u64,
    words: Vec<u64>,
    handle: u32,
    cached_since: Option<u64>,
    spilled: bool,
}

/// A match unit with its list manager, and what watches them.
#[pyclass(module = "matchbench._native")]
pub(crate) struct MatchUnit {
    debugger: Debugger,
    clock: Clock,
    profile: Profile,
    tracer: Option<Tracer>,
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
        let program = program.program();
        Ok(Self {
            profile: Profile::new(program),
            clock: settings.clock("clock"),
            debugger: Debugger::new(program.clone(), Session::new(program, memory(settings), after_match)),
            tracer: None,
            kanata: None,
            vcd: None,
        })
    }

    /// Appends an item to a list under an id.
    fn append(&mut self, list: &str, item: ItemInput, id: u64) -> PyResult<()> {
        self.debugger.session_mut().append(list_of(list)?, item.into(), id);
        Ok(())
    }

    /// Queues a header that searches a list and is there from cycle `arrival` on.
    fn arrive(&mut self, list: &str, header: HeaderInput, arrival: u64) -> PyResult<()> {
        self.debugger.session_mut().arrive_words(list_of(list)?, header.into(), arrival);
        Ok(())
    }

    /// From now on writes what happens for viewers.
    fn watch(&mut self, kanata: bool, vcd: bool) {
        self.kanata = kanata.then(|| Kanata::new(self.debugger.program()));
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
        let parts = self.profile.parts(self.debugger.program()).into_iter().map(|part| PartShape {
            label: part.label,
            first: part.first,
            words: part.words,
            issued: part.issued,
            stalls: Cause::ALL.map(|cause| (cause.as_str(), part.stalled[cause as usize])).to_vec(),
        });
        ProfileShape {
            parts: parts.collect(),
            slots: self.profile.slots(self.debugger.program()).map(|(slot, words)| (slot.name(), words)).to_vec(),
            issued: (0..self.debugger.program().words.len()).map(|address| self.profile.issued(address)).collect(),
        }
    }

    /// Cycles, words and waits so far.
    fn totals(&self) -> Totals {
        let machine = self.debugger.session().machine();
        Totals { cycles: machine.now(), words: machine.issued(), stalls: stalls(machine.stalls()) }
    }

    /// Address of the next word.
    #[getter]
    fn pc(&self) -> u16 {
        self.debugger.session().machine().unit().pc()
    }

    /// The answers from number `first` on.
    fn answers(&self, first: usize) -> Vec<AnswerShape> {
        self.debugger.session().answers().iter().skip(first).map(AnswerShape::from).collect()
    }

    /// The address of a label, or of a number.
    fn place(&self, text: &str) -> PyResult<u16> {
        self.debugger.place(text).map_err(bad_input)
    }

    /// Stops from now on at an address, or no more; tells whether that changed anything.
    fn set_breakpoint(&mut self, address: u16, stop: bool) -> bool {
        if !stop {
            return self.debugger.clear(address);
        }
        let is_new = self.debugger.breakpoints().all(|known| known != address);
        self.debugger.break_at(address);
        is_new
    }

    /// The breakpoints in the order of addresses.
    fn breakpoints(&self) -> Vec<u16> {
        self.debugger.breakpoints().collect()
    }

    /// Issues one word, or ends a search.
    fn step(&mut self) -> Stopped {
        let mut tracer = Tracer::new(&self.debugger.program().words, self.debugger.session());
        let stop = self.debugger.step(1);
        let row = match (&stop, self.debugger.last()) {
            (Ok(Stop::Stepped), Some(event)) => Some(tracer.row(event, self.debugger.session())),
            _ => None,
        };
        Stopped::new(stop, row.as_ref())
    }

    /// Issues words until so many have been issued since reset, or no header is left.
    fn skip(&mut self, words: u64) {
        loop {
            let issued = self.debugger.session().machine().issued();
            if issued >= words || !matches!(self.debugger.step(words - issued), Ok(stop) if stop != Stop::Idle) {
                return;
            }
        }
    }

    /// Runs to a breakpoint or the end of a search.
    fn resume(&mut self, py: Python<'_>) -> Stopped {
        Stopped::new(py.detach(|| self.debugger.resume()), None)
    }

    /// Runs until the word at an address is next, through the ends of searches; breakpoints stop it too.
    fn run_to(&mut self, py: Python<'_>, address: u16) -> Stopped {
        Stopped::new(py.detach(|| self.debugger.run_to(address)), None)
    }

    /// Registers, predicates, the branch in flight, FIFOs, and the search under way.
    fn state(&self) -> StateShape {
        let session = self.debugger.session();
        let machine = session.machine();
        let state = machine.unit().state();
        let lists = machine.lists();
        let input = lists.fifo(machine.now());
        StateShape {
            cycle: machine.now(),
            words: machine.issued(),
            pc: state.pc,
            alu: state.alu.to_vec(),
            ternary: state.ternary.to_vec(),
            predicates: state.predicates,
            branch: state.branch,
            input: input.iter().map(|entry| (entry.word, tag_name(entry.tag), entry.entered)).collect(),
            output: session.leaving().map(|(enters, sent)| (sent.word, sent.last, enters)).collect(),
            searching: session.searching().map(|(header, list)| (header, list_name(list), lists.answered())),
            waiting: session.waiting(),
        }
    }

    /// The entries of a list in the order of age.
    fn entries(&self, list: &str) -> PyResult<Vec<EntryShape>> {
        let list = list_of(list)?;
        let lists = self.debugger.session().machine().lists();
        let entry = |position| {
            let (words, id) = lists.item(list, position);
            EntryShape {
                item: id,
                words: words.to_vec(),
                handle: Item::from_words(words).handle,
                cached_since: lists.cached_since(list, position),
                spilled: lists.is_spilled(list, position),
            }
        };
        Ok((0..lists.len(list)).map(entry).collect())
    }
}

impl Stopped {
    fn new(stop: Result<Stop, ProtocolError>, row: Option<&Row>) -> Self {
        let why = match stop {
            Ok(Stop::Stepped) => "stepped",
            Ok(Stop::Breakpoint(_)) => "breakpoint",
            Ok(Stop::Reached(_)) => "reached",
            Ok(Stop::Answered(_)) => "answered",
            Ok(Stop::Idle) => "idle",
            Err(_) => "broken",
        };
        let broken = stop.err().map(|error| error.to_string());
        Self { why, row: row.map(RowShape::from), broken }
    }
}

impl MatchUnit {
    fn go(&mut self, words: u64, rows: bool) -> Advanced {
        let Self { debugger, profile, tracer, kanata, vcd, .. } = self;
        if !rows {
            *tracer = None;
        } else if tracer.is_none() {
            *tracer = Some(Tracer::new(&debugger.program().words, debugger.session()));
        }
        let session = debugger.session_mut();
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
                    if let Some(tracer) = tracer {
                        done.rows.push((&tracer.row(&event, session)).into());
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
