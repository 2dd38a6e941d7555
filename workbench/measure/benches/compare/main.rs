// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every structure of mbmatch beside the others, and beside UCX and the MPI libraries of this host.
//!
//! ```console
//! $ cargo bench --package mb-measure --bench compare
//! $ cargo bench --package mb-measure --bench compare -- --rounds 3 --depths 1,64,4096 --csv
//! out/mbmatch.csv drain_posted
//! ```
//!
//! Each contender has a process of its own. All are pinned to one core and take turns at each
//! depth, so that other load on the host slows all of them. Arguments that are not options select
//! the series and contenders whose names contain them. `README.md` beside this file describes the
//! series and what a time contains.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints its results")]

mod contenders;
mod goals;
mod processes;
mod sequences;
mod series;
mod stopwatch;
mod table;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use mb_measure::host;

use processes::{Candidate, Runner};
use series::{DEEPEST, Series};
use stopwatch::Stopwatch;
use table::{Results, Times};

/// The command line.
struct Options {
    rounds: u32,
    batches: u32,
    depths: Vec<u32>,
    csv: Option<PathBuf>,
    /// Parts of names of series or contenders.
    chosen: Vec<String>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let depths = vec![0, 1, 2, 4, 8, 16, 64, 256, 1024, 4096, DEEPEST];
        let mut options = Self { rounds: 5, batches: 7, depths, csv: None, chosen: Vec::new() };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word}: expected a value"));
            let number =
                |text: &str| text.parse::<u32>().map_err(|_| format!("{word}: found `{text}`, expected a number"));
            match word.as_str() {
                // Passed by cargo.
                "--bench" => {}
                "--rounds" => options.rounds = number(&value()?)?.max(1),
                "--batches" => options.batches = number(&value()?)?.max(1),
                "--csv" => options.csv = Some(value()?.into()),
                "--depths" => {
                    options.depths = value()?.split(',').map(number).collect::<Result<_, _>>()?;
                    options.depths.sort_unstable();
                    if options.depths.last().is_none_or(|&deepest| deepest > DEEPEST) {
                        return Err(format!("--depths: expected numbers from 0 to {DEEPEST}"));
                    }
                }
                _ if word.starts_with('-') => {
                    return Err(format!(
                        "unknown option `{word}`; expected one of: --rounds, --batches, --depths, --csv"
                    ));
                }
                _ => options.chosen.push(word),
            }
        }
        Ok(options)
    }

    /// Whether `name` is selected among `names`. A word that is part of no name does not count.
    fn chooses(&self, name: &str, names: &(impl Iterator<Item = String> + Clone)) -> bool {
        let mut words = self.chosen.iter().filter(|word| names.clone().any(|name| name.contains(*word))).peekable();
        words.peek().is_none() || words.any(|word| name.contains(word.as_str()))
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let done = if words.next_if(|word| word == processes::SERVE).is_some() {
        processes::serve(words)
    } else {
        Options::parse(words).and_then(|options| compare(&options))
    };
    done.map_or_else(
        |error| {
            eprintln!("compare: {error}");
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}

fn compare(options: &Options) -> Result<(), String> {
    // The children inherit the affinity.
    let pinned = host::Pinned::new();
    let candidates = Candidate::all();
    let names = candidates.iter().map(|candidate| candidate.name.clone());
    let mut runners: Vec<Runner> = Vec::new();
    for candidate in candidates.iter().filter(|candidate| options.chooses(&candidate.name, &names)) {
        match candidate.start() {
            Ok(runner) => runners.push(runner),
            Err(reason) => println!("{:<10} skipped: {reason}", candidate.name),
        }
    }
    let all = series::ALL.iter().map(Series::name);
    let chosen: Vec<&Series> = series::ALL.iter().filter(|series| options.chooses(&series.name(), &all)).collect();
    for runner in &runners {
        println!("{:<10} {}", runner.name, runner.version);
    }
    let core = pinned.core.map_or("not pinned".to_owned(), |core| format!("core {core}"));
    println!("{}, {core}; {} rounds of up to {} batches", host::cpu(), options.rounds, options.batches);

    let mut stopwatch = Stopwatch::new(options.batches);
    let mut loads = Times::default();
    let mut results: Results = BTreeMap::new();
    let shows_progress = std::io::stderr().is_terminal();
    for round in 0..options.rounds {
        runners.iter_mut().for_each(Runner::begin_round);
        for (number, series) in chosen.iter().enumerate() {
            if shows_progress {
                eprint!("\rround {} of {}, series {} of {} ", round + 1, options.rounds, number + 1, chosen.len());
            }
            loads.add(stopwatch::load_ns(&mut stopwatch));
            // Turn by turn at each depth, so that other load slows all contenders.
            for &depth in options.depths.iter().filter(|&&depth| series.has_depth(depth)) {
                for runner in &mut runners {
                    runner.run(series, depth, round, options.batches, &mut results)?;
                }
            }
        }
    }
    if shows_progress {
        eprintln!();
    }
    let names: Vec<&str> = runners.iter().map(|runner| runner.name.as_str()).collect();
    for series in &chosen {
        table::print(series, &options.depths, &names, &results);
    }
    goals::print(&results, &loads);
    options.csv.as_ref().map_or(Ok(()), |path| table::write_csv(path, &results))
}
