// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The processes of the contenders.
//!
//! A child first prints a line with its version. It then reads requests, lines `SERIES DEPTH
//! BATCHES`, and replies to each with a line of times. Its lines begin with [`MARK`]; others are
//! output of the libraries and are ignored.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use mbmatch::{Options, Structure};

use crate::contenders::{Contender, Direct, Floor, Native, Shim};
use crate::series::{Needs, Series};
use crate::stopwatch::Stopwatch;
use crate::table::{Results, Times};

/// First argument of a child. The name of the contender follows, and the file of a shim.
pub(crate) const SERVE: &str = "--serve";
/// Argument of a child that fragments its pools first.
const FRAGMENTED: &str = "--fragmented";
/// Prefix of the lines of this protocol.
const MARK: &str = "= ";
/// Bytes from one request object to the next in Open MPI's ob1.
const LARGE_REQUEST: usize = 768;
/// The direct-mapped table.
const DIRECT: &str = "direct";
/// A list through request objects of that size.
const LARGE_LIST: &str = "list_768";

/// Sequences that would take longer are skipped; nanoseconds.
const TOO_LONG: f64 = 1.5e9;
/// Sequences that take longer are timed in the first rounds only; nanoseconds.
const LONG: f64 = 60e6;
const LONG_ROUNDS: u32 = 3;

/// A contender that may be available on this host.
pub(crate) struct Candidate {
    pub(crate) name: String,
    shim: Option<ShimSource>,
}

/// How a shim is built.
#[derive(Clone, Copy)]
struct ShimSource {
    file: &'static str,
    compiler: &'static str,
    /// The `pkg-config` package of the library.
    package: Option<&'static str>,
    environment: &'static [(&'static str, &'static str)],
}

/// Selects Open MPI's own matching (`ob1`) for messages to oneself.
const OB1: &[(&str, &str)] = &[("OMPI_MCA_pml", "ob1"), ("OMPI_MCA_btl", "self")];

impl Candidate {
    pub(crate) fn all() -> Vec<Self> {
        let own = ["floor", DIRECT, "list", LARGE_LIST].map(str::to_owned).into_iter();
        let others = Structure::ALL.iter().map(|structure| structure.name().to_owned()).filter(|name| name != "list");
        let mut all: Vec<Self> = own.chain(others).map(|name| Self { name, shim: None }).collect();
        let shim = |file, compiler, package, environment| Some(ShimSource { file, compiler, package, environment });
        for (name, shim) in [
            ("ucx", shim("ucx.c", "cc", Some("ucx"), &[])),
            ("openmpi", shim("mpi.c", "mpicc.openmpi", None, OB1)),
            ("mpich", shim("mpi.c", "mpicc.mpich", None, &[])),
        ] {
            all.push(Self { name: name.to_owned(), shim });
        }
        all
    }

    /// Builds the shim and starts the process of the contender.
    pub(crate) fn start(&self) -> Result<Runner, String> {
        let mut words: Vec<OsString> = vec![SERVE.into(), self.name.clone().into()];
        let mut environment: &[_] = &[];
        if let Some(shim) = &self.shim {
            words.push(shim.build(&self.name)?.into());
            environment = shim.environment;
        }
        let mut runner = Runner {
            name: self.name.clone(),
            version: String::new(),
            is_native: self.shim.is_none(),
            words,
            environment,
            process: None,
            fragmented: None,
            before: None,
        };
        runner.version = Process::start(&runner.words, environment, false).map(|(process, version)| {
            runner.process = Some(process);
            version
        })?;
        Ok(runner)
    }
}

impl ShimSource {
    fn build(&self, name: &str) -> Result<PathBuf, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/compare/shims");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shim_{name}.so"));
        let flags = match self.package {
            Some(package) => run(Command::new("pkg-config").args(["--cflags", "--libs", package]))?,
            None => String::new(),
        };
        let mut command = Command::new(self.compiler);
        command.args(["-O2", "-std=c11", "-shared", "-fPIC", "-o"]).arg(&library).arg(folder.join(self.file));
        run(command.args(flags.split_whitespace()))?;
        Ok(library)
    }
}

/// The output of `command`.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}", stderr.lines().next().unwrap_or("failed")))
}

/// An available contender.
pub(crate) struct Runner {
    pub(crate) name: String,
    pub(crate) version: String,
    is_native: bool,
    words: Vec<OsString>,
    environment: &'static [(&'static str, &'static str)],
    process: Option<Process>,
    /// The process of the series with fragmented pools. It is not used for others, since nothing
    /// undoes the fragmentation.
    fragmented: Option<Process>,
    /// The last sequence that was timed: series, depth and nanoseconds.
    before: Option<(String, u32, f64)>,
}

impl Runner {
    /// Ends the processes, so that each round has new ones: the placement of pages in the caches
    /// and of branches in the predictor is random for each process, and changes times by a few per
    /// cent.
    pub(crate) fn begin_round(&mut self) {
        (self.process, self.fragmented) = (None, None);
    }

