// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User-defined engines in shared libraries: opened by path and called over the interface of `spec/engine.md`.
//!
//! A file is examined before any of its code runs: its format, its machine and its symbols. A library stays open until
//! the process ends, so that no engine outlives its code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

use mb_catalog::EngineChoice;
use mb_core::parameters::ParameterSet;
use mb_core::{
    Accepted, BuildOwn, CapacityEvents, Completion, Engine, EngineEntry, EngineFault, EngineOrigin, Measurable, Op,
    OwnKind, ParameterError, Picos, Placement, QueueLengths, ReplayEngine, Shortcuts,
};
use mb_input::{InputLimit, Refusal};
use mb_plugin::abi::{Handle, LATEST, Operation, RawCompletion, SYMBOL, State, Table, VERSION, number_of, status};
use object::{Architecture, Object, ObjectKind, ObjectSymbol};

use crate::description::{Description, LONGEST};
use crate::watched::{Patience, Watched};

/// Refusals or events without a completion after which a library is considered to hang.
const PATIENCE: Patience = Patience(10_000_000);
/// The same in the test kit, whose sequences are short.
const PATIENCE_IN_THE_KIT: Patience = Patience(200_000);

/// Completions that a library returns in one call.
const BUFFER: usize = 64;
/// Longest message of a library, in bytes.
const LONGEST_MESSAGE: usize = 2000;

/// An engine in a shared library.
#[derive(Debug)]
pub struct OwnLibrary {
    functions: Functions,
    entry: &'static EngineEntry,
    description: &'static str,
    origin: EngineOrigin,
}

/// The functions of a table, each present.
#[derive(Clone, Copy, Debug)]
struct Functions {
    create: mb_plugin::abi::Create,
    destroy: mb_plugin::abi::Destroy,
    placement: mb_plugin::abi::PlacementOf,
    offer: mb_plugin::abi::OfferFunction,
    next_event: mb_plugin::abi::NextEvent,
    run_until: mb_plugin::abi::RunUntil,
    state: mb_plugin::abi::StateOf,
    message: mb_plugin::abi::Message,
    answer: Option<mb_plugin::abi::AnswerNow>,
}

/// Libraries that this process has opened, by their real path.
static OPENED: Mutex<BTreeMap<PathBuf, Arc<OwnLibrary>>> = Mutex::new(BTreeMap::new());

/// Opens the library at `path` and reads its description. A library that this process has opened already is not opened
/// again.
///
/// # Errors
/// When the file is not a shared library of this system or not an engine, has another version of the interface, lacks
/// a function or describes itself wrongly, or has changed since this process opened it.
pub fn open(path: &str) -> Result<Arc<OwnLibrary>, String> {
    let at = |what: String| format!("{path}: {what}");
    let (real, sha256) = examined(path)?;
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = opened.get(&real) {
        if known.origin.sha256 == sha256 {
            return Ok(Arc::clone(known));
        }
        return Err(at("the file has changed since this process opened it; start a new process".to_owned()));
    }
    let origin = EngineOrigin { kind: OwnKind::Library, path: path.to_owned(), sha256, interface: Some(VERSION) };
    let library = Arc::new(load(&real, origin).map_err(at)?);
    opened.insert(real, Arc::clone(&library));
    Ok(library)
}

/// The real path of the library at `path` and its SHA-256; none of its code runs.
///
/// # Errors
/// When the file is not a shared library of this system, or has not the symbol of an engine.
pub fn examined(path: &str) -> Result<(PathBuf, String), String> {
    let in_file = |refusal: Refusal| format!("{path}: {}", refusal.expecting("a shared library"));
    let real = std::fs::canonicalize(path).map_err(|error| in_file(error.into()))?;
    let content = mb_input::read(&real, InputLimit::Binary).map_err(in_file)?;
    examine(&content).map_err(|what| format!("{path}: {what}"))?;
    Ok((real, crate::sha256(&content)))
}

/// The choice of a library's preset, or of its first one.
///
/// # Errors
/// As [`open`], and when there is no such preset.
pub fn choose(path: &str, preset: Option<&str>) -> Result<EngineChoice, String> {
    let library = open(path)?;
    let chosen = mb_catalog::choose(library.entry, preset).map_err(|error| format!("{path}: {error}"))?;
    Ok(EngineChoice { own: Some(library), ..chosen })
}

