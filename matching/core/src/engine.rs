// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interface of a receive engine: operations go in, in order; outcomes come out, each at its time.
//!
//! Invariant: outcomes are a function of the sequence of accepted operations alone; times do not
//! change them. (Test: `stretching_offered_times_never_changes_outcomes` in `matching/testkit`, run
//! on every engine.)

use crate::capacity::{CapacityEvents, Delays};
use crate::matching::{Op, Outcome};
use crate::parameters::{Choice, ParameterError, ParameterSet, ParameterSpec};
use crate::time::Picos;

/// Whether an engine took an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// Taken; its outcome will come out exactly once.
    Yes,
    /// Not taken and without effect; offer it again at `retry_at` (later than the time of the offer) or
    /// after any event of the engine before that. Later operations must wait: order is kept by the caller.
    Busy {
        /// When a new offer makes sense.
        retry_at: Picos,
    },
}

/// One finished operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// When the answer reaches the caller.
    pub at: Picos,
    /// The answer.
    pub outcome: Outcome,
    /// List entries visited: how many entries this engine compared, or the modelled list walk would have
    /// compared, to find the answer; the matching entry included.
    pub visits: u32,
    /// Parts of the time since the acceptance that are not search; together at most that time.
    pub delays: Delays,
}

/// Entries in the lists of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueLengths {
    /// Posted receives (PRQ).
    pub posted: usize,
    /// Unexpected messages (UMQ).
    pub unexpected: usize,
}

/// A receive engine: one receiver's posted receives and unexpected messages, and the time that matching takes.
///
/// The caller guarantees that ids are unique among outstanding operations, and that time is monotonic: the `now` of
/// [`offer`](Engine::offer) never decreases, and neither does the `until` of [`run_until`](Engine::run_until). In
/// return completions come out in the order of their times, none before its operation was offered.
pub trait Engine: Send {
    /// Offers `op` at time `now`. First brings the engine to `now`; completions due by then stay inside until
    /// the next [`run_until`](Engine::run_until).
    fn offer(&mut self, now: Picos, op: Op) -> Accepted;

    /// When something inside happens next, or `None` when the engine is idle and has no outstanding completion.
    fn next_event(&self) -> Option<Picos>;

    /// Brings the engine to time `until` and appends every completion with `at <= until`, in order of `at`.
    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>);

    /// The lengths of the lists now, in order of acceptance.
    fn queue_lengths(&self) -> QueueLengths;

    /// The time spent on operations: the union of the busy intervals of the operations whose completions were handed
    /// out.
    fn busy(&self) -> Picos;

    /// How often the structure of the engine was full, for the operations accepted so far. Offers that are refused
    /// are not part of it: they are answered [`Accepted::Busy`]. The default is that of an engine whose lists have no
    /// limit.
    fn capacity_events(&self) -> CapacityEvents {
        CapacityEvents::default()
    }
}

/// Faster ways to the same completions. The defaults are right for every engine.
pub trait Shortcuts: Engine {
    /// Takes `op` and answers at once, if the engine can compute every answer at its offer and has none outstanding.
    /// Otherwise `None`, without effect; then [`offer`](Engine::offer) it. Both ways give the same completions.
    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        let _ = (now, op);
        None
    }

    /// Appends completions whose time and outcome no later operation can change, although `at` may be in the
    /// future. They are not returned again and cause no event. An engine that serves one operation after the other
    /// can compute them at the offer; the default returns none.
    fn settle(&mut self, done: &mut Vec<Completion>) {
        let _ = done;
    }

    /// Brings the engine from event to event until one of them completes operations, or to time `until` if none does
    /// before: as [`run_until`](Engine::run_until) at each [`next_event`](Engine::next_event), but in one call for an
    /// engine with many events that complete nothing. `done` is empty at the call.
    fn run_to_completion(&mut self, until: Picos, done: &mut Vec<Completion>) {
        while done.is_empty()
            && let Some(at) = self.next_event().filter(|at| *at <= until)
        {
            self.run_until(at, done);
        }
    }

    /// A copy of this engine, if that takes less time than to build another one, as with firmware that has booted.
    /// Otherwise `None`.
    fn copy(&self) -> Option<Box<dyn ReplayEngine>> {
        None
    }
}

