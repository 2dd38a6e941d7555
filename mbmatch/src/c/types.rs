// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The types of the header.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::heap::{Allocate, Allocator, Release};
use crate::types::{Envelope, Message, Pattern, QueueCounters, QueuedMessage, QueuedReceive, Visit};
use crate::{Options, Structure};

use Status::{Internal, Invalid, Matched, NoMatch, NoMemory, Off, Queued, Stale, Success};

/// `mbmatch_status_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Status {
    Success = 0,
    Matched = 1,
    Queued = 2,
    NoMatch = 3,
    Stale = 4,
    Off = 5,
    Invalid = -1,
    NoMemory = -2,
    Internal = -3,
}

impl Status {
    pub(super) const ALL: [Self; 9] = [Success, Matched, Queued, NoMatch, Stale, Off, Invalid, NoMemory, Internal];

    pub(super) fn text(self) -> &'static CStr {
        match self {
            Success => c"success",
            Matched => c"matched",
            Queued => c"nothing matched: the entry was queued",
            NoMatch => c"no queued entry matches",
            Stale => c"stale handle: it names no queued entry",
            Off => c"counting is off",
            Invalid => {
                c"invalid argument: a required pointer is NULL, no structure has this name, or options are wrong"
            }
            NoMemory => c"out of memory: the matcher is unchanged",
            Internal => c"internal error: a defect of mbmatch; destroy the matcher",
        }
    }
}

/// A part of the crate's version as a number. In a constant, anything else is an error of the compiler.
pub(super) const fn version_part(text: &str) -> c_int {
    let (bytes, mut at, mut value) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        assert!(bytes[at].is_ascii_digit(), "a part of the version is no number");
        value = value * 10 + (bytes[at] - b'0') as c_int;
        at += 1;
    }
    value
}

/// `MBMATCH_VERSION`
pub(super) const VERSION: c_int = version_part(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
    + version_part(env!("CARGO_PKG_VERSION_MINOR")) * 100
    + version_part(env!("CARGO_PKG_VERSION_PATCH"));

/// `mbmatch_envelope_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CEnvelope {
    pub(super) bits: u64,
    pub(super) source: u32,
}

/// `mbmatch_pattern_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CPattern {
    pub(super) bits: u64,
    pub(super) ignore: u64,
    pub(super) source: u32,
    pub(super) any_source: u32,
}

/// `mbmatch_message_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CMessage {
    pub(super) user: *mut c_void,
    pub(super) envelope: CEnvelope,
}

impl From<CPattern> for Pattern {
    #[inline(always)]
    fn from(pattern: CPattern) -> Self {
        let source = (pattern.any_source == 0).then_some(pattern.source);
        Self { bits: pattern.bits, ignore: pattern.ignore, source }
    }
}

/// `mbmatch_queued_receive_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CQueuedReceive {
    pub(super) handle: u64,
    pub(super) user: *mut c_void,
    pub(super) pattern: CPattern,
}

/// `mbmatch_queued_message_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CQueuedMessage {
    pub(super) handle: u64,
    pub(super) message: CMessage,
}

/// `mbmatch_visit_receive_t` and `mbmatch_visit_message_t`
pub(super) type Visitor<T> = Option<unsafe extern "C" fn(*mut c_void, *const T) -> c_int>;
/// `mbmatch_removed_t`
pub(super) type Removed = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;

/// `mbmatch_options_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct COptions {
    pub(super) size: usize,
    pub(super) structure: *const c_char,
    pub(super) limit_bytes: usize,
    pub(super) allocate: Option<Allocate>,
    pub(super) release: Option<Release>,
    pub(super) context: *mut c_void,
}

impl COptions {
    /// `MBMATCH_OPTIONS_DEFAULT`
    pub(super) const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        structure: std::ptr::null(),
        limit_bytes: usize::MAX,
        allocate: None,
        release: None,
        context: std::ptr::null_mut(),
    };

    /// The structure and its options, or `None` if something is wrong.
    ///
    /// # Safety
    /// The pointers are as the header says.
    pub(super) unsafe fn read(&self) -> Option<(Structure, Options)> {
        if self.size != size_of::<Self>() {
            return None;
        }
        let structure = if self.structure.is_null() {
            Structure::default()
        } else {
            // SAFETY: the caller's contract.
            unsafe { CStr::from_ptr(self.structure) }.to_str().ok()?.parse().ok()?
        };
        let allocator = match (self.allocate, self.release) {
            // SAFETY: the caller's contract.
            (Some(allocate), Some(release)) => Some(unsafe { Allocator::new(allocate, release, self.context) }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return None,
        };
        Some((structure, Options { allocator, limit_bytes: self.limit_bytes, ..Options::default() }))
    }
}

/// `mbmatch_queue_counters_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CQueueCounters {
    pub(super) length: u64,
    pub(super) longest: u64,
    pub(super) appended: u64,
    pub(super) searches: u64,
    pub(super) compared: u64,
    pub(super) longest_search: u64,
}

impl From<QueueCounters> for CQueueCounters {
    fn from(counters: QueueCounters) -> Self {
        let QueueCounters { length, longest, appended, searches, compared, longest_search } = counters;
        Self { length, longest, appended, searches, compared, longest_search }
    }
}

/// `mbmatch_visit_t`, under the names of the header.
pub(super) const VISITS: [(&str, Visit); 3] = [("KEEP", Visit::Keep), ("REMOVE", Visit::Remove), ("STOP", Visit::Stop)];

/// What a callback returned. Stops at anything that has no name, and says so.
pub(super) fn visited(returned: c_int, is_known: &mut bool) -> Visit {
    let known = VISITS.iter().find(|(_, visit)| *visit as c_int == returned);
    *is_known = known.is_some();
    known.map_or(Visit::Stop, |(_, visit)| *visit)
}

impl From<QueuedReceive> for CQueuedReceive {
    fn from(QueuedReceive { handle, user, pattern: Pattern { bits, ignore, source } }: QueuedReceive) -> Self {
        let any_source = u32::from(source.is_none());
        let pattern = CPattern { bits, ignore, source: source.unwrap_or(0), any_source };
        Self { handle: handle.into_raw(), user: to_pointer(user), pattern }
    }
}

impl From<QueuedMessage> for CQueuedMessage {
    fn from(QueuedMessage { handle, user, envelope }: QueuedMessage) -> Self {
        Self { handle: handle.into_raw(), message: Message { user, envelope }.into() }
    }
}

impl From<Message> for CMessage {
    #[inline(always)]
    fn from(Message { user, envelope: Envelope { bits, source } }: Message) -> Self {
        Self { user: to_pointer(user), envelope: CEnvelope { bits, source } }
    }
}

// A user pointer is only stored: its provenance is exposed on the way in and restored on the way
// out.
#[inline(always)]
pub(super) fn to_pointer(user: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(user as usize)
}

#[inline(always)]
pub(super) fn from_pointer(user: *mut c_void) -> u64 {
    user.expose_provenance() as u64
}