    /// Times `series` at `depth` and adds the times to `results`. The depths of a series come in
    /// ascending order.
    pub(crate) fn run(
        &mut self,
        series: &'static Series,
        depth: u32,
        round: u32,
        batches: u32,
        results: &mut Results,
    ) -> Result<(), String> {
        if series.needs != Needs::Mpi && !self.is_native {
            return Ok(());
        }
        if self.name == DIRECT && !series.is_distinct() {
            return Ok(());
        }
        let before = self.before.as_ref().filter(|(name, shallow, _)| *name == series.name() && *shallow < depth);
        if before.is_some_and(|(_, shallow, ns)| ns * series.growth(*shallow, depth) > TOO_LONG) {
            return Ok(());
        }
        let process = if series.fragmented { &mut self.fragmented } else { &mut self.process };
        if process.is_none() {
            *process = Some(Process::start(&self.words, self.environment, series.fragmented)?.0);
        }
        let Some(process) = process else { return Ok(()) };
        let times: &mut Times = results.entry((series.name(), depth, self.name.clone())).or_default();
        let known = times.median().map(|ns| ns * series.items(depth));
        if known.is_none_or(|ns| ns < LONG || round < LONG_ROUNDS) {
            times.add(process.ask(series, depth, batches).map_err(|error| format!("{}: {error}", self.name))?);
        }
        self.before = times.median().map(|ns| (series.name(), depth, ns * series.items(depth)));
        Ok(())
    }
}

/// The process of a contender; it ends when its input does.
struct Process {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a process; returns it and its version line.
    fn start(words: &[OsString], environment: &[(&str, &str)], fragmented: bool) -> Result<(Self, String), String> {
        let text = |error: std::io::Error| error.to_string();
        let mut command = Command::new(std::env::current_exe().map_err(text)?);
        command.args(words).args(fragmented.then_some(FRAGMENTED)).envs(environment.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(text)?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".to_owned());
        };
        let mut process = Self { child, requests, replies: BufReader::new(replies) };
        let version = process.reply()?;
        Ok((process, version))
    }

    fn ask(&mut self, series: &Series, depth: u32, batches: u32) -> Result<Vec<f64>, String> {
        writeln!(self.requests, "{} {depth} {batches}", series.name()).map_err(|error| error.to_string())?;
        let reply = self.reply().map_err(|error| format!("{} at depth {depth}: {error}", series.name()))?;
        reply.split(' ').map(|word| word.parse().map_err(|_| format!("not a time: {word}"))).collect()
    }

    /// The next line of the protocol.
    fn reply(&mut self) -> Result<String, String> {
        loop {
            let mut line = String::new();
            if self.replies.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err(format!("ended: {}", self.child.wait().map_err(|error| error.to_string())?));
            }
            if let Some(reply) = line.strip_prefix(MARK) {
                return Ok(reply.trim_end().to_owned());
            }
        }
    }
}

/// The child: replies to requests until its input ends.
pub(crate) fn serve(mut words: impl Iterator<Item = String>) -> Result<(), String> {
    let name = words.next().ok_or("no contender named; expected its name after --serve")?;
    let words: Vec<String> = words.collect();
    let fragmented = words.iter().any(|word| word == FRAGMENTED);
    if let Some(path) = words.iter().find(|word| *word != FRAGMENTED) {
        let mut shim = Shim::open(path.as_ref())?;
        if fragmented {
            shim.fragment();
        }
        let version = shim.version.clone();
        return reply(&version, |series, depth, stopwatch| series.run(&mut shim, depth, stopwatch));
    }
    if name == DIRECT {
        let version = "direct-mapped table: no search, distinct tags only";
        return reply(version, |series, depth, stopwatch| series.run(&mut Direct::new(), depth, stopwatch));
    }
    if name == "floor" {
        let version = "no matcher: the sequences alone";
        return reply(version, |series, depth, stopwatch| series.run(&mut Floor::new(), depth, stopwatch));
    }
    let mut options = Options::default();
    let (structure, version) = if name == LARGE_LIST {
        options.request_bytes = LARGE_REQUEST;
        (Structure::List, format!("list, with {LARGE_REQUEST} bytes from one request to the next"))
    } else {
        (name.parse::<Structure>().map_err(|error| error.to_string())?, "mbmatch".to_owned())
    };
    reply(&version, |series, depth, stopwatch| {
        let mut native = Native::new(structure, options);
        if fragmented {
            native.fragment();
        }
        series.run(&mut native, depth, stopwatch)
    })
}

fn reply(version: &str, mut run: impl FnMut(&Series, u32, &mut Stopwatch) -> Vec<f64>) -> Result<(), String> {
    println!("{MARK}{version}");
    let mut stopwatch = Stopwatch::new(1);
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let mut words = line.split(' ');
        let mut next = || words.next().ok_or(format!("not a request: {line}"));
        let series = Series::find(next()?).ok_or(format!("unknown series: {line}"))?;
        let mut number = || next()?.parse().map_err(|_| format!("not a number: {line}"));
        let depth = number()?;
        stopwatch.batches = number()?;
        let mut times = String::new();
        for time in run(series, depth, &mut stopwatch) {
            let separator = if times.is_empty() { "" } else { " " };
            write!(times, "{separator}{time:.4}").map_err(|error| error.to_string())?;
        }
        println!("{MARK}{times}");
    }
    Ok(())
}
