// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random operations by the thousand million: every engine on the streams of `mb_testkit::streams::nth`, its presets in
//! turn, each outcome judged by the oracle.
//!
//! `operations [--state FILE] [--minutes N] [--operations N] [--hours N] [ENGINE...]` continues after the streams that
//! the state file counts, for `--minutes` on every processor, with the engines that have fewer than `--operations`
//! operations and fewer than `--hours` hours of processor time. Each line of the file is
//! `engine streams operations seconds`: streams that passed, one after the other from stream 0 on.
//! A stream that fails is not counted: the next run begins with it. The last line is `to be continued` when an engine has
//! less than enough. The exit status is 1 when a stream failed, 2 for wrong arguments or a state file that is damaged or
//! in use.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its table is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it has a limit of time")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use mb_catalog::{ENGINES, EngineChoice, all, find};
use mb_testkit::streams::judge_nth;

/// Seconds of processor time until a count is written.
const SLICE: f64 = 10.0;

/// What an engine has passed.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Count {
    streams: u64,
    operations: u64,
    seconds: f64,
}

impl Count {
    fn add(&mut self, more: Self) {
        self.streams += more.streams;
        self.operations += more.operations;
        self.seconds += more.seconds;
    }

    /// Whether `count` needs no more to be this.
    fn has(self, count: Self) -> bool {
        count.operations >= self.operations || count.seconds >= self.seconds
    }

    /// The part of this that `count` has.
    fn part(self, count: Self) -> f64 {
        (count.operations as f64 / self.operations as f64).max(count.seconds / self.seconds)
    }
}

struct Arguments {
    state: String,
    minutes: f64,
    /// No engine needs more.
    enough: Count,
    engines: Vec<String>,
}

impl Arguments {
    fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            state: "out/operations.txt".to_owned(),
            minutes: 50.0,
            enough: Count { streams: u64::MAX, operations: 1_000_000_000, seconds: 24.0 * 3600.0 },
            engines: Vec::new(),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                arguments.engines.push(word);
                continue;
            }
            let value = words.next().unwrap_or_default();
            let number = value.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            let number = number.ok_or_else(|| format!("{word}: found `{value}`, expected a number from 0 on"));
            match word.as_str() {
                "--state" => arguments.state = value,
                "--minutes" => arguments.minutes = number?,
                "--operations" => arguments.enough.operations = number? as u64,
                "--hours" => arguments.enough.seconds = number? * 3600.0,
                _ => return Err(format!("found `{word}`, expected --state, --minutes, --operations or --hours")),
            }
        }
        Ok(arguments)
    }
}

/// An engine and the presets that take turns.
struct Subject {
    name: String,
    presets: Vec<EngineChoice>,
}

/// The engines of `names`, or all: `engine` with the presets that keep MPI's order, `engine:preset` with this one.
fn subjects(names: &[String]) -> Result<Vec<Subject>, String> {
    let kept = all().map_err(|error| error.to_string())?;
    let every: Vec<String> = ENGINES.iter().map(|entry| entry.card.name.to_owned()).collect();
    let subject = |name: &String| {
        let choice = find(name).map_err(|error| error.to_string())?;
        let presets = if name.contains(':') {
            vec![choice]
        } else {
            kept.iter().filter(|kept| kept.entry.card.name == name).cloned().collect()
        };
        Ok(Subject { name: name.clone(), presets })
    };
    (if names.is_empty() { &every } else { names }).iter().map(subject).collect()
}

/// The counts of a state file.
fn counts(text: &str) -> Result<BTreeMap<String, Count>, String> {
    let mut counts = BTreeMap::<String, Count>::new();
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = || format!("line {number}: found `{line}`, expected `engine streams operations seconds`");
        let [name, streams, operations, seconds] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(wrong());
        };
        let count = (|| {
            let (streams, operations) = (streams.parse().ok()?, operations.parse().ok()?);
            Some(Count { streams, operations, seconds: seconds.parse().ok()? })
        })();
        counts.entry(name.to_owned()).or_default().add(count.ok_or_else(wrong)?);
    }
    Ok(counts)
}

/// Processor time of this thread, in seconds.
fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts the time of threads");
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.expect("the first number is nanoseconds") / 1e9
}