/// Examines the bytes of a file without running its code.
fn examine(content: &[u8]) -> Result<(), String> {
    let expected = format!("expected a shared library for {}", std::env::consts::ARCH);
    let file = object::File::parse(content).map_err(|_| format!("found no object file, {expected}"))?;
    if file.kind() != ObjectKind::Dynamic {
        return Err(format!("found an object file of another kind, {expected}"));
    }
    let found = machine(file.architecture());
    if found != std::env::consts::ARCH {
        return Err(format!("found a shared library for {found}, {expected}"));
    }
    let exports = |name: &str| file.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok(name));
    if !exports(SYMBOL) {
        return Err(format!(
            "found a shared library without the symbol `{SYMBOL}`, expected an engine \
             (`mb_plugin::export_engine!` in Rust, spec/engine.md in C)"
        ));
    }
    Ok(())
}

/// The name of an architecture, as `std::env::consts::ARCH` writes it.
fn machine(architecture: Architecture) -> String {
    match architecture {
        Architecture::X86_64 => "x86_64".to_owned(),
        Architecture::Aarch64 => "aarch64".to_owned(),
        Architecture::I386 => "x86".to_owned(),
        Architecture::Riscv64 => "riscv64".to_owned(),
        Architecture::PowerPc64 => "powerpc64".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn load(path: &Path, origin: EngineOrigin) -> Result<OwnLibrary, String> {
    // SAFETY: the user named this file as one to run; what its initializers do is theirs.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| format!("cannot be loaded: {error}"))?;
    // Never closed: engines, and the description, point into it.
    let library: &'static libloading::Library = Box::leak(Box::new(library));
    // SAFETY: `spec/engine.md` gives the symbol this type.
    let symbol = unsafe { library.get::<extern "C" fn() -> *const Table>(SYMBOL) };
    let table = symbol.map_err(|error| format!("symbol `{SYMBOL}`: {error}"))?();
    // SAFETY: the table stays where it is (`spec/engine.md`), and the library is never closed.
    let (functions, description) = unsafe { read_table(table) }?;
    let (description, text) = described(description)?;
    crate::check_name(description.name())?;
    Ok(OwnLibrary { functions, entry: description.entry()?, description: text, origin })
}

/// The functions and the description of a table.
///
/// # Safety
/// `table` is null, or points to at least its version; with this version, it is whole and constant for ever.
unsafe fn read_table(table: *const Table) -> Result<(Functions, &'static [u8]), String> {
    if table.is_null() {
        return Err(format!("`{SYMBOL}` returned no table"));
    }
    // SAFETY: the version comes first in every version.
    let version = unsafe { table.cast::<u32>().read() };
    if version != VERSION {
        return Err(format!(
            "found interface version {version}, expected {VERSION}; build the library with the crate `mb-plugin` \
             or the header of this matchbench"
        ));
    }
    // SAFETY: the size comes second in this version.
    let bytes = unsafe { table.cast::<u32>().add(1).read() };
    if (bytes as usize) < size_of::<Table>() {
        return Err(format!("found a table of {bytes} bytes, expected {}", size_of::<Table>()));
    }
    // SAFETY: the table has this size.
    let table = unsafe { &*table };
    let missing = |name: &str| format!("the table has no function `{name}`");
    let functions = Functions {
        create: table.create.ok_or_else(|| missing("create"))?,
        destroy: table.destroy.ok_or_else(|| missing("destroy"))?,
        placement: table.placement.ok_or_else(|| missing("placement"))?,
        offer: table.offer.ok_or_else(|| missing("offer"))?,
        next_event: table.next_event.ok_or_else(|| missing("next_event"))?,
        run_until: table.run_until.ok_or_else(|| missing("run_until"))?,
        state: table.state.ok_or_else(|| missing("state"))?,
        message: table.message.ok_or_else(|| missing("message"))?,
        answer: table.answer,
    };
    let length = usize::try_from(table.description_bytes).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| {
        format!("found a description of {} bytes, expected at most {LONGEST}", table.description_bytes)
    })?;
    if table.description.is_null() {
        return Err("the table has no description".to_owned());
    }
    // SAFETY: the description has this length and stays where it is.
    Ok((functions, unsafe { std::slice::from_raw_parts(table.description, length) }))
}

/// A description, and its text.
fn described(bytes: &'static [u8]) -> Result<(Description, &'static str), String> {
    let description = Description::read(bytes)?;
    Ok((description, str::from_utf8(bytes).expect("a description that was read is UTF-8")))
}

impl OwnLibrary {
    /// Its description.
    #[must_use]
    pub const fn description(&self) -> &'static str {
        self.description
    }

    /// The catalog's entry of the engine.
    #[must_use]
    pub const fn entry(&self) -> &'static EngineEntry {
        self.entry
    }

    /// As the engine of `table`, without a file: for tests and benchmarks of the interface.
    ///
    /// # Errors
    /// When the table or its description is wrong.
    pub fn of_table(table: &'static Table, path: &str) -> Result<Self, String> {
        let origin = EngineOrigin {
            kind: OwnKind::Library,
            path: path.to_owned(),
            sha256: String::new(),
            interface: Some(VERSION),
        };
        // SAFETY: a reference to a table is one that is whole, and it lives for ever.
        let (functions, description) = unsafe { read_table(table) }?;
        let (description, text) = described(description)?;
        Ok(Self { functions, entry: description.entry()?, description: text, origin })
    }

    /// The engine itself, which is not watched.
    fn create(&self, parameters: &ParameterSet) -> Result<LibraryEngine, ParameterError> {
        let numbers: Vec<u64> = parameters.iter().map(|(spec, parameter)| number_of(spec, parameter.value)).collect();
        let (mut handle, mut message) = (ptr::null_mut(), [0; LONGEST_MESSAGE]);
        // SAFETY: the arguments are as `spec/engine.md` says, and live during the call.
        let status = unsafe {
            (self.functions.create)(
                numbers.as_ptr(),
                numbers.len() as u64,
                &raw mut handle,
                message.as_mut_ptr(),
                message.len() as u64,
            )
        };
        let refused = |text: String| ParameterError::Contradiction(format!("{}: {text}", self.origin.path));
        match (status, NonNull::new(handle)) {
            (status::OK, Some(handle)) => {
                Ok(LibraryEngine { functions: self.functions, handle, buffer: vec![RawCompletion::default(); BUFFER] })
            }
            (status::OK, None) => Err(refused("`create` returned no engine".to_owned())),
            (status::FAULT, _) => Err(refused(text_of(&message))),
            (other, _) => Err(refused(format!("`create` returned {other}, expected 0 or -1"))),
        }
    }
}

