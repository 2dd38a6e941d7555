// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same trace with a Done record for each request, which the format allows as well.

use std::collections::BTreeMap;

use mb_trace::{Kind, Record};

/// Unfolds each Done record that stands for several requests (T-9).
pub(crate) fn unfolded(records: &[Record]) -> Vec<Record> {
    let mut begun: BTreeMap<u32, Record> = BTreeMap::new();
    let mut unfolded: Vec<Record> = Vec::new();
    let mut wait = None;
    for &record in records {
        if record.kind() == Some(Kind::Done) {
            unfolded.extend(record.ended().map(|number| record.done_of(number, &begun[&number])));
            if record.aux > 0 {
                let wait: usize = wait.expect("a wait stands before its Done records");
                unfolded[wait].aux += record.aux;
            }
            continue;
        }
        if record.kind() == Some(Kind::Wait) {
            wait = Some(unfolded.len());
        } else if record.request > 0 {
            begun.insert(record.request, record);
        }
        unfolded.push(record);
    }
    unfolded
}
