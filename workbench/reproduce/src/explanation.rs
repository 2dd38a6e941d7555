// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Explanations of differences: texts whose numbers are taken from the run.
//!
//! A text has placeholders:
//!
//! | placeholder | stands for |
//! |---|---|
//! | `{CLAIM}` | what was measured for the claim, as tables show it |
//! | `{CLAIM @ INTERPRETATION}` | what was measured in this interpretation |
//! | `{CLAIM.published}` | what the paper gives |
//! | `{... :.1}` | the number, with one digit behind the point |
//!
//! Contract: [`resolve`] refuses a placeholder that stands for nothing.

use crate::verdict::Measured;

/// What a placeholder asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted<'a> {
    /// The claim.
    pub claim: &'a str,
    /// The interpretation; none for the first one.
    pub interpretation: Option<&'a str>,
    /// Whether the value of the paper is meant.
    pub published: bool,
}

/// Replaces every placeholder of `text` by what `value` gives for it.
///
/// # Errors
/// The placeholder that does not resolve, and why.
pub fn resolve<E>(
    text: &str,
    mut value: impl FnMut(Wanted<'_>) -> Result<Result<Measured, String>, E>,
) -> Result<Result<String, (String, String)>, E> {
    let mut resolved = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('{') {
        resolved.push_str(before);
        let Some((inside, after)) = from.split_once('}') else {
            return Ok(Err((from.to_owned(), "found no end, expected `}`".to_owned())));
        };
        let (name, digits) = inside.split_once(":.").map_or((inside, None), |(name, digits)| (name, Some(digits)));
        let (name, interpretation) =
            name.split_once(" @ ").map_or((name, None), |(name, interpretation)| (name, Some(interpretation)));
        let (claim, published) = name.strip_suffix(".published").map_or((name, false), |claim| (claim, true));
        let shown = value(Wanted { claim, interpretation, published })?.and_then(|found| match digits {
            None => Ok(found.to_string()),
            Some(digits) => match (digits.parse::<usize>(), found.as_number()) {
                (Ok(digits), Some(number)) => Ok(format!("{number:.digits$}")),
                _ => Err(format!("found {found:?} and `:.{digits}`, expected a number and its digits")),
            },
        });
        match shown {
            Ok(shown) => resolved.push_str(&shown),
            Err(what) => return Ok(Err((inside.to_owned(), what))),
        }
        rest = after;
    }
    resolved.push_str(rest);
    Ok(Ok(resolved))
}

/// Units behind which a number is a measurement.
const UNITS: [&str; 6] = ["%", "ns", "us", "cycles", "times", "mm2"];

/// What names the source of a number that is not measured.
const SOURCES: [&str; 6] = ["paper", "section", "table", "figure", "contradiction", "tanabe"];

/// Numbers with units that a text states itself, clause by clause; a clause that names its source
/// may.
#[must_use]
pub fn bare_numbers(text: &str) -> Vec<String> {
    let outside: String = text
        .split('{')
        .enumerate()
        .map(|(n, part)| if n == 0 { part } else { part.split_once('}').map_or("", |(_, after)| after) })
        .collect();
    let clauses = outside.split(". ").flat_map(|sentence| sentence.split([',', ';', ':']));
    let mut found = Vec::new();
    for clause in clauses {
        let lower = clause.to_lowercase();
        if SOURCES.iter().any(|source| lower.contains(source)) {
            continue;
        }
        let words: Vec<_> = clause.split_whitespace().map(|word| word.trim_matches(['(', ')', '.'])).collect();
        let is_bare = |pair: &&[&str]| pair[0].parse::<f64>().is_ok() && UNITS.contains(&pair[1]);
        found.extend(words.windows(2).filter(is_bare).map(|pair| pair.join(" ")));
    }
    found
}
