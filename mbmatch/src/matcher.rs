// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Matcher`]: one interface, and behind it the structure that was chosen.

use std::fmt;
use std::mem::MaybeUninit;
use std::str::FromStr;

use crate::adaptive::Adaptive;
use crate::bins::Bins;
use crate::heads::HeadsAndBodies;
use crate::list::List;
use crate::scan::VectorUnit;
use crate::types::{Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted};
use crate::vector::Vector;

/// How a matcher keeps its entries. Every structure gives the same outcomes.
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
    /// What serves best, decided at run time: a few side by side, more by hash, wildcards by kind or by vector.
    #[default]
    Adaptive,
}

impl Structure {
    /// Every structure, the plainest first.
    pub const ALL: &[Self] = &[Self::List, Self::Heads, Self::Vector, Self::Bins, Self::Adaptive];

    /// Its name, as [`FromStr`] reads it.
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
        write!(f, "no such structure; there are: {}", names.join(", "))
    }
}

impl std::error::Error for UnknownStructure {}

/// What can be chosen about a structure. The defaults are the fastest; the rest is for experiments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// `list`: bytes from one request object to the next, rounded up to whole nodes of 48 bytes.
    /// 768 is what Open MPI's ob1 has.
    pub request_bytes: usize,
    /// `bins`: their number.
    pub bins: usize,
    /// `vector` and `adaptive`: the vector unit, or `None` for the best there is. One that this processor lacks counts as
    /// `None`.
    pub vector_unit: Option<VectorUnit>,
}

impl Default for Options {
    fn default() -> Self {
        Self { request_bytes: 48, bins: 256, vector_unit: None }
    }
}

/// The posted receives and the unexpected messages of one communicator, or of all of them if their match bits tell
/// them apart.
///
/// Threads: a matcher may move between threads, and one thread at a time may use it; whoever shares it brings the
/// lock. Different matchers share nothing.
pub struct Matcher {
    inner: Inner,
    structure: Structure,
}

#[allow(
    clippy::large_enum_variant,
    reason = "the default is the largest, and lies here and not behind one more pointer"
)]
// With a tag of its own: to tell the variants by what is impossible in a field of one takes ten instructions.
// In this order: two comparisons that are not taken lead to the default, and a jump that is to the list.
#[repr(u8)]
enum Inner {
    List(List),
    Adaptive(Adaptive),
    Other(Other),
}

/// Apart, since few variants are told apart without a table of jumps.
enum Other {
    Heads(HeadsAndBodies),
    Vector(Vector),
    Bins(Bins),
}

/// Calls the same method on whichever structure is there. What is long and not the default is called and not inlined, so
/// that it takes no registers from what is.
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

/// What a function returns in memory, and not in two registers. Where such a pair meets the same pairs of code that is
/// inlined, the compiler keeps those too as pairs, and asks anew what is known of each.
pub(crate) struct InMemory<T> {
    pub(crate) value: T,
    _more: [MaybeUninit<u64>; 2],
}

impl<T> InMemory<T> {
    #[inline(always)]
    pub(crate) fn new(value: T) -> Self {
        Self { value, _more: [MaybeUninit::uninit(); 2] }
    }
}

// Cold, so that it is out of the way of the default and of the list.
#[cold]
#[inline(never)]
fn outlined<T>(call: impl FnOnce() -> T) -> InMemory<T> {
    InMemory::new(call())
}

impl Matcher {
    /// An empty matcher. Allocates nothing yet but `bins` its bins.
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

    /// The structure that was chosen.
    #[must_use]
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// Posts a receive: it takes the oldest unexpected message that it accepts, or waits.
    ///
    /// # Errors
    /// When there is no memory for it; it then waits nowhere.
    #[inline(always)]
    pub fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        self.post_parts(pattern.bits, pattern.ignore, pattern.source, user)
    }

    /// The parts come in registers. A pattern in memory, which the caller has just written word by word, would be copied
    /// by wider loads, and those wait until the words have reached the cache.
    #[inline]
    fn post_parts(&mut self, bits: u64, ignore: u64, source: Option<u32>, user: u64) -> Result<Posted, OutOfMemory> {
        each!(&mut self.inner, structure => structure.post(Pattern { bits, ignore, source }, user))
    }

    /// A message arrives: it takes the oldest posted receive that accepts it, or waits.
    ///
    /// # Errors
    /// When there is no memory for it; it then waits nowhere.
    #[inline]
    pub fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        each!(&mut self.inner, structure => structure.arrive(envelope, user))
    }

    /// Takes a posted receive back; returns the caller's value of it, or `None` if it no longer waits.
    #[inline]
    pub fn cancel(&mut self, receive: Handle) -> Option<u64> {
        each!(&mut self.inner, structure => structure.cancel(receive))
    }

    /// Takes an unexpected message back, of a process that failed for example; returns the caller's value of it, or
    /// `None` if it no longer waits.
    #[inline]
    pub fn discard(&mut self, message: Handle) -> Option<u64> {
        each!(&mut self.inner, structure => structure.discard(message))
    }

    /// Finds the oldest unexpected message that `pattern` accepts and leaves it where it is.
    #[inline]
    #[must_use]
    pub fn probe(&mut self, pattern: Pattern) -> Option<Message> {
        each!(&mut self.inner, structure => structure.probe(pattern))
    }

    /// Takes the oldest unexpected message that `pattern` accepts.
    #[inline]
    pub fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        each!(&mut self.inner, structure => structure.mprobe(pattern))
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

    /// Makes room for so many receives and messages in all, so that no call allocates until there are more.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        each!(&mut self.inner, structure => structure.reserve(posted, unexpected))
    }

    /// What is allocated. Memory is kept for later entries and is given back when the matcher is dropped.
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
