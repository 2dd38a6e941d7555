// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ledger of claims, `spec/claims.toml`, read strictly.
//!
//! Contract: what [`read`] returns has every required field, no unknown one, unique ids, known words, and a value of the
//! form that its precision calls for; anything else is an error that names line and claim.
//! Cost: some milliseconds for the ledger of the project.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use toml::{Spanned, Value as Toml};

use crate::verdict::APPROX;

/// The ledger of the project.
pub const LEDGER: &str = include_str!("../../../spec/claims.toml");

/// What its errors call the ledger of the project.
pub const LEDGER_NAME: &str = "spec/claims.toml";

/// One claim. The fields are those of the ledger; its first lines say what each means.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// File of the paper.
    pub seed: String,
    /// Place in the paper.
    pub place: String,
    /// What it is about.
    pub systems: Vec<String>,
    /// What is claimed.
    pub statement: String,
    /// What is measured.
    pub quantity: String,
    /// What the paper says that it is.
    pub value: Value,
    /// Unit of the value.
    pub unit: String,
    /// Under which circumstances.
    pub conditions: String,
    /// Whether it describes, promises or quotes.
    pub kind: Kind,
    /// What it takes to test it.
    pub testable_by: Method,
    /// Further ways to test it.
    pub also_by: Vec<Method>,
    /// Whether it is printed.
    pub origin: Origin,
    /// How close is close enough.
    pub precision: Precision,
    /// How the value is computed.
    pub formula: Option<String>,
    /// Contradictions and caveats.
    pub note: Option<String>,
}

/// What a paper says that a quantity is.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A number, and the digits printed after its point.
    Number(f64, usize),
    /// Several numbers, which must all be met.
    Numbers(Vec<f64>),
    /// From the lowest to the highest.
    Range(f64, f64),
    /// A limit, and whether the limit itself is allowed.
    Limit {
        /// The limit.
        limit: f64,
        /// Whether it is allowed.
        inclusive: bool,
        /// Whether it is the lowest value and not the highest.
        lowest: bool,
    },
    /// A formula in n, or words.
    Text(String),
}

/// Declares an enumeration whose members are words of the ledger.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$member_doc:meta])* $member:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$member_doc])* $member,)+
        }

        impl $name {
            /// Every word.
            pub const ALL: &[Self] = &[$(Self::$member),+];

            /// The word in the ledger.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$member => $word,)+
                }
            }

            fn from_word(field: &'static str, word: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|known| known.as_str()).collect();
                    format!("unknown {field} `{word}`; expected one of: {}", known.join(", "))
                })
            }
        }
    };
}

words! {
    /// Whether a claim describes, promises or quotes.
    Kind {
        /// A model must be like this.
        Configuration = "configuration",
        /// We try to get this.
        Result = "result",
        /// A number about something else.
        Background = "background",
    }
}

words! {
    /// Whether a claim is printed.
    Origin {
        /// Printed in the paper.
        Stated = "stated",
        /// Arithmetic on what is printed.
        Derived = "derived",
        /// Needs an assumption, which the claim names.
        Inferred = "inferred",
    }
}

words! {
    /// How close is close enough.
    Precision {
        /// Equal.
        Exact = "exact",
        /// Equal to the printed digits.
        Rounded = "rounded",
        /// The paper says about or nearly.
        Approx = "approx",
        /// A lower limit.
        AtLeast = "at-least",
        /// An upper limit.
        AtMost = "at-most",
        /// Somewhere between two numbers.
        Range = "range",
        /// A relation in words.
        Ordinal = "ordinal",
    }
}

/// What it takes to test a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Method {
    /// A model that counts cycles.
    CycleModel,
    /// A simulation of the hardware's source.
    RtlSim,
    /// A model of a processor that executes a program.
    CpuModel,
    /// A recorded program.
    TraceReplay,
    /// Area and clock from the hardware's source.
    Synthesis,
    /// A stopwatch on a real machine.
    HostMeasurement,
    /// Nothing, and why.
    Cannot(String),
}

impl Method {
    fn from_words(words: &str) -> Result<Self, String> {
        Ok(match words {
            "cycle model" => Self::CycleModel,
            "rtl sim" => Self::RtlSim,
            "execution-driven cpu model" => Self::CpuModel,
            "trace replay" => Self::TraceReplay,
            "synthesis" => Self::Synthesis,
            "host measurement" => Self::HostMeasurement,
            other => match other.strip_prefix("cannot: ") {
                Some(why) if !why.is_empty() => Self::Cannot(why.to_owned()),
                _ => {
                    return Err(format!(
                        "unknown way of testing `{other}`; expected one of: cycle model, rtl sim, execution-driven cpu \
                         model, trace replay, synthesis, host measurement, cannot: WHY"
                    ));
                }
            },
        })
    }
}

impl fmt::Display for Value {
    /// As the paper prints it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number, digits) => write!(out, "{number:.digits$}"),
            Self::Numbers(numbers) => {
                let all: Vec<_> = numbers.iter().map(f64::to_string).collect();
                write!(out, "{}", all.join(", "))
            }
            Self::Range(low, high) => write!(out, "{low} to {high}"),
            Self::Limit { limit, inclusive, lowest } => {
                let sign = if *lowest { ">" } else { "<" };
                write!(out, "{sign}{} {limit}", if *inclusive { "=" } else { "" })
            }
            Self::Text(text) => out.write_str(text),
        }
    }
}

