// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Matcher`]: one interface to every structure.

use std::fmt;
use std::ptr::NonNull;

use crate::adaptive::{Adaptive, Ages};
use crate::bins::Bins;
use crate::halves::Halves;
use crate::heads::HeadsAndBodies;
use crate::heap::{Allocator, Heap, Owned};
use crate::list::List;
use crate::options::{Options, Structure};
use crate::scan::{Unit, VectorUnit};
use crate::types::{
    Arrived, Counters, Envelope, Handle, Memory, Message, OutOfMemory, Outcome, Pattern, Posted, QueuedMessage,
    SourceChange,
};
use crate::vector::Vector;

/// The posted-receive queue and the unexpected-message queue of one communicator, or of several
/// that are told apart by their match bits.
///
/// A matcher may move between threads, and one thread at a time may use it. Different matchers
/// share no state.
pub struct Matcher {
    /// The default structure, if it has memory and is not counted: what the fast paths need is in it. `inner` owns it.
    fast: Option<NonNull<Adaptive>>,
    path: Path,
    inner: Inner,
    counters: Option<Owned<Counters>>,
    heap: Heap,
    /// [`Options::bins`]
    bins: usize,
    structure: Structure,
    unit: Unit,
}

// SAFETY: the pointers are to memory that the matcher owns, or to the state of its heap, of which it has the only
// copies. `Allocator::new` requires functions that any thread may call.
unsafe impl Send for Matcher {}

/// What an operation does, from `inner` and `counters`: one comparison in place of one of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Path {
    /// `inner` is a list, and nothing is counted.
    List,
    /// The structure has no memory yet and nothing is counted: no search finds anything.
    Blank,
    /// `fast` is set, or the operation is not inlined.
    Other,
}

// An explicit discriminant: decoding one from a niche of a field takes ten instructions.
#[repr(u8)]
enum Inner {
    List(List),
    /// Allocated with the first entry: most communicators of a program never have one.
    Adaptive {
        memory: Option<Owned<Adaptive>>,
        ages: Ages,
    },
    /// The rest, allocated with the first entry.
    Other(Option<Owned<Other>>),
}

/// The rest, in an enum of its own: a match of few variants compiles to branches and not to a jump
/// table.
enum Other {
    Heads(HeadsAndBodies),
    Vector(Vector),
    Bins(Bins),
}

/// Calls the same method on the structure, or returns `$empty` if it has no memory yet.
macro_rules! each {
    ($inner:expr, $structure:ident => $call:expr, else $empty:expr) => {
        match $inner {
            Inner::List($structure) => $call,
            Inner::Adaptive { memory: Some($structure), .. } => $call,
            Inner::Other(Some(other)) => each!(&**other, $structure => $call),
            Inner::Adaptive { memory: None, .. } | Inner::Other(None) => $empty,
        }
    };
    ($other:expr, $structure:ident => $call:expr) => {
        match $other {
            Other::Heads($structure) => $call,
            Other::Vector($structure) => $call,
            Other::Bins($structure) => $call,
        }
    };
}

/// As [`each`], for a method that changes the structure.
macro_rules! each_mut {
    ($inner:expr, $structure:ident => $call:expr, else $empty:expr) => {
        match $inner {
            Inner::List($structure) => $call,
            Inner::Adaptive { memory: Some($structure), .. } => $call,
            Inner::Other(Some(other)) => each!(&mut **other, $structure => $call),
            Inner::Adaptive { memory: None, .. } | Inner::Other(None) => $empty,
        }
    };
}

// After the macros, which they use.
mod counters;
mod side;
mod visits;

use side::Side;

/// Calls the default structure, inlined; or else `$list` or `$elsewhere`. Searches of these are not inlined, so that
/// they take no registers from it. Counters are there: when they are off, they cost nothing.
macro_rules! dispatch {
    ($self:ident, $structure:ident => $call:expr, list $list:expr, else $elsewhere:expr) => {
        if let Some($structure) = $self.fast() {
            $call
        } else if $self.path == Path::List {
            $list
        } else {
            $elsewhere
        }
    };
}

