// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines that are classes in Python: the user's subclasses of `matchbench.PythonEngine`, called for every operation.
//! Those of files are executed in a process of their own alone (`own_elsewhere`).
//!
//! They are the one place where Python computes times, for quick ideas. An exception in a method ends the run as an
//! [`EngineFault`] that names the method, the exception and its line; Ctrl-C arrives as itself.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use mb_catalog::EngineChoice;
use mb_core::parameters::{Choice, ParameterSet, Value};
use mb_core::{
    Accepted, BuildOwn, Completion, Delays, Engine, EngineEntry, EngineFault, EngineOrigin, Measurable, MsgId, Op,
    Outcome, OwnKind, ParameterError, Pattern, Picos, Placement, ProbeId, QueueLengths, RecvId, ReplayEngine,
    Shortcuts,
};
use mb_own::description::Description;
use mb_own::watched::{Patience, Watched};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::errors::bad_input;

/// Refusals or events without a completion after which a class is said to hang.
const PATIENCE: Patience = Patience(1_000_000);
/// The same in the test kit, whose sequences are short.
const PATIENCE_IN_THE_KIT: Patience = Patience(10_000);
/// Latest time, as in the interface of libraries.
const LATEST: u64 = u64::MAX / 4;

thread_local! {
    /// An exception that is not an error of an engine of this process: Ctrl-C, the end of the interpreter, or what
    /// another process said.
    static INTERRUPT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps `error` for [`raise_interrupt`].
pub(crate) fn keep(error: PyErr) {
    INTERRUPT.with(|interrupt| *interrupt.borrow_mut() = Some(error));
}

/// Raises what ended the work of this thread and is not an error of an engine.
pub(crate) fn raise_interrupt() -> PyResult<()> {
    INTERRUPT.with(|interrupt| interrupt.borrow_mut().take()).map_or(Ok(()), Err)
}

/// The user's class.
pub(crate) struct OwnClass {
    class: Py<PyAny>,
    origin: EngineOrigin,
}

impl fmt::Debug for OwnClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnClass").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// The class in the file at `path`.
pub(crate) fn load<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("matchbench.engines.python_engine")?.call_method1("load", (path,))
}

/// The choice of a preset of `class`, or of its first one.
pub(crate) fn choose(class: &Bound<'_, PyAny>, preset: Option<&str>) -> PyResult<EngineChoice> {
    let module = class.py().import("matchbench.engines.python_engine")?;
    let (path, sha256, description): (String, String, String) = module.call_method1("origin", (class,))?.extract()?;
    let origin = EngineOrigin { kind: OwnKind::Python, path, sha256, interface: None };
    choice_of(&description, preset, origin, |origin| OwnClass { class: class.clone().unbind(), origin })
}

/// The choice of a preset of the engine with this description, or of its first one.
pub(crate) fn choice_of<O: BuildOwn + 'static>(
    description: &str,
    preset: Option<&str>,
    origin: EngineOrigin,
    own: impl FnOnce(EngineOrigin) -> O,
) -> PyResult<EngineChoice> {
    let at = |error: &dyn fmt::Display| bad_input(format!("{}: {error}", origin.path));
    let entry = entry_of(description).map_err(|error| at(&error))?;
    let chosen = mb_catalog::choose(entry, preset).map_err(|error| at(&error))?;
    Ok(EngineChoice { own: Some(Arc::new(own(origin))), ..chosen })
}

/// The entry of a description, made once: it is never freed.
fn entry_of(description: &str) -> Result<&'static EngineEntry, String> {
    static MADE: std::sync::Mutex<Vec<(String, &'static EngineEntry)>> = std::sync::Mutex::new(Vec::new());

    let mut made = MADE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, entry)) = made.iter().find(|(known, _)| known == description) {
        return Ok(entry);
    }
    let read = Description::read(description.as_bytes())?;
    mb_own::check_name(read.name())?;
    let entry = read.entry()?;
    made.push((description.to_owned(), entry));
    Ok(entry)
}

