// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files pass through to the host.

use crate::{KernelRun, user};

#[test]
fn files_are_written_read_and_removed() {
    let outcome = KernelRun::on(1).succeeds(&[user(&["p", "files"], 1, 0)]);
    assert_eq!(mb_moped::kernel::MemoryFiles::get(outcome.host.files(), "/data"), None);
}
