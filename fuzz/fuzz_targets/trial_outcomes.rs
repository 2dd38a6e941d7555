// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any records as what the ranks of a job wrote about trials: an error or a verdict, never a panic, a hang or much memory.
//!
//! Records are made of the input with small numbers, so that many of them belong to a step or a message of the trial.

#![no_main]

use mb_conform::generate::generate_within;
use mb_conform::report::judge_run;

/// First number of a file of outcomes.
const MAGIC: i32 = 0x554f_424d;
const RANKS: u8 = 2;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [seed, is_raw, rest @ ..] = data else { return };
    let trial = generate_within((4, 20), u64::from(*seed), 0, RANKS, &[]);
    let middle = rest.len() / 2;
    let file = |(rank, bytes): (u8, &[u8])| {
        if is_raw % 8 == 0 {
            return bytes.to_vec();
        }
        let header = [1, MAGIC, 1, i32::from(rank), i32::from(RANKS), 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        let numbers = bytes.iter().map(|&byte| i32::from(byte as i8));
        // An end, so that what is judged whole is reached too.
        let end = [3, 0, 0, 0, 0, 0, 0, 0];
        header.into_iter().chain(numbers.take(bytes.len() / 8 * 8)).chain(end).flat_map(i32::to_ne_bytes).collect()
    };
    let files: Vec<Vec<u8>> = [(0, &rest[..middle]), (1, &rest[middle..])].map(file).to_vec();
    let _ = judge_run(&[trial], 0, &files);
});