/// Why a ledger cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}:{line}: {what}")]
pub struct LedgerError {
    /// What the ledger is called.
    pub name: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<RawClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    id: Spanned<String>,
    seed: String,
    #[serde(rename = "where")]
    place: String,
    system: String,
    statement: String,
    quantity: String,
    value: Toml,
    unit: String,
    conditions: String,
    kind: String,
    testable_by: String,
    origin: String,
    precision: String,
    formula: Option<String>,
    note: Option<String>,
    also_by: Option<Vec<String>>,
}

/// Reads the ledger `text`, which errors call `name`.
///
/// # Errors
/// When it is no TOML or not what the module says; the first thing that is wrong.
pub fn read(name: &str, text: &str) -> Result<Vec<Claim>, LedgerError> {
    let error = |at: usize, what: String| {
        let line = text.get(..at).map_or(1, |before| 1 + before.matches('\n').count());
        LedgerError { name: name.to_owned(), line, what }
    };
    let file: File = toml::from_str(text)
        .map_err(|found| error(found.span().map_or(0, |span| span.start), found.message().to_owned()))?;
    let mut seen = BTreeMap::new();
    let mut papers = BTreeMap::new();
    let mut claims = Vec::new();
    for raw in file.claim {
        let at = raw.id.span().start;
        let id = raw.id.get_ref().clone();
        let wrong = |what: String| error(at, format!("claim `{id}`: {what}"));
        let claim = Claim::from_raw(raw).map_err(wrong)?;
        if let Some(first) = seen.insert(claim.id.clone(), at) {
            let first = error(first, String::new()).line;
            return Err(error(at, format!("claim `{}`: the id is that of the claim in line {first}", claim.id)));
        }
        let paper = papers.entry(claim.paper().to_owned()).or_insert_with(|| claim.seed.clone());
        if *paper != claim.seed {
            let what = format!(
                "claim `{}`: its paper is `{}`, but earlier claims of {} are from `{paper}`",
                claim.id,
                claim.seed,
                claim.paper()
            );
            return Err(error(at, what));
        }
        claims.push(claim);
    }
    Ok(claims)
}

impl Claim {
    /// The paper that it is from: the first word of its id, `hemmert2007` to `crowley2000`.
    #[must_use]
    pub fn paper(&self) -> &str {
        self.id.split('.').next().unwrap_or_default()
    }

    /// Its value, if that is one number, and by how much the paper's precision leaves it open.
    #[must_use]
    pub fn number(&self) -> Option<(f64, f64)> {
        let Value::Number(value, digits) = self.value else { return None };
        let error = match self.precision {
            Precision::Exact => 0.0,
            Precision::Approx => value * APPROX,
            _ => 0.5 * 10f64.powi(-(digits as i32)),
        };
        Some((value, error))
    }

    fn from_raw(raw: RawClaim) -> Result<Self, String> {
        let id = raw.id.into_inner();
        if !is_id(&id) {
            return Err(
                "an id has the form hemmert2007.what or hemmert2007.subject.what, in small letters, digits and underscores".to_owned()
            );
        }
        let precision = Precision::from_word("precision", &raw.precision)?;
        let claim = Self {
            value: Value::from_toml(precision, raw.value)?,
            id,
            seed: raw.seed,
            place: raw.place,
            systems: raw.system.split(", ").map(ToOwned::to_owned).collect(),
            statement: raw.statement,
            quantity: raw.quantity,
            unit: raw.unit,
            conditions: raw.conditions,
            kind: Kind::from_word("kind", &raw.kind)?,
            testable_by: Method::from_words(&raw.testable_by)?,
            also_by: raw.also_by.iter().flatten().map(|words| Method::from_words(words)).collect::<Result<_, _>>()?,
            origin: Origin::from_word("origin", &raw.origin)?,
            precision,
            formula: raw.formula,
            note: raw.note,
        };
        let texts = [
            ("seed", &claim.seed),
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

/// Whether `id` is `s` with a digit, then words, divided by dots.
fn is_id(id: &str) -> bool {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    let mut words = id.split('.');
    let paper = words.next().unwrap_or_default().as_bytes();
    matches!(paper, [b's', b'0'..=b'9']) && id.contains('.') && words.all(word)
}

impl Value {
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
fn exactly(value: &Toml) -> Option<Value> {
    let number = number(value)?;
    let digits = match value {
        Toml::Float(number) => format!("{number:?}").split_once('.').map_or(0, |(_, digits)| digits.len()),
        _ => 0,
    };
    Some(Value::Number(number, digits))
}

/// A bare number, which is allowed itself, or one behind a sign.
fn limit(value: &Toml, lowest: bool) -> Option<Value> {
    if let Some(limit) = number(value) {
        return Some(Value::Limit { limit, inclusive: true, lowest });
    }
    let text = value.as_str()?.strip_prefix(if lowest { '>' } else { '<' })?;
    let (inclusive, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
    let limit: f64 = text.trim().parse().ok()?;
    limit.is_finite().then_some(Value::Limit { limit, inclusive, lowest })
}
