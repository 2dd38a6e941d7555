// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packet captures: read, written and generated, and what the handlers of a network processor must decide about each
//! packet.
//!
//! | module | contents |
//! |---|---|
//! | [`capture`] | [`Capture`] and [`Packet`]; conversion of every supported link type to Ethernet frames |
//! | [`read`] | pcap and pcapng files from bytes |
//! | [`session`] | [`CaptureSession`]: a capture on the machine, checked |
//! | [`write`] | pcap files as bytes |
//! | [`headers`] | [`Headers`]: addresses, protocol, ports and payload of a frame |
//! | [`traffic`] | generated traffic: mixes of applications, sizes, bursts, HTTP connections |
//! | [`diagram`] | pipeline diagrams of a run |
//! | [`filters`] | sets of filters, and which one matches a packet |
//! | [`routes`] | generated route tables and the longest prefix that matches an address |
//! | [`arrivals`] | captures as the input of the machine `netproc` |
//! | [`check`] | [`Checker`]: compares every decision of a run with the references |
//! | [`reference`] | MD5, 3DES, checks of headers, forwarding and TCP connection state, as SPINE and its handlers must compute them |
//!
//! Files are not trusted: time and memory are bounded by the length of the file. This crate opens no file.

pub mod arrivals;
pub mod capture;
pub mod check;
pub mod diagram;
pub mod filters;
pub mod headers;
pub mod read;
pub mod reference;
pub mod routes;
pub mod session;
pub mod traffic;
pub mod write;

pub use capture::{Capture, CaptureError, LinkType, Packet};
pub use check::{Checker, DecisionMismatch, Expectations};
pub use filters::{FilterSet, FilteredService};
pub use headers::Headers;
pub use routes::RouteTable;
pub use session::{CaptureSession, Checked, SessionError};
pub use traffic::{Mix, Sizes, TrafficParameters};
