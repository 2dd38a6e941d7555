// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C interface of `spec/engine.md`: the structures of `matching/plugin/include/matchbench_engine.h` and their
//! conversion from and to the types of [`mb_core`].
//!
//! Test: `the_header_and_this_file_have_the_same_layout`.

use mb_core::parameters::{Domain, ParameterSpec, Unit, Value};
use mb_core::{
    Completion, Delays, Envelope, Initiator, MsgId, Op, Outcome, Pattern, Picos, ProbeId, QueueLengths, RecvId,
};

/// The version of this interface. A library of another version is refused.
pub const VERSION: u32 = 1;

/// The symbol that a library exports: a function without arguments that returns its [`Table`].
pub const SYMBOL: &str = "matchbench_engine";

/// The return values of the functions of a [`Table`]. Any other number is a fault of the library.
pub mod status {
    /// Done; an operation was accepted, and there is an event.
    pub const OK: i32 = 0;
    /// The operation is not accepted, and has no effect.
    pub const BUSY: i32 = 1;
    /// No event: the engine has no outstanding completion.
    pub const IDLE: i32 = 2;
    /// The buffer is full, and there are more completions.
    pub const MORE: i32 = 3;
    /// The engine does not answer at once, and the call has no effect.
    pub const LATER: i32 = 4;
    /// The engine failed; it is used no more. `message` says why.
    pub const FAULT: i32 = -1;
}

/// An operation ([`Op`]).
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operation {
    /// 0 post, 1 arrive, 2 cancel, 3 probe, 4 matched probe.
    pub kind: u32,
    /// The sender of a message, or the only one that a pattern accepts.
    pub initiator: u32,
    /// 1 in a pattern that accepts every sender.
    pub any_initiator: u32,
    /// Zero.
    pub reserved: u32,
    /// The name of the receive, message or probe.
    pub id: u64,
    /// Match bits.
    pub bits: u64,
    /// Bits that a pattern does not compare.
    pub ignore: u64,
}

/// A completion ([`Completion`]).
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RawCompletion {
    /// When the answer reaches the caller, ps.
    pub at: u64,
    /// 0 posted, 1 matched, 2 unexpected, 3 cancelled, 4 not cancelled, 5 found, 6 found nothing.
    pub kind: u32,
    /// List entries visited.
    pub visits: u32,
    /// The receive; of outcome 2 the message, of outcomes 5 and 6 the probe.
    pub id: u64,
    /// The message of outcomes 1 and 5, otherwise zero.
    pub message: u64,
    /// Part of the time since the acceptance that is waiting, ps.
    pub waiting: u64,
    /// Part of that time that was spent beyond the structure, ps.
    pub beyond: u64,
}

/// Lengths and counts of an engine.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// Posted receives.
    pub posted: u64,
    /// Unexpected messages.
    pub unexpected: u64,
    /// Time spent on operations, ps.
    pub busy: u64,
    /// Insertions of a posted receive while the structure was full.
    pub posted_overflows: u64,
    /// Insertions of an unexpected message while the structure was full.
    pub unexpected_overflows: u64,
    /// Entries that went to host memory or to lists of software.
    pub spilled: u64,
}

/// An engine of the library; only the library knows what it is.
#[repr(C)]
#[derive(Debug)]
pub struct Handle {
    _opaque: [u8; 0],
}

/// Creates an engine with a value for each parameter of the description.
pub type Create = unsafe extern "C" fn(*const u64, u64, *mut *mut Handle, *mut u8, u64) -> i32;
/// Destroys an engine.
pub type Destroy = unsafe extern "C" fn(*mut Handle);
/// Returns where an engine runs: 0 on the NIC, 1 on the host.
pub type PlacementOf = unsafe extern "C" fn(*mut Handle) -> i32;
/// Offers an operation.
pub type OfferFunction = unsafe extern "C" fn(*mut Handle, u64, *const Operation, *mut u64) -> i32;
/// Tells the time of the next event.
pub type NextEvent = unsafe extern "C" fn(*mut Handle, *mut u64) -> i32;
/// Runs to a time and writes completions to a buffer.
pub type RunUntil = unsafe extern "C" fn(*mut Handle, u64, *mut RawCompletion, u64, *mut u64) -> i32;
/// Takes an operation and answers it at once.
pub type AnswerNow = unsafe extern "C" fn(*mut Handle, u64, *const Operation, *mut RawCompletion) -> i32;
/// Writes lengths and counts.
pub type StateOf = unsafe extern "C" fn(*mut Handle, *mut State) -> i32;
/// Writes the message of the last fault and returns its length.
pub type Message = unsafe extern "C" fn(*mut Handle, *mut u8, u64) -> u64;

