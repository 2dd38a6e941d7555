// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C interface; `include/mbmatch.h` is its documentation.
//!
//! Safety: every `unsafe` block uses a pointer of the caller, which is null or valid as the header
//! says. Null is an error status where the header requires a pointer. A panic, which would be a
//! defect of mbmatch, does not cross the boundary: it becomes an error status.

#![allow(unreachable_pub, reason = "exported to C by symbol name")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::types::{
    Arrived, Envelope, Handle, Message, OutOfMemory, Pattern, Posted, QueuedMessage, QueuedReceive, Visit,
};
use crate::{Matcher, Options, Structure};

use Status::{Internal, Invalid, Matched, NoMatch, NoMemory, Queued, Stale, Success};

/// `mbmatch_status_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Status {
    Success = 0,
    Matched = 1,
    Queued = 2,
    NoMatch = 3,
    Stale = 4,
    Invalid = -1,
    NoMemory = -2,
    Internal = -3,
}

impl Status {
    const ALL: [Self; 8] = [Success, Matched, Queued, NoMatch, Stale, Invalid, NoMemory, Internal];

    fn text(self) -> &'static CStr {
        match self {
            Success => c"success",
            Matched => c"matched",
            Queued => c"nothing matched: the entry was queued",
            NoMatch => c"no queued entry matches",
            Stale => c"stale handle: it names no queued entry",
            Invalid => c"invalid argument: a required pointer is NULL, or no structure has this name",
            NoMemory => c"out of memory: the matcher is unchanged",
            Internal => c"internal error: a defect of mbmatch; destroy the matcher",
        }
    }
}

/// A part of the crate's version as a number.
const fn version_part(text: &str) -> c_int {
    let (bytes, mut at, mut value) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        value = value * 10 + (bytes[at] - b'0') as c_int;
        at += 1;
    }
    value
}

/// `MBMATCH_VERSION`
const VERSION: c_int = version_part(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
    + version_part(env!("CARGO_PKG_VERSION_MINOR")) * 100
    + version_part(env!("CARGO_PKG_VERSION_PATCH"));

/// `mbmatch_envelope_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CEnvelope {
    bits: u64,
    source: u32,
}

/// `mbmatch_pattern_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CPattern {
    bits: u64,
    ignore: u64,
    source: u32,
    any_source: u32,
}

/// `mbmatch_message_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CMessage {
    user: *mut c_void,
    envelope: CEnvelope,
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
    handle: u64,
    user: *mut c_void,
    pattern: CPattern,
}

/// `mbmatch_queued_message_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CQueuedMessage {
    handle: u64,
    message: CMessage,
}

/// `mbmatch_visit_receive_t`
type VisitReceive = Option<unsafe extern "C" fn(*mut c_void, *const CQueuedReceive) -> c_int>;
/// `mbmatch_visit_message_t`
type VisitMessage = Option<unsafe extern "C" fn(*mut c_void, *const CQueuedMessage) -> c_int>;

/// `mbmatch_visit_t`, under the names of the header.
const VISITS: [(&str, Visit); 3] = [("KEEP", Visit::Keep), ("REMOVE", Visit::Remove), ("STOP", Visit::Stop)];

/// What a callback returned. Stops at anything that has no name, and says so.
fn visited(returned: c_int, is_known: &mut bool) -> Visit {
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
fn to_pointer(user: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(user as usize)
}

#[inline(always)]
fn from_pointer(user: *mut c_void) -> u64 {
    user.expose_provenance() as u64
}

/// Runs `call` and turns a missing pointer, an allocation failure or a panic into its status.
#[inline(always)]
fn guarded(call: impl FnOnce() -> Option<Result<Status, OutOfMemory>>) -> Status {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Some(Ok(status))) => status,
        Ok(Some(Err(OutOfMemory))) => NoMemory,
        Ok(None) => Invalid,
        Err(_) => Internal,
    }
}

