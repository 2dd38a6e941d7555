// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The strict reader of the ledger.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value as Toml};

use crate::error::LedgerError;

use super::{Claim, ClaimedValue, Evidence, EvidenceKind, Kind, Method, Origin, Precision};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    section: Vec<Section>,
}

/// Claims of one paper: rows that describe, then the others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    paper: String,
    testable_by: String,
    #[serde(default)]
    configuration: Vec<RawClaim>,
    #[serde(default)]
    claim: Vec<RawClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    id: Spanned<String>,
    #[serde(rename = "where")]
    place: String,
    system: String,
    statement: String,
    quantity: String,
    value: Toml,
    unit: String,
    conditions: String,
    kind: Option<String>,
    testable_by: Option<String>,
    origin: Option<String>,
    precision: Option<String>,
    preset: Option<String>,
    evidence: Option<RawEvidence>,
    formula: Option<String>,
    note: Option<String>,
    also_by: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEvidence {
    kind: String,
    mechanism: Option<String>,
    inputs: Option<String>,
    engines: Option<Vec<String>>,
    why: Option<String>,
}

/// Reads the ledger `text`, which errors call `name`.
///
/// # Errors
/// When it is not TOML or not what the module says; the first thing that is wrong.
pub fn read(name: &str, text: &str) -> Result<Vec<Claim>, LedgerError> {
    let error = |at: usize, what: String| {
        let line = text.get(..at).map_or(1, |before| 1 + before.matches('\n').count());
        LedgerError { name: name.to_owned(), line, what }
    };
    let file: File = toml::from_str(text)
        .map_err(|found| error(found.span().map_or(0, |span| span.start), found.message().to_owned()))?;
    let mut seen = BTreeMap::new();
    let mut claims = Vec::new();
    let with_kinds = file.section.into_iter().flat_map(|section| {
        let Section { paper, testable_by, configuration, claim } = section;
        let rows = configuration.into_iter().map(|raw| (raw, Kind::Configuration));
        let others = claim.into_iter().map(|raw| (raw, Kind::Result));
        rows.chain(others).map(move |(raw, kind)| (raw, kind, paper.clone(), testable_by.clone()))
    });
    for (raw, kind, paper, testable_by) in with_kinds {
        let at = raw.id.span().start;
        let id = raw.id.get_ref().clone();
        let wrong = |what: String| error(at, format!("claim `{id}`: {what}"));
        let claim = Claim::from_raw(raw, kind, paper, &testable_by).map_err(wrong)?;
        if let Some(first) = seen.insert(claim.id.clone(), at) {
            let first = error(first, String::new()).line;
            return Err(error(at, format!("claim `{}`: the id is that of the claim in line {first}", claim.id)));
        }
        claims.push(claim);
    }
    Ok(claims)
}

impl Claim {
    /// `kind` and `testable_by` are those of the section, for a claim that states none.
    fn from_raw(raw: RawClaim, kind: Kind, paper: String, testable_by: &str) -> Result<Self, String> {
        let id = raw.id.into_inner();
        if !is_id(&id, &paper) {
            return Err(format!(
                "found this id; expected `{paper}.what` or `{paper}.subject.what` for a claim of paper `{paper}`, in small \
                 letters, digits and underscores"
            ));
        }
        let precision = Precision::from_word("precision", raw.precision.as_deref().unwrap_or("exact"))?;
        let claim = Self {
            value: ClaimedValue::from_toml(precision, raw.value)?,
            id,
            paper,
            place: raw.place,
            systems: raw.system.split(", ").map(ToOwned::to_owned).collect(),
            statement: raw.statement,
            quantity: raw.quantity,
            unit: raw.unit,
            conditions: raw.conditions,
            kind: raw.kind.map_or(Ok(kind), |word| Kind::from_word("kind", &word))?,
            testable_by: Method::from_words(raw.testable_by.as_deref().unwrap_or(testable_by))?,
            also_by: raw.also_by.iter().flatten().map(|words| Method::from_words(words)).collect::<Result<_, _>>()?,
            origin: Origin::from_word("origin", raw.origin.as_deref().unwrap_or("stated"))?,
            precision,
            preset: raw.preset,
            evidence: raw.evidence.map(Evidence::from_raw).transpose()?,
            formula: raw.formula,
            note: raw.note,
        };
        let texts = [
            ("paper", &claim.paper),
            ("where", &claim.place),
            ("system", &raw.system),
            ("statement", &claim.statement),
            ("quantity", &claim.quantity),
            ("unit", &claim.unit),
            ("conditions", &claim.conditions),
        ];
        match texts.iter().find(|(_, text)| text.trim().is_empty()) {
            Some((field, _)) => Err(format!("`{field}` is empty")),
            None => Ok(claim),
        }
    }
}

