// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contenders: the structures of mbmatch, bounds without a matcher, and other libraries, each
//! through a shim in C.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use mbmatch::{Arrived, Envelope, Handle, Matcher, Options, Pattern, Posted, Structure};

use crate::sequences::TAG_BITS;
use crate::series::{DEEPEST, REQUESTS};

/// A receiver and the requests of a program.
pub(crate) trait Contender {
    /// Posts the receive of request `request`.
    fn post(&mut self, pattern: Pattern, request: u32);
    /// Delivers message `message`, which belongs to the request of the same number.
    fn arrive(&mut self, envelope: Envelope, message: u32);
    /// Completes a request. Fails if its message has not arrived.
    fn wait(&mut self, request: u32);
    /// Whether `pattern` accepts an unexpected message.
    fn probe(&mut self, pattern: Pattern) -> bool;
    /// Cancels the receive of `request`.
    fn cancel(&mut self, request: u32);
    /// Fragments the pools: queues [`DEEPEST`] receives and messages and frees them in random
    /// order.
    fn fragment(&mut self);
}

/// The request object of a program: one cache line.
#[repr(align(64))]
#[derive(Clone, Default)]
struct Request {
    handle: u64,
    done: bool,
}

/// A structure of mbmatch.
pub(crate) struct Native {
    matcher: Matcher,
    requests: Vec<Request>,
}

impl Native {
    pub(crate) fn new(structure: Structure, options: Options) -> Self {
        Self { matcher: Matcher::new(structure, options), requests: vec![Request::default(); REQUESTS] }
    }

    /// Not inlined: the arguments are in registers, as those of `MPI_Irecv` are.
    #[inline(never)]
    fn post_parts(&mut self, bits: u64, ignore: u64, source: Option<u32>, request: u32) {
        match self.matcher.post(Pattern { bits, ignore, source }, u64::from(request)).expect("memory") {
            Posted::Matched(message) => self.requests[message.user as usize].done = true,
            Posted::Waiting(handle) => self.requests[request as usize].handle = handle.into_raw(),
        }
    }
}

impl Contender for Native {
    #[inline]
    fn post(&mut self, pattern: Pattern, request: u32) {
        self.post_parts(pattern.bits, pattern.ignore, pattern.source, request);
    }

    #[inline(never)]
    fn arrive(&mut self, envelope: Envelope, message: u32) {
        match self.matcher.arrive(envelope, u64::from(message)).expect("memory") {
            Arrived::Matched { user } => self.requests[user as usize].done = true,
            Arrived::Unexpected(handle) => self.requests[message as usize].handle = handle.into_raw(),
        }
    }

    #[inline]
    fn wait(&mut self, request: u32) {
        assert!(std::mem::take(&mut self.requests[request as usize].done), "request {request} is not complete");
    }

    #[inline]
    fn probe(&mut self, pattern: Pattern) -> bool {
        self.matcher.probe(pattern).is_some()
    }

    #[inline]
    fn cancel(&mut self, request: u32) {
        let handle = Handle::from_raw(self.requests[request as usize].handle);
        assert!(self.matcher.cancel(handle).is_some(), "request {request} is not queued");
    }

    fn fragment(&mut self) {
        let envelope = |i| Envelope { bits: u64::from(i), source: 0 };
        (0..DEEPEST).for_each(|i| self.post(Pattern::exactly(envelope(i)), i));
        for i in random_order() {
            self.cancel(i);
        }
        (0..DEEPEST).for_each(|i| self.arrive(envelope(i), i));
        for i in random_order() {
            let handle = Handle::from_raw(self.requests[i as usize].handle);
            assert!(self.matcher.discard(handle).is_some(), "message {i} is not queued");
        }
    }
}

fn random_order() -> Vec<u32> {
    let mut order: Vec<u32> = (0..DEEPEST).collect();
    fastrand::Rng::with_seed(2).shuffle(&mut order);
    order
}

/// No matcher: the cost of the sequences and of completing requests. A lower bound.
pub(crate) struct Floor(Vec<Request>);

impl Floor {
    pub(crate) fn new() -> Self {
        Self(vec![Request::default(); REQUESTS])
    }
}

impl Contender for Floor {
    #[inline]
    fn post(&mut self, pattern: Pattern, request: u32) {
        self.arrive(Envelope { bits: pattern.bits, source: 0 }, request);
    }

    #[inline]
    fn arrive(&mut self, envelope: Envelope, message: u32) {
        self.0[message as usize] = Request { handle: std::hint::black_box(envelope.bits), done: true };
    }

    #[inline]
    fn wait(&mut self, request: u32) {
        assert!(std::mem::take(&mut self.0[request as usize].done), "request {request} is not complete");
    }

    #[inline]
    fn probe(&mut self, pattern: Pattern) -> bool {
        std::hint::black_box(pattern).bits == 0
    }

    #[inline]
    fn cancel(&mut self, request: u32) {
        self.wait(request);
    }

    fn fragment(&mut self) {}
}

/// A direct-mapped table by tag: the cost of memory for a matcher without search, for distinct tags
/// only. A lower bound.
pub(crate) struct Direct {
    entries: Vec<TaggedEntry>,
    requests: Vec<Request>,
}

/// As large as an entry of `adaptive`.
#[repr(align(32))]
#[derive(Clone, Default)]
struct TaggedEntry {
    bits: u64,
    request: u32,
    queued: bool,
}

