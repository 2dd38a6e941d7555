// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Test programs as text: one line per step.

use std::fmt;

use crate::program::{
    Action, Comm, CountType, Form, Layout, Message, MessageSource, ProgramStep, ReceiveSpec, SendMode, StepId,
    TestProgram,
};

impl fmt::Display for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Second => "second",
            Self::Reversed => "reversed",
            Self::Parity => "parity",
            Self::Across => "across",
            Self::Session => "session",
        })
    }
}

impl fmt::Display for ReceiveSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            MessageSource::Any => write!(f, "source any")?,
            MessageSource::Rank(rank) => write!(f, "source {rank}")?,
            MessageSource::Null => write!(f, "source null")?,
        }
        match self.tag {
            Some(tag) => write!(f, " tag {tag}")?,
            None => write!(f, " tag any")?,
        }
        write!(f, " {}{}", self.comm, if self.short { " short" } else { "" })?;
        write_kind(f, self.layout, self.counts, self.partitions)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dest {
            Some(rank) => write!(f, "to {rank}")?,
            None => write!(f, "to null")?,
        }
        write!(f, " tag {} {}", self.tag, self.comm)?;
        if self.partitions == 0 {
            write!(f, " {}", format!("{:?}", self.size).to_lowercase())?;
        }
        if self.mode != SendMode::Standard {
            write!(f, " {}", format!("{:?}", self.mode).to_lowercase())?;
        }
        write_kind(f, self.layout, self.counts, self.partitions)
    }
}

/// Writes the properties that differ from one message of bytes with a count of type `int`.
fn write_kind(f: &mut fmt::Formatter<'_>, layout: Layout, counts: CountType, partitions: u8) -> fmt::Result {
    if layout != Layout::Bytes {
        write!(f, " {}", format!("{layout:?}").to_lowercase())?;
    }
    if counts != CountType::Int {
        write!(f, " {}", format!("{counts:?}").to_lowercase())?;
    }
    if partitions > 0 {
        write!(f, " partitions {partitions}")?;
    }
    Ok(())
}

impl fmt::Display for ProgramStep {
    /// One line: `7: rank 1 receive nonblocking source any tag 3 first`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.id)?;
        if self.action == Action::Barrier {
            return f.write_str("all barrier");
        }
        write!(f, "rank {} ", self.rank)?;
        if self.thread > 0 {
            write!(f, "thread {} ", self.thread)?;
        }
        let list = |of: &[StepId]| of.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        match &self.action {
            Action::Send(message, form) => write!(f, "send {form:?} {message}"),
            Action::Receive(spec, form) => write!(f, "receive {form:?} {spec}"),
            Action::Restart(of) => write!(f, "restart {of}"),
            Action::SendReceive(message, spec, Form::Blocking) => write!(f, "sendrecv {message}, {spec}"),
            Action::SendReceive(message, spec, _) => write!(f, "isendrecv {message}, {spec}"),
            Action::Probe(spec, call) => write!(f, "{call:?} {spec}"),
            Action::ReceiveProbed(of, false) => write!(f, "mrecv {of}"),
            Action::ReceiveProbed(of, true) => write!(f, "imrecv {of}"),
            Action::Cancel(of) => write!(f, "cancel {of}"),
            Action::Complete(call, of) => write!(f, "{call:?} {}", list(of)),
            Action::Barrier => Ok(()),
            Action::Pause => f.write_str("pause"),
        }
    }
}

impl fmt::Display for TestProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}
