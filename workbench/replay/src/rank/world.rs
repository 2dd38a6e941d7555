// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What all ranks of a replay share.

use mb_trace::Communicators;

use crate::config::ReplayConfig;
use crate::network::NetworkParameters;

/// Shared by all ranks, read-only.
pub(crate) struct World<'a> {
    pub(crate) communicators: &'a Communicators,
    pub(crate) config: &'a ReplayConfig,
    pub(crate) times: NetworkParameters,
    /// The engine runs on the rank's processor.
    pub(crate) host: bool,
}