/// The hook of `workbench/measure`. The default is that of a model, which is not measured.
pub trait Measurable {
    /// `ops`, prepared for the data structure inside this engine; `None` from a model.
    ///
    /// A measured engine gives one. It answers every operation at its offer and takes no simulated time itself:
    /// `workbench/measure` times the bare run and charges what it finds.
    fn bare_run(&self, ops: &[Op]) -> Option<Box<dyn BareRun>> {
        let _ = ops;
        None
    }
}

/// An engine as the catalog builds it and the replay drives it: one virtual call for each method of the three traits.
pub trait ReplayEngine: Shortcuts + Measurable {}

impl<E: Shortcuts + Measurable + ?Sized> ReplayEngine for E {}

/// A data structure and operations prepared for it: what a stopwatch measures.
///
/// The operations are those of one receiver, from empty lists on, in the order of acceptance.
pub trait BareRun: Send {
    /// Empties the lists and goes back to the first operation.
    fn rewind(&mut self);

    /// Performs the next `count` operations, or those that are left, and nothing that a caller of
    /// the structure would not.
    fn perform(&mut self, count: usize);

    /// The outcomes of the operations performed since the last [`rewind`](Self::rewind), in their order.
    fn outcomes(&self) -> Vec<Outcome>;
}

/// The kind of the times of an engine. Measured times are never ranked with simulated ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timing {
    /// A lower bound that no real engine goes below.
    Bound,
    /// Computed by a model.
    Simulated,
    /// Taken by a stopwatch on this host.
    Measured,
}

impl Timing {
    /// The word in tables and files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Simulated => "simulated",
            Self::Measured => "measured",
        }
    }
}

/// Where an engine runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Placement {
    /// Beside the processor: the rank computes on while the engine works.
    Nic,
    /// On the rank's own processor: a call that posts, cancels or probes returns when the engine has answered.
    Host,
}

/// Name and references of an engine: the head of its model card and of its help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineCard {
    /// Folder, command line, report key and crate (`mb-<name>`): one name everywhere.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where the design is from.
    pub reference: &'static str,
    /// The kind of its times.
    pub timing: Timing,
}

/// A named parameter set, as the text of `engines/<name>/presets/<preset>.toml`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// Name on the command line: `engine:preset`.
    pub name: &'static str,
    /// The file's text.
    pub toml: &'static str,
    /// Whether a comparison runs it only when it is named, because its simulation is slow.
    pub on_request: bool,
    /// Whether it stands for its engine in a comparison that names no engine. True for one preset of an
    /// engine; for none if even the quickest simulation takes many times as long as those of other engines.
    pub representative: bool,
}

/// Marks the preset `name`, or none, as the one that stands for the engine.
///
/// # Panics
/// When no preset has this name; in a constant, this is a compile error.
#[must_use]
pub const fn represented_by<const N: usize>(mut presets: [Preset; N], name: Option<&str>) -> [Preset; N] {
    let Some(name) = name else { return presets };
    let mut at = 0;
    while at < N {
        if same(presets[at].name, name) {
            presets[at].representative = true;
            return presets;
        }
        at += 1;
    }
    panic!("the representative is not a preset of the engine");
}

/// `a == b` in a constant.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The presets of these names, from the folder `presets` beside the folder of the calling file.
/// Those behind `on_request` are run only when they are named. The first one stands for the engine
/// ([`Preset::representative`]) unless `representative` names another one, or `none`.
#[macro_export]
macro_rules! presets {
    (@ $name:literal, $on_request:literal) => {
        $crate::engine::Preset {
            name: $name,
            toml: include_str!(concat!("../presets/", $name, ".toml")),
            on_request: $on_request,
            representative: false,
        }
    };
    (@all $representative:expr; $($name:literal),+; $($other:literal),*) => {
        &$crate::engine::represented_by(
            [$($crate::presets!(@ $name, false)),+ $(, $crate::presets!(@ $other, true))*],
            $representative,
        )
    };
    ($($name:literal),+ $(,)?; representative: none $(; on_request: $($other:literal),+)?) => {
        $crate::presets!(@all None; $($name),+; $($($other),+)?)
    };
    ($($name:literal),+ $(,)?; representative: $representative:literal $(; on_request: $($other:literal),+)?) => {
        $crate::presets!(@all Some($representative); $($name),+; $($($other),+)?)
    };
    ($first:literal $(, $name:literal)* $(,)? $(; on_request: $($other:literal),+)?) => {
        $crate::presets!(@all Some($first); $first $(, $name)*; $($($other),+)?)
    };
}