/// Judges streams from `first` on until one fails, there are `left`, or `is_over`; the processor time is at most
/// [`SLICE`] and that of a stream.
fn slice(subject: &Subject, first: u64, left: Count, is_over: impl Fn() -> bool) -> (Count, Option<String>) {
    let builders: Vec<_> =
        subject.presets.iter().map(|choice| choice.builder().expect("its preset is in the catalog")).collect();
    let (start, mut done) = (processor_seconds(), Count::default());
    loop {
        let number = first + done.streams;
        let which = number as usize % builders.len();
        match judge_nth(&|| builders[which].build(), number) {
            Ok(operations) => done.add(Count { streams: 1, operations: operations as u64, seconds: 0.0 }),
            Err(error) => {
                done.seconds = processor_seconds() - start;
                return (done, Some(format!("{}: {error}", subject.presets[which].spec())));
            }
        }
        if done.streams.is_multiple_of(8) || done.operations >= left.operations {
            done.seconds = processor_seconds() - start;
            if done.operations >= left.operations || done.seconds >= left.seconds.min(SLICE) || is_over() {
                return (done, None);
            }
        }
    }
}

/// What the threads share.
struct Shared {
    counts: BTreeMap<String, Count>,
    /// Subjects of which no thread has a slice, the next one first.
    waiting: Vec<usize>,
    /// Objections, by subject.
    wrong: BTreeMap<usize, String>,
    state: File,
}

/// The subjects, those first that have the smallest part of `enough`: short runs, too, reach every engine.
fn in_turn(subjects: &[Subject], counts: &BTreeMap<String, Count>, enough: Count) -> Vec<usize> {
    let part = |which: usize| enough.part(counts.get(&subjects[which].name).copied().unwrap_or_default());
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    order.sort_by(|&one, &other| part(one).total_cmp(&part(other)));
    order
}

