// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All tests of the crate in one program: what they share is compiled and linked once.

mod published;
mod timing;