/// What a user's engine did against the interface or against its own rules. It ends the run: [`EngineFault::raise`]
/// unwinds to [`EngineFault::catch`], around the work that drives the engine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct EngineFault(pub String);

impl EngineFault {
    /// Ends the run of the engine.
    pub fn raise(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }

    /// Does `work`, and returns the fault if an engine raised one.
    ///
    /// # Errors
    /// The fault.
    pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Self> {
        // What `work` leaves behind is dropped or not used again.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|cause| match cause.downcast::<Self>() {
            Ok(fault) => *fault,
            Err(other) => std::panic::resume_unwind(other),
        })
    }
}

/// Builds one engine from a complete parameter set.
pub type BuildEngine = fn(&ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError>;

/// The kind of a user-defined engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnKind {
    /// A match program on the engine `match_unit`.
    Program,
    /// A shared library (`spec/engine.md`).
    Library,
    /// A class in Python, which computes its times itself.
    Python,
}

impl OwnKind {
    /// The word in tables and files, and the name of the parameter that holds its path.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Library => "library",
            Self::Python => "python",
        }
    }
}

/// Where a user-defined engine comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineOrigin {
    /// Its kind.
    pub kind: OwnKind,
    /// The path as the user gave it, or the name of a class that is in no file.
    pub path: String,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// The version of the interface, if there is one between it and matchbench.
    pub interface: Option<u32>,
}

impl EngineOrigin {
    /// The value of its parameter in tables: it differs between different contents.
    #[must_use]
    pub fn value(&self) -> String {
        format!("{} (sha256 {})", self.path, &self.sha256[..self.sha256.len().min(12)])
    }

    /// The source of that value in words.
    #[must_use]
    pub fn detail(&self) -> String {
        let interface = self.interface.map_or_else(String::new, |version| format!("; interface version {version}"));
        format!("given on the command line{interface}; sha256 {}", self.sha256)
    }
}

/// The builder that replaces the catalog entry of a user-defined engine: a match program, library or class.
pub trait BuildOwn: Send + Sync + std::fmt::Debug {
    /// Makes one engine.
    ///
    /// # Errors
    /// When the parameters do not go with it.
    fn build(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError>;

    /// Where it comes from.
    fn origin(&self) -> &EngineOrigin;

    /// Where its engines run, if the catalog's entry does not know.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    fn placement(&self, parameters: &ParameterSet) -> Result<Option<Placement>, ParameterError> {
        let _ = parameters;
        Ok(None)
    }

    /// An engine for the test kit, whose judge names what this one's own checks would stop at.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    fn build_unchecked(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        self.build(parameters)
    }
}

/// The outcomes are those of `spec/matching.md` with any parameters.
#[must_use]
pub const fn keeps_order(_: &ParameterSet) -> Option<&'static str> {
    None
}

/// The catalog's entry of an engine. Each engine's crate exports one as `ENTRY`.
#[derive(Clone, Copy, Debug)]
pub struct EngineEntry {
    /// Name, summary and reference.
    pub card: EngineCard,
    /// Every parameter; a preset gives a value for each.
    pub parameters: &'static [ParameterSpec],
    /// The first one is the default.
    pub presets: &'static [Preset],
    /// Where it runs, by its parameters.
    pub placement: fn(&ParameterSet) -> Placement,
    /// How its outcomes break MPI's order, by its parameters: a published design taken literally
    /// (`docs/decisions/0005-literal-designs.md`). [`keeps_order`] for every other engine.
    pub breaks_order: fn(&ParameterSet) -> Option<&'static str>,
    /// Makes one.
    pub build: BuildEngine,
}