impl Matcher {
    /// An empty matcher of less than 256 bytes. Allocates nothing, unless it has an allocator or a limit.
    ///
    /// Out of memory for the state of an allocator or a limit is handled as the global allocator handles it, which
    /// ends the program; [`Matcher::try_new`] returns an error.
    #[must_use]
    pub fn new(structure: Structure, options: Options) -> Self {
        Self::try_new(structure, options)
            .unwrap_or_else(|OutOfMemory| std::alloc::handle_alloc_error(std::alloc::Layout::new::<Self>()))
    }

    /// As [`Matcher::new`].
    ///
    /// # Errors
    /// Out of memory for the state of an allocator or a limit.
    pub fn try_new(structure: Structure, options: Options) -> Result<Self, OutOfMemory> {
        let heap = Heap::open(options.allocator, options.limit_bytes)?;
        let inner = match structure {
            Structure::List => Inner::List(List::new(options.request_bytes, heap)),
            Structure::Adaptive => Inner::Adaptive { memory: None, ages: Ages::FIRST },
            Structure::Heads | Structure::Vector | Structure::Bins => Inner::Other(None),
        };
        let unit = VectorUnit::or_best(options.vector_unit);
        let mut matcher =
            Self { fast: None, path: Path::Other, inner, counters: None, heap, bins: options.bins, structure, unit };
        matcher.update_path();
        Ok(matcher)
    }

    /// Its structure.
    #[must_use]
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// Allocates the structure, if it has no memory yet.
    fn materialize(&mut self) -> Result<(), OutOfMemory> {
        let (unit, heap) = (self.unit, self.heap);
        match &mut self.inner {
            Inner::Adaptive { memory: memory @ None, ages } => {
                *memory = Some(Owned::new(heap, Adaptive::new(unit, heap, *ages))?);
                self.update_path();
            }
            Inner::Other(memory @ None) => {
                *memory = Some(Owned::new(
                    heap,
                    match self.structure {
                        Structure::Heads => Other::Heads(HeadsAndBodies::new(heap)),
                        Structure::Vector => Other::Vector(Vector::new(unit, heap)),
                        _ => Other::Bins(Bins::new(self.bins, heap)),
                    },
                )?);
                self.update_path();
            }
            Inner::List(_) | Inner::Adaptive { .. } | Inner::Other(_) => {}
        }
        Ok(())
    }

    /// `inner` or `counters` was changed.
    fn update_path(&mut self) {
        (self.fast, self.path) = match (&self.inner, &self.counters) {
            (Inner::Adaptive { memory: Some(adaptive), .. }, None) => (Some(adaptive.as_non_null()), Path::Other),
            (Inner::List(_), None) => (None, Path::List),
            (Inner::Adaptive { memory: None, .. } | Inner::Other(None), None) => (None, Path::Blank),
            (_, Some(_)) | (Inner::Other(Some(_)), None) => (None, Path::Other),
        };
    }

    /// The default structure, if `fast` is set.
    #[inline(always)]
    fn fast(&mut self) -> Option<&mut Adaptive> {
        // SAFETY: `inner` owns it, and the only other reference to it is through `self`.
        self.fast.map(|mut fast| unsafe { fast.as_mut() })
    }

    /// The list, where `path` is [`Path::List`].
    #[inline(always)]
    fn list(&mut self) -> &mut List {
        let Inner::List(list) = &mut self.inner else { unreachable!("`path` says that it is a list") };
        list
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
        if let Some(adaptive) = self.fast() {
            return adaptive.post(Pattern { bits, ignore, source }, user);
        }
        let mut envelope = Envelope::UNSET;
        if self.path == Path::List {
            return self.post_to_list(bits, ignore, source, user, &mut envelope).posted(envelope);
        }
        self.post_elsewhere(bits, ignore, source, user, &mut envelope).posted(envelope)
    }

    // Not inlined, so that the search of the list takes no registers from the default structure.
    #[inline(never)]
    fn post_to_list(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
        envelope: &mut Envelope,
    ) -> Outcome {
        let list = self.list();
        let pattern = Pattern { bits, ignore, source };
        match list.mprobe(pattern) {
            Some(message) => Outcome::took(message, envelope),
            None => list.queue_receive(pattern, user).into(),
        }
    }