impl Evidence {
    fn from_raw(raw: RawEvidence) -> Result<Self, String> {
        let kind = EvidenceKind::from_word("kind of evidence", &raw.kind)?;
        let RawEvidence { mechanism, inputs, engines, why, .. } = raw;
        let wants = |what: &str| format!("`evidence` is {}, which calls for {what}", kind.as_str());
        let stated = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        match (kind, mechanism, inputs, why) {
            (EvidenceKind::Predicted, mechanism, inputs, None) if stated(&mechanism) && stated(&inputs) => {
                let (mechanism, inputs) = (mechanism.unwrap_or_default(), inputs.unwrap_or_default());
                Ok(Self::Predicted { mechanism, inputs, engines: engines.unwrap_or_default() })
            }
            (EvidenceKind::Predicted, ..) => Err(wants("`mechanism` and `inputs`, and `engines` if there are any")),
            (EvidenceKind::Recovered, None, None, why) if stated(&why) && engines.is_none() => {
                Ok(Self::Recovered(why.unwrap_or_default()))
            }
            (EvidenceKind::Recomputed, None, None, why) if stated(&why) && engines.is_none() => {
                Ok(Self::Recomputed(why.unwrap_or_default()))
            }
            _ => Err(wants("`why` alone")),
        }
    }
}

/// Whether `id` is the key of its paper, then words, divided by dots.
fn is_id(id: &str, paper: &str) -> bool {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    id.split_once('.').is_some_and(|(key, words)| key == paper && words.split('.').all(word))
}

impl ClaimedValue {
    fn from_toml(precision: Precision, value: Toml) -> Result<Self, String> {
        let found = value.to_string();
        let wants = |what: &str| format!("`value` is {found}; precision {} calls for {what}", precision.as_str());
        match (precision, value) {
            (Precision::Exact | Precision::Ordinal, Toml::String(text)) if !text.is_empty() => Ok(Self::Text(text)),
            (Precision::Ordinal, _) => Err(wants("a relation in words")),
            (Precision::Exact, Toml::Array(list)) if !list.is_empty() => {
                let all: Option<Vec<f64>> = list.iter().map(number).collect();
                all.map(Self::Numbers).ok_or_else(|| wants("numbers"))
            }
            (Precision::Range, Toml::Array(list)) => match list.iter().map(number).collect::<Vec<_>>()[..] {
                [Some(low), Some(high)] if low <= high => Ok(Self::Range(low, high)),
                _ => Err(wants("[lowest, highest]")),
            },
            (Precision::Range, _) => Err(wants("[lowest, highest]")),
            (Precision::AtLeast, value) => {
                limit(&value, true).ok_or_else(|| wants("a number, \"> number\" or \">= number\""))
            }
            (Precision::AtMost, value) => {
                limit(&value, false).ok_or_else(|| wants("a number, \"< number\" or \"<= number\""))
            }
            (Precision::Exact, value) => exactly(&value).ok_or_else(|| wants("a number, numbers or words")),
            (Precision::Rounded | Precision::Approx, value) => exactly(&value).ok_or_else(|| wants("a number")),
        }
    }
}

fn number(value: &Toml) -> Option<f64> {
    match value {
        Toml::Integer(whole) => Some(*whole as f64),
        Toml::Float(number) if number.is_finite() => Some(*number),
        _ => None,
    }
}

/// A number with its printed digits, which are those of its shortest form.
fn exactly(value: &Toml) -> Option<ClaimedValue> {
    let number = number(value)?;
    let digits = match value {
        Toml::Float(number) => format!("{number:?}").split_once('.').map_or(0, |(_, digits)| digits.len()),
        _ => 0,
    };
    Some(ClaimedValue::Number(number, digits))
}

/// A bare number, which is allowed itself, or one behind a sign.
fn limit(value: &Toml, lowest: bool) -> Option<ClaimedValue> {
    if let Some(limit) = number(value) {
        return Some(ClaimedValue::Limit { limit, inclusive: true, lowest });
    }
    let text = value.as_str()?.strip_prefix(if lowest { '>' } else { '<' })?;
    let (inclusive, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
    let limit: f64 = text.trim().parse().ok()?;
    limit.is_finite().then_some(ClaimedValue::Limit { limit, inclusive, lowest })
}
