// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thin binding of mbmatch, which is a library in C (`mbmatch.h` documents it).
//!
//! The nodes that the library links are in objects of the [`Matcher`], one for each receive and for each message, as
//! they are in the requests and fragments of an MPI library; a receive or a message is named by the number of its
//! object. So the binding is safe without handles, and adds a bound check to a call.
//!
//! ```
//! use mbmatch::{Envelope, Matcher, Pattern};
//!
//! let mut matcher = Matcher::new(8, 8, Matcher::SMALLEST_OBJECT);
//! assert_eq!(matcher.post(0, Pattern { bits: 7, ignore: 0, source: None }), None);
//! assert_eq!(matcher.arrive(5, Envelope { bits: 7, source: 3 }), Some(0));
//! ```

mod objects;

use std::ffi::c_void;
use std::ptr::null;

use objects::Objects;

/// The matching information of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// 64 match bits.
    pub bits: u64,
    /// The sender; `u32::MAX` is that of a sender without a number.
    pub source: u32,
}

/// What a receive or a probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// Match bits; bits set in `ignore` have no meaning.
    pub bits: u64,
    /// Ignore bits: a set bit is not compared.
    pub ignore: u64,
    /// The accepted sender, or `None` for any; `u32::MAX` names none.
    pub source: Option<u32>,
}

impl Pattern {
    fn source(&self) -> u32 {
        self.source.unwrap_or(u32::MAX)
    }
}

/// `mbmatch_t`: 128 bytes on machines of 64 bits.
#[repr(C, align(8))]
struct Raw([u8; 128]);

unsafe extern "C" {
    fn mbmatch_init(matcher: *mut Raw, tag_mask: u64, hints: u32, allocator: *const c_void);
    fn mbmatch_destroy(matcher: *mut Raw);
    fn mbmatch_memory(matcher: *const Raw) -> usize;
    fn mbmatch_version() -> i32;
    fn mbmatch_post(matcher: *mut Raw, receive: *mut u64, bits: u64, ignore: u64, source: u32) -> *mut u64;
    fn mbmatch_arrive(matcher: *mut Raw, message: *mut u64, bits: u64, source: u32) -> *mut u64;
    fn mbmatch_take_message(matcher: *mut Raw, bits: u64, ignore: u64, source: u32) -> *mut u64;
    fn mbmatch_probe(matcher: *mut Raw, bits: u64, ignore: u64, source: u32) -> *mut u64;
    fn mbmatch_cancel(matcher: *mut Raw, receive: *mut u64) -> i32;
    fn mbmatch_discard(matcher: *mut Raw, message: *mut u64) -> i32;
}

/// The version of the library: 1.2.3 is 10203.
#[must_use]
pub fn version() -> i32 {
    // SAFETY: the function reads nothing.
    unsafe { mbmatch_version() }
}

/// A matcher with the objects of its receives and messages.
#[derive(Debug)]
pub struct Matcher {
    raw: Box<Raw>,
    receives: Objects,
    messages: Objects,
    posted: usize,
    unexpected: usize,
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("mbmatch_t")
    }
}

impl Matcher {
    /// The bits that a receive of any tag ignores.
    pub const TAG_MASK: u64 = 0xffff_ffff;
    /// The smallest size of an object in bytes: the node of a message and the number of the object.
    pub const SMALLEST_OBJECT: usize = objects::SMALLEST;

    /// An empty matcher for receives `0..receives` and messages `0..messages`, whose objects have `object` bytes each.
    ///
    /// # Panics
    /// When `object` is less than [`SMALLEST_OBJECT`](Self::SMALLEST_OBJECT) or no multiple of 8.
    #[must_use]
    pub fn new(receives: usize, messages: usize, object: usize) -> Self {
        assert!(object >= Self::SMALLEST_OBJECT && object.is_multiple_of(8), "an object has a node and is aligned");
        let mut raw = Box::new(Raw([0; 128]));
        // SAFETY: `raw` has the size and the alignment of an mbmatch_t, and does not move in its box.
        unsafe { mbmatch_init(&raw mut *raw, Self::TAG_MASK, 0, null()) };
        Self {
            raw,
            receives: Objects::new(receives, object),
            messages: Objects::new(messages, object),
            posted: 0,
            unexpected: 0,
        }
    }

