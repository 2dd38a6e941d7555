// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same trace with as few Done records as the format allows, as the recorder writes it.

use std::collections::BTreeMap;

use mb_trace::{Flags, Kind, Record};

/// Folds each run of Done records that one can stand for (T-9) into one.
pub(crate) fn folded(records: &[Record]) -> Vec<Record> {
    let mut begun: BTreeMap<u32, Record> = BTreeMap::new();
    let mut folded: Vec<Record> = Vec::new();
    let mut wait = None;
    // Number of the last request that the last record can stand for.
    let mut last = None;
    for &record in records {
        let mut foretold = None;
        match record.kind() {
            Some(Kind::Done) => {
                let begun = begun[&record.request];
                let several = Record { aux: 1, ..record };
                let is_wild = begun.peer == -1 || begun.peer != -3 && begun.tag == -2;
                let may_be = !matches!(begun.kind(), Some(Kind::Probe)) && !begun.has(Flags::BLOCKING);
                if may_be && !(is_wild && begun.kind == Kind::Recv as u8) && record.flags & !Flags::CPU_CARRIED == 0 {
                    foretold = Some(record.request).filter(|&number| several.done_of(number, &begun) == record);
                }
                if foretold.is_some() && last.map(|number: u32| number + 1) == foretold {
                    let at = folded.len() - 1;
                    let former = folded[at];
                    folded[at] = Record { aux: former.aux + 1, peer: 0, tag: 0, bytes: 0, ..former };
                    let wait: usize = wait.expect("a wait stands before its Done records");
                    folded[wait].aux -= 1;
                    last = foretold;
                    continue;
                }
            }
            Some(Kind::Wait) => wait = Some(folded.len()),
            _ if record.request > 0 => _ = begun.insert(record.request, record),
            _ => {}
        }
        last = foretold;
        folded.push(record);
    }
    folded
}
