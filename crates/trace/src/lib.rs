// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traces of MPI programs: read, check, write, generate (`spec/trace.md`).

pub mod record;

pub use record::{CollectiveOp, Flags, Header, Kind, Record};
