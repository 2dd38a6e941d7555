// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C interface; `include/mbmatch.h` is its documentation.
//!
//! Safety: every `unsafe` block uses a pointer of the caller, which is null or valid as the header
//! says. Null is an error status where the header requires a pointer. A panic, which would be a
//! defect of mbmatch, does not cross the boundary: it becomes an error status.

#![allow(unreachable_pub, reason = "exported to C by symbol name")]

#[cfg(test)]
mod tests;
mod types;

use std::alloc::Layout;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::Matcher;
use crate::heap::{allocate_from, release_to};
use crate::types::{Arrived, Envelope, Handle, Message, OutOfMemory, Pattern, Posted, SourceChange, Visit};

use Status::{Internal, Invalid, Matched, NoMatch, NoMemory, Off, Queued, Stale, Success};
use types::{
    CEnvelope, CMessage, COptions, CPattern, CQueueCounters, CQueuedMessage, CQueuedReceive, Removed, Status, VERSION,
    Visitor, from_pointer, to_pointer, visited,
};

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
    // SAFETY: the caller's contract.
    unsafe { mbmatch_create_with(&COptions { structure, ..COptions::DEFAULT }, matcher) }
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_create_with(options: *const COptions, matcher: *mut *mut Matcher) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (structure, options) = unsafe { options.as_ref()?.read()? };
        if matcher.is_null() {
            return None;
        }
        let created = Matcher::try_new(structure, options).and_then(|created| {
            let memory = allocate_from(options.allocator, Layout::new::<Matcher>())?.cast::<Matcher>();
            // SAFETY: fresh memory of this layout; the caller's contract.
            unsafe {
                memory.write(created);
                matcher.write(memory.as_ptr());
            }
            Ok(Success)
        });
        Some(created)
    })
}

/// # Safety
/// `matcher` is null or came from [`mbmatch_create`] or [`mbmatch_create_with`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_destroy(matcher: *mut Matcher) {
    guarded(|| {
        let matcher = NonNull::new(matcher)?;
        // SAFETY: allocated there with this layout; the caller's contract.
        unsafe {
            let allocator = matcher.as_ref().allocator();
            matcher.drop_in_place();
            release_to(allocator, matcher.cast(), Layout::new::<Matcher>());
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
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_change_source(
    matcher: *mut Matcher,
    message: u64,
    source: u32,
    receive: *mut *mut c_void,
    user: *mut *mut c_void,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let changed = unsafe { matcher.as_mut()? }.change_source(Handle::from_raw(message), source);
        Some(Ok(match changed {
            None => Stale,
            Some(SourceChange::Waiting) => Success,
            Some(SourceChange::Matched { receive: taken, message }) => {
                // SAFETY: the caller's contract.
                unsafe {
                    write_output(receive, to_pointer(taken));
                    write_output(user, to_pointer(message));
                }
                Matched
            }
        }))
    })
}

/// # Safety
/// Each pointer is null or as the header says; `visit` does not use the matcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_visit_receives(
    matcher: *mut Matcher,
    visit: Visitor<CQueuedReceive>,
    context: *mut c_void,
    removed: *mut usize,
) -> Status {
    // SAFETY: the caller's contract.
    unsafe { visit_queue(matcher, visit, context, removed, |matcher, visit| matcher.visit_receives(visit)) }
}

/// # Safety
/// Each pointer is null or as the header says; `visit` does not use the matcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_visit_messages(
    matcher: *mut Matcher,
    visit: Visitor<CQueuedMessage>,
    context: *mut c_void,
    removed: *mut usize,
) -> Status {
    // SAFETY: the caller's contract.
    unsafe { visit_queue(matcher, visit, context, removed, |matcher, visit| matcher.visit_messages(visit)) }
}

/// Visits one queue. `T` is an entry, `C` its form in C.
///
/// # Safety
/// Each pointer is null or as the header says; `visit` does not use the matcher.
unsafe fn visit_queue<T: Copy, C: From<T>>(
    matcher: *mut Matcher,
    visit: Visitor<C>,
    context: *mut c_void,
    removed: *mut usize,
    visit_all: impl FnOnce(&mut Matcher, &mut dyn FnMut(&T) -> Visit) -> Result<usize, OutOfMemory>,
) -> Status {
    let mut is_known = true;
    let status = guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, visit) = (unsafe { matcher.as_mut()? }, visit?);
        let count = visit_all(matcher, &mut |entry| {
            // SAFETY: the caller's contract.
            visited(unsafe { visit(context, &C::from(*entry)) }, &mut is_known)
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
/// Each pointer is null or as the header says; `removed` does not use the matcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_remove_receives(
    matcher: *mut Matcher,
    within: *const CPattern,
    removed: Removed,
    context: *mut c_void,
    count: *mut usize,
) -> Status {
    // SAFETY: the caller's contract.
    unsafe {
        remove_within(matcher, within, removed, context, count, |matcher, within, report| {
            matcher.remove_receives(within, |receive| report(receive.user))
        })
    }
}

/// # Safety
/// Each pointer is null or as the header says; `removed` does not use the matcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_remove_messages(
    matcher: *mut Matcher,
    within: *const CPattern,
    removed: Removed,
    context: *mut c_void,
    count: *mut usize,
) -> Status {
    // SAFETY: the caller's contract.
    unsafe {
        remove_within(matcher, within, removed, context, count, |matcher, within, report| {
            matcher.remove_messages(within, |message| report(message.user))
        })
    }
}

/// Removes entries of one queue.
///
/// # Safety
/// Each pointer is null or as the header says; `removed` does not use the matcher.
unsafe fn remove_within(
    matcher: *mut Matcher,
    within: *const CPattern,
    removed: Removed,
    context: *mut c_void,
    count: *mut usize,
    remove: impl FnOnce(&mut Matcher, Pattern, &mut dyn FnMut(u64)) -> Result<usize, OutOfMemory>,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let (matcher, within) = unsafe { (matcher.as_mut()?, *within.as_ref()?) };
        let done = remove(matcher, within.into(), &mut |user| {
            if let Some(removed) = removed {
                // SAFETY: the caller's contract.
                unsafe { removed(context, to_pointer(user)) };
            }
        });
        Some(done.map(|removed| {
            // SAFETY: the caller's contract.
            unsafe { write_output(count, removed) };
            Success
        }))
    })
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

/// # Safety
/// `matcher` is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_shrink(matcher: *mut Matcher) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        unsafe { matcher.as_mut()? }.shrink();
        Some(Ok(Success))
    })
}

/// # Safety
/// `matcher` is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_start_counters(matcher: *mut Matcher) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        Some(unsafe { matcher.as_mut()? }.start_counters().map(|()| Success))
    })
}

/// # Safety
/// `matcher` is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_stop_counters(matcher: *mut Matcher) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        unsafe { matcher.as_mut()? }.stop_counters();
        Some(Ok(Success))
    })
}

/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mbmatch_counters(
    matcher: *const Matcher,
    posted: *mut CQueueCounters,
    unexpected: *mut CQueueCounters,
) -> Status {
    guarded(|| {
        // SAFETY: the caller's contract.
        let Some(counters) = unsafe { matcher.as_ref()? }.counters() else { return Some(Ok(Off)) };
        // SAFETY: the caller's contract.
        unsafe {
            write_output(posted, counters.posted.into());
            write_output(unexpected, counters.unexpected.into());
        }
        Some(Ok(Success))
    })
}
