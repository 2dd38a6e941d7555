// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two queues of a matcher.

/// One of the queues, for the counters.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Posted,
    Unexpected,
}
