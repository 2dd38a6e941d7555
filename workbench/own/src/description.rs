// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the description of an engine: card, parameters and presets as TOML (`spec/engine.md`, section 3).
//!
//! The text comes from the user's library or class, so that nothing in it is trusted: every name, length, range
//! and value is checked, and an error says what was found and what was expected.

use std::collections::BTreeSet;

use mb_core::engine::{EngineCard, EngineEntry, Preset, Timing, keeps_order};
use mb_core::parameters::{Domain, ParameterError, ParameterSpec, Quantity, Unit};
use mb_core::{Clock, Cycles, Holds, Picos, Placement};
use serde::Deserialize;

/// Longest description, in bytes.
pub const LONGEST: usize = 1 << 20;
/// Longest name, in bytes.
const LONGEST_NAME: usize = 64;
/// Longest sentence, in bytes.
const LONGEST_TEXT: usize = 1000;
/// Most parameters, and most words of one.
const MOST_PARAMETERS: usize = 256;
/// Most presets.
const MOST_PRESETS: usize = 64;

/// A description that was read and checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    name: String,
    summary: String,
    reference: String,
    timing: Option<String>,
    #[serde(default)]
    parameter: Vec<Parameter>,
    #[serde(default)]
    preset: Vec<PresetValues>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    key: String,
    meaning: String,
    unit: Option<String>,
    low: Option<u64>,
    high: Option<u64>,
    words: Option<Vec<String>>,
    holds: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetValues {
    name: String,
    #[serde(default)]
    values: toml::Table,
}

/// Units with the largest end of a range of each.
const UNITS: [(Unit, u64); 4] = [
    (Unit::Nanoseconds, Picos::MAX_END),
    (Unit::Cycles, Cycles::MAX_END),
    (Unit::Megahertz, Clock::MAX_END),
    (Unit::Count, u64::MAX),
];

/// The largest end of a range as a constant.
trait MaxEnd {
    const MAX_END: u64;
}

impl<Q: Quantity> MaxEnd for Q {
    const MAX_END: u64 = Q::MAX;
}

impl Description {
    /// Reads `bytes`, all but the values of presets, which [`entry`](Self::entry) reads.
    ///
    /// # Errors
    /// The first defect.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > LONGEST {
            return Err(format!("description: found {} bytes, expected at most {LONGEST}", bytes.len()));
        }
        let text = str::from_utf8(bytes).map_err(|error| format!("description: not UTF-8: {error}"))?;
        let read: Self = toml::from_str(text).map_err(|error| format!("description: {}", one_line(&error)))?;
        read.check().map_err(|error| format!("description: {error}"))?;
        Ok(read)
    }

    /// The engine's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn check(&self) -> Result<(), String> {
        name("name", &self.name)?;
        text("summary", &self.summary)?;
        text("reference", &self.reference)?;
        if let Some(timing) = self.timing.as_deref().filter(|timing| *timing != Timing::Simulated.as_str()) {
            return Err(format!("timing: found `{timing}`, expected `simulated`: a model computes its times"));
        }
        number("parameters", self.parameter.len(), 0, MOST_PARAMETERS)?;
        number("presets", self.preset.len(), 1, MOST_PRESETS)?;
        let mut keys = BTreeSet::new();
        for parameter in &self.parameter {
            name("parameter", &parameter.key)?;
            if !keys.insert(&parameter.key) {
                return Err(format!("parameter `{}`: found twice, expected once", parameter.key));
            }
            let named = |error| format!("parameter `{}`: {error}", parameter.key);
            text("meaning", &parameter.meaning).map_err(named)?;
            parameter.check_words().map_err(named)?;
            parameter.domain().map_err(named)?;
            parameter.held().map_err(named)?;
        }
        let mut presets = BTreeSet::new();
        for preset in &self.preset {
            name("preset", &preset.name)?;
            if !presets.insert(&preset.name) {
                return Err(format!("preset `{}`: found twice, expected once", preset.name));
            }
        }
        Ok(())
    }

    /// The catalog's entry, which is never freed, with every preset read.
    ///
    /// # Errors
    /// When the values of a preset are wrong or incomplete.
    pub fn entry(self) -> Result<&'static EngineEntry, String> {
        let specs: Vec<ParameterSpec> = self.parameter.into_iter().map(Parameter::leaked).collect();
        let presets = self.preset.into_iter().zip(0..).map(|(preset, place)| Preset {
            name: leaked(preset.name),
            toml: leaked(preset.values.to_string()),
            on_request: false,
            representative: place == 0,
        });
        let entry: &'static EngineEntry = Box::leak(Box::new(EngineEntry {
            card: EngineCard {
                name: leaked(self.name),
                summary: leaked(self.summary),
                reference: leaked(self.reference),
                timing: Timing::Simulated,
            },
            parameters: Vec::leak(specs),
            presets: Vec::leak(presets.collect()),
            placement: |_| Placement::Nic,
            breaks_order: keeps_order,
            build: |_| Err(ParameterError::Contradiction("the engine is in no catalog".to_owned())),
        }));
        for preset in entry.presets {
            if let Err(error) = mb_catalog::choose(entry, Some(preset.name)) {
                let text = match error {
                    mb_catalog::CatalogError::Preset { error, .. } => error.to_string(),
                    other => other.to_string(),
                };
                return Err(format!("description: preset `{}`: {}", preset.name, one_line(&text)));
            }
        }
        Ok(entry)
    }
}

