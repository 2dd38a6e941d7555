// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The worked example of `spec/trace.md`, section 8, is read out of the text and must be the trace
//! that it says it is.

use crate::common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use common::ping;
use mb_trace::Trace;

const TEXT: &str = include_str!("../../../spec/trace.md");

/// The text of the block behind the line that names `file`.
fn block<'a>(section: &'a str, file: &str) -> &'a str {
    let behind = section.split_once(&format!("`{file}`:\n")).expect("the file is shown").1;
    let block = behind.split_once("```").expect("a block begins").1;
    block.split_once('\n').expect("its language").1.split_once("```").expect("the block ends").0
}

/// The bytes of a dump: between the offset and the bar of each line.
fn bytes(dump: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in dump.lines() {
        let (offset, rest) = line.split_once("  ").expect("an offset");
        assert_eq!(usize::from_str_radix(offset, 16).unwrap(), bytes.len(), "{line}");
        let digits = rest.split_once('|').expect("a remark").0.split_whitespace();
        bytes.extend(digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()));
    }
    bytes
}

#[test]
fn the_example_in_the_format_is_a_trace() {
    let section = TEXT.split_once("\n## 8.").expect("section 8").1;
    let ranks = ping();
    let names: Vec<String> = (0..ranks.len()).map(|rank| format!("rank-{rank:05}.mbt")).collect();
    let files: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), bytes(block(section, name)))).collect();
    let trace = Trace::from_bytes(block(section, "meta.json").as_bytes(), &files).unwrap();
    trace.check(|_| ControlFlow::Continue(())).unwrap();
    for (rank, records) in ranks.iter().enumerate() {
        let sealed: Vec<_> = records.iter().enumerate().map(|(index, record)| record.sealed(index as u64)).collect();
        assert_eq!(trace.rank(rank as u32), sealed);
    }
    assert_eq!(trace.meta().run_id(), 0x5eed);
}
