// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks that every engine's tests use. They use the interface of engines only.
//!
//! - [`cases`]: the corpus of `spec/cases/`, read strictly and run on an engine.
//! - [`drive`]: offers operations to an engine, compares every outcome with the oracle's and checks the interface's
//!   promises on times.
//! - [`kit`]: all of these on one engine.
//! - [`streams`]: random operation streams, skewed to what engines get wrong, and the relations between runs.
//!
//! Every check returns its error as text, so that a test can also show that a wrong engine is rejected.

pub mod cases;
pub mod drive;
pub mod kit;
pub mod streams;

use mb_core::{EngineEntry, ParameterSet, Parameters, ReplayEngine, Source};

/// Makes one engine with empty lists.
pub type MakeEngine<'a> = &'a dyn Fn() -> Box<dyn ReplayEngine>;

/// Parameters that a test has built, if every value is in its domain, as it is in a [`ParameterSet`].
///
/// # Panics
/// When a value is outside its domain.
#[must_use]
pub fn checked<P: Parameters>(parameters: &P) -> &P {
    for (spec, value) in P::SPECS.iter().zip(parameters.values()) {
        if let Err(error) = spec.check(value) {
            panic!("{error}");
        }
    }
    parameters
}

/// The typed parameters of a preset of `entry`.
///
/// # Panics
/// When there is no such preset, or `P` describes another engine.
#[must_use]
pub fn preset<P: Parameters>(entry: &EngineEntry, name: &str) -> P {
    preset_set(entry, name).typed()
}

/// The parameters of a preset of `entry`.
///
/// # Panics
/// When there is no such preset.
#[must_use]
pub fn preset_set(entry: &EngineEntry, name: &str) -> ParameterSet {
    let table = preset_table(entry, name);
    let values = table.iter().map(|(key, fields)| (key.as_str(), fields["value"].as_str().expect("values are text")));
    let values = values.map(|(key, text)| (key, text, Source::User));
    let set = ParameterSet::complete(entry.parameters, values);
    set.unwrap_or_else(|error| panic!("preset {name}: {error}"))
}

/// The values of a preset, and those of its base where it gives none.
fn preset_table(entry: &EngineEntry, name: &str) -> toml::Table {
    let preset = entry.presets.iter().find(|preset| preset.name == name);
    let mut table: toml::Table = preset.expect("the engine has the preset").toml.parse().expect("presets are TOML");
    let Some(base) = table.remove("base") else { return table };
    let mut all = preset_table(entry, base.as_str().expect("the base is a preset"));
    all.extend(table);
    all
}

#[cfg(test)]
mod tests {
    use mb_core::{Cycles, Parameters};

    use super::checked;

    #[derive(Parameters)]
    struct WalkParameters {
        /// Cycles of each entry visited.
        #[parameter(range = 1..=8)]
        entry: Cycles,
    }

    #[test]
    #[should_panic(expected = "parameter `entry`: found `9`, expected a whole number from 1 to 8 (cycles)")]
    fn a_value_outside_its_domain_is_refused() {
        for entry in [1, 8, 9] {
            assert_eq!(checked(&WalkParameters { entry: Cycles(entry) }).entry, Cycles(entry));
        }
    }
}