impl Parameter {
    fn check_words(&self) -> Result<(), String> {
        let Some(words) = &self.words else { return Ok(()) };
        number("words", words.len(), 1, MOST_PARAMETERS)?;
        for (place, word) in words.iter().enumerate() {
            name("word", word)?;
            if words[..place].contains(word) {
                return Err(format!("word `{word}`: found twice, expected once"));
            }
        }
        Ok(())
    }

    /// The unit and the ends of the range; `None` if the parameter has words.
    fn domain(&self) -> Result<Option<(Unit, u64, u64)>, String> {
        let known = || UNITS.map(|(unit, _)| unit.as_str()).join(", ");
        let (unit, low, high) = match (&self.words, &self.unit, self.low, self.high) {
            (Some(_), None, None, None) => return Ok(None),
            (None, Some(unit), Some(low), Some(high)) => (unit, low, high),
            _ => return Err(format!("expected `words` alone, or `unit` ({}), `low` and `high`", known())),
        };
        let Some(&(unit, most)) = UNITS.iter().find(|(known, _)| known.as_str() == unit.as_str()) else {
            return Err(format!("found the unit `{unit}`, expected one of: {}", known()));
        };
        if low > high || high > most {
            let unit = unit.as_str();
            return Err(format!("found the range {low} to {high} {unit}, expected low <= high <= {most}"));
        }
        Ok(Some((unit, low, high)))
    }

    fn held(&self) -> Result<Option<Holds>, String> {
        let Some(holds) = &self.holds else { return Ok(None) };
        let known = [Holds::OldestOfQueue, Holds::PlacesOfBoth, Holds::ByOtherRule];
        let found = known.into_iter().find(|rule| rule.as_str() == holds.as_str());
        let expected = known.map(Holds::as_str).join(", ");
        found.map(Some).ok_or_else(|| format!("holds: found `{holds}`, expected one of: {expected}"))
    }

    /// The specification, which is never freed. The parameter was checked.
    fn leaked(self) -> ParameterSpec {
        let (domain, holds) = (self.domain().ok().flatten(), self.held().ok().flatten());
        let domain = if let Some((unit, low, high)) = domain {
            Domain::Range { unit, low, high }
        } else {
            let words: Vec<&'static str> = self.words.unwrap_or_default().into_iter().map(leaked).collect();
            Domain::Choice(Vec::leak(words))
        };
        ParameterSpec { key: leaked(self.key), domain, meaning: leaked(self.meaning), holds, file: None }
    }
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn name(what: &str, found: &str) -> Result<(), String> {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name = found.starts_with(|first: char| first.is_ascii_lowercase())
        && found.bytes().all(is_word)
        && found.len() <= LONGEST_NAME;
    if is_name {
        return Ok(());
    }
    let found: String = found.chars().take(LONGEST_NAME).collect();
    Err(format!(
        "{what}: found `{}`, expected at most {LONGEST_NAME} of a to z, 0 to 9 and _, with a letter first",
        found.escape_default()
    ))
}

fn text(what: &str, found: &str) -> Result<(), String> {
    if found.trim().is_empty() || found.len() > LONGEST_TEXT || found.chars().any(char::is_control) {
        return Err(format!("{what}: expected a line of 1 to {LONGEST_TEXT} bytes without control characters"));
    }
    Ok(())
}

fn number(what: &str, found: usize, least: usize, most: usize) -> Result<(), String> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(format!("found {found} {what}, expected {least} to {most}"))
}

/// An error of the TOML reader in one line: its place and reason.
fn one_line(error: &impl ToString) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.contains('|')).collect();
    lines.join(": ").trim_end_matches(": ").to_owned()
}