impl BuildOwn for OwnLibrary {
    fn build(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        Ok(Box::new(Watched::in_a_replay(self.create(parameters)?, PATIENCE)))
    }

    fn origin(&self) -> &EngineOrigin {
        &self.origin
    }

    fn placement(&self, parameters: &ParameterSet) -> Result<Option<Placement>, ParameterError> {
        let engine = self.create(parameters)?;
        // SAFETY: the handle is that of a living engine.
        match unsafe { (self.functions.placement)(engine.handle.as_ptr()) } {
            0 => Ok(Some(Placement::Nic)),
            1 => Ok(Some(Placement::Host)),
            other => Err(ParameterError::Contradiction(format!(
                "{}: `placement` returned {other}, expected 0 or 1",
                self.origin.path
            ))),
        }
    }

    fn build_unchecked(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        Ok(Box::new(Watched::in_the_kit(self.create(parameters)?, PATIENCE_IN_THE_KIT)))
    }
}

/// An engine of a library.
struct LibraryEngine {
    functions: Functions,
    handle: NonNull<Handle>,
    buffer: Vec<RawCompletion>,
}

// SAFETY: an engine may move between threads, and one thread calls it at a time (`spec/engine.md`, E-2).
unsafe impl Send for LibraryEngine {}

impl Drop for LibraryEngine {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create` and is used no more.
        unsafe { (self.functions.destroy)(self.handle.as_ptr()) };
    }
}

impl LibraryEngine {
    /// Ends the run: `function` did not return one of the expected numbers.
    fn fail(&self, function: &str, status: i32) -> ! {
        if status != status::FAULT {
            EngineFault(format!("`{function}` returned {status}, which has no meaning there")).raise();
        }
        let mut message = [0; LONGEST_MESSAGE];
        // SAFETY: the buffer has the length that is named.
        unsafe { (self.functions.message)(self.handle.as_ptr(), message.as_mut_ptr(), message.len() as u64) };
        EngineFault(format!("`{function}` failed: {}", text_of(&message))).raise()
    }

    fn time(function: &str, at: u64) -> Picos {
        if at > LATEST {
            EngineFault(format!("`{function}` named the time {at} ps, expected at most {LATEST} ps")).raise();
        }
        Picos(at)
    }

    fn completion(function: &str, answer: RawCompletion) -> Completion {
        Completion::try_from(answer)
            .unwrap_or_else(|error| EngineFault(format!("`{function}` gave an {}", error.0)).raise())
    }

    fn state(&self) -> State {
        let mut state = State::default();
        // SAFETY: the handle is that of a living engine, and the state can be written.
        match unsafe { (self.functions.state)(self.handle.as_ptr(), &raw mut state) } {
            status::OK => state,
            other => self.fail("state", other),
        }
    }
}

impl Engine for LibraryEngine {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let (operation, mut retry_at) = (Operation::from(op), 0);
        // SAFETY: the handle is that of a living engine, and the pointers live during the call.
        let status =
            unsafe { (self.functions.offer)(self.handle.as_ptr(), now.0, &raw const operation, &raw mut retry_at) };
        match status {
            status::OK => Accepted::Yes,
            status::BUSY => Accepted::Busy { retry_at: Self::time("offer", retry_at) },
            other => self.fail("offer", other),
        }
    }

    fn next_event(&self) -> Option<Picos> {
        let mut at = 0;
        // SAFETY: as in `offer`.
        match unsafe { (self.functions.next_event)(self.handle.as_ptr(), &raw mut at) } {
            status::OK => Some(Self::time("next_event", at)),
            status::IDLE => None,
            other => self.fail("next_event", other),
        }
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        loop {
            let mut count = 0;
            // SAFETY: as in `offer`, and the buffer has the length that is named.
            let status = unsafe {
                (self.functions.run_until)(
                    self.handle.as_ptr(),
                    until.0,
                    self.buffer.as_mut_ptr(),
                    self.buffer.len() as u64,
                    &raw mut count,
                )
            };
            if status != status::OK && status != status::MORE {
                self.fail("run_until", status);
            }
            let written = usize::try_from(count).ok().and_then(|count| self.buffer.get(..count));
            let Some(written) = written else {
                EngineFault(format!("`run_until` wrote {count} completions, expected at most {BUFFER}")).raise()
            };
            done.extend(written.iter().map(|&answer| Self::completion("run_until", answer)));
            if status == status::OK {
                return;
            }
            if written.is_empty() {
                EngineFault("`run_until` has more completions, but wrote none".to_owned()).raise();
            }
        }
    }

    fn queue_lengths(&self) -> QueueLengths {
        QueueLengths::from(&self.state())
    }

    fn busy(&self) -> Picos {
        Self::time("state", self.state().busy)
    }

    fn capacity_events(&self) -> CapacityEvents {
        let State { posted_overflows, unexpected_overflows, spilled, .. } = self.state();
        CapacityEvents { posted_overflows, unexpected_overflows, spilled }
    }
}

impl Shortcuts for LibraryEngine {
    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        let function = self.functions.answer?;
        let (operation, mut answer) = (Operation::from(op), RawCompletion::default());
        // SAFETY: as in `offer`.
        match unsafe { function(self.handle.as_ptr(), now.0, &raw const operation, &raw mut answer) } {
            status::OK => Some(Self::completion("answer", answer)),
            status::LATER => None,
            other => self.fail("answer", other),
        }
    }
}

impl Measurable for LibraryEngine {}

/// The text that a library wrote to a buffer of zeros, in one line.
fn text_of(buffer: &[u8]) -> String {
    let length = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    let text = String::from_utf8_lossy(&buffer[..length]);
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() { "without a message".to_owned() } else { words.join(" ") }
}
