// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Expands Done records of several requests. The format allows both forms.

use std::collections::BTreeMap;

use mb_trace::{Kind, Record};

/// The same records with one Done record per request (T-9).
pub(crate) fn one_done_per_request(records: &[Record]) -> Vec<Record> {
    let mut begun: BTreeMap<u32, Record> = BTreeMap::new();
    let mut expanded: Vec<Record> = Vec::new();
    let mut wait = None;
    for &record in records {
        if record.kind() == Some(Kind::Done) {
            expanded.extend(record.ended().map(|number| record.done_of(number, &begun[&number])));
            if record.aux > 0 {
                let wait: usize = wait.expect("a wait precedes its Done records");
                expanded[wait].aux += record.aux;
            }
            continue;
        }
        if record.kind() == Some(Kind::Wait) {
            wait = Some(expanded.len());
        } else if record.request > 0 {
            begun.insert(record.request, record);
        }
        expanded.push(record);
    }
    expanded
}
