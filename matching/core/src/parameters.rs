// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of engines and networks: typed for the code, text with a source for users.
//!
//! A struct with `#[derive(Parameters)]` describes its parameters once. From it follow the specifications
//! ([`Parameters::SPECS`]), the reader of values written as text, and the tables of model cards.
//! A [`ParameterSet`] holds a checked value and its source for every parameter; [`ParameterSet::typed`] makes the
//! struct from it, so that no code of an engine uses a key.
//!
//! ```
//! use mb_core::parameters::{Choice, ParameterSet, Parameters, Source};
//! use mb_core::Picos;
//!
//! #[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
//! enum Side {
//!     Nic,
//!     Host,
//! }
//!
//! #[derive(Clone, Debug, Parameters)]
//! struct WalkParameters {
//!     /// Time of each entry visited.
//!     #[parameter(range = 0..=1_000_000)]
//!     entry: Picos,
//!     /// Whose time is spent.
//!     #[parameter]
//!     side: Side,
//! }
//!
//! let given = [("entry", "1.5 us", Source::User), ("side", "nic", Source::User)];
//! let set = ParameterSet::complete(WalkParameters::SPECS, given)?;
//! let walk: WalkParameters = set.typed();
//! assert_eq!((walk.entry, walk.side), (Picos(1_500_000), Side::Nic));
//! # Ok::<(), mb_core::parameters::ParameterError>(())
//! ```
//!
//! A typo in the name of a parameter does not compile:
//!
//! ```compile_fail,E0609
//! # use mb_core::parameters::Parameters;
//! # use mb_core::Picos;
//! #[derive(Clone, Debug, Parameters)]
//! struct WalkParameters {
//!     /// Time of each entry visited.
//!     #[parameter(range = 0..=1_000_000)]
//!     entry: Picos,
//! }
//!
//! fn cost(walk: &WalkParameters) -> Picos {
//!     walk.entyr
//! }
//! ```

mod error;
mod set;
mod source;
mod spec;
mod types;

pub use error::ParameterError;
pub use mb_derive::{Choice, Parameters};
pub use set::{Parameter, ParameterSet};
pub use source::{Source, Sourced};
pub use spec::{Domain, ParameterSpec, Unit, Value};
pub use types::{Choice, ParameterType, Parameters, Quantity};
