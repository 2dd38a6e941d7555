// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: TOML files that give every parameter of an engine a value and its source.
//!
//! ```toml
//! entry = { value = "100 ns", source = "paper", cite = "tanabe2013", where = "section 1" }
//! fixed = { value = "0", source = "assumed", note = "the paper gives the slope only" }
//! ```
//!
//! With `base = "other"` a preset has the values of another preset of the engine, with their sources, where it gives
//! none.
//!
//! `paper` needs `cite`, a key of `docs/papers.bib` or a citation, and `where`; `measured`, `assumed` and `calibrated`
//! need `note`. Any other field is an error.

use mb_core::engine::Preset;
use mb_core::{ParameterError, ParameterSet, ParameterSpec, Source};
use toml::{Table, Value};

/// What is wrong in a preset's file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PresetError {
    /// The file is not TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// A value is not a table of strings.
    #[error(
        "parameter `{0}`: expected a table of strings such as \
         {{ value = \"100\", source = \"assumed\", note = \"why\" }}"
    )]
    NoTable(String),
    /// A field of a parameter is missing.
    #[error("parameter `{key}`: field `{field}` is missing or empty")]
    MissingField {
        /// The parameter.
        key: String,
        /// The field.
        field: &'static str,
    },
    /// A parameter has a field that its source does not have.
    #[error("parameter `{key}`: found the field `{field}`, expected {expected}")]
    UnknownField {
        /// The parameter.
        key: String,
        /// The field.
        field: String,
        /// The fields that exist.
        expected: &'static str,
    },
    /// There is no such source.
    #[error("parameter `{key}`: found the source `{found}`, expected one of: paper, measured, assumed, calibrated")]
    UnknownSource {
        /// The parameter.
        key: String,
        /// What was given.
        found: String,
    },
    /// There is no preset of the name that a preset has as its base.
    #[error("base: found {found}, expected one of: {known}")]
    UnknownBase {
        /// What was given.
        found: String,
        /// The presets of the engine.
        known: String,
    },
    /// A preset is its own base.
    #[error("base: found a circle: {0}; give one of these presets all values")]
    CircularBase(String),
    /// The key or the value is wrong, or a value is missing.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Reads the complete parameter set of `preset`, one of the `presets` of an engine.
pub(crate) fn read(specs: &[ParameterSpec], presets: &[Preset], preset: &Preset) -> Result<ParameterSet, PresetError> {
    read_text(specs, presets, preset.name, preset.toml)
}

/// Reads the complete parameter set of a preset with this name and text, beside the `presets` of an engine.
///
/// # Errors
/// When the text is no preset of the engine.
pub fn read_text(
    specs: &[ParameterSpec],
    presets: &[Preset],
    name: &str,
    toml: &str,
) -> Result<ParameterSet, PresetError> {
    let tables = with_bases(presets, name, toml)?;
    let mut given = Vec::with_capacity(specs.len());
    // Those of the base come first: the last value of a key counts.
    for (key, value) in tables.iter().rev().flatten() {
        let fields = value.as_table().ok_or_else(|| PresetError::NoTable(key.clone()))?;
        let source = read_source(key, fields)?;
        given.push((key.as_str(), field(key, fields, "value")?, source));
    }
    Ok(ParameterSet::complete(specs, given)?)
}

/// The values of a preset, then those of its base, and so on.
fn with_bases<'a>(presets: &[Preset], name: &'a str, mut toml: &'a str) -> Result<Vec<Table>, PresetError> {
    let (mut names, mut tables) = (vec![name], Vec::new());
    loop {
        let mut table: Table = toml.parse().map_err(|error: toml::de::Error| PresetError::Syntax(error.to_string()))?;
        let base = table.remove("base");
        tables.push(table);
        let Some(base) = base else { return Ok(tables) };
        let Some(base) = presets.iter().find(|other| base.as_str() == Some(other.name)) else {
            let known: Vec<_> = presets.iter().map(|other| other.name).collect();
            return Err(PresetError::UnknownBase { found: base.to_string(), known: known.join(", ") });
        };
        let circular = names.contains(&base.name);
        names.push(base.name);
        if circular {
            return Err(PresetError::CircularBase(names.join(", ")));
        }
        toml = base.toml;
    }
}

fn read_source(key: &str, fields: &Table) -> Result<Source, PresetError> {
    let kind = field(key, fields, "source")?;
    let (expected, known): (_, &[&str]) = match kind {
        "paper" => ("value, source, cite, where", &["value", "source", "cite", "where"]),
        "measured" | "assumed" | "calibrated" => ("value, source, note", &["value", "source", "note"]),
        _ => return Err(PresetError::UnknownSource { key: key.to_owned(), found: kind.to_owned() }),
    };
    if let Some(field) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(PresetError::UnknownField { key: key.to_owned(), field: field.clone(), expected });
    }
    let text = |name| field(key, fields, name).map(|text| text.to_owned().into());
    Ok(match kind {
        "paper" => Source::Paper { key: text("cite")?, place: text("where")? },
        "measured" => Source::Measured(text("note")?),
        "assumed" => Source::Assumed(text("note")?),
        _ => Source::Calibrated(text("note")?),
    })
}

