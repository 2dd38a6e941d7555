// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C interface; `include/mbmatch.h` is its documentation.
//!
//! `unsafe` here is of one kind: pointers of the caller, which must be null or good for what the header says.
//! Null is an error code where something must be there. A panic would be a defect of ours; it does not cross the
//! boundary, but becomes an error code too.

#![allow(unreachable_pub, reason = "reached by C, through the names of the symbols")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::types::{Arrived, Envelope, Handle, Message, OutOfMemory, Pattern, Posted};
use crate::{Matcher, Options, Structure};

const NONE: c_int = 0;
const MATCHED: c_int = 1;
const INVALID: c_int = -1;
const NO_MEMORY: c_int = -2;
const INTERNAL: c_int = -3;

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

impl From<Message> for CMessage {
    #[inline(always)]
    fn from(Message { user, envelope: Envelope { bits, source } }: Message) -> Self {
        Self { user: to_pointer(user), envelope: CEnvelope { bits, source } }
    }
}

// A caller's pointer is only kept: its provenance is exposed on the way in and taken up again on the way out.
#[inline(always)]
fn to_pointer(user: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(user as usize)
}

#[inline(always)]
fn from_pointer(user: *mut c_void) -> u64 {
    user.expose_provenance() as u64
}

/// Runs `call` and turns what goes wrong into a code.
#[inline(always)]
fn guarded(call: impl FnOnce() -> Option<Result<c_int, OutOfMemory>>) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Some(Ok(code))) => code,
        Ok(Some(Err(OutOfMemory))) => NO_MEMORY,
        Ok(None) => INVALID,
        Err(_) => INTERNAL,
    }
}

/// Writes `value` to where `to` points, unless that is null.
///
/// # Safety
/// `to` is null or good for a write.
#[inline(always)]
unsafe fn give<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) }
    }
}

/// # Safety
/// `structure` is null or a string; `matcher` is null or good for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_create(structure: *const c_char, matcher: *mut *mut Matcher) -> c_int {
    guarded(|| {
        let structure = if structure.is_null() {
            Structure::default()
        } else {
            // SAFETY: the caller's promise.
            unsafe { CStr::from_ptr(structure) }.to_str().ok()?.parse().ok()?
        };
        if matcher.is_null() {
            return None;
        }
        // A box that can fail: the same layout and allocator.
        #[allow(clippy::cast_ptr_alignment, reason = "the layout says which alignment it has")]
        // SAFETY: a matcher has a size; what is written to is fresh memory of its layout; the caller's promise.
        unsafe {
            let place = std::alloc::alloc(std::alloc::Layout::new::<Matcher>()).cast::<Matcher>();
            if place.is_null() {
                return Some(Err(OutOfMemory));
            }
            place.write(Matcher::new(structure, Options::default()));
            matcher.write(place);
        }
        Some(Ok(NONE))
    })
}

