// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Matcher`]: one interface to every structure.

use std::fmt;
use std::mem::MaybeUninit;
use std::str::FromStr;

use crate::adaptive::Adaptive;
use crate::bins::Bins;
use crate::heads::HeadsAndBodies;
use crate::list::List;
use crate::scan::VectorUnit;
use crate::types::{
    Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted, QueuedMessage, QueuedReceive, Visit,
};
use crate::vector::Vector;

/// The data structure of a matcher. Every structure gives the same outcomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Structure {
    /// A linked list through request objects.
    List,
    /// Heads of 16 bytes side by side, bodies elsewhere.
    Heads,
    /// Keys in packed blocks, compared 64 at a time.
    Vector,
    /// Lists by hash, with sequence numbers across them.
    Bins,
    /// Chosen at run time: short queues side by side, longer ones by hash, wildcards by class or by
    /// vector.
    #[default]
    Adaptive,
}

impl Structure {
    /// Every structure, the simplest first.
    pub const ALL: &[Self] = &[Self::List, Self::Heads, Self::Vector, Self::Bins, Self::Adaptive];

    /// Its name, which [`FromStr`] parses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Heads => "heads",
            Self::Vector => "vector",
            Self::Bins => "bins",
            Self::Adaptive => "adaptive",
        }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Structure {
    type Err = UnknownStructure;

    fn from_str(name: &str) -> Result<Self, UnknownStructure> {
        Self::ALL.iter().copied().find(|structure| structure.name() == name).ok_or(UnknownStructure)
    }
}

/// No structure has this name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownStructure;

impl fmt::Display for UnknownStructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Structure::ALL.iter().map(|structure| structure.name()).collect();
        write!(f, "unknown structure; expected one of: {}", names.join(", "))
    }
}

impl std::error::Error for UnknownStructure {}

/// Parameters of a structure. The defaults are the fastest; other values are for experiments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// `list`: bytes from one request object to the next, rounded up to whole nodes of 48 bytes.
    /// Open MPI's ob1 has 768.
    pub request_bytes: usize,
    /// `bins`: the number of bins.
    pub bins: usize,
    /// `vector` and `adaptive`: the vector unit. `None`, or one that this processor lacks, selects
    /// the best available.
    pub vector_unit: Option<VectorUnit>,
}

impl Default for Options {
    fn default() -> Self {
        Self { request_bytes: 48, bins: 256, vector_unit: None }
    }
}

/// The posted-receive queue and the unexpected-message queue of one communicator, or of several
/// that are told apart by their match bits.
///
/// A matcher may move between threads, and one thread at a time may use it. Different matchers
/// share no state.
pub struct Matcher {
    inner: Inner,
    structure: Structure,
}

#[allow(
    clippy::large_enum_variant,
    reason = "the default is the largest variant; a pointer to it would cost a load in each operation"
)]
// An explicit discriminant: decoding one from a niche of a field takes ten instructions. In this
// order: the default is reached by two branches that fall through, the list by one that is taken.
#[repr(u8)]
enum Inner {
    List(List),
    Adaptive(Adaptive),
    Other(Other),
}

/// The rest, in an enum of its own: a match of few variants compiles to branches and not to a jump
/// table.
enum Other {
    Heads(HeadsAndBodies),
    Vector(Vector),
    Bins(Bins),
}

/// Calls the same method on the structure. Structures other than the default and `list` are not
/// inlined, so that they take no registers from those.
macro_rules! each {
    ($inner:expr, $structure:ident => $call:expr) => {
        match $inner {
            Inner::Adaptive($structure) => $call,
            Inner::List($structure) => $call,
            Inner::Other(other) => {
                let outcome = outlined(move || match other {
                    Other::Heads($structure) => $call,
                    Other::Vector($structure) => $call,
                    Other::Bins($structure) => $call,
                });
                outcome.value
            }
        }
    };
}

