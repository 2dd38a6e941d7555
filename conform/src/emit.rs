// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One program as C that stands alone: what a person sends to the people who make the MPI library.
//!
//! It knows which outcomes are allowed, all of them if there are few, and says itself what must not happen.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::history::{Fact, History};
use crate::outcome::News;
use crate::program::{Action, Comm, CompleteCall, Form, Mode, Program, Source, Step, StepId, Wanted};
use crate::simulate::{Library, Order, explore};

const TEMPLATE: &str = include_str!("../c/standalone.c");

/// Most states that are gone through for the allowed outcomes.
const MOST_STATES: usize = 100_000;
/// Most allowed outcomes that a file lists.
const MOST_LISTED: usize = 64;

/// What the program's outcomes are compared with.
struct Listed {
    outcomes: Vec<String>,
    /// Whether these are all that is allowed, or the one that was seen.
    is_allowed: bool,
    /// Whether an outcome tells which step reported a completion.
    has_places: bool,
}

/// The program in C: `remarks` above it, `news` of each rank as it was seen, and a limit for each round.
#[must_use]
pub fn c_source(program: &Program, remarks: &[String], news: &[Vec<News>], seconds: u32) -> String {
    let news: Vec<&[News]> = news.iter().map(Vec::as_slice).collect();
    let history = History::read(program, &news, true).ok();
    let listed = listed(program, history.as_ref());
    let steps = program.steps.iter().map(|step| step.id).max().unwrap_or(0) + 1;
    let lengths = program.messages().map(|(step, message)| message.bulk.bytes(step.id));
    let mut outcomes = String::new();
    let what =
        if listed.is_allowed { "Every outcome that MPI allows." } else { "What was seen, and MPI does not allow." };
    let _ = writeln!(outcomes, "/* {what} */\nstatic const char *const listed[] = {{");
    listed.outcomes.iter().for_each(|outcome| {
        let _ = writeln!(outcomes, "  \"{outcome}\",");
    });
    let _ = write!(outcomes, "  NULL,\n}};\nenum {{ LISTED_IS_ALLOWED = {} }};", u8::from(listed.is_allowed));
    let remarks: String = remarks.iter().flat_map(|remark| remark.lines()).fold(String::new(), |mut all, line| {
        let _ = writeln!(all, " * {}", line.replace("*/", "* /"));
        all
    });
    let (place, value, sent) = if listed.has_places {
        ("@%d", ", operation", "    snprintf(steps[as], sizeof steps[as], \"%d:sent@%d \", as, operation);\n")
    } else {
        ("", "", "    (void)as;\n")
    };
    let functions = functions(program);
    needed(&functions)
        .replace("@REMARKS@", &remarks)
        .replace("@RANKS@", &program.ranks.to_string())
        .replace("@STEPS@", &steps.to_string())
        .replace("@ROOM@", &Wanted::ROOM.to_string())
        .replace("@MOST@", &lengths.max().unwrap_or(0).max(Wanted::ROOM).to_string())
        .replace("@SECONDS@", &seconds.to_string())
        .replace("@MESSAGES@", &messages(program))
        .replace("@OUTCOMES@", &outcomes)
        .replace("@PLACE@", place)
        .replace("@PLACE_VALUE@", value)
        .replace("@SENT@", sent)
        .replace("@PROGRAM@", &functions)
}

/// The template without the helpers, between `@IF name@` and `@END@`, that `functions` do not call.
fn needed(functions: &str) -> String {
    let mut is_needed = true;
    let mut all = String::new();
    for line in TEMPLATE.lines() {
        if let Some(name) = line.strip_prefix("@IF ").and_then(|rest| rest.strip_suffix('@')) {
            is_needed = functions.contains(&format!("{name}("));
        } else if line == "@END@" {
            is_needed = true;
        } else if is_needed {
            all.push_str(line);
            all.push('\n');
        }
    }
    all
}

/// The shortest way to tell what was seen from what is allowed.
fn listed(program: &Program, seen: Option<&History>) -> Listed {
    let library = Library { order: Order::Mpi, rendezvous: false };
    let all = explore(program, library, MOST_STATES).ok().flatten();
    let histories: Option<Vec<History>> = all.map(|all| {
        let read = |news: &Vec<Vec<News>>| {
            let news: Vec<&[News]> = news.iter().map(Vec::as_slice).collect();
            History::read(program, &news, true).ok()
        };
        all.iter().filter_map(read).collect()
    });
    for has_places in [false, true] {
        let Some(histories) = &histories else { break };
        let allowed: BTreeSet<String> = histories.iter().map(|history| text(program, history, has_places)).collect();
        let is_told = seen.is_none_or(|seen| !allowed.contains(&text(program, seen, has_places)));
        if allowed.len() <= MOST_LISTED && (is_told || has_places) {
            return Listed { outcomes: allowed.into_iter().collect(), is_allowed: true, has_places };
        }
    }
    let outcomes = seen.map(|seen| text(program, seen, true)).into_iter().collect();
    Listed { outcomes, is_allowed: false, has_places: true }
}

