// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The steps of a test program as MPI calls, for a reader.

use crate::program::{
    Action, Comm, CountType, Form, Lane, Layout, Message, MessageSource, ProbeCall, ProgramStep, ReceiveSpec, StepId,
    TestProgram,
};

/// The calls of a thread, one line each, beginning with the number of the step.
pub(super) fn lines(program: &TestProgram, lane: Lane) -> Vec<String> {
    let mut lines = Vec::new();
    let mut together: Vec<StepId> = Vec::new();
    for step in program.steps.iter().filter(|step| step.is_of_lane(lane)) {
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

fn calls(program: &TestProgram, step: &ProgramStep) -> String {
    let id = step.id;
    let source = |spec: &ReceiveSpec| match spec.source {
        MessageSource::Any => "MPI_ANY_SOURCE".to_owned(),
        MessageSource::Null => "MPI_PROC_NULL".to_owned(),
        MessageSource::Rank(peer) => spec.comm.rank_of(peer, program.ranks).to_string(),
    };
    let tag = |spec: &ReceiveSpec| spec.tag.map_or("MPI_ANY_TAG".to_owned(), |tag| tag.to_string());
    let probed = |spec: &ReceiveSpec| format!("{}, {}, {}", source(spec), tag(spec), name(spec.comm));
    let sent = |message: &Message| {
        let dest = message.dest.map(|dest| message.comm.rank_of(dest, program.ranks).to_string());
        let dest = dest.unwrap_or_else(|| "MPI_PROC_NULL".to_owned());
        let bytes = message.bytes(id).to_string();
        format!("{}, {dest}, {}", data(&format!("out{id}"), &bytes, message.layout), message.tag)
    };
    match &step.action {
        Action::Send(message, form) if message.partitions > 0 => {
            let dest = message.dest.map_or(0, |dest| message.comm.rank_of(dest, program.ranks));
            partitioned("Psend", "out", message.partitions, message.bytes(id), id)
                + &format!(
                    "{dest}, {}, {}, MPI_INFO_NULL, &request{id}){}",
                    message.tag,
                    name(message.comm),
                    started(*form, id)
                )
                + if *form == Form::Together { "; after MPI_Startall" } else { "" }
                + ", MPI_Pready of every partition"
        }
        Action::Receive(spec, form) if spec.partitions > 0 => {
            partitioned("Precv", "in", spec.partitions, spec.partitioned_bytes(), id)
                + &format!(
                    "{}, {}, {}, MPI_INFO_NULL, &request{id}){}",
                    source(spec),
                    tag(spec),
                    name(spec.comm),
                    started(*form, id)
                )
        }
        Action::Send(message, form) => {
            let letter = message.mode.letter();
            let call = if letter.is_empty() { "Send".to_owned() } else { format!("{}send", letter.to_uppercase()) };
            let arguments = format!("{}, {}", sent(message), name(message.comm));
            transfer(&call, &format!("I{letter}send"), &arguments, (*form, message.counts), id, "")
        }
        Action::Receive(spec, form) => {
            let size = if spec.short { ReceiveSpec::SHORT_BUFFER.to_string() } else { "LONGEST_MESSAGE".to_owned() };
            let size = if spec.counts == CountType::Large { "LARGE_COUNT".to_owned() } else { size };
            let arguments = format!("{}, {}", data(&format!("in{id}"), &size, spec.layout), probed(spec));
            transfer("Recv", "Irecv", &arguments, (*form, spec.counts), id, ", &status")
        }
        Action::Restart(of) => format!("MPI_Cancel(&request{of}) and MPI_Wait if active; MPI_Start(&request{of})"),
        Action::SendReceive(message, spec, form) => {
            let (call, last) = if *form == Form::Blocking {
                ("Sendrecv", "&status".to_owned())
            } else {
                ("Isendrecv", format!("&request{id}"))
            };
            format!(
                "MPI_{call}({}, {}, {}, {}, {}, {last})",
                sent(message),
                data(&format!("in{id}"), "LONGEST_MESSAGE", spec.layout),
                source(spec),
                tag(spec),
                name(spec.comm)
            )
        }
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
fn transfer(
    call: &str,
    nonblocking: &str,
    arguments: &str,
    (form, counts): (Form, CountType),
    id: StepId,
    status: &str,
) -> String {
    let c = if counts == CountType::Int { "" } else { "_c" };
    match form {
        Form::Blocking => format!("MPI_{call}{c}({arguments}{status})"),
        Form::Nonblocking => format!("MPI_{nonblocking}{c}({arguments}, &request{id})"),
        Form::Persistent | Form::Together => {
            format!("MPI_{call}_init{c}({arguments}, &request{id}){}", started(form, id))
        }
    }
}

/// The start of a persistent request, unless `MPI_Startall` starts it.
fn started(form: Form, id: StepId) -> String {
    if form == Form::Together { String::new() } else { format!(", MPI_Start(&request{id})") }
}

/// The first arguments of partitioned communication.
fn partitioned(call: &str, buffer: &str, partitions: u8, bytes: u32, id: StepId) -> String {
    format!("MPI_{call}_init({buffer}{id}, {partitions}, {}, MPI_BYTE, ", bytes / u32::from(partitions))
}

/// Buffer, count and datatype of `bytes` bytes; `make_type` in the interpreter makes the datatypes.
fn data(buffer: &str, bytes: &str, layout: Layout) -> String {
    match layout {
        Layout::Bytes => format!("{buffer}, {bytes}, MPI_BYTE"),
        Layout::Resized => format!("{buffer}, {bytes}, resized"),
        Layout::Contiguous | Layout::Vector | Layout::Reversed => {
            format!("{buffer}, 1, {}[{bytes} bytes]", format!("{layout:?}").to_lowercase())
        }
    }
}

/// The name of a communicator in the C sources.
fn name(comm: Comm) -> String {
    format!("comm[COMM_{}]", format!("{comm:?}").to_uppercase())
}
