// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contenders' processes: how each is started, and how it is asked for the times of a series.
//!
//! A child reads lines `SERIES DEPTH BATCHES`, and answers each with a line of times behind [`MARK`]; its first line is
//! what it is. The libraries print as they like besides.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use mbmatch::{Options, Structure};

use crate::contenders::{Contender, Direct, Floor, Native, Shim};
use crate::series::{Needs, Series, Stopwatch};
use crate::table::{Results, Times};

/// The first word of a child's arguments; the contender's name follows, and the file of a shim.
pub(crate) const SERVE: &str = "--serve";
/// Begins a line that is ours.
const MARK: &str = "= ";
/// Bytes from one request object to the next in Open MPI's ob1: what a list costs where requests are large.
const LARGE_REQUEST: usize = 768;
/// The name of entries that are found without a search.
const DIRECT: &str = "direct";
/// The name of a list through those.
const LARGE_LIST: &str = "list_768";

/// Sequences that would take longer are left out, and longer ones are repeated less often; nanoseconds.
const TOO_LONG: f64 = 1.5e9;
const SELDOM: f64 = 60e6;
/// How often these are run.
const SELDOM_ROUNDS: u32 = 3;

/// A contender that may be there.
pub(crate) struct Entrant {
    pub(crate) name: String,
    shim: Option<ShimSource>,
}

/// How a shim is made.
#[derive(Clone, Copy)]
struct ShimSource {
    file: &'static str,
    compiler: &'static str,
    /// The package that `pkg-config` knows flags of.
    package: Option<&'static str>,
    environment: &'static [(&'static str, &'static str)],
}

/// The only MPI that has its own matching for messages to oneself and a choice of it is told to take its own.
const OB1: &[(&str, &str)] = &[("OMPI_MCA_pml", "ob1"), ("OMPI_MCA_btl", "self")];

impl Entrant {
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

    /// Starts the contender's process, after having made its shim.
    pub(crate) fn start(&self) -> Result<Runner, String> {
        let mut words: Vec<OsString> = vec![SERVE.into(), self.name.clone().into()];
        let mut environment: &[_] = &[];
        if let Some(shim) = &self.shim {
            words.push(shim.make(&self.name)?.into());
            environment = shim.environment;
        }
        let mut runner = Runner {
            name: self.name.clone(),
            version: String::new(),
            is_native: self.shim.is_none(),
            words,
            environment,
            process: None,
            aged: None,
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
    fn make(&self, name: &str) -> Result<PathBuf, String> {
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

/// What `command` prints.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}", said.lines().next().unwrap_or("failed")))
}

/// A contender that is there.
pub(crate) struct Runner {
    pub(crate) name: String,
    pub(crate) version: String,
    is_native: bool,
    words: Vec<OsString>,
    environment: &'static [(&'static str, &'static str)],
    process: Option<Process>,
    /// The process of the series that want aged objects, once there is one in this round: nothing makes its pools young
    /// again.
    aged: Option<Process>,
    /// What was timed last: a series, its depth, and the nanoseconds of its shortest sequence.
    before: Option<(String, u32, f64)>,
}

impl Runner {
    /// Ends the contender's processes, so that new ones run what follows: where the pages of a process lie in the caches, and
    /// its code among what the processor foresees, is chance, and makes a few per cent.
    pub(crate) fn begin_round(&mut self) {
        (self.process, self.aged) = (None, None);
    }

    /// Has `series` timed at `depth`, and adds the times to `results`. Depths of a series come the smallest first.
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
        let place = if series.aged { &mut self.aged } else { &mut self.process };
        if place.is_none() {
            *place = Some(Process::start(&self.words, self.environment, series.aged)?.0);
        }
        let Some(process) = place else { return Ok(()) };
        let times: &mut Times = results.entry((series.name(), depth, self.name.clone())).or_default();
        let known = times.median().map(|ns| ns * series.items(depth));
        if known.is_none_or(|ns| ns < SELDOM || round < SELDOM_ROUNDS) {
            times.add(process.ask(series, depth, batches).map_err(|error| format!("{}: {error}", self.name))?);
        }
        self.before = times.median().map(|ns| (series.name(), depth, ns * series.items(depth)));
        Ok(())
    }
}

/// A contender's process; it ends when its input does.
struct Process {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// The process, and what it says it is.
    fn start(words: &[OsString], environment: &[(&str, &str)], aged: bool) -> Result<(Self, String), String> {
        let text = |error: std::io::Error| error.to_string();
        let mut command = Command::new(std::env::current_exe().map_err(text)?);
        command.args(words).args(aged.then_some("--aged")).envs(environment.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(text)?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".to_owned());
        };
        let mut process = Self { child, questions, answers: BufReader::new(answers) };
        let version = process.answer()?;
        Ok((process, version))
    }

    fn ask(&mut self, series: &Series, depth: u32, batches: u32) -> Result<Vec<f64>, String> {
        writeln!(self.questions, "{} {depth} {batches}", series.name()).map_err(|error| error.to_string())?;
        let answer = self.answer().map_err(|error| format!("{} at depth {depth}: {error}", series.name()))?;
        answer.split(' ').map(|word| word.parse().map_err(|_| format!("not a time: {word}"))).collect()
    }

    /// The next line that is ours.
    fn answer(&mut self) -> Result<String, String> {
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err(format!("ended: {}", self.child.wait().map_err(|error| error.to_string())?));
            }
            if let Some(answer) = line.strip_prefix(MARK) {
                return Ok(answer.trim_end().to_owned());
            }
        }
    }
}

/// The child: the contender that `words` name answers until its input ends.
pub(crate) fn serve(mut words: impl Iterator<Item = String>) -> Result<(), String> {
    let name = words.next().ok_or("whom to serve?")?;
    let words: Vec<String> = words.collect();
    let aged = words.iter().any(|word| word == "--aged");
    if let Some(path) = words.iter().find(|word| *word != "--aged") {
        let mut shim = Shim::open(path.as_ref())?;
        if aged {
            shim.age();
        }
        let version = shim.version.clone();
        return answer(&version, |series, depth, stopwatch| series.run(&mut shim, depth, stopwatch));
    }
    if name == DIRECT {
        let version = "no search: entries where their tags say, where all are different";
        return answer(version, |series, depth, stopwatch| series.run(&mut Direct::new(), depth, stopwatch));
    }
    if name == "floor" {
        let version = "no matcher: what the sequences cost without one";
        return answer(version, |series, depth, stopwatch| series.run(&mut Floor::new(), depth, stopwatch));
    }
    let mut options = Options::default();
    let (structure, version) = if name == LARGE_LIST {
        options.request_bytes = LARGE_REQUEST;
        (Structure::List, format!("list, with {LARGE_REQUEST} bytes from one request to the next"))
    } else {
        (name.parse::<Structure>().map_err(|error| error.to_string())?, "of this library".to_owned())
    };
    answer(&version, |series, depth, stopwatch| {
        let mut native = Native::new(structure, options);
        if aged {
            native.age();
        }
        series.run(&mut native, depth, stopwatch)
    })
}

fn answer(version: &str, mut run: impl FnMut(&Series, u32, &mut Stopwatch) -> Vec<f64>) -> Result<(), String> {
    println!("{MARK}{version}");
    let mut stopwatch = Stopwatch::new(1);
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let mut words = line.split(' ');
        let mut next = || words.next().ok_or(format!("not a question: {line}"));
        let series = Series::find(next()?).ok_or(format!("no such series: {line}"))?;
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
