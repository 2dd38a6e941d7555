// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bound: a list search that compares one entry after the other, at a fixed number of cycles per entry, and does
//! nothing else. With all costs zero it is the engine that no other can beat.
//!
//! Contract: outcomes and visits are those of `spec/matching.md`; one operation is served after the other and
//! takes `fixed + item * visits` cycles. Cost on the host: see [`mb_kit::lists`].
//! Source: the hardware bound of the microcoded match unit's paper (`hemmert2007`, sections 5.4 and 6.1).

use mb_core::engine::{EngineCard, EngineEntry, Placement, Preset, Timing, keeps_order};
use mb_core::settings::{SettingError, SettingSpec, Settings, Unit};
use mb_core::{Clock, Cycles, Op, Picos};
use mb_kit::{InTurn, MatchLists, Served, Server, Service};

/// What the catalog knows of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "ideal",
        summary: "A list search at a fixed number of cycles per entry: the bound of every engine that walks",
        reference: "Hardware bound of the microcoded match unit (hemmert2007)",
        timing: Timing::Bound,
    },
    settings: SETTINGS,
    presets: &[
        Preset { name: "zero", toml: include_str!("../presets/zero.toml") },
        Preset { name: "hemmert2007_stated", toml: include_str!("../presets/hemmert2007_stated.toml") },
        Preset { name: "hemmert2007_reported", toml: include_str!("../presets/hemmert2007_reported.toml") },
    ],
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |settings| Ok(Box::new(Server::new(Ideal::new(settings)?))),
};

const SETTINGS: &[SettingSpec] = &[
    SettingSpec { key: "clock", unit: Unit::Megahertz, help: "Clock of the engine.", range: (1, 100_000) },
    SettingSpec { key: "header", unit: Unit::Cycles, help: "Fixed cost of an arriving header.", range: (0, 1_000_000) },
    SettingSpec {
        key: "command",
        unit: Unit::Cycles,
        help: "Fixed cost of a post, cancel or probe.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "item",
        unit: Unit::Cycles,
        help: "Cost of each entry visited, in either list.",
        range: (0, 1_000_000),
    },
];

/// One receiver's engine.
#[derive(Debug)]
pub struct Ideal {
    clock: Clock,
    header: Cycles,
    command: Cycles,
    item: Cycles,
    lists: MatchLists,
    turn: InTurn,
}

impl Ideal {
    /// An engine with empty lists.
    ///
    /// # Errors
    /// Never: no two settings of this engine can contradict each other.
    pub fn new(settings: &Settings) -> Result<Self, SettingError> {
        Ok(Self {
            clock: settings.clock("clock"),
            header: settings.cycles("header"),
            command: settings.cycles("command"),
            item: settings.cycles("item"),
            lists: MatchLists::new(),
            turn: InTurn::new(),
        })
    }
}

impl Service for Ideal {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let fixed = if matches!(op, Op::Arrive { .. }) { self.header } else { self.command };
        let (outcome, visits) = self.lists.apply(op);
        self.turn.serve(now, self.clock.span(fixed + self.item * u64::from(visits)), outcome, visits)
    }

    fn queue_lengths(&self) -> (usize, usize) {
        self.lists.queue_lengths()
    }
}
