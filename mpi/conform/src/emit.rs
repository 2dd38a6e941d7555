// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The reproducer: one test program as a single C file for a bug report.
//!
//! The file holds the program as a table, the interpreter of the C runner, and `standalone.c`,
//! which repeats the program and compares its outcome with the permitted outcomes. If these are too
//! many, it compares with the violation that was seen.

mod calls;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::codes::{OperationCode, OperationRecord};
use crate::history::{History, HistoryEvent};
use crate::outcome::Observation;
use crate::program::{Action, Comm, Form, ReceiveSpec, StepId, TestProgram};
use crate::simulate::{Contract, SimulatedLibrary, explore};
use crate::wire;

/// The C files that follow the program's own part, in the order in which they are read.
const SOURCES: [(&str, &str); 12] = [
    ("communicators.h", include_str!("../c/communicators.h")),
    ("interpreter.h", include_str!("../c/interpreter.h")),
    ("layout.h", include_str!("../c/layout.h")),
    ("optional.h", include_str!("../c/optional.h")),
    ("payload.h", include_str!("../c/payload.h")),
    ("records.h", include_str!("../c/records.h")),
    ("standalone.c", include_str!("../c/standalone.c")),
    ("interpreter.c", include_str!("../c/interpreter.c")),
    ("communicators.c", include_str!("../c/communicators.c")),
    ("records.c", include_str!("../c/records.c")),
    ("layout.c", include_str!("../c/layout.c")),
    ("payload.c", include_str!("../c/payload.c")),
];
const CODES: &str = include_str!("../c/codes.h");

/// Most states that are explored for the permitted outcomes.
const MAX_STATES: usize = 100_000;
/// The same for programs with more than [`MANY_STEPS`] steps, most of which have more states anyway.
const MAX_STATES_OF_MANY_STEPS: usize = 4_000;
const MANY_STEPS: usize = 16;
/// Most permitted outcomes that a file lists.
const MAX_LISTED: usize = 64;

/// The outcomes that the reproducer compares with.
struct Listed {
    outcomes: Vec<String>,
    /// Whether these are all permitted outcomes, or the one violation that was seen.
    is_permitted: bool,
    /// Whether an outcome names the step that reported a completion.
    has_locations: bool,
}

/// The content of the head of a reproducer.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The observation and its place.
    pub remarks: &'a [String],
    /// Shell commands that build and run it, one a line; none for those of any MPI.
    pub commands: &'a [String],
}

/// The reproducer of `program` with `about` above it. `observations` are those of each rank when
/// the program failed, `seconds` is the time limit of each round.
#[must_use]
pub fn c_source(program: &TestProgram, about: Head<'_>, observations: &[Vec<Observation>], seconds: u32) -> String {
    let observations: Vec<&[Observation]> = observations.iter().map(Vec::as_slice).collect();
    let history = History::resolve(program, &observations, true).ok();
    let mut file = head(program, about);
    inline("codes.h", CODES, &mut file);
    section("program.h: the test program", &mut file);
    file.push_str(&constants(program, &listed(program, history.as_ref()), seconds));
    for (name, text) in SOURCES {
        inline(name, text, &mut file);
    }
    file
}

/// `texts` as lines of the comment at the head.
fn comment(texts: &[String], indent: &str) -> String {
    // An empty text is an empty line.
    let lines = texts.iter().flat_map(|text| if text.is_empty() { vec![""] } else { text.lines().collect() });
    lines.fold(String::new(), |mut all, line| {
        let line = line.replace("*/", "* /").replace("/*", "/ *");
        let _ = writeln!(all, "{}", format!(" * {indent}{line}").trim_end());
        all
    })
}

fn head(program: &TestProgram, about: Head<'_>) -> String {
    let ranks = program.ranks;
    let remarks = comment(about.remarks, "");
    let of_any_mpi = ["mpicc -pthread -o program program.c".to_owned(), format!("mpirun -n {ranks} ./program")];
    let commands = comment(if about.commands.is_empty() { &of_any_mpi } else { about.commands }, "  ");
    let mut steps = String::new();
    for lane in program.lanes() {
        let (rank, thread) = lane;
        let of = if thread > 0 { format!(", thread {thread}") } else { String::new() };
        let _ = writeln!(steps, " *\n * Rank {rank}{of}:");
        for line in calls::lines(program, lane) {
            let _ = writeln!(steps, " * {line}");
        }
    }
    format!(
        "/* SPDX-License-Identifier: Apache-2.0 OR MIT */\n\
         /* A test program for an MPI library, in one file.\n \
         *\n\
         {remarks} \
         *\n \
         * Build and run; the number of rounds may follow the last command:\n\
         {commands} \
         * Exit status: 0 no violation in any round, 1 a violation, 2 bad input.\n \
         *\n \
         * The calls of each rank follow. The number of a step also identifies the message that it\n \
         * sends or the receive that it posts. The table `rankN` below holds the same steps. After its\n \
         * steps each rank receives all messages that are left, by tests and matched probes, and then\n \
         * cancels its remaining receives (the drain phase). On a correct MPI every round ends.\n\
         {steps} */\n"
    )
}