/// Runs slices of all subjects, in turn on every processor, until each has enough, has failed, or the time is over.
fn run(subjects: &[Subject], arguments: &Arguments, counts: BTreeMap<String, Count>, state: File) -> Shared {
    let end = Instant::now() + Duration::from_secs_f64(arguments.minutes * 60.0);
    let enough = arguments.enough;
    let is_over = || Instant::now() >= end;
    let waiting = in_turn(subjects, &counts, enough);
    let shared = Mutex::new(Shared { counts, waiting, wrong: BTreeMap::new(), state });
    let lock = || shared.lock().expect("no thread panics with the lock");
    let work = || {
        while !is_over() {
            let (which, count) = {
                let mut shared = lock();
                if shared.waiting.is_empty() {
                    return;
                }
                let which = shared.waiting.remove(0);
                (which, shared.counts.get(&subjects[which].name).copied().unwrap_or_default())
            };
            if enough.has(count) {
                continue;
            }
            let left = Count {
                streams: 0,
                operations: enough.operations - count.operations,
                seconds: enough.seconds - count.seconds,
            };
            let (done, objection) = slice(&subjects[which], count.streams, left, is_over);
            let name = &subjects[which].name;
            let mut shared = lock();
            let line = format!("{name} {} {} {:.3}\n", done.streams, done.operations, done.seconds);
            shared.state.write_all(line.as_bytes()).expect("the state file can be written");
            shared.counts.entry(name.clone()).or_default().add(done);
            match objection {
                Some(objection) => drop(shared.wrong.insert(which, objection)),
                None => shared.waiting.push(which),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    shared.into_inner().expect("no thread panics with the lock")
}

fn table(subjects: &[Subject], shared: &Shared, enough: Count) -> String {
    let mut text = format!("{:<28} {:>14} {:>9} {:>7} {:>6}\n", "engine", "operations", "streams", "hours", "wrong");
    let mut is_done = true;
    for (which, subject) in subjects.iter().enumerate() {
        let count = shared.counts.get(&subject.name).copied().unwrap_or_default();
        let (hours, wrong) = (count.seconds / 3600.0, u8::from(shared.wrong.contains_key(&which)));
        let name = &subject.name;
        let (operations, streams) = (count.operations, count.streams);
        let _ = writeln!(text, "{name:<28} {operations:>14} {streams:>9} {hours:>7.2} {wrong:>6}");
        is_done &= enough.has(count);
    }
    if !is_done {
        text.push_str("to be continued\n");
    }
    text
}

/// Runs as the arguments say; returns the table and the objections.
fn operations(words: impl IntoIterator<Item = String>) -> Result<(String, Vec<String>), String> {
    let arguments = Arguments::read(words)?;
    let subjects = subjects(&arguments.engines)?;
    let place = |error: &dyn ToString| format!("{}: {}", arguments.state, error.to_string());
    let mut state =
        File::options().read(true).append(true).create(true).open(&arguments.state).map_err(|error| place(&error))?;
    state.try_lock().map_err(|_| place(&"another run uses it; wait for its end"))?;
    let mut text = String::new();
    state.read_to_string(&mut text).map_err(|error| place(&error))?;
    let before = counts(&text).map_err(|error| place(&error))?;
    let shared = run(&subjects, &arguments, before, state);
    Ok((table(&subjects, &shared, arguments.enough), shared.wrong.into_values().collect()))
}

fn main() -> ExitCode {
    match operations(std::env::args().skip(1)) {
        Ok((table, wrong)) => {
            for objection in &wrong {
                println!("{objection}\n");
            }
            print!("{table}");
            ExitCode::from(u8::from(!wrong.is_empty()))
        }
        Err(error) => {
            eprintln!("operations: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Runs on a state file of its own, which it returns.
    fn on(state: &str, rest: &str) -> (Result<(String, Vec<String>), String>, String) {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("operations-{}-{number}", std::process::id()));
        fs::write(&path, state).unwrap();
        let words = ["--state", path.to_str().unwrap()].into_iter().chain(rest.split(' '));
        let result = operations(words.map(str::to_owned));
        let after = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        (result, after)
    }

    #[test]
    fn a_design_that_breaks_the_order_is_found_and_the_next_run_begins_with_its_stream() {
        let (result, state) = on("", "--operations 100000 cam_list:paper_literal");
        let (table, wrong) = result.unwrap();
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].starts_with("cam_list:paper_literal: stream "), "{wrong:?}");
        assert!(wrong[0].contains("the engine says `") || wrong[0].contains("the engine's lists have "), "{wrong:?}");
        assert!(table.lines().nth(1).unwrap().ends_with(" 1"), "{table}");
        let (again, after) = on(&state, "--operations 100000 cam_list:paper_literal");
        assert_eq!(again.unwrap().1, wrong);
        let streams = |state: &str| counts(state).unwrap()["cam_list:paper_literal"].streams;
        assert_eq!(streams(&after), streams(&state));
    }

    #[test]
    fn an_engine_runs_up_to_its_number_of_operations_and_not_again() {
        let (result, state) = on("linear 5 1000 0.5\n", "--operations 20000 linear");
        let (table, wrong) = result.unwrap();
        assert_eq!(wrong, <[String; 0]>::default());
        let count = counts(&state).unwrap()["linear"];
        assert!((20_000..20_400).contains(&count.operations) && count.seconds > 0.5, "{count:?}");
        assert!(table.contains(&format!(" {} ", count.operations)) && !table.contains("continued"), "{table}");
        let (_, after) = on(&state, "--operations 20000 linear");
        assert_eq!(after, state);
        let (later, _) = on(&state, "--minutes 0 --operations 30000 linear");
        assert!(later.unwrap().0.ends_with("\nto be continued\n"));
    }

    #[test]
    fn a_run_continues_with_the_engine_that_has_least() {
        let subjects = subjects(&["alpu".to_owned(), "ideal".to_owned(), "linear".to_owned()]).unwrap();
        let counts = counts("alpu 9 1000 5\nlinear 9 10 50\n").unwrap();
        let enough = Count { streams: u64::MAX, operations: 10_000, seconds: 1000.0 };
        assert_eq!(in_turn(&subjects, &counts, enough), [1, 2, 0]);
    }

    #[test]
    fn a_damaged_state_a_wrong_option_and_an_unknown_engine_are_refused() {
        let (damaged, _) = on("linear 5 x 0.5\n", "linear");
        let error = damaged.unwrap_err();
        let expected = "line 1: found `linear 5 x 0.5`, expected `engine streams operations seconds`";
        assert!(error.ends_with(expected), "{error}");
        let option = on("", "--minutes -1").0.unwrap_err();
        assert_eq!(option, "--minutes: found `-1`, expected a number from 0 on");
        assert!(on("", "lineer").0.unwrap_err().starts_with("unknown engine `lineer`"));
    }
}