/// # Safety
/// `matcher` is null or came from [`mbmatch_create`] and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_destroy(matcher: *mut Matcher) {
    guarded(|| {
        if !matcher.is_null() {
            // SAFETY: made as a box is; the caller's promise.
            drop(unsafe { Box::from_raw(matcher) });
        }
        Some(Ok(NONE))
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
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (matcher, pattern) = unsafe { (matcher.as_mut()?, *pattern.as_ref()?) };
        Some(matcher.post(pattern.into(), from_pointer(user)).map(|posted| match posted {
            Posted::Matched(found) => {
                // SAFETY: the caller's promise.
                unsafe { give(message, found.into()) };
                MATCHED
            }
            Posted::Waiting(waiting) => {
                // SAFETY: the caller's promise.
                unsafe { give(handle, waiting.into_raw()) };
                NONE
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
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (matcher, envelope) = unsafe { (matcher.as_mut()?, *envelope.as_ref()?) };
        let envelope = Envelope { bits: envelope.bits, source: envelope.source };
        Some(matcher.arrive(envelope, from_pointer(user)).map(|arrived| match arrived {
            Arrived::Matched { user } => {
                // SAFETY: the caller's promise.
                unsafe { give(receive, to_pointer(user)) };
                MATCHED
            }
            Arrived::Unexpected(waiting) => {
                // SAFETY: the caller's promise.
                unsafe { give(handle, waiting.into_raw()) };
                NONE
            }
        }))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_cancel(matcher: *mut Matcher, receive: u64, user: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { take_back(matcher, user, |matcher| matcher.cancel(Handle::from_raw(receive))) }
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_discard(matcher: *mut Matcher, message: u64, user: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { take_back(matcher, user, |matcher| matcher.discard(Handle::from_raw(message))) }
}

/// # Safety
/// Each pointer is null or as the header says.
unsafe fn take_back(
    matcher: *mut Matcher,
    user: *mut *mut c_void,
    take: impl FnOnce(&mut Matcher) -> Option<u64>,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let Some(found) = take(unsafe { matcher.as_mut()? }) else { return Some(Ok(NONE)) };
        // SAFETY: the caller's promise.
        unsafe { give(user, to_pointer(found)) };
        Some(Ok(MATCHED))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_probe(
    matcher: *mut Matcher,
    pattern: *const CPattern,
    message: *mut CMessage,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (matcher, pattern) = unsafe { (matcher.as_mut()?, *pattern.as_ref()?) };
        let Some(found) = matcher.probe(pattern.into()) else { return Some(Ok(NONE)) };
        // SAFETY: the caller's promise.
        unsafe { give(message, found.into()) };
        Some(Ok(MATCHED))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_mprobe(
    matcher: *mut Matcher,
    pattern: *const CPattern,
    message: *mut CMessage,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let (matcher, pattern) = unsafe { (matcher.as_mut()?, *pattern.as_ref()?) };
        let Some(found) = matcher.mprobe(pattern.into()) else { return Some(Ok(NONE)) };
        // SAFETY: the caller's promise.
        unsafe { give(message, found.into()) };
        Some(Ok(MATCHED))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_reserve(matcher: *mut Matcher, posted: usize, unexpected: usize) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let matcher = unsafe { matcher.as_mut()? };
        Some(matcher.reserve(posted, unexpected).map(|()| NONE))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_lengths(matcher: *const Matcher, posted: *mut usize, unexpected: *mut usize) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let matcher = matcher.as_ref()?;
            give(posted, matcher.posted_len());
            give(unexpected, matcher.unexpected_len());
        }
        Some(Ok(NONE))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_memory(matcher: *const Matcher, posted: *mut usize, unexpected: *mut usize) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let memory = matcher.as_ref()?.memory();
            give(posted, memory.posted);
            give(unexpected, memory.unexpected);
        }
        Some(Ok(NONE))
    })
}

/// What a code means, as a string that is always there.
#[unsafe(no_mangle)]
pub extern "C" fn mbmatch_strerror(code: c_int) -> *const c_char {
    let text = match code {
        NONE => c"nothing matched",
        MATCHED => c"matched",
        INVALID => c"a pointer is null, or there is no such structure",
        NO_MEMORY => c"out of memory",
        INTERNAL => c"a defect of mbmatch; the matcher must not be used any more",
        _ => c"no such code",
    };
    text.as_ptr()
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;

    static PATTERN: CPattern = CPattern { bits: 7, ignore: 0, source: 1, any_source: 0 };
    static ENVELOPE: CEnvelope = CEnvelope { bits: 7, source: 1 };

    #[test]
    fn null_and_misuse_are_codes() {
        // SAFETY: what is not null is good for what the header says.
        unsafe {
            let mut matcher = null_mut();
            assert_eq!(mbmatch_create(null(), null_mut()), INVALID);
            assert_eq!(mbmatch_create(c"tree".as_ptr(), &raw mut matcher), INVALID);
            assert_eq!(mbmatch_create(c"\xff".as_ptr(), &raw mut matcher), INVALID);
            assert!(matcher.is_null());
            mbmatch_destroy(matcher);
            assert_eq!(mbmatch_post(null_mut(), &raw const PATTERN, null_mut(), null_mut(), null_mut()), INVALID);
            assert_eq!(mbmatch_arrive(null_mut(), &raw const ENVELOPE, null_mut(), null_mut(), null_mut()), INVALID);
            assert_eq!(mbmatch_cancel(null_mut(), 1, null_mut()), INVALID);
            assert_eq!(mbmatch_probe(null_mut(), &raw const PATTERN, null_mut()), INVALID);
            assert_eq!(mbmatch_create(null(), &raw mut matcher), NONE);
            assert_eq!(mbmatch_post(matcher, null(), null_mut(), null_mut(), null_mut()), INVALID);
            assert_eq!(mbmatch_arrive(matcher, null(), null_mut(), null_mut(), null_mut()), INVALID);
            assert_eq!(mbmatch_mprobe(matcher, null(), null_mut()), INVALID);
            assert_eq!(mbmatch_reserve(matcher, usize::MAX, 0), NO_MEMORY);
            for stale in [0, 1, 2 << 32, u64::MAX] {
                assert_eq!(mbmatch_cancel(matcher, stale, null_mut()), NONE);
                assert_eq!(mbmatch_discard(matcher, stale, null_mut()), NONE);
            }
            // Results that nobody wants.
            assert_eq!(mbmatch_post(matcher, &raw const PATTERN, null_mut(), null_mut(), null_mut()), NONE);
            assert_eq!(mbmatch_arrive(matcher, &raw const ENVELOPE, null_mut(), null_mut(), null_mut()), MATCHED);
            assert_eq!(mbmatch_lengths(matcher, null_mut(), null_mut()), NONE);
            mbmatch_destroy(matcher);
        }
    }

    #[test]
    fn a_panic_is_a_code() {
        assert_eq!(guarded(|| panic!("a defect")), INTERNAL);
    }

    #[test]
    fn every_code_has_its_text() {
        let texts = [1, 0, -1, -2, -3, 9].map(|code| {
            // SAFETY: the texts are constants.
            unsafe { CStr::from_ptr(mbmatch_strerror(code)) }.to_str().expect("ASCII").to_owned()
        });
        assert_eq!(texts[0], "matched");
        assert!(texts.iter().skip(1).zip(&texts).all(|(a, b)| a != b));
    }
}
