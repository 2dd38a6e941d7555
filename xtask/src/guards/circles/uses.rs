// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which module uses which.

use std::collections::BTreeMap;

/// The first place where a file names an item of another.
pub(super) struct Use {
    pub(super) line: usize,
    pub(super) name: String,
}

/// The uses between modules, by the paths of the user and of the used.
pub(super) type Uses = BTreeMap<(String, String), Use>;
