// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match unit from Python: lists and headers in; results, trace rows, waveforms and the debugger out.

mod shapes;

use mb_asm::program::ITEM_WORDS;
use mb_asm::word::Register;
use mb_core::{Clock, names};
use mb_match_unit::MatchUnitParameters;
use mb_session::debugger::{BreakpointCondition, Debugger, Relation, StopReason};
use mb_session::export::{Kanata, Vcd};
use mb_session::profile::Profile;
use mb_session::session::{APPENDED, AfterMatch, Session, SessionStep};
use mb_session::trace::Tracer;
use mb_unit::layout::{flags, handle_word, op, options};
use mb_unit::list_manager::{List, StallCause};
use mb_unit::match_processor::{IssueEvent, Observer as _};
use mb_unit::programs::BuiltinProgram;
use mb_unit::template::template;
use mb_unit::unit;
use pyo3::prelude::*;

use crate::asm::MatchProgram;
use crate::catalog::Engine;
use crate::errors::bad_input;
use shapes::{
    Advanced, HeaderInput, ItemInput, LabelShape, ListEntryShape, ProfileShape, SearchShape, StateShape, Stopped,
    Totals, list_name, stalls, tag_name,
};

/// A match unit with its list manager and its observers.
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
    /// An item with this id or a larger one was left in a list by the header of that number from it on.
    #[classattr]
    const APPENDED: u64 = APPENDED;

    /// A unit in reset that runs `program`, with the list manager of `engine`.
    #[new]
    fn new(program: &MatchProgram, engine: &Engine, after_match: &str) -> PyResult<Self> {
        let Some(parameters) = engine.choice.parameters.try_typed::<MatchUnitParameters>() else {
            return Err(bad_input(format!(
                "engine `{}`: has no match unit; expected `match_unit`",
                engine.choice.spec()
            )));
        };
        let after_match = after_match_of(after_match)?;
        let program = program.program();
        Ok(Self {
            profile: Profile::new(program),
            clock: parameters.clock,
            debugger: Debugger::new(program.clone(), Session::new(program, parameters.memory(), after_match)),
            tracer: None,
            kanata: None,
            vcd: None,
        })
    }

    /// Appends an item to a list under an id.
    fn append(&mut self, list: &str, item: ItemInput, id: u64) -> PyResult<()> {
        let item_words = self.debugger.program().item_words;
        let Some(words) = item.encode(item_words) else {
            return Err(bad_input(format!("found an item of another size, expected {item_words} words")));
        };
        self.debugger.session_mut().append_words(list_of(list)?, words, id);
        Ok(())
    }

    /// Queues a header that searches a list and is available from cycle `arrival` on, with what happens to the matching
    /// item, or as for all headers.
    #[pyo3(signature = (list, header, arrival, after_match=None))]
    fn arrive(&mut self, list: &str, header: HeaderInput, arrival: u64, after_match: Option<&str>) -> PyResult<()> {
        let (list, session) = (list_of(list)?, self.debugger.session_mut());
        match after_match {
            None => session.arrive_words(list, header.into(), arrival),
            Some(word) => session.arrive_as(list, header.into(), arrival, after_match_of(word)?),
        }
        Ok(())
    }

    /// Starts the export for viewers.
    fn watch(&mut self, kanata: bool, vcd: bool) {
        self.kanata = kanata.then(|| Kanata::new(self.debugger.program()));
        self.vcd = vcd.then(|| Vcd::new(self.debugger.program(), self.clock));
    }

    /// Issues up to `words` words without holding the interpreter. `idle`: no header is left; `broken`: the program
    /// violates the protocol.
    fn advance(&mut self, py: Python<'_>, words: u64, rows: bool) -> Advanced {
        py.detach(|| self.go(words, rows))
    }

    /// The remaining text of the files for viewers: Kanata, VCD.
    fn finish(&mut self) -> (String, String) {
        let kanata = self.kanata.take().map(Kanata::finish);
        let vcd = self.vcd.take().map(Vcd::finish);
        (kanata.unwrap_or_default(), vcd.unwrap_or_default())
    }

    /// The profile so far.
    fn profile(&self) -> ProfileShape {
        let parts = self.profile.by_label(self.debugger.program()).into_iter().map(|part| LabelShape {
            label: part.label,
            first: part.first,
            words: part.words,
            issued: part.issued,
            stalls: StallCause::ALL.map(|cause| (cause.as_str(), part.stalled[cause as usize])).to_vec(),
        });
        ProfileShape {
            parts: parts.collect(),
            slots: self.profile.slots(self.debugger.program()).map(|(slot, words)| (slot.name(), words)).to_vec(),
            issued: (0..self.debugger.program().words.len()).map(|address| self.profile.issued(address)).collect(),
        }
    }

    /// Cycles, words and stall cycles so far.
    fn totals(&self) -> Totals {
        let processor = self.debugger.session().processor();
        Totals { cycles: processor.now(), words: processor.issued(), stalls: stalls(processor.stalls()) }
    }

    /// Address of the next word.
    #[getter]
    fn pc(&self) -> u16 {
        self.debugger.session().processor().unit().pc()
    }

    /// The completed searches from index `first` on.
    fn answers(&self, first: usize) -> Vec<SearchShape> {
        self.debugger.session().answers().iter().skip(first).map(SearchShape::from).collect()
    }

    /// Resolves a label or a decimal address.
    fn place(&self, text: &str) -> PyResult<u16> {
        self.debugger.address_of(text).map_err(bad_input)
    }

    /// Sets or clears a breakpoint; returns whether it was not there, or was. The condition is register, relation and
    /// value.
    #[pyo3(signature = (address, stop, condition=None))]
    fn set_breakpoint(&mut self, address: u16, stop: bool, condition: Option<(String, String, u64)>) -> PyResult<bool> {
        if !stop {
            return Ok(self.debugger.clear_breakpoint(address));
        }
        let is_new = self.debugger.breakpoints().all(|known| known != address);
        let condition = match condition {
            None => None,
            Some((register, relation, value)) => {
                let register = register_of(&register)?;
                let found = Relation::ALL.into_iter().find(|(text, _)| *text == relation);
                let relation = found
                    .ok_or_else(|| {
                        let known = Relation::ALL.map(|(text, _)| text);
                        bad_input(names::unknown("relation", &relation, known))
                    })?
                    .1;
                Some(BreakpointCondition { register, relation, value })
            }
        };
        self.debugger.set_breakpoint(address, condition);
        Ok(is_new)
    }

    /// The breakpoints in the order of addresses.
    fn breakpoints(&self) -> Vec<u16> {
        self.debugger.breakpoints().collect()
    }

    /// Issues one word or completes a search.
    fn step(&mut self) -> Stopped {
        let mut tracer = Tracer::new(&self.debugger.program().words, self.debugger.session());
        let stop = self.debugger.step(1);
        let row = match (&stop, self.debugger.last()) {
            (Ok(StopReason::Stepped), Some(event)) => Some(tracer.row(event, self.debugger.session())),
            _ => None,
        };
        Stopped::new(stop, row.as_ref())
    }

    /// Issues words until `words` have been issued since reset or no header is left.
    fn skip(&mut self, words: u64) {
        loop {
            let issued = self.debugger.session().processor().issued();
            if issued >= words || !matches!(self.debugger.step(words - issued), Ok(stop) if stop != StopReason::Idle) {
                return;
            }
        }
    }

    /// Runs to a breakpoint or the end of a search.
    fn resume(&mut self, py: Python<'_>) -> Stopped {
        Stopped::new(py.detach(|| self.debugger.resume()), None)
    }

    /// Runs until the word at an address is next, across the ends of searches; stops at breakpoints too.
    fn run_to(&mut self, py: Python<'_>, address: u16) -> Stopped {
        Stopped::new(py.detach(|| self.debugger.run_to(address)), None)
    }

    /// Runs until no header is left; stops at breakpoints and changes of watched registers too.
    fn run_to_end(&mut self, py: Python<'_>) -> Stopped {
        Stopped::new(py.detach(|| self.debugger.run_to_end()), None)
    }

    /// Stops after each word that changes a register, or no longer; returns whether that is a change.
    fn watch_register(&mut self, register: &str, stop: bool) -> PyResult<bool> {
        Ok(self.debugger.watch(register_of(register)?, stop))
    }

    /// Writes a register or predicate between two words; false for those that cannot be written.
    fn write_register(&mut self, register: &str, value: u64) -> PyResult<bool> {
        Ok(self.debugger.write(register_of(register)?, value))
    }

    /// Registers, predicates, the pending branch, FIFOs and the current search.
    fn state(&self) -> StateShape {
        let session = self.debugger.session();
        let processor = session.processor();
        let state = processor.unit().state();
        let lists = processor.lists();
        let input = lists.fifo(processor.now());
        StateShape {
            cycle: processor.now(),
            words: processor.issued(),
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

    /// The items of a list, oldest first.
    fn entries(&self, list: &str) -> PyResult<Vec<ListEntryShape>> {
        let list = list_of(list)?;
        let lists = self.debugger.session().processor().lists();
        let entry = |position| {
            let (words, id) = lists.item(list, position);
            ListEntryShape {
                item: id,
                words: words.to_vec(),
                handle: words[handle_word(words.len())] as u32,
                cached_since: lists.cached_since(list, position),
                spilled: lists.is_spilled(list, position),
            }
        };
        Ok((0..lists.len(list)).map(entry).collect())
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
            let mut watch = |event: &IssueEvent, unit: &unit::MatchUnit| {
                profile.issued(event, unit);
                if let Some(kanata) = kanata {
                    kanata.issued(event, unit);
                }
                if let Some(vcd) = vcd {
                    vcd.issued(event, unit);
                }
            };
            match session.step(&mut watch) {
                Ok(SessionStep::Issued(event)) => {
                    issued += 1;
                    if let Some(tracer) = tracer {
                        done.rows.push((&tracer.row(&event, session)).into());
                    }
                }
                Ok(SessionStep::SearchDone(completed)) => done.answers.push((&completed).into()),
                Ok(SessionStep::Idle) => {
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

fn register_of(name: &str) -> PyResult<Register> {
    Register::from_name(name).ok_or_else(|| {
        bad_input(format!("unknown register `{name}`; expected one of: a0 to a15, t0 to t15, p0 to p15"))
    })
}

fn after_match_of(word: &str) -> PyResult<AfterMatch> {
    match word {
        "keep" => Ok(AfterMatch::Keep),
        "remove" => Ok(AfterMatch::Remove),
        "append" => Ok(AfterMatch::Append),
        _ => Err(bad_input(names::unknown("action after a match", word, ["keep", "remove", "append"]))),
    }
}

fn list_of(name: &str) -> PyResult<List> {
    match name {
        "posted" => Ok(List::Posted),
        "unexpected" => Ok(List::Unexpected),
        _ => Err(bad_input(names::unknown("list", name, ["posted", "unexpected"]))),
    }
}

/// The built-in match programs: names and source texts.
#[pyfunction]
pub(crate) fn match_programs() -> Vec<(&'static str, &'static str)> {
    BuiltinProgram::ALL.map(|program| (program.name(), program.text())).to_vec()
}

/// The text of a match program to start from, for items of 4, 8 or 16 words.
#[pyfunction]
pub(crate) fn match_template(item_words: usize) -> PyResult<String> {
    if !ITEM_WORDS.contains(&item_words) {
        return Err(bad_input(format!("items: found {item_words} words, expected 4, 8 or 16")));
    }
    Ok(template(item_words))
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
