// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: TOML files that give every setting of an engine a value and its source.
//!
//! ```toml
//! entry = { value = "100", source = "paper", file = "tanabe2013", where = "section 1" }
//! fixed = { value = "0", source = "assumed", note = "the paper gives the slope only" }
//! ```
//!
//! `paper` needs `file` and `where`; `measured`, `assumed` and `calibrated` need `note`. Anything else is an error.

use mb_core::engine::Preset;
use mb_core::settings::{SettingError, SettingSpec, Settings, Source};
use toml::{Table, Value};

/// What is wrong in a preset's file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PresetError {
    /// The file is no TOML.
    #[error("no TOML: {0}")]
    Syntax(String),
    /// A value is not a table of words.
    #[error("setting `{0}` must be a table such as {{ value = \"100\", source = \"assumed\", note = \"why\" }}")]
    NoTable(String),
    /// A field of a setting is missing.
    #[error("setting `{key}` lacks `{field}`")]
    MissingField {
        /// The setting.
        key: String,
        /// The field.
        field: &'static str,
    },
    /// A setting has a field that its source does not call for.
    #[error("setting `{key}` has the unknown field `{field}`; expected {expected}")]
    UnknownField {
        /// The setting.
        key: String,
        /// The field.
        field: String,
        /// The fields there are.
        expected: &'static str,
    },
    /// No such source.
    #[error("setting `{key}`: unknown source `{found}`; expected one of: paper, measured, assumed, calibrated")]
    UnknownSource {
        /// The setting.
        key: String,
        /// What was given.
        found: String,
    },
    /// The key or the value is wrong, or a value is missing.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Reads the complete settings of `preset`.
pub(crate) fn read(specs: &[SettingSpec], preset: &Preset) -> Result<Settings, PresetError> {
    let table: Table = preset.toml.parse().map_err(|error: toml::de::Error| PresetError::Syntax(error.to_string()))?;
    let mut settings = Settings::new();
    for (key, value) in &table {
        let fields = value.as_table().ok_or_else(|| PresetError::NoTable(key.clone()))?;
        let source = read_source(key, fields)?;
        settings.set(specs, key, field(key, fields, "value")?, source)?;
    }
    match specs.iter().find(|spec| !settings.contains(spec.key)) {
        Some(spec) => Err(SettingError::Missing { key: spec.key.to_owned(), preset: preset.name.to_owned() }.into()),
        None => Ok(settings),
    }
}

fn read_source(key: &str, fields: &Table) -> Result<Source, PresetError> {
    let kind = field(key, fields, "source")?;
    let (expected, known): (_, &[&str]) = match kind {
        "paper" => ("value, source, file, where", &["value", "source", "file", "where"]),
        "measured" | "assumed" | "calibrated" => ("value, source, note", &["value", "source", "note"]),
        _ => return Err(PresetError::UnknownSource { key: key.to_owned(), found: kind.to_owned() }),
    };
    if let Some(field) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(PresetError::UnknownField { key: key.to_owned(), field: field.clone(), expected });
    }
    let text = |name| field(key, fields, name).map(|text| text.to_owned().into());
    Ok(match kind {
        "paper" => Source::Paper { file: text("file")?, place: text("where")? },
        "measured" => Source::Measured(text("note")?),
        "assumed" => Source::Assumed(text("note")?),
        _ => Source::Calibrated(text("note")?),
    })
}

/// The word under `name`; an empty one counts as missing.
fn field<'a>(key: &str, fields: &'a Table, name: &'static str) -> Result<&'a str, PresetError> {
    match fields.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(Value::String(_)) | None => Err(PresetError::MissingField { key: key.to_owned(), field: name }),
        Some(_) => Err(PresetError::NoTable(key.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mb_core::settings::Unit;
    use mb_core::{Cycles, Picos};

    const SPECS: &[SettingSpec] = &[
        SettingSpec { key: "entry", unit: Unit::Nanoseconds, help: "Per entry.", range: (0, 1000) },
        SettingSpec { key: "depth", unit: Unit::Cycles, help: "Depth.", range: (1, 8) },
    ];

    fn read_text(toml: &'static str) -> Result<Settings, PresetError> {
        read(SPECS, &Preset { name: "try", toml })
    }

    #[test]
    fn a_complete_preset_gives_values_and_sources() {
        let settings = read_text(
            r#"entry = { value = "0.5", source = "paper", file = "p.txt", where = "table 1" }
               depth = { value = "3", source = "assumed", note = "why" }"#,
        )
        .unwrap();
        assert_eq!(settings.time("entry"), Picos(500));
        assert_eq!(settings.cycles("depth"), Cycles(3));
        let details: Vec<_> = settings.iter().map(|(_, setting)| setting.source.detail()).collect();
        assert_eq!(details, ["why", "p.txt, table 1"]);
    }

    #[test]
    fn every_defect_is_named() {
        let message = |toml| read_text(toml).unwrap_err().to_string();
        assert_eq!(
            message("entry = 3"),
            "setting `entry` must be a table such as { value = \"100\", source = \"assumed\", note = \"why\" }"
        );
        assert_eq!(message(r#"entry = { value = "3" }"#), "setting `entry` lacks `source`");
        assert_eq!(
            message(r#"entry = { value = "3", source = "assumed", note = "" }"#),
            "setting `entry` lacks `note`"
        );
        assert_eq!(
            message(r#"entry = { value = "3", source = "rumour" }"#),
            "setting `entry`: unknown source `rumour`; expected one of: paper, measured, assumed, calibrated"
        );
        assert_eq!(
            message(r#"entry = { value = "3", source = "measured", note = "how", file = "f" }"#),
            "setting `entry` has the unknown field `file`; expected value, source, note"
        );
        assert_eq!(
            message(r#"entyr = { value = "3", source = "assumed", note = "why" }"#),
            "unknown setting `entyr`; expected one of: entry, depth"
        );
        assert_eq!(
            message(r#"entry = { value = "3", source = "assumed", note = "why" }"#),
            "setting `depth` has no value in preset `try`"
        );
        assert_eq!(
            message(r#"depth = { value = "9", source = "assumed", note = "why" }"#),
            "setting `depth`: found `9`, expected a whole number from 1 to 8 (cycles)"
        );
        assert!(message("entry = ").starts_with("no TOML: TOML parse error at line 1"));
    }
}
