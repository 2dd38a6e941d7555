// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The software of network processors (`netproc/spine`) on harts without timing: verdicts, digests
//! and ciphertext against references, classifiers against each other, hostile packets, bad handlers.
//!
//! Harts take turns at random, so that no timing hides an order on which the program must not
//! depend.

mod contract;
mod counts;
mod filters;
mod frames;
mod handlers;
mod harts;
mod header;
mod http;
mod link;
mod machine;
mod payload;
mod routes;
