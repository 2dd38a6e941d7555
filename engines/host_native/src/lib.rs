// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mbmatch on this host. Its times are measured and not computed.
//!
//! Contract: outcomes are those of mbmatch, in the terms of `spec/matching.md`. Visits are those of
//! a list walk, whatever the structure compares, so that its curves can be compared with those of a
//! list. An operation completes when it is offered and takes no simulated time: `workbench/measure`
//! times the structure through [`bare_run`](mb_core::Engine::bare_run) and applies the times in the
//! replay (`docs/decisions/0006-measured-engine.md`). Cost on the host: that of mbmatch and of
//! [`mb_kit::lists`].

mod bare;

use std::collections::BTreeMap;

use mb_core::engine::{BareRun, Completion, EngineCard, EngineEntry, Placement, Preset, Timing, keeps_order};
use mb_core::settings::{SettingError, SettingSpec, Settings, Unit};
use mb_core::{MsgId, Op, Outcome, Picos, RecvId};
use mb_kit::{MatchLists, Served, Server, Service};
use mbmatch::{Arrived, Handle, Matcher, Options, Posted, Structure, VectorUnit};

/// The catalog entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "host_native",
        summary: "Matching in software on this host, measured and not modelled",
        reference: "mbmatch (the folder mbmatch)",
        timing: Timing::Measured,
    },
    settings: SETTINGS,
    presets: &[
        Preset { name: "adaptive", toml: include_str!("../presets/adaptive.toml") },
        Preset { name: "list", toml: include_str!("../presets/list.toml") },
        Preset { name: "heads", toml: include_str!("../presets/heads.toml") },
        Preset { name: "vector", toml: include_str!("../presets/vector.toml") },
        Preset { name: "bins", toml: include_str!("../presets/bins.toml") },
    ],
    placement: |_| Placement::Host,
    breaks_order: keeps_order,
    build: |settings| Ok(Box::new(Server::new(HostNative::new(settings)?))),
};

const SETTINGS: &[SettingSpec] = &[
    SettingSpec {
        key: "structure",
        unit: Unit::Choice(&["adaptive", "list", "heads", "vector", "bins"]),
        help: "How the library keeps its entries.",
        range: (0, 0),
    },
    SettingSpec {
        key: "request",
        unit: Unit::Count,
        help: "Bytes from one request object to the next, in the structure `list`.",
        range: (48, 65_536),
    },
    SettingSpec {
        key: "bins",
        unit: Unit::Count,
        help: "Lists that a hash leads to, in the structure `bins`.",
        range: (1, 65_536),
    },
    SettingSpec {
        key: "vector_unit",
        unit: Unit::Choice(&["best", "scalar", "avx2", "avx512", "neon"]),
        help: "What the structures `vector` and `adaptive` compare keys with.",
        range: (0, 0),
    },
];

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
fn vector_unit(name: &str) -> Result<Option<VectorUnit>, SettingError> {
    let unit = match name {
        "scalar" => VectorUnit::Scalar,
        "avx2" => VectorUnit::Avx2,
        "avx512" => VectorUnit::Avx512,
        "neon" => VectorUnit::Neon,
        _ => return Ok(None),
    };
    // mbmatch would fall back to the best available unit; a row must name the unit that ran.
    if VectorUnit::available().contains(&unit) {
        Ok(Some(unit))
    } else {
        Err(SettingError::Contradiction(format!("this processor has no vector unit `{name}`")))
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
    /// [`SettingError::Contradiction`] when this processor lacks the vector unit.
    pub fn new(settings: &Settings) -> Result<Self, SettingError> {
        let name = settings.word("structure");
        let structure = name.parse().map_err(|error| SettingError::Contradiction(format!("`{name}`: {error}")))?;
        let mut options = Options::default();
        options.request_bytes = settings.whole("request") as usize;
        options.bins = settings.whole("bins") as usize;
        options.vector_unit = vector_unit(settings.word("vector_unit"))?;
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

impl Service for HostNative {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let outcome = self.perform(op);
        let (expected, visits) = self.lists.apply(op);
        assert_eq!(outcome, expected, "mbmatch: the structure {} has another outcome than a list", self.make.structure);
        Served { completion: Completion { at: now, outcome, visits }, busy: Picos::ZERO }
    }

    fn queue_lengths(&self) -> (usize, usize) {
        (self.matcher.posted_len(), self.matcher.unexpected_len())
    }

    fn bare_run(&self, ops: &[Op]) -> Option<Box<dyn BareRun>> {
        Some(Box::new(bare::MatcherRun::new(self.make.matcher(), ops)))
    }
}
