// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every engine, in alphabetical order. Generated from the folders of `engines/`: run `make gen`.

use mb_core::EngineEntry;

/// Every engine, in alphabetical order.
#[rustfmt::skip]
pub static ENGINES: &[EngineEntry] = &[
    mb_alpu::ENTRY,
    mb_cam_list::ENTRY,
    mb_hash_buckets::ENTRY,
    mb_host_native::ENTRY,
    mb_ideal::ENTRY,
    mb_lhs::ENTRY,
    mb_linear::ENTRY,
    mb_list_mt::ENTRY,
    mb_list_ooo::ENTRY,
    mb_match_unit::ENTRY,
    mb_measured::ENTRY,
    mb_moped_engine::ENTRY,
    mb_netproc_engine::ENTRY,
];
