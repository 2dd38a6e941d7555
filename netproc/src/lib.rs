// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A programmable network interface after Crowley, Fiuczynski and Baer (`crowley2000`): a network controller with DMA,
//! and a multithreaded processor that runs SPINE and packet handlers of `netproc/spine`.
//!
//! | module | contents |
//! |---|---|
//! | [`contract`] | `netproc/spine/netproc.h` as Rust types |
//! | [`controller`] | the network controller, cycle by cycle |
//! | [`account`] | the outcome of every packet |
//! | [`protection`] | what a handler may write |
//! | [`start`] | everything before packets, without timing |
//! | [`schedule`] | when packets arrive |
//! | [`scheduling`] | which threads fetch first |
//! | [`processor`] | what the machine needs of a processor: [`Processor`] |
//! | [`functional`] | harts without timing |
//! | [`registers`] | the controller as a device of the memory system |
//! | [`timed`] | the chip cycle by cycle |
//! | [`parameters`], [`presets`] | what all of it is built from, with sources |
//! | [`machine`] | program, tables, controller and processor: [`run`] |
//! | [`report`] | what a run has measured |
//! | [`spine`] | the committed programs of `netproc/spine`, and how to compile one with a handler |
//! | [`receive`] | the firmware of a receive engine as a packet handler |
//! | [`run_error`] | why a run ended early |
//!
//! This crate performs no I/O, reads no clock and holds no global state.

pub mod account;
pub mod contract;
pub mod controller;
pub mod functional;
pub mod machine;
pub mod parameters;
pub mod presets;
pub mod processor;
pub mod protection;
pub mod receive;
pub mod registers;
pub mod report;
pub mod run_error;
pub mod schedule;
pub mod scheduling;
pub mod spine;
pub mod start;
pub mod timed;
mod watch;

pub use controller::{Arrival, ArrivalSchedule, ControllerConfig, PacketOutcome};
pub use functional::FunctionalHarts;
pub use machine::{Judge, Limits, LoadedProgram, PacketRun, SetupError, Tables, run};
pub use parameters::PacketMachineParameters;
pub use processor::Processor;
pub use report::{PacketReport, Window};
pub use run_error::RunError;
pub use start::Started;
pub use timed::TimedChip;
pub use watch::PassageObserver;

pub use spine::Spine;