/// Writes an output, unless its pointer is null.
///
/// # Safety
/// `output` is null or valid for a write.
#[inline(always)]
unsafe fn write_output<T>(output: *mut T, value: T) {
    if !output.is_null() {
        // SAFETY: the caller's contract.
        unsafe { output.write(value) }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn mbmatch_version() -> c_int {
    VERSION
}

#[unsafe(no_mangle)]
pub extern "C" fn mbmatch_strerror(status: c_int) -> *const c_char {
    let known = Status::ALL.iter().find(|known| **known as c_int == status);
    known.map_or(c"unknown status", |known| known.text()).as_ptr()
}

/// # Safety
/// `structure` is null or a string; `matcher` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_create(structure: *const c_char, matcher: *mut *mut Matcher) -> Status {
    guarded(|| {
        let structure = if structure.is_null() {
            Structure::default()
        } else {
            // SAFETY: the caller's contract.
            unsafe { CStr::from_ptr(structure) }.to_str().ok()?.parse().ok()?
        };
        if matcher.is_null() {
            return None;
        }
        // A `Box` whose allocation can fail: the same layout and allocator.
        #[allow(clippy::cast_ptr_alignment, reason = "the layout has the alignment")]
        // SAFETY: a matcher is not of size zero; the write is to fresh memory of its layout; the
        // caller's contract.
        unsafe {
            let memory = std::alloc::alloc(std::alloc::Layout::new::<Matcher>()).cast::<Matcher>();
            if memory.is_null() {
                return Some(Err(OutOfMemory));
            }
            memory.write(Matcher::new(structure, Options::default()));
            matcher.write(memory);
        }
        Some(Ok(Success))
    })
}

/// # Safety
/// `matcher` is null or came from [`mbmatch_create`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_destroy(matcher: *mut Matcher) {
    guarded(|| {
        if !matcher.is_null() {
            // SAFETY: allocated as a `Box` is; the caller's contract.
            drop(unsafe { Box::from_raw(matcher) });
        }
        Some(Ok(Success))
    });
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_post(
    matcher: *mut Matcher,
    pattern: *const CPattern,
    user: *mut c_void,
    message: *mut CMessage,
    handle: *mut u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, pattern) = unsafe { (matcher.as_mut()?, *pattern.as_ref()?) };
        Some(matcher.post(pattern.into(), from_pointer(user)).map(|posted| match posted {
            Posted::Matched(found) => {
                // SAFETY: the caller's contract.
                unsafe { write_output(message, found.into()) };
                Matched
            }
            Posted::Waiting(waiting) => {
                // SAFETY: the caller's contract.
                unsafe { write_output(handle, waiting.into_raw()) };
                Queued
            }
        }))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_arrive(
    matcher: *mut Matcher,
    envelope: *const CEnvelope,
    user: *mut c_void,
    receive: *mut *mut c_void,
    handle: *mut u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, envelope) = unsafe { (matcher.as_mut()?, *envelope.as_ref()?) };
        let envelope = Envelope { bits: envelope.bits, source: envelope.source };
        Some(matcher.arrive(envelope, from_pointer(user)).map(|arrived| match arrived {
            Arrived::Matched { user } => {
                // SAFETY: the caller's contract.
                unsafe { write_output(receive, to_pointer(user)) };
                Matched
            }
            Arrived::Unexpected(waiting) => {
                // SAFETY: the caller's contract.
                unsafe { write_output(handle, waiting.into_raw()) };
                Queued
            }
        }))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_take_receive(
    matcher: *mut Matcher,
    envelope: *const CEnvelope,
    receive: *mut *mut c_void,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, envelope) = unsafe { (matcher.as_mut()?, *envelope.as_ref()?) };
        let envelope = Envelope { bits: envelope.bits, source: envelope.source };
        let Some(user) = matcher.take_receive(envelope) else { return Some(Ok(NoMatch)) };
        // SAFETY: the caller's contract.
        unsafe { write_output(receive, to_pointer(user)) };
        Some(Ok(Matched))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_queue_message(
    matcher: *mut Matcher,
    envelope: *const CEnvelope,
    user: *mut c_void,
    handle: *mut u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, envelope) = unsafe { (matcher.as_mut()?, *envelope.as_ref()?) };
        let envelope = Envelope { bits: envelope.bits, source: envelope.source };
        Some(matcher.queue_message(envelope, from_pointer(user)).map(|waiting| {
            // SAFETY: the caller's contract.
            unsafe { write_output(handle, waiting.into_raw()) };
            Queued
        }))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_queue_receive(
    matcher: *mut Matcher,
    pattern: *const CPattern,
    user: *mut c_void,
    handle: *mut u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, pattern) = unsafe { (matcher.as_mut()?, *pattern.as_ref()?) };
        Some(matcher.queue_receive(pattern.into(), from_pointer(user)).map(|waiting| {
            // SAFETY: the caller's contract.
            unsafe { write_output(handle, waiting.into_raw()) };
            Queued
        }))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_cancel(matcher: *mut Matcher, receive: u64, user: *mut *mut c_void) -> Status {
    // SAFETY: the caller's contract.
    unsafe { remove_entry(matcher, user, |matcher| matcher.cancel(Handle::from_raw(receive))) }
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_discard(matcher: *mut Matcher, message: u64, user: *mut *mut c_void) -> Status {
    // SAFETY: the caller's contract.
    unsafe { remove_entry(matcher, user, |matcher| matcher.discard(Handle::from_raw(message))) }
}

/// # Safety
/// Each pointer is null or as the header says.
unsafe fn remove_entry(
    matcher: *mut Matcher,
    user: *mut *mut c_void,
    remove: impl FnOnce(&mut Matcher) -> Option<u64>,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let Some(found) = remove(unsafe { matcher.as_mut()? }) else { return Some(Ok(Stale)) };
        // SAFETY: the caller's contract.
        unsafe { write_output(user, to_pointer(found)) };
        Some(Ok(Success))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_probe(
    matcher: *mut Matcher,
    pattern: *const CPattern,
    message: *mut CMessage,
    handle: *mut u64,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, pattern) = unsafe { (matcher.as_mut()?, *pattern.as_ref()?) };
        let Some(found) = matcher.probe(pattern.into()) else { return Some(Ok(NoMatch)) };
        // SAFETY: the caller's contract.
        unsafe {
            write_output(message, Message { user: found.user, envelope: found.envelope }.into());
            write_output(handle, found.handle.into_raw());
        }
        Some(Ok(Matched))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_mprobe(
    matcher: *mut Matcher,
    pattern: *const CPattern,
    message: *mut CMessage,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, pattern) = unsafe { (matcher.as_mut()?, *pattern.as_ref()?) };
        let Some(found) = matcher.mprobe(pattern.into()) else { return Some(Ok(NoMatch)) };
        // SAFETY: the caller's contract.
        unsafe { write_output(message, found.into()) };
        Some(Ok(Matched))
    })
}

