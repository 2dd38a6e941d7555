// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a value comes from.

use std::borrow::Cow;

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// Printed in a publication, or following from it.
    Paper {
        /// A key of `docs/papers.bib`, or a citation.
        key: Cow<'static, str>,
        /// Section, table or page.
        place: Cow<'static, str>,
    },
    /// Measured: on what, and how.
    Measured(Cow<'static, str>),
    /// Assumed: why this value is sensible.
    Assumed(Cow<'static, str>),
    /// Fitted so that the named claim holds; that claim is then not counted as predicted.
    Calibrated(Cow<'static, str>),
    /// Given by the user.
    User,
}

impl Source {
    /// Printed in the publication `key`, or following from it.
    #[must_use]
    pub const fn paper(key: &'static str, place: &'static str) -> Self {
        Self::Paper { key: Cow::Borrowed(key), place: Cow::Borrowed(place) }
    }

    /// Assumed: why this value is sensible.
    #[must_use]
    pub const fn assumed(why: &'static str) -> Self {
        Self::Assumed(Cow::Borrowed(why))
    }

    /// The word in tables and files.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Paper { .. } => "paper",
            Self::Measured(_) => "measured",
            Self::Assumed(_) => "assumed",
            Self::Calibrated(_) => "calibrated",
            Self::User => "user",
        }
    }

    /// The rest of the source, in words.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Paper { key, place } => format!("{key}, {place}"),
            Self::Measured(text) | Self::Assumed(text) | Self::Calibrated(text) => text.to_string(),
            Self::User => "given on the command line".to_owned(),
        }
    }
}

/// A value and its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// Printed in the publication `key`, or following from it.
    #[must_use]
    pub const fn paper(value: T, key: &'static str, place: &'static str) -> Self {
        Self { value, source: Source::paper(key, place) }
    }

    /// Measured: on what, and how.
    #[must_use]
    pub const fn measured(value: T, how: &'static str) -> Self {
        Self { value, source: Source::Measured(Cow::Borrowed(how)) }
    }

    /// Assumed: why this value is sensible.
    #[must_use]
    pub const fn assumed(value: T, why: &'static str) -> Self {
        Self { value, source: Source::assumed(why) }
    }
}