impl OwnClass {
    fn create(&self, parameters: &ParameterSet) -> Result<OwnObject, ParameterError> {
        let made = Python::attach(|py| -> PyResult<OwnObject> {
            let values = PyDict::new(py);
            for (spec, parameter) in parameters.iter() {
                match parameter.value {
                    Value::Time(Picos(number)) | Value::Frequency(number) | Value::Whole(number) => {
                        values.set_item(spec.key, number)?;
                    }
                    Value::Word(word) => values.set_item(spec.key, word)?,
                }
            }
            let object = self.class.bind(py).call((), Some(&values))?;
            let operation = py.import("matchbench.engines.python_engine")?.getattr("Operation")?;
            Ok(OwnObject { object: object.unbind(), operation: operation.unbind() })
        });
        made.map_err(|error| {
            let text = Python::attach(|py| describe(py, "__init__", error));
            ParameterError::Contradiction(format!("{}: {text}", self.origin.path))
        })
    }
}

impl BuildOwn for OwnClass {
    fn build(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        Ok(Box::new(Watched::in_a_replay(self.create(parameters)?, PATIENCE)))
    }

    fn origin(&self) -> &EngineOrigin {
        &self.origin
    }

    fn placement(&self, parameters: &ParameterSet) -> Result<Option<Placement>, ParameterError> {
        let engine = self.create(parameters)?;
        let word = Python::attach(|py| engine.object.bind(py).getattr("placement")?.extract::<String>());
        let found = word.ok().and_then(|word| Placement::ALL.iter().copied().find(|known| known.word() == word));
        found.map(Some).ok_or_else(|| ParameterError::Bad {
            key: "placement".to_owned(),
            found: format!("another attribute `placement` in {}", self.origin.path),
            expected: "nic or host".to_owned(),
        })
    }

    fn build_unchecked(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        Ok(Box::new(Watched::in_the_kit(self.create(parameters)?, PATIENCE_IN_THE_KIT)))
    }
}

/// `method` raised `error`: in one line, with the place. What is not an error of the engine is kept for its caller.
fn describe(py: Python<'_>, method: &str, error: PyErr) -> String {
    if !error.is_instance_of::<PyException>(py) {
        keep(error);
        return "interrupted".to_owned();
    }
    let place = last_line(py, &error).map_or_else(String::new, |place| format!(" ({place})"));
    let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map_or_else(|_| String::new(), |text| text.to_string());
    let text: Vec<&str> = text.split_whitespace().collect();
    format!("`{method}` raised {kind}: {}{place}", text.join(" "))
}

/// File and line where `error` was raised.
fn last_line(py: Python<'_>, error: &PyErr) -> Option<String> {
    let mut at = error.traceback(py)?.into_any();
    while let Ok(next) = at.getattr("tb_next")
        && !next.is_none()
    {
        at = next;
    }
    let line: usize = at.getattr("tb_lineno").ok()?.extract().ok()?;
    let file: String =
        at.getattr("tb_frame").ok()?.getattr("f_code").ok()?.getattr("co_filename").ok()?.extract().ok()?;
    Some(format!("{}:{line}", file.rsplit('/').next().unwrap_or(&file)))
}

/// An instance: the engine of one receiver.
struct OwnObject {
    object: Py<PyAny>,
    /// The class of the operations that it is offered.
    operation: Py<PyAny>,
}

impl OwnObject {
    /// Calls a method and converts what it returns; ends the run if either fails.
    fn call<T>(
        &self,
        method: &str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        convert: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> Result<T, String>,
    ) -> T {
        let result = Python::attach(|py| {
            let called = arguments(py).and_then(|arguments| self.object.bind(py).call_method1(method, arguments));
            match called {
                Ok(value) => convert(&value).map_err(|error| format!("`{method}` returned {error}")),
                Err(error) => Err(describe(py, method, error)),
            }
        });
        result.unwrap_or_else(|text| EngineFault(text).raise())
    }
}

/// A short text of `value`.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "an object without a text".to_owned(), |text| text.to_string());
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect()
}

