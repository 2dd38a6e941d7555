// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the tables of `studies/depth_benchmarks/README.md`; with the argument `all`, those of
//! every engine and preset.

use mb_reproduce::benchmarks::{Benchmark, compared};

#[expect(clippy::print_stdout, reason = "this program is asked for a table")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engines =
        if std::env::args().nth(1).is_some_and(|word| word == "all") { mb_catalog::all()? } else { compared()? };
    for benchmark in Benchmark::ALL {
        println!("## {}\n\n{}", benchmark.describe(), benchmark.table(&engines)?);
    }
    Ok(())
}
