// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The description of an engine as TOML (`spec/engine.md`, section 3), from its catalog entry.

use std::fmt::Write;

use mb_core::EngineEntry;
use mb_core::parameters::Domain;

/// The description of `entry`.
#[must_use]
pub fn describe(entry: &EngineEntry) -> String {
    let EngineEntry { card, parameters, presets, .. } = entry;
    let mut text = String::new();
    for (key, value) in [("name", card.name), ("summary", card.summary), ("reference", card.reference)] {
        let _ = writeln!(text, "{key} = {}", quoted(value));
    }
    let _ = writeln!(text, "timing = {}", quoted(card.timing.as_str()));
    for spec in *parameters {
        let _ = writeln!(text, "[[parameter]]\nkey = {}\nmeaning = {}", quoted(spec.key), quoted(spec.meaning));
        match spec.domain {
            Domain::Range { unit, low, high } => {
                // The integers of TOML have 63 bits.
                let most = i64::MAX.unsigned_abs();
                let (unit, low, high) = (quoted(unit.as_str()), low.min(most), high.min(most));
                let _ = writeln!(text, "unit = {unit}\nlow = {low}\nhigh = {high}");
            }
            Domain::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                let _ = writeln!(text, "words = [{}]", words.join(", "));
            }
        }
        if let Some(holds) = spec.holds {
            let _ = writeln!(text, "holds = {}", quoted(holds.as_str()));
        }
    }
    for preset in *presets {
        let _ = writeln!(text, "[[preset]]\nname = {}\n[preset.values]\n{}", quoted(preset.name), preset.toml);
    }
    text
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quotes_and_control_characters_are_escaped() {
        assert_eq!(quoted("a \"b\" \\ \n é"), r#""a \"b\" \\ \u000a é""#);
    }
}