impl Direct {
    pub(crate) fn new() -> Self {
        Self {
            entries: vec![TaggedEntry::default(); 2 * DEEPEST as usize],
            requests: vec![Request::default(); REQUESTS],
        }
    }

    /// Removes the entry with these bits, or stores one.
    #[inline]
    fn match_or_store(&mut self, bits: u64, request: u32) {
        let slots = self.entries.len();
        let entry = &mut self.entries[bits as usize % slots];
        if entry.queued && entry.bits == bits {
            entry.queued = false;
            self.requests[entry.request as usize].done = true;
        } else {
            *entry = TaggedEntry { bits, request, queued: true };
        }
    }
}

impl Contender for Direct {
    #[inline]
    fn post(&mut self, pattern: Pattern, request: u32) {
        self.match_or_store(pattern.bits, request);
    }

    #[inline]
    fn arrive(&mut self, envelope: Envelope, message: u32) {
        self.match_or_store(envelope.bits, message);
    }

    #[inline]
    fn wait(&mut self, request: u32) {
        assert!(std::mem::take(&mut self.requests[request as usize].done), "request {request} is not complete");
    }

    fn probe(&mut self, pattern: Pattern) -> bool {
        self.entries[pattern.bits as usize % self.entries.len()].queued
    }

    fn cancel(&mut self, _: u32) {}

    fn fragment(&mut self) {}
}

/// Another library behind a shim in C, loaded as a shared object. `shim.h` documents the functions.
pub(crate) struct Shim {
    post: unsafe extern "C" fn(u64, u64, u32),
    arrive: unsafe extern "C" fn(u64, u32),
    wait: unsafe extern "C" fn(u32),
    probe: unsafe extern "C" fn(u64, u64) -> c_int,
    cancel: unsafe extern "C" fn(u32),
    close: unsafe extern "C" fn(),
    /// Name and version of the library.
    pub(crate) version: String,
}

/// The bit of the source in a shim's keys. There is one source.
const SOURCE_BITS: u64 = 1 << 40;

impl Shim {
    /// Loads and opens the library.
    ///
    /// # Errors
    /// The reason, if the library cannot be loaded.
    pub(crate) fn open(path: &OsStr) -> Result<Self, String> {
        let file = CString::new(path.as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: the shims run no code when loaded. `RTLD_GLOBAL`, since MPI libraries load
        // plug-ins that use their symbols.
        let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            // SAFETY: `dlopen` failed, so that there is a message, a string.
            return Err(unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned());
        }
        // SAFETY: `shim.h`, which every shim includes, declares each function with the type of the
        // field.
        unsafe {
            let open: unsafe extern "C" fn(u32) -> *const c_char = std::mem::transmute(symbol(library, c"shim_open")?);
            let version = CStr::from_ptr(open(REQUESTS as u32)).to_string_lossy().into_owned();
            Ok(Self {
                post: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u64, u64, u32)>(symbol(
                    library,
                    c"shim_post",
                )?),
                arrive: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u64, u32)>(symbol(
                    library,
                    c"shim_arrive",
                )?),
                wait: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u32)>(symbol(library, c"shim_wait")?),
                probe: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u64, u64) -> c_int>(symbol(
                    library,
                    c"shim_probe",
                )?),
                cancel: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u32)>(symbol(library, c"shim_cancel")?),
                close: std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(symbol(library, c"shim_close")?),
                version,
            })
        }
    }
}

fn symbol(library: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the library stays loaded until the process ends.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() { Err(format!("the shim has no function {}", name.to_string_lossy())) } else { Ok(found) }
}

/// The ignore bits of a pattern for a shim.
fn ignored(pattern: &Pattern) -> u64 {
    let any_tag = pattern.ignore & TAG_BITS == TAG_BITS;
    assert!(pattern.ignore == 0 || any_tag, "MPI has no single ignore bits");
    pattern.ignore | if pattern.source.is_none() { SOURCE_BITS } else { 0 }
}

// SAFETY of the calls: the library is open, and used by the one thread that opened it.
impl Contender for Shim {
    #[inline]
    fn post(&mut self, pattern: Pattern, request: u32) {
        unsafe { (self.post)(pattern.bits, ignored(&pattern), request) }
    }

    #[inline]
    fn arrive(&mut self, envelope: Envelope, message: u32) {
        unsafe { (self.arrive)(envelope.bits, message) }
    }

    #[inline]
    fn wait(&mut self, request: u32) {
        unsafe { (self.wait)(request) }
    }

    #[inline]
    fn probe(&mut self, pattern: Pattern) -> bool {
        unsafe { (self.probe)(pattern.bits, ignored(&pattern)) != 0 }
    }

    #[inline]
    fn cancel(&mut self, request: u32) {
        unsafe { (self.cancel)(request) }
    }

    fn fragment(&mut self) {
        let envelope = |i| Envelope { bits: 16 + u64::from(i), source: 0 };
        for receives_first in [true, false] {
            // Matched in order, which every list finds at once, and freed in random order.
            for posts in [receives_first, !receives_first] {
                for i in 0..DEEPEST {
                    if posts {
                        self.post(Pattern::exactly(envelope(i)), i);
                    } else {
                        self.arrive(envelope(i), i);
                    }
                }
            }
            for i in random_order() {
                self.wait(i);
            }
        }
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        unsafe { (self.close)() }
    }
}
