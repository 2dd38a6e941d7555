// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A list search at a fixed time per entry: the straight line that publications report for a system.
//!
//! Contract: outcomes and visits are those of `spec/matching.md`; one operation is served after the other and
//! takes `operation + entry * visits`. Cost on the host: see [`mb_kit::lists`].
//! Source: the comparison of section 4 of `tanabe2013`, and measurements of today's MPI libraries.

use mb_core::engine::{EngineCard, EngineEntry, Placement, Preset, Timing, keeps_order};
use mb_core::settings::{SettingError, SettingSpec, Settings, Unit};
use mb_core::{Op, Picos};
use mb_kit::{InTurn, MatchLists, Served, Server, Service};

/// What the catalog knows of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "linear",
        summary: "A list search at a fixed time per entry, as published for several systems",
        reference: "Comparators of limited-length head separation (tanabe2013, section 4)",
        timing: Timing::Simulated,
    },
    settings: SETTINGS,
    presets: &[
        Preset { name: "qsnet2", toml: include_str!("../presets/qsnet2.toml") },
        Preset { name: "bgp", toml: include_str!("../presets/bgp.toml") },
        Preset { name: "dimmnet2", toml: include_str!("../presets/dimmnet2.toml") },
        Preset { name: "dimmnet2_lhs", toml: include_str!("../presets/dimmnet2_lhs.toml") },
        Preset { name: "software", toml: include_str!("../presets/software.toml") },
        Preset { name: "software_l2", toml: include_str!("../presets/software_l2.toml") },
    ],
    placement: |settings| if settings.word("placement") == "host" { Placement::Host } else { Placement::Nic },
    breaks_order: keeps_order,
    build: |settings| Ok(Box::new(Server::new(Linear::new(settings)?))),
};

const SETTINGS: &[SettingSpec] = &[
    SettingSpec {
        key: "entry",
        unit: Unit::Nanoseconds,
        help: "Time of each entry visited, in either list.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "operation",
        unit: Unit::Nanoseconds,
        help: "Fixed time of every operation.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "placement",
        unit: Unit::Choice(&["nic", "host"]),
        help: "Whose time is spent: the NIC's, or the host processor's.",
        range: (0, 0),
    },
];

/// One receiver's engine.
#[derive(Debug)]
pub struct Linear {
    entry: Picos,
    operation: Picos,
    lists: MatchLists,
    turn: InTurn,
}

impl Linear {
    /// An engine with empty lists.
    ///
    /// # Errors
    /// Never: no two settings of this engine can contradict each other.
    pub fn new(settings: &Settings) -> Result<Self, SettingError> {
        Ok(Self {
            entry: settings.time("entry"),
            operation: settings.time("operation"),
            lists: MatchLists::new(),
            turn: InTurn::new(),
        })
    }
}

impl Service for Linear {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let (outcome, visits) = self.lists.apply(op);
        self.turn.serve(now, self.operation + self.entry * u64::from(visits), outcome, visits)
    }

    fn queue_lengths(&self) -> (usize, usize) {
        self.lists.queue_lengths()
    }
}