/// A return value that is passed in memory and not in two registers. Where such a pair of registers
/// joins the results of inlined code, the compiler builds the pair there too, and tests its
/// discriminant a second time.
pub(crate) struct InMemory<T> {
    pub(crate) value: T,
    _padding: [MaybeUninit<u64>; 2],
}

impl<T> InMemory<T> {
    #[inline(always)]
    pub(crate) fn new(value: T) -> Self {
        Self { value, _padding: [MaybeUninit::uninit(); 2] }
    }
}

// Cold, so that its code is placed apart from that of the default and of the list.
#[cold]
#[inline(never)]
fn outlined<T>(call: impl FnOnce() -> T) -> InMemory<T> {
    InMemory::new(call())
}

impl Matcher {
    /// An empty matcher. Allocates nothing, except the bins of `bins`.
    #[must_use]
    pub fn new(structure: Structure, options: Options) -> Self {
        let unit = VectorUnit::or_best(options.vector_unit);
        let inner = match structure {
            Structure::List => Inner::List(List::new(options.request_bytes)),
            Structure::Heads => Inner::Other(Other::Heads(HeadsAndBodies::new())),
            Structure::Vector => Inner::Other(Other::Vector(Vector::new(unit))),
            Structure::Bins => Inner::Other(Other::Bins(Bins::new(options.bins))),
            Structure::Adaptive => Inner::Adaptive(Adaptive::new(unit)),
        };
        Self { inner, structure }
    }

