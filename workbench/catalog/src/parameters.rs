// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of an engine's parameters for its model card and for `engines show`.

use std::fmt::Write;

use mb_core::EngineEntry;

use crate::{CatalogError, choose};

/// The parameters of `entry` as Markdown: the meaning of each, then its value and source in every preset.
///
/// # Errors
/// When a preset's file is wrong.
pub fn parameters_table(entry: &'static EngineEntry) -> Result<String, CatalogError> {
    let mut text = String::from("| parameter | unit | meaning |\n|---|---|---|\n");
    for spec in entry.parameters {
        let _ = writeln!(text, "| `{}` | {} | {} |", spec.key, spec.domain.unit_name(), spec.meaning);
    }
    text.push_str("\n| preset | parameter | value | source | detail |\n|---|---|---:|---|---|\n");
    for preset in entry.presets {
        for (spec, parameter) in choose(entry, Some(preset.name))?.parameters.iter() {
            let source = &parameter.source;
            let _ = writeln!(
                text,
                "| `{}` | `{}` | {} | {} | {} |",
                preset.name,
                spec.key,
                parameter.value,
                source.kind(),
                source.detail()
            );
        }
    }
    Ok(text)
}
