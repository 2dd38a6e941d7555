// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the cost of an engine on this host grows with the depth of its lists, against the work of
//! the hardware that it models.
//!
//! Prints a table in Markdown: for each engine and kind of list, at depths of 16 and of 10 000, for
//! each operation nanoseconds of this host, entries that the modelled hardware compares, and the
//! time that it takes, and by how much each grows. A host cost that grows faster than the
//! hardware's work would be a model that does more than its hardware. Times are the least of many
//! short runs in turn, the two depths after each other, so that a busy machine disturbs both.
//!
//! `cargo bench -p mb-catalog --bench growth -- lhs` prints the engines whose names contain `lhs`.

#![expect(clippy::disallowed_methods, reason = "a bench has a stopwatch")]
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

mod rounds;

use std::time::Instant;

use rounds::{Kept, OPERATIONS, Rounds, structures};

const DEPTHS: [u64; 2] = [16, 10_000];
const TURNS: usize = 15;
/// Nanoseconds of a turn, about.
const TURN: u128 = 4_000_000;

fn main() {
    let wanted: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!(
        "| engine | list | host, ns at 16 | at 10 000 | grows | entries at 16 | at 10 000 | grows | modelled, ns at 16 | at 10 000 | grows |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for choice in structures() {
        let spec = choice.spec();
        if !wanted.is_empty() && !wanted.iter().any(|word| spec.contains(word.as_str())) {
            continue;
        }
        for kept in Kept::ALL {
            let mut runs = DEPTHS.map(|depth| Rounds::new(&choice, kept, depth));
            let (mut least, mut rounds) = ([f64::INFINITY; 2], [0; 2]);
            for _ in 0..TURNS {
                for ((run, least), rounds) in runs.iter_mut().zip(&mut least).zip(&mut rounds) {
                    let (begin, mut turn) = (Instant::now(), 0);
                    while turn == 0 || begin.elapsed().as_nanos() < TURN {
                        // The clock is read once for many rounds.
                        for _ in 0..16 {
                            run.round();
                        }
                        turn += 16;
                    }
                    let each = begin.elapsed().as_secs_f64() * 1e9 / (turn * OPERATIONS) as f64;
                    *least = least.min(each);
                    *rounds += turn;
                }
            }
            let operations = rounds.map(|rounds: u64| (rounds * OPERATIONS) as f64);
            let entries = [0, 1].map(|depth: usize| runs[depth].visits as f64 / operations[depth]);
            let modelled = [0, 1].map(|depth: usize| runs[depth].modelled.as_ns() / operations[depth]);
            let cells = [least, entries, modelled]
                .map(|[few, many]| format!("{} | {} | {:.1}", short(few), short(many), many / few));
            println!("| `{spec}` | {} | {} |", kept.as_str(), cells.join(" | "));
        }
    }
}

/// A small number with a decimal.
fn short(number: f64) -> String {
    if number < 100.0 { format!("{number:.1}") } else { format!("{number:.0}") }
}
