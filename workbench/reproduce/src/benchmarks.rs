// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmarks of Tanabe and Ohta and Xiong et al. on any engine: how long a match takes behind
//! a queue, and how long a queue takes to empty.
//!
//! Contract: operations are offered one after the other, each when the one before is answered; what
//! is measured begins when the engine has come to rest, on an edge of its clock. No network, and no
//! processor but that of the engine.
//! Cost: that of the engine, once for each entry; unloading searches once for each entry.

use mb_catalog::EngineChoice;
use mb_core::engine::{Accepted, Completion, ReplayEngine};
use mb_core::{Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId};
use serde::Deserialize;

use crate::error::MeasureError;

/// From whom the messages of a benchmark come. Xiong et al. do not say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sources {
    /// 64 sources in turn.
    InTurn,
    /// 64 sources, the k-th as often as 1/k.
    OneOverRank,
    /// One source.
    Single,
}

impl Sources {
    /// Every distribution, the even one first.
    pub const ALL: [Self; 3] = [Self::InTurn, Self::OneOverRank, Self::Single];

    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InTurn => "64 sources in turn",
            Self::OneOverRank => "64 sources, the k-th as often as 1/k",
            Self::Single => "one source",
        }
    }

    /// In a word, as studies write it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::InTurn => "in-turn",
            Self::OneOverRank => "one-over-rank",
            Self::Single => "single",
        }
    }

    /// The source of message `number`.
    #[must_use]
    pub fn of(self, number: u64) -> Initiator {
        Initiator(match self {
            Self::InTurn => (number % 64) as u32,
            Self::Single => 0,
            Self::OneOverRank => {
                // Multiples of the golden ratio fill the shares evenly.
                let shares = || (1..=64).map(|rank| 1.0 / f64::from(rank));
                let mut place = (number as f64 * 0.618_033_988_749_895).fract() * shares().sum::<f64>();
                let passed = shares().take_while(|share| {
                    place -= share;
                    place >= 0.0
                });
                passed.count().min(63) as u32
            }
        })
    }

    /// The envelope of message `number`, with a tag of its own.
    fn envelope(self, number: u64) -> Envelope {
        Envelope { bits: number, initiator: self.of(number) }
    }

    /// A receive of message `number`.
    pub(crate) fn post(self, number: u64) -> Op {
        Op::Post { recv: RecvId(number), pattern: Pattern::exactly(self.envelope(number)) }
    }

    /// The arrival of message `number`.
    pub(crate) fn arrive(self, number: u64) -> Op {
        Op::Arrive { msg: MsgId(number), envelope: self.envelope(number) }
    }
}

/// A whole number of cycles of every clock of whole or tenth megahertz, and longer than anything
/// after an answer.
const PAUSE: u64 = 1_000_000_000;

/// An engine, and the time of its last answer.
pub(crate) struct EngineRun {
    pub(crate) engine: Box<dyn ReplayEngine>,
    pub(crate) now: Picos,
}

impl EngineRun {
    pub(crate) fn new(engine: Box<dyn ReplayEngine>) -> Self {
        Self { engine, now: Picos::ZERO }
    }

    /// Offers `op` at the time of the last answer; its answer and how long it took.
    pub(crate) fn serve(&mut self, op: Op) -> Result<(Completion, Picos), MeasureError> {
        if self.engine.offer(self.now, op) != Accepted::Yes {
            return Err(MeasureError::NotSeen("an idle engine that takes an operation"));
        }
        let mut done = Vec::new();
        self.engine.settle(&mut done);
        if done.is_empty() {
            while let Some(event) = self.engine.next_event() {
                self.engine.run_until(event, &mut done);
            }
        }
        let completion = *done.first().ok_or(MeasureError::NotSeen("the answer"))?;
        let took = completion.at - self.now;
        self.now = completion.at;
        Ok((completion, took))
    }

    /// Lets the engine come to rest, and time to an edge of its clock.
    pub(crate) fn pause(&mut self) {
        self.now = Picos((self.now.0 / PAUSE + 2) * PAUSE);
    }
}

/// How long the last of `length` posted receives takes to be matched (xiong2018 section IV-B,
/// figure 4).
///
/// # Errors
/// When the engine refuses or does not answer.
pub fn preposted(engine: Box<dyn ReplayEngine>, length: u64, sources: Sources) -> Result<Picos, MeasureError> {
    let mut run = EngineRun::new(engine);
    for number in 1..=length {
        run.serve(sources.post(number))?;
    }
    run.pause();
    Ok(run.serve(sources.arrive(length))?.1)
}

/// How long a receive takes that finds the last of `length` unexpected messages (tanabe2013 section
/// 4.1, figure 4).
///
/// # Errors
/// As [`preposted`].
pub fn unexpected(engine: Box<dyn ReplayEngine>, length: u64, sources: Sources) -> Result<Picos, MeasureError> {
    let mut run = EngineRun::new(engine);
    for number in 1..=length {
        run.serve(sources.arrive(number))?;
    }
    run.pause();
    Ok(run.serve(sources.post(length))?.1)
}

/// How long it takes to match `length` posted receives, the last first (xiong2018 section IV-B,
/// figure 5).
///
/// # Errors
/// As [`preposted`]; and when a receive is left.
pub fn unloading(engine: Box<dyn ReplayEngine>, length: u64, sources: Sources) -> Result<Picos, MeasureError> {
    let mut run = EngineRun::new(engine);
    for number in 1..=length {
        run.serve(sources.post(number))?;
    }
    run.pause();
    let start = run.now;
    for number in (1..=length).rev() {
        run.serve(sources.arrive(number))?;
    }
    if run.engine.queue_lengths() != mb_core::QueueLengths::default() {
        return Err(MeasureError::NotSeen("the empty queue"));
    }
    Ok(run.now - start)
}

