// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All tests of the crate in one program: what they share is compiled and linked once.

mod hardware;
mod hazards;
mod timing;

use mb_cam_list::{Arbiter, CamListParameters, ListSearch, OutcomeOrder};
use mb_core::{Clock, Cycles};

/// Sizes and cycles of the preset `p2l4`, with an input queue that no test fills.
const BASE: CamListParameters = CamListParameters {
    clock: Clock::from_mhz(234),
    cam: 256,
    lists: 4,
    list_entries: 32_768,
    r#match: Cycles(1),
    cam_insert: Cycles(1),
    element: Cycles(3),
    list_insert: Cycles(1),
    transfer: Cycles(1),
    remove: Cycles(1),
    dispatch: Cycles(1),
    search: ListSearch::AfterCam,
    arbiter: Arbiter::Overlapped,
    ternary: Cycles(0),
    age_cam: Cycles(0),
    age_lists: Cycles(0),
    spill: Cycles(117),
    order: OutcomeOrder::Mpi,
    fifo: 1_000_000,
};