/// # Safety
/// Each pointer is null or as the header says; `visit` does not use the matcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_visit_receives(
    matcher: *mut Matcher,
    visit: VisitReceive,
    context: *mut c_void,
    removed: *mut usize,
) -> Status {
    let mut is_known = true;
    let status = guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, visit) = (unsafe { matcher.as_mut()? }, visit?);
        let count = matcher.visit_receives(|receive| {
            // SAFETY: the caller's contract.
            visited(unsafe { visit(context, &CQueuedReceive::from(*receive)) }, &mut is_known)
        });
        Some(count.map(|count| {
            // SAFETY: the caller's contract.
            unsafe { write_output(removed, count) };
            Success
        }))
    });
    if is_known { status } else { Invalid }
}

/// # Safety
/// Each pointer is null or as the header says; `visit` does not use the matcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_visit_messages(
    matcher: *mut Matcher,
    visit: VisitMessage,
    context: *mut c_void,
    removed: *mut usize,
) -> Status {
    let mut is_known = true;
    let status = guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, visit) = (unsafe { matcher.as_mut()? }, visit?);
        let count = matcher.visit_messages(|message| {
            // SAFETY: the caller's contract.
            visited(unsafe { visit(context, &CQueuedMessage::from(*message)) }, &mut is_known)
        });
        Some(count.map(|count| {
            // SAFETY: the caller's contract.
            unsafe { write_output(removed, count) };
            Success
        }))
    });
    if is_known { status } else { Invalid }
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_reserve(matcher: *mut Matcher, posted: usize, unexpected: usize) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let matcher = unsafe { matcher.as_mut()? };
        Some(matcher.reserve(posted, unexpected).map(|()| Success))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_lengths(
    matcher: *const Matcher,
    posted: *mut usize,
    unexpected: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        unsafe {
            let matcher = matcher.as_ref()?;
            write_output(posted, matcher.posted_len());
            write_output(unexpected, matcher.unexpected_len());
        }
        Some(Ok(Success))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_memory(matcher: *const Matcher, posted: *mut usize, unexpected: *mut usize) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        unsafe {
            let memory = matcher.as_ref()?.memory();
            write_output(posted, memory.posted);
            write_output(unexpected, memory.unexpected);
        }
        Some(Ok(Success))
    })
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;

    static PATTERN: CPattern = CPattern { bits: 7, ignore: 0, source: 1, any_source: 0 };
    static ENVELOPE: CEnvelope = CEnvelope { bits: 7, source: 1 };

    #[test]
    fn null_and_misuse_are_statuses() {
        // SAFETY: every pointer is null or valid as the header says.
        unsafe {
            let mut matcher = null_mut();
            assert_eq!(mbmatch_create(null(), null_mut()), Invalid);
            assert_eq!(mbmatch_create(c"tree".as_ptr(), &raw mut matcher), Invalid);
            assert_eq!(mbmatch_create(c"\xff".as_ptr(), &raw mut matcher), Invalid);
            assert!(matcher.is_null());
            mbmatch_destroy(matcher);
            assert_eq!(mbmatch_post(null_mut(), &raw const PATTERN, null_mut(), null_mut(), null_mut()), Invalid);
            assert_eq!(mbmatch_arrive(null_mut(), &raw const ENVELOPE, null_mut(), null_mut(), null_mut()), Invalid);
            assert_eq!(mbmatch_cancel(null_mut(), 1, null_mut()), Invalid);
            assert_eq!(mbmatch_probe(null_mut(), &raw const PATTERN, null_mut(), null_mut()), Invalid);
            assert_eq!(mbmatch_create(null(), &raw mut matcher), Success);
            assert_eq!(mbmatch_post(matcher, null(), null_mut(), null_mut(), null_mut()), Invalid);
            assert_eq!(mbmatch_arrive(matcher, null(), null_mut(), null_mut(), null_mut()), Invalid);
            assert_eq!(mbmatch_mprobe(matcher, null(), null_mut()), Invalid);
            assert_eq!(mbmatch_take_receive(matcher, null(), null_mut()), Invalid);
            assert_eq!(mbmatch_queue_message(null_mut(), &raw const ENVELOPE, null_mut(), null_mut()), Invalid);
            assert_eq!(mbmatch_queue_receive(matcher, null(), null_mut(), null_mut()), Invalid);
            assert_eq!(mbmatch_reserve(matcher, usize::MAX, 0), NoMemory);
            for stale in [0, 1, 2 << 32, u64::MAX] {
                assert_eq!(mbmatch_cancel(matcher, stale, null_mut()), Stale);
                assert_eq!(mbmatch_discard(matcher, stale, null_mut()), Stale);
            }
            // Every output may be null.
            assert_eq!(mbmatch_probe(matcher, &raw const PATTERN, null_mut(), null_mut()), NoMatch);
            assert_eq!(mbmatch_post(matcher, &raw const PATTERN, null_mut(), null_mut(), null_mut()), Queued);
            assert_eq!(mbmatch_arrive(matcher, &raw const ENVELOPE, null_mut(), null_mut(), null_mut()), Matched);
            assert_eq!(mbmatch_take_receive(matcher, &raw const ENVELOPE, null_mut()), NoMatch);
            assert_eq!(mbmatch_queue_message(matcher, &raw const ENVELOPE, null_mut(), null_mut()), Queued);
            assert_eq!(mbmatch_mprobe(matcher, &raw const PATTERN, null_mut()), Matched);
            assert_eq!(mbmatch_queue_receive(matcher, &raw const PATTERN, null_mut(), null_mut()), Queued);
            assert_eq!(mbmatch_take_receive(matcher, &raw const ENVELOPE, null_mut()), Matched);
            assert_eq!(mbmatch_lengths(matcher, null_mut(), null_mut()), Success);
            mbmatch_destroy(matcher);
        }
    }

    /// Returns what `context` points to.
    unsafe extern "C" fn answer<T>(context: *mut c_void, _: *const T) -> c_int {
        // SAFETY: the tests pass a number.
        unsafe { context.cast::<c_int>().read() }
    }

    #[test]
    fn visits_keep_remove_stop_and_refuse_other_answers() {
        // SAFETY: every pointer is null or valid as the header says.
        unsafe {
            let mut matcher = null_mut();
            assert_eq!(mbmatch_create(null(), &raw mut matcher), Success);
            assert_eq!(mbmatch_visit_receives(matcher, None, null_mut(), null_mut()), Invalid);
            assert_eq!(mbmatch_visit_messages(null_mut(), Some(answer), null_mut(), null_mut()), Invalid);
            for _ in 0..3 {
                assert_eq!(mbmatch_queue_receive(matcher, &raw const PATTERN, null_mut(), null_mut()), Queued);
                assert_eq!(mbmatch_queue_message(matcher, &raw const ENVELOPE, null_mut(), null_mut()), Queued);
            }
            for (mut returned, status, expected) in
                [(0, Success, 0), (2, Success, 0), (3, Invalid, 0), (1, Success, 3), (1, Success, 0)]
            {
                let (context, mut removed) = ((&raw mut returned).cast(), 0);
                assert_eq!(mbmatch_visit_receives(matcher, Some(answer), context, &raw mut removed), status);
                assert_eq!(removed, expected);
                removed = 0;
                assert_eq!(mbmatch_visit_messages(matcher, Some(answer), context, &raw mut removed), status);
                assert_eq!(removed, expected);
            }
            mbmatch_destroy(matcher);
        }
    }

    #[test]
    fn a_panic_is_a_status() {
        assert_eq!(guarded(|| panic!("a defect")), Internal);
    }

    fn text(status: c_int) -> String {
        // SAFETY: the texts are constants.
        unsafe { CStr::from_ptr(mbmatch_strerror(status)) }.to_str().expect("ASCII").to_owned()
    }

    #[test]
    fn every_status_has_a_text_of_its_own() {
        let texts: std::collections::BTreeSet<String> =
            Status::ALL.iter().map(|status| *status as c_int).chain([99]).map(text).collect();
        assert_eq!(texts.len(), Status::ALL.len() + 1);
        assert_eq!(text(1), "matched");
    }

    /// The numbers that the header gives to names that begin with `prefix`.
    fn header_numbers(prefix: &str) -> Vec<(String, c_int)> {
        include_str!("../include/mbmatch.h")
            .lines()
            .filter_map(|line| {
                let line = line.trim_start();
                let (name, value) = line.strip_prefix("#define ").unwrap_or(line).split_once(' ')?;
                let value = value.trim_start_matches("= ").split([',', ' ']).next()?;
                Some((name.strip_prefix(prefix)?.to_owned(), value.parse().ok()?))
            })
            .collect()
    }

    #[test]
    fn the_header_has_the_version_of_the_crate() {
        let parts: Vec<_> =
            header_numbers("MBMATCH_VERSION_").into_iter().map(|(_, value)| value.to_string()).collect();
        assert_eq!(parts.join("."), env!("CARGO_PKG_VERSION"));
        assert_eq!(version_part("12"), 12);
        assert_eq!(mbmatch_version(), VERSION);
    }

    #[test]
    fn the_header_has_the_numbers_of_the_statuses() {
        let expected = [
            ("OK", Success),
            ("MATCHED", Matched),
            ("QUEUED", Queued),
            ("NO_MATCH", NoMatch),
            ("STALE", Stale),
            ("INVALID", Invalid),
            ("NO_MEMORY", NoMemory),
            ("INTERNAL", Internal),
        ];
        let expected = expected.map(|(name, status)| (name.to_owned(), status as c_int));
        let is_status = |name: &str| !name.starts_with("VERSION") && !name.starts_with("VISIT_");
        let statuses = header_numbers("MBMATCH_").into_iter().filter(|(name, _)| is_status(name));
        assert_eq!(statuses.collect::<Vec<_>>(), expected);
        let visits = VISITS.map(|(name, visit)| (name.to_owned(), visit as c_int));
        assert_eq!(header_numbers("MBMATCH_VISIT_"), visits);
    }
}