/// The table that a library exports. Every function except `answer` must be present.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// [`VERSION`]: first, so that it can be read in every version.
    pub version: u32,
    /// The size of this structure.
    pub bytes: u32,
    /// The description: UTF-8, which stays where it is.
    pub description: *const u8,
    /// Its length.
    pub description_bytes: u64,
    /// See [`Create`].
    pub create: Option<Create>,
    /// See [`Destroy`].
    pub destroy: Option<Destroy>,
    /// See [`PlacementOf`].
    pub placement: Option<PlacementOf>,
    /// See [`OfferFunction`].
    pub offer: Option<OfferFunction>,
    /// See [`NextEvent`].
    pub next_event: Option<NextEvent>,
    /// See [`RunUntil`].
    pub run_until: Option<RunUntil>,
    /// See [`StateOf`].
    pub state: Option<StateOf>,
    /// See [`Message`].
    pub message: Option<Message>,
    /// See [`AnswerNow`]; may be missing.
    pub answer: Option<AnswerNow>,
}

// SAFETY: the table and its description are constant, and its functions can be called from any thread.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// A number that has no meaning in this interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meaningless(pub String);

impl From<Op> for Operation {
    fn from(op: Op) -> Self {
        let of_pattern = |kind, id, Pattern { bits, ignore, initiator }: Pattern| Self {
            kind,
            initiator: initiator.map_or(0, |from| from.0),
            any_initiator: u32::from(initiator.is_none()),
            reserved: 0,
            id,
            bits,
            ignore,
        };
        match op {
            Op::Post { recv, pattern } => of_pattern(0, recv.0, pattern),
            Op::Arrive { msg, envelope } => {
                Self { kind: 1, initiator: envelope.initiator.0, id: msg.0, bits: envelope.bits, ..Self::default() }
            }
            Op::Cancel { recv } => Self { kind: 2, id: recv.0, ..Self::default() },
            Op::Probe { probe, pattern } => of_pattern(3, probe.0, pattern),
            Op::MatchedProbe { probe, pattern } => of_pattern(4, probe.0, pattern),
        }
    }
}

impl TryFrom<Operation> for Op {
    type Error = Meaningless;

    fn try_from(operation: Operation) -> Result<Self, Meaningless> {
        let Operation { kind, initiator, any_initiator, id, bits, ignore, .. } = operation;
        let initiator = Initiator(initiator);
        let pattern = Pattern { bits, ignore, initiator: (any_initiator == 0).then_some(initiator) };
        Ok(match kind {
            0 => Self::Post { recv: RecvId(id), pattern },
            1 => Self::Arrive { msg: MsgId(id), envelope: Envelope { bits, initiator } },
            2 => Self::Cancel { recv: RecvId(id) },
            3 => Self::Probe { probe: ProbeId(id), pattern },
            4 => Self::MatchedProbe { probe: ProbeId(id), pattern },
            _ => return Err(Meaningless(format!("operation of kind {kind}, expected 0 to 4"))),
        })
    }
}

impl From<Completion> for RawCompletion {
    fn from(completion: Completion) -> Self {
        let (kind, id, message) = match completion.outcome {
            Outcome::Posted(recv) => (0, recv.0, 0),
            Outcome::Matched(recv, msg) => (1, recv.0, msg.0),
            Outcome::Unexpected(msg) => (2, msg.0, 0),
            Outcome::Cancelled(recv) => (3, recv.0, 0),
            Outcome::NotCancelled(recv) => (4, recv.0, 0),
            Outcome::Probed(probe, Some(msg)) => (5, probe.0, msg.0),
            Outcome::Probed(probe, None) => (6, probe.0, 0),
        };
        let Completion { at, visits, delays: Delays { waiting, beyond }, .. } = completion;
        Self { at: at.0, kind, visits, id, message, waiting: waiting.0, beyond: beyond.0 }
    }
}

/// The latest time that an engine may name: a quarter of what [`Picos`] can hold, 53 days.
pub const LATEST: u64 = u64::MAX / 4;

impl TryFrom<RawCompletion> for Completion {
    type Error = Meaningless;