fn section(title: &str, file: &mut String) {
    let _ = write!(file, "\n/* ==== {title} ==== */\n\n");
}

/// Appends a C source without its licence line, include guard and local includes.
fn inline(name: &str, text: &str, file: &mut String) {
    section(name, file);
    let is_dropped = |line: &&str| {
        ["/* SPDX-", "#ifndef MATCHBENCH", "#define MATCHBENCH", "#include \""]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let text = if text.contains("#ifndef MATCHBENCH") { text.trim_end().trim_end_matches("#endif") } else { text };
    let mut was_empty = true;
    for line in text.lines().filter(|line| !is_dropped(line)) {
        if !(line.is_empty() && was_empty) {
            file.push_str(line);
            file.push('\n');
        }
        was_empty = line.is_empty();
    }
}

/// The test program as C tables.
fn constants(program: &TestProgram, listed: &Listed, seconds: u32) -> String {
    let mut text = format!(
        "#include <stddef.h>\n\n\
         enum {{ RANKS = {}, SECONDS = {seconds}, LONGEST_MESSAGE = {}, SHORT_BUFFER = {} }};\n\
         /* What the program needs of the library: bits 1 << NEED. */\n\
         enum {{ PROGRAM_NEEDS = {} }};\n\n",
        program.ranks,
        wire::longest_message(program),
        ReceiveSpec::SHORT_BUFFER,
        wire::needs(program)
    );
    text.push_str(
        "/* The messages: step, sender and receiver in MPI_COMM_WORLD, communicator, tag, length. */\n\
         typedef struct {\n  int step, from, to, comm, tag, bytes;\n} Message;\n\nstatic const Message message[] = {\n",
    );
    for (step, message) in program.messages() {
        let (id, from, tag, bytes) = (step.id, step.rank, message.tag, message.bytes(step.id));
        let dest = message.dest.unwrap_or_default();
        let _ = writeln!(text, "    {{{id}, {from}, {dest}, {}, {tag}, {bytes}}},", c_name("COMM", message.comm));
    }
    text.push_str("    {0, 0, 0, 0, 0, 0},\n};\n\n");
    for rank in 0..program.ranks {
        text.push_str(&table(program, rank));
    }
    let names: Vec<String> = (0..program.ranks).map(|rank| format!("rank{rank}")).collect();
    let _ = writeln!(text, "static const int *const program[RANKS] = {{{}}};\n", names.join(", "));
    let what = if listed.is_permitted {
        "Every outcome that MPI permits."
    } else {
        "The outcome that was seen; MPI does not permit it."
    };
    let _ = writeln!(text, "/* {what} */\nstatic const char *const listed[] = {{");
    for outcome in &listed.outcomes {
        let _ = writeln!(text, "    \"{outcome}\",");
    }
    let _ = writeln!(
        text,
        "    NULL,\n}};\nenum {{ LISTED_IS_PERMITTED = {}, LISTED_WITH_LOCATION = {} }};",
        u8::from(listed.is_permitted),
        u8::from(listed.has_locations)
    );
    text
}

/// The operations of a rank, one row each; columns as in `OperationRecord`.
fn table(program: &TestProgram, rank: u8) -> String {
    let operations = wire::operations(program, rank);
    let fields = size_of::<OperationRecord>() / size_of::<i32>();
    let words = 2 + operations.iter().map(|(_, arguments)| fields + arguments.len()).sum::<usize>();
    let mut text = format!(
        "static const int rank{rank}[] = {{\n    \
         /* a RankHeader: words, messages, operations */\n    {words}, {}, {},\n    \
         /* an OperationRecord per row: code, step, thread, comm, peer, tag, bytes, layout, partitions, counts,\n     \
         * form, arguments, argument... */\n",
        program.messages_to(rank),
        operations.len()
    );
    for ((operation, arguments), step) in operations.iter().zip(program.of_rank(rank)) {
        let code = OperationCode::from_code(operation.code).map_or_else(String::new, |code| c_name("OP", code));
        let form = match &step.action {
            Action::Probe(_, call) => c_name("CALL", call),
            Action::Complete(call, _) => c_name("CALL", call),
            Action::Send(_, form) | Action::Receive(_, form) | Action::SendReceive(_, _, form) => c_name("FORM", form),
            Action::ReceiveProbed(_, nonblocking) => {
                c_name("FORM", if *nonblocking { Form::Nonblocking } else { Form::Blocking })
            }
            _ => "0".to_owned(),
        };
        let OperationRecord { step: id, thread, comm, peer, tag, bytes, layout, partitions, counts, .. } = *operation;
        let numbers = [id, thread, comm, peer, tag, bytes, layout, partitions, counts];
        let numbers = numbers.map(|number| number.to_string()).join(", ");
        let _ = write!(text, "    {code}, {numbers}, {form}, {}", operation.arguments);
        for argument in arguments {
            let _ = write!(text, ", {argument}");
        }
        text.push_str(",\n");
    }
    text.push_str("};\n\n");
    text
}

/// The C name of a code: `FORM_BLOCKING`.
fn c_name(prefix: &str, value: impl std::fmt::Debug) -> String {
    let mut name = prefix.to_owned();
    for letter in format!("{value:?}").chars() {
        if letter.is_uppercase() {
            name.push('_');
        }
        name.extend(letter.to_uppercase());
    }
    name
}

/// The shortest list that separates what was seen from what is permitted.
fn listed(program: &TestProgram, seen: Option<&History>) -> Listed {
    let library = SimulatedLibrary::of(Contract::Mpi);
    let states = if program.steps.len() > MANY_STEPS { MAX_STATES_OF_MANY_STEPS } else { MAX_STATES };
    let all = explore(program, library, states).ok().flatten();
    let histories: Option<Vec<History>> = all.map(|all| {
        let resolve = |outcome: &Vec<Vec<Observation>>| {
            let observations: Vec<&[Observation]> = outcome.iter().map(Vec::as_slice).collect();
            History::resolve(program, &observations, true).ok()
        };
        all.iter().filter_map(resolve).collect()
    });
    for has_locations in [false, true] {
        let Some(histories) = &histories else { break };
        let permitted: BTreeSet<String> =
            histories.iter().map(|history| text(program, history, has_locations)).collect();
        let is_separated = seen.is_none_or(|seen| !permitted.contains(&text(program, seen, has_locations)));
        if permitted.len() <= MAX_LISTED && (is_separated || has_locations) {
            return Listed { outcomes: permitted.into_iter().collect(), is_permitted: true, has_locations };
        }
    }
    let outcomes = seen.map(|seen| text(program, seen, true)).into_iter().collect();
    Listed { outcomes, is_permitted: false, has_locations: true }
}

/// An outcome as `check_outcome` in `standalone.c` writes it.
fn text(program: &TestProgram, history: &History, has_locations: bool) -> String {
    let mut ranks = Vec::new();
    for (rank, events) in (0..program.ranks).zip(&history.ranks) {
        let mut steps: Vec<(StepId, String)> = Vec::new();
        let mut drained = [const { Vec::new() }; Comm::ALL.len()];
        for &(at, event) in events {
            let location = match program.of_rank(rank).nth(at) {
                _ if !has_locations => String::new(),
                Some(step) => format!(" in step {}", step.id),
                None => " in the drain phase".to_owned(),
            };
            match event {
                HistoryEvent::Received(receive, message) => {
                    steps.push((receive, format!("{receive} received {message}{location}")));
                }
                HistoryEvent::TakenByProbe(probe, message) | HistoryEvent::Found(probe, message) => {
                    steps.push((probe, format!("{probe} found {message}{location}")));
                }
                HistoryEvent::Cancelled(receive) => steps.push((receive, format!("{receive} cancelled"))),
                HistoryEvent::FoundNothing(probe) => steps.push((probe, format!("{probe} found nothing"))),
                HistoryEvent::Drained(comm, message) => drained[comm as usize].push(format!("drained {message}")),
                HistoryEvent::Sent(send) if has_locations && is_request(program, send) => {
                    steps.push((send, format!("{send} sent{location}")));
                }
                HistoryEvent::Sent(_) | HistoryEvent::Irrelevant => {}
            }
        }
        steps.sort();
        let events: Vec<String> =
            steps.into_iter().map(|(_, text)| text).chain(drained.into_iter().flatten()).collect();
        ranks.push(format!("rank {rank}: {}", events.join(", ")));
    }
    ranks.join("; ")
}

fn is_request(program: &TestProgram, send: StepId) -> bool {
    program.step(send).is_some_and(|(_, step)| matches!(&step.action, Action::Send(_, form) if *form != Form::Blocking))
}
