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
//! A field can be a parameter struct itself: its parameters take the field's place, after the prefix if there is
//! one.
//! `#[parameters(sourced = Name)]` derives the struct `Name` too, which has a source beside every value: a preset in
//! code is an expression of that type, and [`ParameterSet::from_sourced`] checks it.
//!
//! ```
//! use mb_core::parameters::{ParameterSet, Parameters, Sourced};
//! use mb_core::Cycles;
//!
//! #[derive(Clone, Debug, Parameters)]
//! #[parameters(sourced = SourcedCache)]
//! struct Cache {
//!     /// Cycles of a hit.
//!     #[parameter(range = 1..=100)]
//!     hit: Cycles,
//! }
//!
//! #[derive(Clone, Debug, Parameters)]
//! #[parameters(sourced = SourcedMemory)]
//! struct Memory {
//!     /// First level.
//!     #[parameter(nested, prefix = "l1_")]
//!     l1: Cache,
//!     /// Second level.
//!     #[parameter(nested, prefix = "l2_")]
//!     l2: Cache,
//! }
//!
//! let preset = SourcedMemory {
//!     l1: SourcedCache { hit: Sourced::paper(Cycles(1), "crowley2000", "table 4") },
//!     l2: SourcedCache { hit: Sourced::assumed(Cycles(10), "ten times the first level") },
//! };
//! let set = ParameterSet::from_sourced::<Memory>(preset)?;
//! assert_eq!(set.get("l2_hit").unwrap().source.detail(), "ten times the first level");
//! assert_eq!(set.typed::<Memory>().l2.hit, Cycles(10));
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
//!
//! Nor does one in a nested struct:
//!
//! ```compile_fail,E0609
//! # use mb_core::parameters::Parameters;
//! # use mb_core::Picos;
//! # #[derive(Clone, Debug, Parameters)]
//! # struct WalkParameters {
//! #     /// Time of each entry visited.
//! #     #[parameter(range = 0..=1_000_000)]
//! #     entry: Picos,
//! # }
//! #[derive(Clone, Debug, Parameters)]
//! struct QueueParameters {
//!     /// Walk over the posted receives.
//!     #[parameter(nested, prefix = "prq_")]
//!     prq: WalkParameters,
//! }
//!
//! fn cost(queue: &QueueParameters) -> Picos {
//!     queue.prq.entyr
//! }
//! ```
//!
//! Two parameters with the same key do not compile:
//!
//! ```compile_fail,E0080
//! # use mb_core::parameters::Parameters;
//! # use mb_core::Picos;
//! # #[derive(Clone, Debug, Parameters)]
//! # struct WalkParameters {
//! #     /// Time of each entry visited.
//! #     #[parameter(range = 0..=1_000_000)]
//! #     entry: Picos,
//! # }
//! #[derive(Clone, Debug, Parameters)]
//! struct QueueParameters {
//!     /// Walk over the posted receives.
//!     #[parameter(nested)]
//!     prq: WalkParameters,
//!     /// Walk over the unexpected messages.
//!     #[parameter(nested)]
//!     umq: WalkParameters,
//! }
//!
//! const KEYS: usize = QueueParameters::SPECS.len();
//! ```

mod error;
#[doc(hidden)]
pub mod nested;
mod set;
mod source;
mod spec;
mod types;

pub use error::ParameterError;
pub use mb_derive::{Choice, Parameters};
pub use set::ParameterSet;
pub use source::{Source, Sourced};
pub use spec::{Domain, ParameterSpec, Unit, Value};
pub use types::{
    Choice, Embedded, Parameter, ParameterType, Parameters, PresetValues, Quantity, SourcedParameters, ValueSources,
};