/// A time, or nothing.
fn time(value: &Bound<'_, PyAny>) -> Result<Option<Picos>, String> {
    match value.extract::<Option<u64>>() {
        Ok(Some(at)) if at > LATEST => Err(format!("the time {at} ps, expected at most {LATEST} ps")),
        Ok(at) => Ok(at.map(Picos)),
        Err(_) => Err(format!("{}, expected a time in whole picoseconds, or None", shown(value))),
    }
}

/// Time, outcome, id, message, visits, waiting and beyond.
type Fields = (u64, String, u64, Option<u64>, u32, u64, u64);

fn completion(value: &Bound<'_, PyAny>) -> Result<Completion, String> {
    let wrong = || format!("{}, expected a Completion", shown(value));
    let (at, outcome, id, message, visits, waiting, beyond): Fields = value.extract().map_err(|_| wrong())?;
    let outcome = match (outcome.as_str(), message) {
        ("posted", None) => Outcome::Posted(RecvId(id)),
        ("matched", Some(message)) => Outcome::Matched(RecvId(id), MsgId(message)),
        ("unexpected", None) => Outcome::Unexpected(MsgId(id)),
        ("cancelled", None) => Outcome::Cancelled(RecvId(id)),
        ("not_cancelled", None) => Outcome::NotCancelled(RecvId(id)),
        ("probed", message) => Outcome::Probed(ProbeId(id), message.map(MsgId)),
        _ => return Err(wrong()),
    };
    if let Some(time) = [at, waiting, beyond].into_iter().find(|time| *time > LATEST) {
        return Err(format!("`{outcome}` with the time {time} ps, expected at most {LATEST} ps"));
    }
    Ok(Completion { at: Picos(at), outcome, visits, delays: Delays { waiting: Picos(waiting), beyond: Picos(beyond) } })
}

impl Engine for OwnObject {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let of_pattern = |kind, id, Pattern { bits, ignore, initiator }: Pattern| {
            (kind, id, bits, ignore, initiator.map(|initiator| initiator.0))
        };
        let fields = match op {
            Op::Post { recv, pattern } => of_pattern("post", recv.0, pattern),
            Op::Arrive { msg, envelope } => ("arrive", msg.0, envelope.bits, 0, Some(envelope.initiator.0)),
            Op::Cancel { recv } => ("cancel", recv.0, 0, 0, None),
            Op::Probe { probe, pattern } => of_pattern("probe", probe.0, pattern),
            Op::MatchedProbe { probe, pattern } => of_pattern("matched_probe", probe.0, pattern),
        };
        let retry_at = self.call(
            "offer",
            |py| {
                let operation = self.operation.bind(py).call1(fields)?;
                (now.0, operation).into_pyobject(py)
            },
            time,
        );
        retry_at.map_or(Accepted::Yes, |retry_at| Accepted::Busy { retry_at })
    }

    fn next_event(&self) -> Option<Picos> {
        self.call("next_event", |py| Ok(PyTuple::empty(py)), time)
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        let found = self.call(
            "run_until",
            |py| (until.0,).into_pyobject(py),
            |value| {
                let wrong = || format!("{}, expected a list of Completion", shown(value));
                if value.is_instance_of::<PyString>() {
                    return Err(wrong());
                }
                let items = value.try_iter().map_err(|_| wrong())?;
                let items: PyResult<Vec<_>> = items.collect();
                items.map_err(|error| describe(value.py(), "run_until", error))?.iter().map(completion).collect()
            },
        );
        let found: Vec<Completion> = found;
        done.extend(found);
    }

    fn queue_lengths(&self) -> QueueLengths {
        let (posted, unexpected) = self.call(
            "lengths",
            |py| Ok(PyTuple::empty(py)),
            |value| value.extract().map_err(|_| format!("{}, expected two lengths", shown(value))),
        );
        QueueLengths { posted, unexpected }
    }

    fn busy(&self) -> Picos {
        self.call("busy", |py| Ok(PyTuple::empty(py)), time).unwrap_or(Picos::ZERO)
    }
}

impl Shortcuts for OwnObject {}

impl Measurable for OwnObject {}
