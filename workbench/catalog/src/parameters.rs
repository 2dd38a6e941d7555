// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of an engine's settings for its model card and for `engines show`.

use std::fmt::Write;

use mb_core::EngineEntry;

use crate::{CatalogError, EngineChoice, choose};

/// The settings of `entry` as Markdown: what each means, then its value and source in every preset.
///
/// # Errors
/// When a preset's file is wrong.
pub fn parameters_table(entry: &'static EngineEntry) -> Result<String, CatalogError> {
    let mut text = String::from("| setting | unit | meaning |\n|---|---|---|\n");
    for spec in entry.settings {
        let _ = writeln!(text, "| `{}` | {} | {} |", spec.key, spec.unit.as_str(), spec.help);
    }
    text.push_str("\n| preset | setting | value | source | detail |\n|---|---|---:|---|---|\n");
    for preset in entry.presets {
        let EngineChoice { settings, .. } = choose(entry, Some(preset.name))?;
        for spec in entry.settings {
            let Some((_, setting)) = settings.iter().find(|(key, _)| *key == spec.key) else { continue };
            let source = &setting.source;
            let _ = writeln!(
                text,
                "| `{}` | `{}` | {} | {} | {} |",
                preset.name,
                spec.key,
                setting.value,
                source.kind(),
                source.detail()
            );
        }
    }
    Ok(text)
}