    // Cold, so that its code is placed apart from that of the default and of the list; so are the others below.
    #[cold]
    #[inline(never)]
    fn post_elsewhere(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
        envelope: &mut Envelope,
    ) -> Outcome {
        let pattern = Pattern { bits, ignore, source };
        self.count_search_by(pattern);
        let posted = self.materialize().and_then(
            |()| each_mut!(&mut self.inner, structure => structure.post(pattern, user), else Err(OutOfMemory)),
        );
        match posted {
            Ok(Posted::Matched(message)) => Outcome::took(message, envelope),
            Ok(Posted::Waiting(handle)) => {
                self.count_appended(Side::Posted);
                Outcome::Queued(handle)
            }
            Err(OutOfMemory) => Outcome::OutOfMemory,
        }
    }

    /// Delivers an arriving message. It takes the oldest posted receive that accepts it, else it is
    /// queued as unexpected.
    ///
    /// # Errors
    /// Out of memory; the matcher is unchanged.
    #[inline]
    pub fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        if let Some(adaptive) = self.fast() {
            adaptive.arrive(envelope, user)
        } else if self.path == Path::List {
            self.arrive_at_list(envelope.bits, envelope.source, user).arrived()
        } else {
            self.arrive_elsewhere(envelope.bits, envelope.source, user).arrived()
        }
    }

    #[inline(never)]
    fn arrive_at_list(&mut self, bits: u64, source: u32, user: u64) -> Outcome {
        let list = self.list();
        let envelope = Envelope { bits, source };
        match list.take_receive(envelope) {
            Some(user) => Outcome::Matched(user),
            None => list.queue_message(envelope, user).into(),
        }
    }

    #[cold]
    #[inline(never)]
    fn arrive_elsewhere(&mut self, bits: u64, source: u32, user: u64) -> Outcome {
        let envelope = Envelope { bits, source };
        self.count_search_for(envelope);
        let arrived = self.materialize().and_then(
            |()| each_mut!(&mut self.inner, structure => structure.arrive(envelope, user), else Err(OutOfMemory)),
        );
        match arrived {
            Ok(Arrived::Matched { user }) => Outcome::Matched(user),
            Ok(Arrived::Unexpected(handle)) => {
                self.count_appended(Side::Unexpected);
                Outcome::Queued(handle)
            }
            Err(OutOfMemory) => Outcome::OutOfMemory,
        }
    }

    /// The first half of [`Matcher::arrive`]: takes the oldest posted receive that accepts a message, and returns its
    /// user value. `None`: no posted receive accepts it. A library that has not allocated anything for the message
    /// yet does so then, and calls [`Matcher::queue_message`].
    #[inline]
    pub fn take_receive(&mut self, envelope: Envelope) -> Option<u64> {
        let Envelope { bits, source } = envelope;
        dispatch!(self, structure => structure.take_receive(envelope), list self.take_receive_from_list(bits, source),
            else if self.path == Path::Blank { None } else { self.take_receive_elsewhere(bits, source) })
    }

    #[inline(never)]
    fn take_receive_from_list(&mut self, bits: u64, source: u32) -> Option<u64> {
        self.list().take_receive(Envelope { bits, source })
    }

    #[cold]
    #[inline(never)]
    fn take_receive_elsewhere(&mut self, bits: u64, source: u32) -> Option<u64> {
        let envelope = Envelope { bits, source };
        self.count_search_for(envelope);
        each_mut!(&mut self.inner, structure => structure.take_receive(envelope), else None)
    }

    /// The second half of [`Matcher::arrive`]: queues a message as unexpected, without a search. No posted receive may
    /// accept it: a posted receive that does would keep waiting, and a later message would overtake this one.
    ///
    /// # Errors
    /// Out of memory; the matcher is unchanged.
    #[inline]
    pub fn queue_message(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        let Envelope { bits, source } = envelope;
        dispatch!(self, structure => structure.queue_message(envelope, user),
            list self.queue_message_in_list(bits, source, user),
            else self.queue_message_elsewhere(bits, source, user))
    }

    #[inline(never)]
    fn queue_message_in_list(&mut self, bits: u64, source: u32, user: u64) -> Result<Handle, OutOfMemory> {
        self.list().queue_message(Envelope { bits, source }, user)
    }

    #[cold]
    #[inline(never)]
    fn queue_message_elsewhere(&mut self, bits: u64, source: u32, user: u64) -> Result<Handle, OutOfMemory> {
        let envelope = Envelope { bits, source };
        self.materialize().and_then(|()| {
            let handle =
                each_mut!(&mut self.inner, structure => structure.queue_message(envelope, user), else Err(OutOfMemory))?;
            self.count_appended(Side::Unexpected);
            Ok(handle)
        })
    }

    /// The second half of [`Matcher::post`], of which [`Matcher::mprobe`] is the first: queues a receive, without a
    /// search. It may accept no unexpected message: one that it does would keep waiting.
    ///
    /// # Errors
    /// Out of memory; the matcher is unchanged.
    #[inline]
    pub fn queue_receive(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        let Pattern { bits, ignore, source } = pattern;
        dispatch!(self, structure => structure.queue_receive(pattern, user),
            list self.queue_receive_in_list(bits, ignore, source, user),
            else self.queue_receive_elsewhere(bits, ignore, source, user))
    }

    #[inline(never)]
    fn queue_receive_in_list(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
    ) -> Result<Handle, OutOfMemory> {
        self.list().queue_receive(Pattern { bits, ignore, source }, user)
    }

    #[cold]
    #[inline(never)]
    fn queue_receive_elsewhere(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
    ) -> Result<Handle, OutOfMemory> {
        let pattern = Pattern { bits, ignore, source };
        self.materialize().and_then(|()| {
            let handle =
                each_mut!(&mut self.inner, structure => structure.queue_receive(pattern, user), else Err(OutOfMemory))?;
            self.count_appended(Side::Posted);
            Ok(handle)
        })
    }

    /// Removes a posted receive. Returns its user value, or `None` if the handle is stale.
    #[inline]
    pub fn cancel(&mut self, receive: Handle) -> Option<u64> {
        dispatch!(self, structure => structure.cancel(receive),
            list self.list().cancel(receive), else self.cancel_elsewhere(receive))
    }

    #[cold]
    #[inline(never)]
    fn cancel_elsewhere(&mut self, receive: Handle) -> Option<u64> {
        each_mut!(&mut self.inner, structure => structure.cancel(receive), else None)
    }

    /// Removes an unexpected message, for example of a process that failed. Returns its user value,
    /// or `None` if the handle is stale.
    #[inline]
    pub fn discard(&mut self, message: Handle) -> Option<u64> {
        dispatch!(self, structure => structure.discard(message),
            list self.list().discard(message), else self.discard_elsewhere(message))
    }

    #[cold]
    #[inline(never)]
    fn discard_elsewhere(&mut self, message: Handle) -> Option<u64> {
        each_mut!(&mut self.inner, structure => structure.discard(message), else None)
    }

    /// Finds the oldest unexpected message that `pattern` accepts and leaves it queued.
    #[inline]
    #[must_use]
    pub fn probe(&mut self, pattern: Pattern) -> Option<QueuedMessage> {
        // First, since programs poll with probes, and most communicators never have a message.
        if self.path == Path::Blank {
            return None;
        }
        let Pattern { bits, ignore, source } = pattern;
        dispatch!(self, structure => structure.probe(pattern),
            list QueuedMessage::found(|found| self.probe_list(bits, ignore, source, found)),
            else QueuedMessage::found(|found| self.probe_elsewhere(bits, ignore, source, found)))
    }

    #[inline(never)]
    fn probe_list(&mut self, bits: u64, ignore: u64, source: Option<u32>, found: &mut QueuedMessage) -> bool {
        let pattern = Pattern { bits, ignore, source };
        found.set(self.list().probe(pattern))
    }

    #[cold]
    #[inline(never)]
    fn probe_elsewhere(&mut self, bits: u64, ignore: u64, source: Option<u32>, found: &mut QueuedMessage) -> bool {
        let pattern = Pattern { bits, ignore, source };
        self.count_search_by(pattern);
        found.set(each_mut!(&mut self.inner, structure => structure.probe(pattern), else None))
    }

    /// Finds and removes the oldest unexpected message that `pattern` accepts. Also the first half of
    /// [`Matcher::post`]; [`Matcher::queue_receive`] is the second.
    #[inline]
    pub fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        // As above.
        if self.path == Path::Blank {
            return None;
        }
        let Pattern { bits, ignore, source } = pattern;
        dispatch!(self, structure => structure.mprobe(pattern),
            list Message::found(|envelope| self.mprobe_list(bits, ignore, source, envelope)),
            else Message::found(|envelope| self.mprobe_elsewhere(bits, ignore, source, envelope)))
    }

    #[inline(never)]
    fn mprobe_list(&mut self, bits: u64, ignore: u64, source: Option<u32>, envelope: &mut Envelope) -> Option<u64> {
        self.list().mprobe(Pattern { bits, ignore, source }).map(|message| message.into_parts(envelope))
    }

    #[cold]
    #[inline(never)]
    fn mprobe_elsewhere(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        envelope: &mut Envelope,
    ) -> Option<u64> {
        let pattern = Pattern { bits, ignore, source };
        self.count_search_by(pattern);
        each_mut!(&mut self.inner, structure => structure.mprobe(pattern), else None)
            .map(|message| message.into_parts(envelope))
    }

    /// Changes the source of an unexpected message, for example of one from [`Envelope::UNKNOWN_SOURCE`] whose sender
    /// has become known. Posted receives may accept the message from its new source: the oldest of them takes it.
    /// Else it stays queued, as old as before. `None`: the handle is stale.
    ///
    /// MPI's order holds if the caller changes the messages of a process oldest first, and delivers none from its
    /// number before that.
    pub fn change_source(&mut self, message: Handle, source: u32) -> Option<SourceChange> {
        let Message { user, envelope } = each!(&self.inner, structure => structure.queued(message), else None)?;
        if let Some(receive) = self.take_receive(Envelope { source, ..envelope }) {
            let discarded = self.discard(message);
            debug_assert!(discarded == Some(user));
            return Some(SourceChange::Matched { receive, message: user });
        }
        each_mut!(&mut self.inner, structure => structure.set_source(message, source), else ());
        Some(SourceChange::Waiting)
    }

    /// The number of posted receives.
    #[must_use]
    pub fn posted_len(&self) -> usize {
        self.lengths().0
    }

    /// The number of unexpected messages.
    #[must_use]
    pub fn unexpected_len(&self) -> usize {
        self.lengths().1
    }

    fn lengths(&self) -> (usize, usize) {
        each!(&self.inner, structure => structure.lengths(), else (0, 0))
    }

    /// Reserves memory for this many receives and messages in total: no call allocates until there
    /// are more.
    ///
    /// # Errors
    /// Out of memory; the queues are unchanged.
    pub fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        self.materialize()?;
        each_mut!(&mut self.inner, structure => structure.reserve(posted, unexpected), else Ok(()))
    }

    /// Frees memory that no entry needs, as far as entries need not move: all of a queue that is empty. Handles stay
    /// valid, and stale ones stay stale.
    pub fn shrink(&mut self) {
        each_mut!(&mut self.inner, structure => structure.shrink(), else ());
        if let Inner::Adaptive { memory, ages } = &mut self.inner
            && let Some(adaptive) = memory
            && adaptive.lengths() == (0, 0)
        {
            *ages = adaptive.ages();
            *memory = None;
        }
        self.update_path();
    }

    /// The memory allocated. It is kept for later entries until the matcher is dropped, or [`Matcher::shrink`].
    #[must_use]
    pub fn memory(&self) -> Memory {
        each!(&self.inner, structure => structure.memory(), else Memory::default())
    }

    /// The functions from which its memory comes.
    pub(crate) fn allocator(&self) -> Option<Allocator> {
        self.heap.allocator()
    }
}

impl Drop for Matcher {
    fn drop(&mut self) {
        self.fast = None;
        self.counters = None;
        self.inner = Inner::Other(None);
        // SAFETY: nothing else came from the heap.
        unsafe { self.heap.close() };
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