/// The text that `check` of the C program puts together.
fn text(program: &Program, history: &History, has_places: bool) -> String {
    let mut ranks = Vec::new();
    for (rank, facts) in (0..program.ranks).zip(&history.ranks) {
        let mut steps: Vec<(StepId, String)> = Vec::new();
        let mut left = [const { String::new() }; Comm::ALL.len()];
        for &(at, fact) in facts {
            // Step 0 stands for the end.
            let place = program.of_rank(rank).nth(at).map_or(0, |step| step.id);
            let place = if has_places { format!("@{place}") } else { String::new() };
            match fact {
                Fact::Took(receive, message) => steps.push((receive, format!("{receive}<-{message}{place} "))),
                Fact::Plucked(probe, message) | Fact::Found(probe, message) => {
                    steps.push((probe, format!("{probe}?{message}{place} ")));
                }
                Fact::Cancelled(receive) => steps.push((receive, format!("{receive}:cancelled "))),
                Fact::Missed(probe) => steps.push((probe, format!("{probe}:nothing "))),
                Fact::Drained(comm, message) => {
                    let _ = write!(left[comm as usize], "end<-{message} ");
                }
                Fact::Sent(send) if has_places && is_request(program, send) => {
                    steps.push((send, format!("{send}:sent{place} ")));
                }
                Fact::Sent(_) | Fact::Nothing => {}
            }
        }
        steps.sort();
        ranks.push(steps.into_iter().map(|(_, text)| text).chain(left).collect::<String>());
    }
    ranks.join("| ")
}

fn is_request(program: &Program, send: StepId) -> bool {
    program.step(send).is_some_and(|(_, step)| matches!(&step.action, Action::Send(_, form) if *form != Form::Blocking))
}

fn messages(program: &Program) -> String {
    program.messages().fold(String::new(), |mut all, (step, message)| {
        let (id, from, tag, bytes) = (step.id, step.rank, message.tag, message.bulk.bytes(step.id));
        let dest = message.dest.unwrap_or_default();
        let _ = writeln!(all, "  {{{id}, {from}, {dest}, {}, {tag}, {bytes}}},", message.comm as u8);
        all
    })
}

/// A function for each rank.
fn functions(program: &Program) -> String {
    let mut all = String::new();
    for rank in 0..program.ranks {
        let _ = writeln!(all, "static void rank{rank}(void) {{");
        let buffered: Vec<u32> = program
            .of_rank(rank)
            .filter_map(|step| Some((step.id, step.action.message()?)))
            .filter(|(_, message)| message.mode == Mode::Buffered)
            .map(|(id, message)| message.bulk.bytes(id))
            .collect();
        if !buffered.is_empty() {
            let _ = writeln!(all, "  attach({}, {});", buffered.len(), buffered.iter().sum::<u32>());
        }
        let mut together = Vec::new();
        for step in program.of_rank(rank) {
            if !step.action.is_together() {
                all.push_str(&start_all(&std::mem::take(&mut together)));
            }
            let _ = writeln!(all, "  operation = {};", step.id);
            let nobody = match &step.action {
                Action::Probe(wanted, _) => wanted.source == Source::Null,
                Action::Take(of, _) => is_null(program, *of),
                action => action.wanted().is_some_and(|wanted| wanted.source == Source::Null),
            };
            if nobody {
                let _ = writeln!(all, "  is_null[{}] = 1;", step.id);
            }
            for line in statements(program, step) {
                let _ = writeln!(all, "  {line}");
            }
            if step.action.is_together() {
                together.push(step);
            }
        }
        all.push_str(&start_all(&together));
        let _ = writeln!(all, "}}\n");
    }
    let names: Vec<String> = (0..program.ranks).map(|rank| format!("rank{rank}")).collect();
    let _ = writeln!(all, "static void (*const program[RANKS])(void) = {{{}}};\n", names.join(", "));
    all
}

/// What starts the requests of `steps`, and writes down that they are active.
fn start_all(steps: &[&Step]) -> String {
    let mut all = String::new();
    if steps.is_empty() {
        return all;
    }
    let list: Vec<String> = steps.iter().map(|step| step.id.to_string()).collect();
    let _ = writeln!(all, "  start_all({}, (int[]){{{}}}); /* MPI_Startall */", list.len(), list.join(", "));
    for step in steps {
        let id = step.id;
        let _ = match step.action.wanted() {
            Some(wanted) => writeln!(all, "  started({id}, {id}, {});", wanted.comm as u8),
            None => writeln!(all, "  sending({id});"),
        };
    }
    all
}

fn is_null(program: &Program, probe: StepId) -> bool {
    let step = program.step(probe).map(|(_, step)| &step.action);
    matches!(step, Some(Action::Probe(wanted, _)) if wanted.source == Source::Null)
}