    fn try_from(raw: RawCompletion) -> Result<Self, Meaningless> {
        let RawCompletion { at, kind, visits, id, message, waiting, beyond } = raw;
        let outcome = match kind {
            0 => Outcome::Posted(RecvId(id)),
            1 => Outcome::Matched(RecvId(id), MsgId(message)),
            2 => Outcome::Unexpected(MsgId(id)),
            3 => Outcome::Cancelled(RecvId(id)),
            4 => Outcome::NotCancelled(RecvId(id)),
            5 => Outcome::Probed(ProbeId(id), Some(MsgId(message))),
            6 => Outcome::Probed(ProbeId(id), None),
            _ => return Err(Meaningless(format!("outcome of kind {kind}, expected 0 to 6"))),
        };
        if let Some(time) = [at, waiting, beyond].into_iter().find(|time| *time > LATEST) {
            return Err(Meaningless(format!("`{outcome}` with the time {time} ps, expected at most {LATEST} ps")));
        }
        let delays = Delays { waiting: Picos(waiting), beyond: Picos(beyond) };
        Ok(Self { at: Picos(at), outcome, visits, delays })
    }
}

impl From<&State> for QueueLengths {
    fn from(state: &State) -> Self {
        let length = |entries: u64| usize::try_from(entries).unwrap_or(usize::MAX);
        Self { posted: length(state.posted), unexpected: length(state.unexpected) }
    }
}

/// A value of a parameter as a number: picoseconds, kilohertz, cycles, a count, or the place of a word among those of
/// the domain.
#[must_use]
pub fn number_of(spec: &ParameterSpec, value: Value) -> u64 {
    match value {
        Value::Time(Picos(number)) | Value::Frequency(number) | Value::Whole(number) => number,
        Value::Word(word) => match spec.domain {
            Domain::Choice(words) => words.iter().position(|known| *known == word).map_or(u64::MAX, |at| at as u64),
            Domain::Range { .. } => u64::MAX,
        },
    }
}

/// The value that [`number_of`] makes a number of.
///
/// # Errors
/// When the number stands for no word.
pub fn value_of(spec: &ParameterSpec, number: u64) -> Result<Value, Meaningless> {
    match spec.domain {
        Domain::Range { unit: Unit::Nanoseconds, .. } => Ok(Value::Time(Picos(number))),
        Domain::Range { unit: Unit::Megahertz, .. } => Ok(Value::Frequency(number)),
        Domain::Range { unit: Unit::Cycles | Unit::Count, .. } => Ok(Value::Whole(number)),
        Domain::Choice(words) => {
            let word = usize::try_from(number).ok().and_then(|place| words.get(place));
            let error = || Meaningless(format!("parameter `{}`: word {number} of {}", spec.key, words.len()));
            word.map(|word| Value::Word(word)).ok_or_else(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_completions_survive_both_ways() {
        let pattern = Pattern { bits: 7, ignore: 1, initiator: None };
        let named = Pattern { initiator: Some(Initiator(0)), ..pattern };
        for op in [
            Op::Post { recv: RecvId(1), pattern },
            Op::Post { recv: RecvId(1), pattern: named },
            Op::Arrive { msg: MsgId(2), envelope: Envelope { bits: 9, initiator: Initiator(3) } },
            Op::Cancel { recv: RecvId(4) },
            Op::Probe { probe: ProbeId(5), pattern: named },
            Op::MatchedProbe { probe: ProbeId(6), pattern },
        ] {
            assert_eq!(Op::try_from(Operation::from(op)), Ok(op));
        }
        for outcome in [
            Outcome::Posted(RecvId(1)),
            Outcome::Matched(RecvId(1), MsgId(2)),
            Outcome::Unexpected(MsgId(2)),
            Outcome::Cancelled(RecvId(3)),
            Outcome::NotCancelled(RecvId(3)),
            Outcome::Probed(ProbeId(4), Some(MsgId(0))),
            Outcome::Probed(ProbeId(4), None),
        ] {
            let delays = Delays { waiting: Picos(1), beyond: Picos(2) };
            let completion = Completion { at: Picos(9), outcome, visits: 3, delays };
            assert_eq!(Completion::try_from(RawCompletion::from(completion)), Ok(completion));
        }
    }

    #[test]
    fn numbers_without_a_meaning_are_named() {
        let op = Op::try_from(Operation { kind: 5, ..Operation::default() }).unwrap_err();
        assert_eq!(op.0, "operation of kind 5, expected 0 to 4");
        let kind = Completion::try_from(RawCompletion { kind: 7, ..RawCompletion::default() }).unwrap_err();
        assert_eq!(kind.0, "outcome of kind 7, expected 0 to 6");
        let late = Completion::try_from(RawCompletion { waiting: LATEST + 1, ..RawCompletion::default() }).unwrap_err();
        assert_eq!(late.0, format!("`receive 0 posted` with the time {} ps, expected at most {LATEST} ps", LATEST + 1));
    }
}
