// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The steps of a test program as MPI calls, for a reader.

use crate::program::{Action, Comm, Form, Message, ProbeCall, ReceiveSpec, Source, Step, StepId, TestProgram};

/// The calls of `rank`, one line each, beginning with the number of the step.
pub(super) fn lines(program: &TestProgram, rank: u8) -> Vec<String> {
    let mut lines = Vec::new();
    let mut together: Vec<StepId> = Vec::new();
    for step in program.of_rank(rank) {
        if !step.action.is_together() {
            lines.extend(startall(&mut together));
        }
        lines.push(format!("{:>4}: {};", step.id, calls(program, step)));
        if step.action.is_together() {
            together.push(step.id);
        }
    }
    lines.extend(startall(&mut together));
    lines
}

fn startall(together: &mut Vec<StepId>) -> Option<String> {
    let requests: Vec<String> = together.drain(..).map(|id| format!("request{id}")).collect();
    (!requests.is_empty()).then(|| format!("      MPI_Startall({}, {{{}}});", requests.len(), requests.join(", ")))
}

fn calls(program: &TestProgram, step: &Step) -> String {
    let id = step.id;
    let source = |spec: &ReceiveSpec| match spec.source {
        Source::Any => "MPI_ANY_SOURCE".to_owned(),
        Source::Null => "MPI_PROC_NULL".to_owned(),
        Source::Rank(peer) => spec.comm.rank_of(peer, program.ranks).to_string(),
    };
    let tag = |spec: &ReceiveSpec| spec.tag.map_or("MPI_ANY_TAG".to_owned(), |tag| tag.to_string());
    let probed = |spec: &ReceiveSpec| format!("{}, {}, {}", source(spec), tag(spec), name(spec.comm));
    let sent = |message: &Message| {
        let dest = message.dest.map(|dest| message.comm.rank_of(dest, program.ranks).to_string());
        let dest = dest.unwrap_or_else(|| "MPI_PROC_NULL".to_owned());
        format!("out{id}, {}, MPI_BYTE, {dest}, {}", message.size.bytes(id), message.tag)
    };
    match &step.action {
        Action::Send(message, form) => {
            let letter = message.mode.letter();
            let call = if letter.is_empty() { "Send".to_owned() } else { format!("{}send", letter.to_uppercase()) };
            let arguments = format!("{}, {}", sent(message), name(message.comm));
            transfer(&call, &format!("I{letter}send"), &arguments, *form, id, "")
        }
        Action::Receive(spec, form) => {
            let size = if spec.short { ReceiveSpec::SHORT_BUFFER.to_string() } else { "LONGEST_MESSAGE".to_owned() };
            let arguments = format!("in{id}, {size}, MPI_BYTE, {}", probed(spec));
            transfer("Recv", "Irecv", &arguments, *form, id, ", &status")
        }
        Action::Restart(of) => format!("MPI_Cancel(&request{of}) and MPI_Wait if active; MPI_Start(&request{of})"),
        Action::SendReceive(message, spec) => format!(
            "MPI_Sendrecv({}, in{id}, LONGEST_MESSAGE, MPI_BYTE, {}, {}, {}, &status)",
            sent(message),
            source(spec),
            tag(spec),
            name(spec.comm)
        ),
        Action::Probe(spec, call) => match call {
            ProbeCall::Probe => format!("MPI_Probe({}, &status)", probed(spec)),
            ProbeCall::Iprobe => format!("MPI_Iprobe({}, &flag, &status)", probed(spec)),
            ProbeCall::Mprobe => format!("MPI_Mprobe({}, &message{id}, &status)", probed(spec)),
            ProbeCall::Improbe => format!("MPI_Improbe({}, &flag, &message{id}, &status)", probed(spec)),
        },
        Action::ReceiveProbed(of, nonblocking) => {
            let (call, last) =
                if *nonblocking { ("Imrecv", format!("&request{id}")) } else { ("Mrecv", "&status".to_owned()) };
            format!(
                "if probe {of} found a message: MPI_{call}(in{id}, LONGEST_MESSAGE, MPI_BYTE, &message{of}, {last})"
            )
        }
        Action::Cancel(of) => format!("MPI_Cancel(&request{of}), MPI_Wait(&request{of}, &status)"),
        Action::Complete(call, of) => {
            let requests: Vec<String> = of.iter().map(|id| format!("request{id}")).collect();
            format!("{}({})", call.name(), requests.join(", "))
        }
        Action::Barrier => "MPI_Barrier(control)".to_owned(),
        Action::Pause => "MPI_Iprobe on control, some times".to_owned(),
    }
}

/// A send or receive in one of the four forms; `status` is the last argument of the blocking call.
fn transfer(call: &str, nonblocking: &str, arguments: &str, form: Form, id: StepId, status: &str) -> String {
    match form {
        Form::Blocking => format!("MPI_{call}({arguments}{status})"),
        Form::Nonblocking => format!("MPI_{nonblocking}({arguments}, &request{id})"),
        Form::Persistent => format!("MPI_{call}_init({arguments}, &request{id}), MPI_Start(&request{id})"),
        Form::Together => format!("MPI_{call}_init({arguments}, &request{id})"),
    }
}

/// The name of a communicator in the C sources.
fn name(comm: Comm) -> String {
    format!("comm[COMM_{}]", format!("{comm:?}").to_uppercase())
}
