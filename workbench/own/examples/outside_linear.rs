// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `linear` as a shared library: the same model on both sides of the C interface.

use mb_core::engine::{EngineCard, EngineEntry};

mb_plugin::export_engine!(EngineEntry {
    card: EngineCard { name: "outside_linear", ..mb_linear::ENTRY.card },
    ..mb_linear::ENTRY
});
