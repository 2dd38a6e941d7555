// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ledger of claims, `spec/claims.toml`, read strictly.
//!
//! Contract: what [`read`] returns has every required field, no unknown one, unique ids, known
//! words, and a value of the form that its precision calls for; anything else is an error that
//! names line and claim.
//! Cost: some milliseconds for the ledger of the project.

mod reader;

use std::fmt;

pub use reader::read;

/// The ledger of the project.
pub const LEDGER: &str = include_str!("../../../spec/claims.toml");

/// The name of the project's ledger in errors.
pub const LEDGER_NAME: &str = "spec/claims.toml";

/// How far a number may be off that the paper calls approximate: about, nearly.
pub const APPROX: f64 = 0.25;

/// One claim. The fields are those of the ledger; its first lines say what each means.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// Citation key of the paper.
    pub paper: String,
    /// Place in the paper.
    pub place: String,
    /// What it is about.
    pub systems: Vec<String>,
    /// The statement of the claim.
    pub statement: String,
    /// What is measured.
    pub quantity: String,
    /// The value that the paper gives.
    pub value: ClaimedValue,
    /// Unit of the value.
    pub unit: String,
    /// Under which circumstances.
    pub conditions: String,
    /// Whether it describes, promises or quotes.
    pub kind: Kind,
    /// The method that tests it.
    pub testable_by: Method,
    /// Further ways to test it.
    pub also_by: Vec<Method>,
    /// Whether it is printed.
    pub origin: Origin,
    /// How close is close enough.
    pub precision: Precision,
    /// The value of a preset that it states, as [`preset_value::of`](crate::preset_value::of) reads it.
    pub preset: Option<String>,
    /// How strongly an agreement with a model supports it; none if it is not judged.
    pub evidence: Option<Evidence>,
    /// How the value is computed.
    pub formula: Option<String>,
    /// Contradictions and caveats.
    pub note: Option<String>,
}

/// The value that a paper gives for a quantity.
#[derive(Clone, PartialEq, Debug)]
pub enum ClaimedValue {
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

            pub(super) fn from_word(field: &'static str, word: &str) -> Result<Self, String> {
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

words! {
    /// How strongly an agreement with a model supports a claim. Kinds are counted apart and never
    /// added up.
    EvidenceKind {
        /// A mechanism of a model produces the value from inputs that do not contain it.
        Predicted = "predicted",
        /// Arithmetic on inputs, or a preset that was chosen by the claim or calibrated to it.
        Recovered = "recovered",
        /// Arithmetic on the paper's own numbers, in which no model has a part.
        Recomputed = "recomputed",
    }
}

/// How strongly an agreement with a model supports a claim, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// [`EvidenceKind::Predicted`].
    Predicted {
        /// The mechanism, in a sentence.
        mechanism: String,
        /// Its inputs, in a sentence.
        inputs: String,
        /// The engines in use, `engine:preset key=value ...`, without a calibrated parameter: a
        /// parameter that the preset calibrates has another value here.
        engines: Vec<String>,
    },
    /// [`EvidenceKind::Recovered`], and the inputs or the preset, in a sentence.
    Recovered(String),
    /// [`EvidenceKind::Recomputed`], and from what, in a sentence.
    Recomputed(String),
}

impl Evidence {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> EvidenceKind {
        match self {
            Self::Predicted { .. } => EvidenceKind::Predicted,
            Self::Recovered(_) => EvidenceKind::Recovered,
            Self::Recomputed(_) => EvidenceKind::Recomputed,
        }
    }

    /// Why it is of this kind, as tables show it.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Predicted { mechanism, inputs, .. } => format!("{mechanism} Inputs: {inputs}"),
            Self::Recovered(why) | Self::Recomputed(why) => why.clone(),
        }
    }
}

/// The method that tests a claim.
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
    pub(super) fn from_words(words: &str) -> Result<Self, String> {
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

impl fmt::Display for ClaimedValue {
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

impl Claim {
    /// Its value, if that is one number, and by how much the paper's precision leaves it open.
    #[must_use]
    pub fn number(&self) -> Option<(f64, f64)> {
        let ClaimedValue::Number(value, digits) = self.value else { return None };
        let error = match self.precision {
            Precision::Exact => 0.0,
            Precision::Approx => value * APPROX,
            _ => 0.5 * 10f64.powi(-(digits as i32)),
        };
        Some((value, error))
    }
}