    /// Its structure.
    #[must_use]
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// Posts a receive. It takes the oldest unexpected message that it accepts, else it is queued.
    ///
    /// # Errors
    /// Out of memory; the matcher is unchanged.
    #[inline(always)]
    pub fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        self.post_parts(pattern.bits, pattern.ignore, pattern.source, user)
    }

    /// The parts of the pattern are passed in registers. A pattern in memory, just written word by
    /// word, would be copied with wider loads, for which store-to-load forwarding fails.
    #[inline]
    fn post_parts(&mut self, bits: u64, ignore: u64, source: Option<u32>, user: u64) -> Result<Posted, OutOfMemory> {
        each!(&mut self.inner, structure => structure.post(Pattern { bits, ignore, source }, user))
    }

    /// Delivers an arriving message. It takes the oldest posted receive that accepts it, else it is
    /// queued as unexpected.
    ///
    /// # Errors
    /// Out of memory; the matcher is unchanged.
    #[inline]
    pub fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        each!(&mut self.inner, structure => structure.arrive(envelope, user))
    }

    /// The first half of [`Matcher::arrive`]: takes the oldest posted receive that accepts a message, and returns its
    /// user value. `None`: no posted receive accepts it. A library that has not allocated anything for the message
    /// yet does so then, and calls [`Matcher::queue_message`].
    #[inline]
    pub fn take_receive(&mut self, envelope: Envelope) -> Option<u64> {
        each!(&mut self.inner, structure => structure.take_receive(envelope))
    }

    /// The second half of [`Matcher::arrive`]: queues a message as unexpected, without a search. No posted receive may
    /// accept it: a posted receive that does would keep waiting, and a later message would overtake this one.
    ///
    /// # Errors
    /// Out of memory; the matcher is unchanged.
    #[inline]
    pub fn queue_message(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        each!(&mut self.inner, structure => structure.queue_message(envelope, user))
    }

    /// The second half of [`Matcher::post`], of which [`Matcher::mprobe`] is the first: queues a receive, without a
    /// search. It may accept no unexpected message: one that it does would keep waiting.
    ///
    /// # Errors
    /// Out of memory; the matcher is unchanged.
    #[inline]
    pub fn queue_receive(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        each!(&mut self.inner, structure => structure.queue_receive(pattern, user))
    }

    /// Removes a posted receive. Returns its user value, or `None` if the handle is stale.
    #[inline]
    pub fn cancel(&mut self, receive: Handle) -> Option<u64> {
        each!(&mut self.inner, structure => structure.cancel(receive))
    }

    /// Removes an unexpected message, for example of a process that failed. Returns its user value,
    /// or `None` if the handle is stale.
    #[inline]
    pub fn discard(&mut self, message: Handle) -> Option<u64> {
        each!(&mut self.inner, structure => structure.discard(message))
    }

    /// Finds the oldest unexpected message that `pattern` accepts and leaves it queued.
    #[inline]
    #[must_use]
    pub fn probe(&mut self, pattern: Pattern) -> Option<QueuedMessage> {
        each!(&mut self.inner, structure => structure.probe(pattern))
    }

    /// Finds and removes the oldest unexpected message that `pattern` accepts. Also the first half of
    /// [`Matcher::post`]; [`Matcher::queue_receive`] is the second.
    #[inline]
    pub fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        each!(&mut self.inner, structure => structure.mprobe(pattern))
    }

    /// The posted receives, oldest first.
    ///
    /// # Errors
    /// Out of memory for the list.
    pub fn receives(&self) -> Result<Vec<QueuedReceive>, OutOfMemory> {
        let mut receives = Vec::new();
        receives.try_reserve_exact(self.posted_len())?;
        let into = &mut receives;
        each!(&self.inner, structure => structure.receives(into));
        Ok(receives)
    }

    /// The unexpected messages, oldest first.
    ///
    /// # Errors
    /// Out of memory for the list.
    pub fn messages(&self) -> Result<Vec<QueuedMessage>, OutOfMemory> {
        let mut messages = Vec::new();
        messages.try_reserve_exact(self.unexpected_len())?;
        let into = &mut messages;
        each!(&self.inner, structure => structure.messages(into));
        Ok(messages)
    }

    /// Calls `visit` with the posted receives, oldest first, and removes those for which it says so: all of a freed
    /// communicator, or those that name a failed process. Returns the number removed.
    ///
    /// Cost: linear in the posted receives, and for `bins` and `adaptive` the sorting of them.
    ///
    /// # Errors
    /// Out of memory for a list of the receives; none was visited.
    pub fn visit_receives(&mut self, mut visit: impl FnMut(&QueuedReceive) -> Visit) -> Result<usize, OutOfMemory> {
        let mut removed = 0;
        for receive in self.receives()? {
            match visit(&receive) {
                Visit::Keep => {}
                Visit::Remove => removed += usize::from(self.cancel(receive.handle).is_some()),
                Visit::Stop => break,
            }
        }
        Ok(removed)
    }

    /// As [`Matcher::visit_receives`], with the unexpected messages.
    ///
    /// # Errors
    /// Out of memory for a list of the messages; none was visited.
    pub fn visit_messages(&mut self, mut visit: impl FnMut(&QueuedMessage) -> Visit) -> Result<usize, OutOfMemory> {
        let mut removed = 0;
        for message in self.messages()? {
            match visit(&message) {
                Visit::Keep => {}
                Visit::Remove => removed += usize::from(self.discard(message.handle).is_some()),
                Visit::Stop => break,
            }
        }
        Ok(removed)
    }

    /// The number of posted receives.
    #[must_use]
    pub fn posted_len(&self) -> usize {
        each!(&self.inner, structure => structure.lengths().0)
    }

    /// The number of unexpected messages.
    #[must_use]
    pub fn unexpected_len(&self) -> usize {
        each!(&self.inner, structure => structure.lengths().1)
    }

    /// Reserves memory for this many receives and messages in total: no call allocates until there
    /// are more.
    ///
    /// # Errors
    /// Out of memory; the queues are unchanged.
    pub fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        each!(&mut self.inner, structure => structure.reserve(posted, unexpected))
    }

    /// The memory allocated. It is kept for later entries until the matcher is dropped.
    #[must_use]
    pub fn memory(&self) -> Memory {
        each!(&self.inner, structure => structure.memory())
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matcher")
            .field("structure", &self.structure)
            .field("posted", &self.posted_len())
            .field("unexpected", &self.unexpected_len())
            .finish_non_exhaustive()
    }
}