/// A benchmark with what is drawn of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    /// [`preposted`], messages from these.
    Preposted(Sources),
    /// [`unexpected`], messages from these.
    Unexpected(Sources),
    /// [`unloading`], messages from these.
    Unloading(Sources),
}

impl Benchmark {
    /// Those of the tables.
    pub const ALL: [Self; 5] = [
        Self::Preposted(Sources::Single),
        Self::Unexpected(Sources::Single),
        Self::Unloading(Sources::InTurn),
        Self::Unloading(Sources::OneOverRank),
        Self::Unloading(Sources::Single),
    ];

    /// Entries of the queue: the sizes of the ALPU and of Xiong et al.'s CAM and one more, and
    /// where the papers read their figures.
    #[must_use]
    pub const fn lengths(self) -> &'static [u64] {
        match self {
            Self::Preposted(_) | Self::Unexpected(_) => &[1, 128, 129, 256, 257, 600, 1000],
            Self::Unloading(_) => &[64, 256, 500, 1000, 10_000],
        }
    }

    /// Its name and that of its sources, as studies write them.
    #[must_use]
    pub fn key(self) -> String {
        let (name, sources) = match self {
            Self::Preposted(sources) => ("preposted", sources),
            Self::Unexpected(sources) => ("unexpected", sources),
            Self::Unloading(sources) => ("unloading", sources),
        };
        format!("{name} {}", sources.key())
    }

    /// The one of this [`Benchmark::key`].
    #[must_use]
    pub fn find(key: &str) -> Option<Self> {
        let kinds = [Self::Preposted, Self::Unexpected, Self::Unloading];
        let mut all = kinds.iter().flat_map(|kind| Sources::ALL.map(kind));
        all.find(|benchmark| benchmark.key() == key)
    }

    /// In words.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Preposted(sources) => format!("The last of the posted receives is matched: {}", sources.as_str()),
            Self::Unexpected(sources) => {
                format!("The last of the unexpected messages is received: {}", sources.as_str())
            }
            Self::Unloading(sources) => format!("Posted receives are matched, the last first: {}", sources.as_str()),
        }
    }

    /// Entries from the head of the queue to the one that matches, that one included, of all
    /// matches together.
    #[must_use]
    pub const fn traversed(self, length: u64) -> u64 {
        match self {
            Self::Preposted(_) | Self::Unexpected(_) => length,
            Self::Unloading(_) => length * (length + 1) / 2,
        }
    }

    /// How long it takes on `engine`.
    ///
    /// # Errors
    /// As the function of the benchmark.
    pub fn run(self, engine: Box<dyn ReplayEngine>, length: u64) -> Result<Picos, MeasureError> {
        match self {
            Self::Preposted(sources) => preposted(engine, length, sources),
            Self::Unexpected(sources) => unexpected(engine, length, sources),
            Self::Unloading(sources) => unloading(engine, length, sources),
        }
    }

    /// A table in Markdown: a row for each of the engines, a column for every length, in
    /// microseconds. Processors that execute each instruction are left out where they would
    /// traverse more than a million entries.
    ///
    /// # Errors
    /// As [`Benchmark::run`].
    pub fn table(self, engines: &[EngineChoice]) -> Result<String, MeasureError> {
        let columns: Vec<_> = self.lengths().iter().map(u64::to_string).collect();
        let left_out = |choice: &EngineChoice, length: u64| {
            STEPPED.contains(&choice.entry.card.name) && self.traversed(length) > STEPPED_ENTRIES
        };
        let mut lines = vec![row("engine", &columns), row("---", &vec!["---:".to_owned(); columns.len()])];
        for choice in engines {
            let times = self.lengths().iter().map(|length| {
                if left_out(choice, *length) {
                    return Ok("-".to_owned());
                }
                let time = self.run(choice.build()?, *length)?;
                Ok::<_, MeasureError>(format!("{:.3}", time.as_ns() / 1e3))
            });
            lines.push(row(&format!("`{}`", choice.spec()), &times.collect::<Result<Vec<_>, _>>()?));
        }
        Ok(lines.concat())
    }
}

/// Engines whose every instruction is executed.
const STEPPED: [&str; 3] = ["list_ooo", "list_mt", "netproc"];
/// How many entries these traverse at most for a cell of a table.
const STEPPED_ENTRIES: u64 = 1_000_000;

/// Every engine but those whose times are measured on this host: the designs of the figures of
/// Tanabe and Ohta and Xiong et al., and of the others the default, or what takes time.
///
/// # Errors
/// When a preset cannot be read.
pub fn compared() -> Result<Vec<EngineChoice>, MeasureError> {
    const SPECS: &[&str] = &[
        "ideal:hemmert2007_stated",
        "match_unit:mpi",
        "list_ooo:hemmert2007",
        "list_mt:mt16",
        "netproc:smt8",
        "moped:gu2011",
        "moped:gu2011_256",
        "lhs:dimmnet2",
        "lhs:dimmnet3",
        "lhs:undivided",
        "lhs:ipush",
        "lhs:multicore",
        "alpu:tanabe2013",
        "alpu:xiong2018",
        "cam_list:two_level",
        "cam_list:p2l4",
        "cam_list:p2l64",
        "hash_buckets:xiong2018",
        "hash_buckets:flajslik",
        "hash_buckets:openmpi",
        "hash_buckets:ucx",
        "linear:qsnet2",
        "linear:bgp",
        "linear:dimmnet2",
        "linear:dimmnet2_lhs",
    ];
    SPECS.iter().map(|spec| Ok(mb_catalog::find(spec)?)).collect()
}

fn row(head: &str, cells: &[String]) -> String {
    format!("| {head} | {} |\n", cells.join(" | "))
}
