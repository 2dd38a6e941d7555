// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a parameter was refused.

/// Why a parameter was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParameterError {
    /// There is no such parameter.
    #[error("{}", crate::names::unknown("parameter", key, known.iter().map(String::as_str)))]
    Unknown {
        /// What was given.
        key: String,
        /// The parameters that exist.
        known: Vec<String>,
    },
    /// A value of the wrong form, of a wrong unit or outside its range.
    #[error("parameter `{key}`: found `{found}`, expected {expected}")]
    Bad {
        /// The parameter.
        key: String,
        /// What was given.
        found: String,
        /// What is accepted.
        expected: String,
    },
    /// A parameter has no value.
    #[error("parameter `{0}`: no value found; every parameter needs one")]
    Missing(String),
    /// Values that do not go together.
    #[error("invalid parameters: {0}")]
    Contradiction(String),
}
