// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mbmatch on this host. Its times are measured and not computed.
//!
//! Contract: outcomes are those of mbmatch, in the terms of `spec/matching.md`. Visits are those of
//! a list walk, independent of the comparisons of the structure, so that its curves can be compared with those of a
//! list. An operation completes when it is offered and takes no simulated time: `workbench/measure`
//! times the structure through [`bare_run`](mb_core::Measurable::bare_run) and applies the times in the
//! replay (`docs/decisions/0006-measured-engine.md`). Cost on the host: that of mbmatch and of
//! [`mb_kit::lists`].

mod bare;

use std::collections::BTreeMap;

use mb_core::engine::{BareRun, Completion, EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::parameters::Choice;
use mb_core::{Delays, MsgId, Op, Outcome, ParameterError, Parameters, Picos, QueueLengths, RecvId};
use mb_kit::{MatchLists, OperationServer, Served, Server};
use mbmatch::{Arrived, Handle, Matcher, Options, Posted, Structure, VectorUnit};

/// The catalog entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "host_native",
        summary: "Matching in software on this host, measured and not modelled",
        reference: "mbmatch (the folder mbmatch)",
        timing: Timing::Measured,
    },
    parameters: HostNativeParameters::SPECS,
    presets: mb_core::presets!("adaptive", "list", "heads", "vector", "bins"),
    placement: |_| Placement::Host,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(HostNative::new(&set.typed())?))),
};

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct HostNativeParameters {
    /// Data structure of the entries.
    #[parameter]
    pub structure: StructureName,
    /// Bytes from one request object to the next, in the structure `list`.
    #[parameter(range = 48..=65_536)]
    pub request: usize,
    /// Number of hashed lists, in the structure `bins`.
    #[parameter(range = 1..=65_536)]
    pub bins: usize,
    /// Vector unit with which the structures `vector` and `adaptive` compare keys.
    #[parameter]
    pub vector_unit: VectorUnitName,
}

/// A structure of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum StructureName {
    /// Chosen by the library.
    Adaptive,
    /// A linked list of requests.
    List,
    /// A list of heads.
    Heads,
    /// Keys side by side.
    Vector,
    /// Lists by hash.
    Bins,
}

/// A vector unit of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum VectorUnitName {
    /// The best that there is.
    Best,
    /// None.
    Scalar,
    /// AVX2.
    Avx2,
    /// AVX-512.
    Avx512,
    /// Neon.
    Neon,
}

/// Structure and options of the matcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Make {
    structure: Structure,
    options: Options,
}

impl Make {
    fn matcher(self) -> Matcher {
        Matcher::new(self.structure, self.options)
    }
}

/// The vector unit of this name; `None` leaves the choice to mbmatch.
fn vector_unit(name: VectorUnitName) -> Result<Option<VectorUnit>, ParameterError> {
    let unit = match name {
        VectorUnitName::Best => return Ok(None),
        VectorUnitName::Scalar => VectorUnit::Scalar,
        VectorUnitName::Avx2 => VectorUnit::Avx2,
        VectorUnitName::Avx512 => VectorUnit::Avx512,
        VectorUnitName::Neon => VectorUnit::Neon,
    };
    // mbmatch would fall back to the best available unit; a row must name the unit that ran.
    if VectorUnit::available().contains(&unit) {
        Ok(Some(unit))
    } else {
        Err(ParameterError::Contradiction(format!("this processor has no vector unit `{}`", name.word())))
    }
}

/// One receiver's engine.
#[derive(Debug)]
pub struct HostNative {
    make: Make,
    matcher: Matcher,
    /// The handles of the posted receives.
    waiting: BTreeMap<RecvId, Handle>,
    /// For visits, and to check the outcomes.
    lists: MatchLists,
}

impl HostNative {
    /// An engine with empty lists.
    ///
    /// # Errors
    /// [`ParameterError::Contradiction`] when this processor lacks the vector unit.
    pub fn new(parameters: &HostNativeParameters) -> Result<Self, ParameterError> {
        let name = parameters.structure.word();
        let structure = name.parse().map_err(|error| ParameterError::Contradiction(format!("`{name}`: {error}")))?;
        let mut options = Options::default();
        options.request_bytes = parameters.request;
        options.bins = parameters.bins;
        options.vector_unit = vector_unit(parameters.vector_unit)?;
        let make = Make { structure, options };
        let (waiting, lists) = (BTreeMap::new(), MatchLists::new());
        Ok(Self { make, matcher: make.matcher(), waiting, lists })
    }

    fn perform(&mut self, op: Op) -> Outcome {
        const MEMORY: &str = "out of memory for one more entry";
        match op {
            Op::Post { recv, pattern } => match self.matcher.post(bare::pattern(&pattern), recv.0).expect(MEMORY) {
                Posted::Matched(message) => Outcome::Matched(recv, MsgId(message.user)),
                Posted::Waiting(handle) => {
                    self.waiting.insert(recv, handle);
                    Outcome::Posted(recv)
                }
            },
            Op::Arrive { msg, envelope } => {
                match self.matcher.arrive(bare::envelope(&envelope), msg.0).expect(MEMORY) {
                    Arrived::Matched { user } => {
                        self.waiting.remove(&RecvId(user));
                        Outcome::Matched(RecvId(user), msg)
                    }
                    Arrived::Unexpected(_) => Outcome::Unexpected(msg),
                }
            }
            Op::Cancel { recv } => {
                let cancelled = self.waiting.remove(&recv).and_then(|handle| self.matcher.cancel(handle));
                cancelled.map_or(Outcome::NotCancelled(recv), |_| Outcome::Cancelled(recv))
            }
            Op::Probe { probe, pattern } => {
                let found = self.matcher.probe(bare::pattern(&pattern));
                Outcome::Probed(probe, found.map(|message| MsgId(message.user)))
            }
            Op::MatchedProbe { probe, pattern } => {
                let found = self.matcher.mprobe(bare::pattern(&pattern));
                Outcome::Probed(probe, found.map(|message| MsgId(message.user)))
            }
        }
    }
}

impl OperationServer for HostNative {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let outcome = self.perform(op);
        let (expected, visits) = self.lists.apply(op);
        assert_eq!(outcome, expected, "mbmatch: the structure {} has another outcome than a list", self.make.structure);
        Served { completion: Completion { at: now, outcome, visits, delays: Delays::default() }, busy: Picos::ZERO }
    }

    fn queue_lengths(&self) -> QueueLengths {
        QueueLengths { posted: self.matcher.posted_len(), unexpected: self.matcher.unexpected_len() }
    }

    fn bare_run(&self, ops: &[Op]) -> Option<Box<dyn BareRun>> {
        Some(Box::new(bare::MatcherRun::new(self.make.matcher(), ops)))
    }
}
