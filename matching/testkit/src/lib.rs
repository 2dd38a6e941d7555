// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Judges that every engine's tests use. They know engines by their interface alone.
//!
//! - [`cases`]: the corpus of `spec/cases/`, read strictly and run on an engine.
//! - [`drive`]: offers operations to an engine, compares every outcome with the oracle's and checks the interface's
//!   promises on times.
//! - [`streams`]: random operation streams, skewed to what engines get wrong, and the relations between runs.
//!
//! Every judge returns its objection as text, so that a test can also show that a wrong engine is rejected.

pub mod cases;
pub mod drive;
pub mod streams;

use mb_core::{Engine, EngineEntry, Settings, Source};

/// Makes one engine with empty lists.
pub type MakeEngine<'a> = &'a dyn Fn() -> Box<dyn Engine>;

/// Settings of `entry` from keys and values, for tests that want to see their numbers.
///
/// # Panics
/// When a key or value does not fit or a setting is missing.
#[must_use]
pub fn settings(entry: &EngineEntry, values: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new();
    for (key, value) in values {
        if let Err(error) = settings.set(entry.settings, key, value, Source::User) {
            panic!("{error}");
        }
    }
    for spec in entry.settings {
        assert!(settings.contains(spec.key), "setting `{}` has no value", spec.key);
    }
    settings
}

/// The values of a preset of `entry`, with some of them changed.
///
/// # Panics
/// When there is no such preset, or a value does not fit.
#[must_use]
pub fn preset(entry: &EngineEntry, name: &str, changes: &[(&str, &str)]) -> Settings {
    let preset = entry.presets.iter().find(|preset| preset.name == name);
    let table: toml::Table = preset.expect("the engine has the preset").toml.parse().expect("presets are TOML");
    let values: Vec<(&str, &str)> = table
        .iter()
        .map(|(key, fields)| (key.as_str(), fields["value"].as_str().expect("values are text")))
        .filter(|(key, _)| changes.iter().all(|(changed, _)| changed != key))
        .chain(changes.iter().copied())
        .collect();
    settings(entry, &values)
}