    // SAFETY of all calls below: the nodes live as long as the matcher and do not move; those that are queued are not
    // inserted again, which `Objects` checks; the exclusive reference excludes other threads.

    /// Posts a receive. Returns the oldest message that it accepts, which has left its queue; or `None`, and the
    /// receive waits.
    ///
    /// # Panics
    /// When there is no receive of this number, or it waits.
    #[inline]
    pub fn post(&mut self, receive: usize, pattern: Pattern) -> Option<usize> {
        let node = self.receives.idle(receive);
        let found = unsafe { mbmatch_post(&raw mut *self.raw, node, pattern.bits, pattern.ignore, pattern.source()) };
        if found.is_null() {
            self.posted += 1;
            return None;
        }
        self.unexpected -= 1;
        Some(Objects::number(found))
    }

    /// Delivers a message. Returns the oldest receive that accepts it, which has left its queue; or `None`, and the
    /// message waits.
    ///
    /// # Panics
    /// When there is no message of this number, or it waits.
    #[inline]
    pub fn arrive(&mut self, message: usize, envelope: Envelope) -> Option<usize> {
        let node = self.messages.idle(message);
        let found = unsafe { mbmatch_arrive(&raw mut *self.raw, node, envelope.bits, envelope.source) };
        if found.is_null() {
            self.unexpected += 1;
            return None;
        }
        self.posted -= 1;
        Some(Objects::number(found))
    }

    /// The oldest message that a receive would take; it stays.
    #[inline]
    pub fn probe(&mut self, pattern: Pattern) -> Option<usize> {
        let found = unsafe { mbmatch_probe(&raw mut *self.raw, pattern.bits, pattern.ignore, pattern.source()) };
        (!found.is_null()).then(|| Objects::number(found))
    }

    /// The oldest message that a receive would take, which has left its queue: MPI's matched probe.
    #[inline]
    pub fn take_message(&mut self, pattern: Pattern) -> Option<usize> {
        let found = unsafe { mbmatch_take_message(&raw mut *self.raw, pattern.bits, pattern.ignore, pattern.source()) };
        if found.is_null() {
            return None;
        }
        self.unexpected -= 1;
        Some(Objects::number(found))
    }

    /// Removes a receive. Returns whether it waited.
    ///
    /// # Panics
    /// When there is no receive of this number.
    #[inline]
    pub fn cancel(&mut self, receive: usize) -> bool {
        let cancelled = unsafe { mbmatch_cancel(&raw mut *self.raw, self.receives.node(receive)) } != 0;
        self.posted -= usize::from(cancelled);
        cancelled
    }

    /// Removes a message. Returns whether it waited.
    ///
    /// # Panics
    /// When there is no message of this number.
    #[inline]
    pub fn discard(&mut self, message: usize) -> bool {
        let discarded = unsafe { mbmatch_discard(&raw mut *self.raw, self.messages.node(message)) } != 0;
        self.unexpected -= usize::from(discarded);
        discarded
    }

    /// The receives that wait.
    #[must_use]
    pub fn posted_len(&self) -> usize {
        self.posted
    }

    /// The messages that wait.
    #[must_use]
    pub fn unexpected_len(&self) -> usize {
        self.unexpected
    }

    /// Bytes of the tables of the library.
    #[must_use]
    pub fn memory(&self) -> usize {
        // SAFETY: see above.
        unsafe { mbmatch_memory(&raw const *self.raw) }
    }
}

impl Drop for Matcher {
    fn drop(&mut self) {
        // SAFETY: the matcher was initialized, and is not used after this.
        unsafe { mbmatch_destroy(&raw mut *self.raw) }
    }
}
