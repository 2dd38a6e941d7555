// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interface of a receive engine: operations go in, in order; outcomes come out, each at its time.
//!
//! Invariant: outcomes are a function of the sequence of accepted operations alone. Time changes *when*,
//! never *what*. (Test: `stretching_offered_times_never_changes_outcomes` in `matching/testkit`, run on every engine.)

use crate::matching::{Op, Outcome};
use crate::settings::{SettingError, SettingSpec, Settings};
use crate::time::Picos;

/// Whether an engine took an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// Taken; its outcome will come out exactly once.
    Yes,
    /// Not taken and without effect; offer it again at `retry_at` (later than the time of the offer) or
    /// after any event of the engine before that. Operations behind it must wait: order is kept by the caller.
    Busy {
        /// When a new offer makes sense.
        retry_at: Picos,
    },
}

/// One finished operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// When the answer is known to whoever waits for it.
    pub at: Picos,
    /// The answer.
    pub outcome: Outcome,
    /// List entries visited: how many entries this engine compared, or the modelled list walk would have
    /// compared, to find the answer; the matching entry included.
    pub visits: u32,
}

/// A receive engine: one receiver's posted receives and unexpected messages, and the time that finding takes.
///
/// The caller's duties: the `now` of [`offer`](Engine::offer) and `until` of
/// [`run_until`](Engine::run_until) never go back; ids are unique among the living.
pub trait Engine: Send {
    /// Offers `op` at time `now`. First brings the engine to `now`; completions due by then stay inside until
    /// the next [`run_until`](Engine::run_until).
    fn offer(&mut self, now: Picos, op: Op) -> Accepted;

    /// Takes `op` and answers at once: for an engine that can tell every answer at its offer, and owes none. `None`, without
    /// effect, from an engine that cannot, or that owes an answer; then [`offer`](Engine::offer) it. The same operations get the
    /// same completions either way.
    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        let _ = (now, op);
        None
    }

    /// When something inside happens next, or `None` when the engine is idle and owes no completion.
    fn next_event(&self) -> Option<Picos>;

    /// Brings the engine to time `until` and appends every completion with `at <= until`, in order of `at`.
    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>);

    /// Brings the engine from event to event until one of them hands completions out, or to time `until` if none does before:
    /// as [`run_until`](Engine::run_until) at each [`next_event`](Engine::next_event), which an engine with many events that
    /// hand nothing out does at once. `done` comes empty.
    fn run_to_completion(&mut self, until: Picos, done: &mut Vec<Completion>) {
        while done.is_empty()
            && let Some(at) = self.next_event().filter(|at| *at <= until)
        {
            self.run_until(at, done);
        }
    }

    /// Appends completions whose time and outcome no later operation can change, though `at` may lie in the
    /// future. They are not handed out again and cause no event. An engine that serves one operation after the other
    /// knows them at the offer; the default hands out none.
    fn settle(&mut self, done: &mut Vec<Completion>) {
        let _ = done;
    }

    /// The number of posted receives and of unexpected messages in the lists now, in order of acceptance.
    fn queue_lengths(&self) -> (usize, usize);

    /// How long the engine has worked on operations in all: the union of its busy intervals for the operations
    /// whose completions were handed out.
    fn busy(&self) -> Picos;

    /// `ops`, made ready for the structure inside of this engine; `None` from a model.
    ///
    /// A measured engine gives one. It answers every operation at its offer and takes no time itself: how long its structure
    /// takes is found with the bare run, and charged by `workbench/measure`.
    fn bare_run(&self, ops: &[Op]) -> Option<Box<dyn BareRun>> {
        let _ = ops;
        None
    }
}

/// A structure with nothing around it, and operations made ready for it: what a stopwatch is held against.
///
/// The operations are those of one receiver, from empty lists on, in the order of acceptance.
pub trait BareRun: Send {
    /// Empties the lists and goes back to the first operation.
    fn rewind(&mut self);

    /// Performs the next `count` operations, or those that are left, and does no more than a caller of the structure would.
    fn perform(&mut self, count: usize);

    /// What became of the operations performed since the last [`rewind`](Self::rewind), in their order.
    fn outcomes(&self) -> Vec<Outcome>;
}

/// What the times of an engine are worth. Measured numbers are never ranked with simulated ones.
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

/// Whose time an engine spends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Beside the processor: the rank computes on while the engine works.
    Nic,
    /// On the rank's own processor: a call that posts, cancels or probes returns when the engine has answered.
    Host,
}

/// What an engine is, in words: head of its model card and of its help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineCard {
    /// Folder, command line, report key and crate (`mb-<name>`): one name everywhere.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where the design is from.
    pub reference: &'static str,
    /// What its times are worth.
    pub timing: Timing,
}

/// Settings under a name, as the text of `engines/<name>/presets/<preset>.toml`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// Name on the command line: `engine:preset`.
    pub name: &'static str,
    /// The file's text.
    pub toml: &'static str,
}

/// Builds one engine from complete settings.
pub type BuildEngine = fn(&Settings) -> Result<Box<dyn Engine>, SettingError>;

/// The outcomes are those of `spec/matching.md` with any settings.
#[must_use]
pub const fn keeps_order(_: &Settings) -> Option<&'static str> {
    None
}

/// All that the catalog knows of an engine. Each engine's crate exports one as `ENTRY`.
#[derive(Clone, Copy, Debug)]
pub struct EngineEntry {
    /// In words.
    pub card: EngineCard,
    /// Every setting it has; a preset gives a value for each.
    pub settings: &'static [SettingSpec],
    /// The first one is the default.
    pub presets: &'static [Preset],
    /// Where it runs, by its settings.
    pub placement: fn(&Settings) -> Placement,
    /// How its outcomes break MPI's order, by its settings: a published design taken literally
    /// (`docs/decisions/0005-literal-designs.md`). [`keeps_order`] for every other engine.
    pub breaks_order: fn(&Settings) -> Option<&'static str>,
    /// Makes one.
    pub build: BuildEngine,
}