/// A step in C.
fn statements(program: &Program, step: &Step) -> Vec<String> {
    let id = step.id;
    let comm_rank = |comm: Comm, peer: u8| comm.rank_of(peer, program.ranks).to_string();
    let source = |wanted: &Wanted| match wanted.source {
        Source::Any => "MPI_ANY_SOURCE".to_owned(),
        Source::Null => "MPI_PROC_NULL".to_owned(),
        Source::Rank(peer) => comm_rank(wanted.comm, peer),
    };
    let tag = |wanted: &Wanted| wanted.tag.map_or("MPI_ANY_TAG".to_owned(), |tag| tag.to_string());
    let what = |wanted: &Wanted| format!("{}, {}, comm[{}]", source(wanted), tag(wanted), wanted.comm as u8);
    let to = |message: &crate::program::Message| {
        let bytes = message.bulk.bytes(id);
        let dest = message.dest.map_or("MPI_PROC_NULL".to_owned(), |dest| comm_rank(message.comm, dest));
        format!("out({id}, {bytes}), {bytes}, MPI_BYTE, {dest}, {}", message.tag)
    };
    match &step.action {
        Action::Send(message, form) => {
            let letter = message.mode.letter();
            let name = if letter.is_empty() { "Send".to_owned() } else { format!("{}send", letter.to_uppercase()) };
            let arguments = format!("{}, comm[{}]", to(message), message.comm as u8);
            match form {
                Form::Blocking => vec![format!("MPI_{name}({arguments});")],
                Form::Nonblocking => {
                    vec![format!("MPI_I{letter}send({arguments}, &request[{id}]);"), format!("sending({id});")]
                }
                Form::Persistent => vec![
                    format!("MPI_{name}_init({arguments}, &request[{id}]);"),
                    format!("MPI_Start(&request[{id}]);"),
                    format!("sending({id});"),
                ],
                Form::Together => vec![format!("MPI_{name}_init({arguments}, &request[{id}]);")],
            }
        }
        Action::Receive(wanted, form) => {
            let room = if wanted.short { "ROOM" } else { "MOST" };
            let arguments = format!("in({id}), {room}, MPI_BYTE, {}", what(wanted));
            let started = format!("started({id}, {id}, {});", wanted.comm as u8);
            let mut lines = if wanted.short { vec![format!("short_room({id});")] } else { Vec::new() };
            lines.extend(match form {
                Form::Blocking => vec![
                    format!("error = class_of(MPI_Recv({arguments}, &status));"),
                    started,
                    format!("completed({id}, {id});"),
                ],
                Form::Nonblocking => vec![format!("MPI_Irecv({arguments}, &request[{id}]);"), started],
                Form::Persistent => vec![
                    format!("MPI_Recv_init({arguments}, &request[{id}]);"),
                    format!("MPI_Start(&request[{id}]);"),
                    started,
                ],
                Form::Together => vec![format!("MPI_Recv_init({arguments}, &request[{id}]);")],
            });
            lines
        }
        Action::Restart(of) => vec![format!("again({of}, {id}); /* MPI_Cancel if active, then MPI_Start */")],
        Action::SendReceive(message, wanted) => vec![
            format!(
                "MPI_Sendrecv({}, in({id}), MOST, MPI_BYTE, {}, {}, comm[{}], &status);",
                to(message),
                source(wanted),
                tag(wanted),
                wanted.comm as u8
            ),
            format!("started({id}, {id}, {});", wanted.comm as u8),
            format!("completed({id}, {id});"),
        ],
        Action::Probe(wanted, call) => {
            use crate::program::ProbeCall::{Improbe, Iprobe, Mprobe, Probe};
            let what = what(wanted);
            let line = match call {
                Probe => format!("flag = 1, MPI_Probe({what}, &status);"),
                Iprobe => format!("MPI_Iprobe({what}, &flag, &status);"),
                Mprobe => format!("flag = 1, MPI_Mprobe({what}, &handle[{id}], &status);"),
                Improbe => format!("MPI_Improbe({what}, &flag, &handle[{id}], &status);"),
            };
            vec![line, format!("probed({id}, {}, {});", wanted.comm as u8, u8::from(call.takes()))]
        }
        Action::Take(of, nonblocking) => {
            let name = if *nonblocking { "MPI_Imrecv" } else { "MPI_Mrecv" };
            vec![format!("take({of}, {id}, {}); /* {name} */", u8::from(*nonblocking))]
        }
        Action::Cancel(of) => vec![format!("cancel({of}); /* MPI_Cancel, MPI_Wait */")],
        Action::Complete(call, of) => {
            let list: Vec<String> = of.iter().map(ToString::to_string).collect();
            let place = CompleteCall::ALL.iter().position(|other| other == call).unwrap_or_default();
            let name = ["WAIT", "WAITALL", "WAITANY", "WAITSOME", "TEST", "TESTALL", "TESTANY", "TESTSOME"][place];
            vec![format!("complete({name}, {}, (int[]){{{}}}); /* {} */", of.len(), list.join(", "), call.name())]
        }
        Action::Barrier => vec!["MPI_Barrier(control);".to_owned()],
        Action::Pause => vec!["a_little_later();".to_owned()],
    }
}
