// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Exports an engine from a shared library, for `matchbench compare TRACE --engine ./libmy_engine.so`.
//!
//! The library is the user's crate with `crate-type = ["cdylib"]`. It implements [`mb_core::Engine`], has a
//! catalog entry as the engines of matchbench have, and exports it in one line:
//!
//! ```
//! # use mb_core::engine::{EngineCard, EngineEntry, Placement, Preset, Timing, keeps_order};
//! # use mb_core::{Op, Parameters, Picos, QueueLengths};
//! # use mb_kit::{InTurn, MatchLists, OperationServer, Served, Server};
//! #[derive(Clone, Debug, Parameters)]
//! struct WalkParameters {
//!     /// Time of each entry visited.
//!     #[parameter(range = 0..=1_000_000)]
//!     entry: Picos,
//! }
//! # #[derive(Debug)]
//! # struct Walk { entry: Picos, lists: MatchLists, turn: InTurn }
//! # impl OperationServer for Walk {
//! #     fn serve(&mut self, now: Picos, op: Op) -> Served {
//! #         let (outcome, visits) = self.lists.apply(op);
//! #         self.turn.serve(now, self.entry * u64::from(visits), outcome, visits)
//! #     }
//! #     fn queue_lengths(&self) -> QueueLengths { self.lists.queue_lengths() }
//! # }
//! # fn walk(entry: Picos) -> Walk { Walk { entry, lists: MatchLists::new(), turn: InTurn::new() } }
//!
//! mb_plugin::export_engine!(EngineEntry {
//!     card: EngineCard {
//!         name: "walk",
//!         summary: "A list search at a fixed time per entry",
//!         reference: "none",
//!         timing: Timing::Simulated,
//!     },
//!     parameters: WalkParameters::SPECS,
//!     presets: &[Preset {
//!         name: "guess",
//!         toml: r#"entry = { value = "10 ns", source = "assumed", note = "an example" }"#,
//!         on_request: false,
//!         representative: true,
//!     }],
//!     placement: |_| Placement::Nic,
//!     breaks_order: keeps_order,
//!     build: |set| Ok(Box::new(Server::new(walk(set.typed::<WalkParameters>().entry)))),
//! });
//! # fn main() {
//! #     assert_eq!(unsafe { &*matchbench_engine() }.version, mb_plugin::abi::VERSION);
//! # }
//! ```
//!
//! No type of Rust and no allocator crosses the interface (`spec/engine.md`): the library may come from another
//! compiler, or be written in C against `matching/plugin/include/matchbench_engine.h`.
//! A panic is caught and reaches the caller as an error. Cost: an indirect call and a copy of at most 48 bytes for each
//! operation and completion.

#![expect(unsafe_code, reason = "a C interface")]

pub mod abi;
pub mod description;
pub mod export;

pub use mb_core;

/// The header for engines in C and C++.
pub const HEADER: &str = include_str!("../include/matchbench_engine.h");

/// Exports an [`mb_core::EngineEntry`] from a `cdylib`. Its presets have one line for each parameter, and its times are
/// simulated.
#[macro_export]
macro_rules! export_engine {
    ($entry:expr) => {
        #[cfg(panic = "abort")]
        compile_error!("an exported engine must unwind: remove `panic = \"abort\"` from the profile");

        struct ExportedEngine;

        impl $crate::export::Exported for ExportedEngine {
            const ENTRY: $crate::mb_core::EngineEntry = $entry;
        }

        /// The symbol that matchbench looks up in this library.
        #[unsafe(no_mangle)]
        pub extern "C" fn matchbench_engine() -> *const $crate::abi::Table {
            static TABLE: std::sync::OnceLock<$crate::abi::Table> = std::sync::OnceLock::new();
            $crate::export::table::<ExportedEngine>(&TABLE)
        }
    };
}
