// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary records as the outcome files of a test program: an error or a verdict, never a panic,
//! a hang or much memory.
//!
//! Records are made of small numbers, so that many of them name a step or a message of the program.

use mb_conform::codes::{FORMAT, OUTCOME_MAGIC, RecordKind};
use mb_conform::generate::generate_within;
use mb_conform::report::judge_run;

const RANKS: u8 = 2;

/// Runs the target on an input.
///
/// # Panics
/// The target does not accept the input.
pub fn conform_outcomes(data: &[u8]) {
    let [seed, is_raw, rest @ ..] = data else { return };
    let program = generate_within((4, 20), u64::from(*seed), 0, RANKS, &[]);
    let middle = rest.len() / 2;
    let file = |(rank, bytes): (u8, &[u8])| {
        if is_raw % 8 == 0 {
            return bytes.to_vec();
        }
        let header = [RecordKind::Header.code(), OUTCOME_MAGIC, FORMAT, i32::from(rank), i32::from(RANKS), 0, 0, 0];
        let begin = [RecordKind::Begin.code(), 0, 0, 0, 0, 0, 0, 0];
        let numbers = bytes.iter().map(|&byte| i32::from(byte as i8)).take(bytes.len() / 8 * 8);
        // An end, so that complete outcomes are judged too.
        let end = [RecordKind::End.code(), 0, 0, 0, 0, 0, 0, 0];
        let all = header.into_iter().chain(begin).chain(numbers).chain(end);
        all.flat_map(i32::to_ne_bytes).collect()
    };
    let files: Vec<Vec<u8>> = [(0, &rest[..middle]), (1, &rest[middle..])].map(file).to_vec();
    let _ = judge_run(&[program], 0, &files);
}