/// The text under `name`; an empty one counts as missing.
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
    use mb_core::{Cycles, Parameters, Picos};

    #[derive(Debug, Parameters)]
    struct Example {
        /// Per entry.
        #[parameter(range = 0..=1000)]
        entry: Picos,
        /// Depth.
        #[parameter(range = 1..=8)]
        depth: Cycles,
    }

    fn read_text(toml: &'static str) -> Result<ParameterSet, PresetError> {
        let preset = preset("try", toml);
        read(Example::SPECS, std::slice::from_ref(&preset), &preset)
    }

    const fn preset(name: &'static str, toml: &'static str) -> Preset {
        Preset { name, toml, on_request: false, representative: false }
    }

    #[test]
    fn a_preset_has_the_values_and_sources_of_its_base_where_it_gives_none() {
        let presets = [
            preset("first", r#"entry = { value = "3", source = "measured", note = "how" }"#),
            preset("second", "base = \"first\"\ndepth = { value = \"5\", source = \"assumed\", note = \"why\" }"),
            preset("third", "base = \"second\"\ndepth = { value = \"7\", source = \"assumed\", note = \"other\" }"),
        ];
        let set = read(Example::SPECS, &presets, &presets[2]).unwrap();
        let Example { entry, depth } = set.typed();
        assert_eq!((entry, depth), (Picos(3000), Cycles(7)));
        let details: Vec<_> = set.iter().map(|(_, parameter)| parameter.source.detail()).collect();
        assert_eq!(details, ["how", "other"]);
    }

    #[test]
    fn an_unknown_base_and_a_circle_are_refused() {
        let presets = [preset("first", "base = \"second\""), preset("second", "base = \"first\"")];
        assert_eq!(
            read(Example::SPECS, &presets, &presets[0]).unwrap_err().to_string(),
            "base: found a circle: first, second, first; give one of these presets all values"
        );
        for (toml, found) in [("base = \"none\"", "\"none\""), ("base = 3", "3")] {
            assert_eq!(
                read(Example::SPECS, &presets, &preset("try", toml)).unwrap_err().to_string(),
                format!("base: found {found}, expected one of: first, second")
            );
        }
    }

    #[test]
    fn a_complete_preset_gives_values_and_sources() {
        let set = read_text(
            r#"depth = { value = "3", source = "assumed", note = "why" }
               entry = { value = "500 ps", source = "paper", cite = "someone2001", where = "table 1" }"#,
        )
        .unwrap();
        let Example { entry, depth } = set.typed();
        assert_eq!((entry, depth), (Picos(500), Cycles(3)));
        let details: Vec<_> = set.iter().map(|(_, parameter)| parameter.source.detail()).collect();
        assert_eq!(details, ["someone2001, table 1", "why"]);
    }

    #[test]
    fn every_defect_is_named() {
        let message = |toml| read_text(toml).unwrap_err().to_string();
        assert_eq!(
            message("entry = 3"),
            "parameter `entry`: expected a table of strings such as \
             { value = \"100\", source = \"assumed\", note = \"why\" }"
        );
        assert_eq!(message(r#"entry = { value = "3" }"#), "parameter `entry`: field `source` is missing or empty");
        assert_eq!(
            message(r#"entry = { value = "3", source = "assumed", note = "" }"#),
            "parameter `entry`: field `note` is missing or empty"
        );
        assert_eq!(
            message(r#"entry = { value = "3", source = "rumour" }"#),
            "parameter `entry`: found the source `rumour`, expected one of: paper, measured, assumed, calibrated"
        );
        assert_eq!(
            message(r#"entry = { value = "3", source = "measured", note = "how", cite = "c" }"#),
            "parameter `entry`: found the field `cite`, expected value, source, note"
        );
        assert_eq!(
            message(r#"entyr = { value = "3", source = "assumed", note = "why" }"#),
            "unknown parameter `entyr`; did you mean `entry`? expected one of: entry, depth"
        );
        assert_eq!(
            message(r#"entry = { value = "3", source = "assumed", note = "why" }"#),
            "parameter `depth`: no value found; every parameter needs one"
        );
        assert_eq!(
            message(r#"depth = { value = "9", source = "assumed", note = "why" }"#),
            "parameter `depth`: found `9`, expected a whole number from 1 to 8 (cycles)"
        );
        assert!(message("entry = ").starts_with("not TOML: TOML parse error at line 1"));
    }
}
