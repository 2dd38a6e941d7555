// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System calls on files.

use super::user_memory::{CallResult, UserMemory};
use super::{errno, numbers};

/// The status of a file, as a program sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileStatus {
    /// Type and permissions, as `st_mode`.
    pub mode: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// A number that tells files apart.
    pub number: u64,
}

impl FileStatus {
    /// A terminal or another character device.
    pub const CHARACTER: Self = Self { mode: 0o020_620, bytes: 0, number: 0 };
}

/// Files and console of a program. Handles 0, 1 and 2 are standard input, output and error. Errors
/// are numbers of [`errno`].
pub trait Files {
    /// Opens a file with the flags and the mode of `open`; returns a handle that is not in use.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open(&mut self, path: &[u8], flags: u64, mode: u32) -> Result<u32, u16>;

    /// Reads up to `bytes.len()` bytes; 0 at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&mut self, handle: u32, bytes: &mut [u8]) -> Result<usize, u16>;

    /// Writes bytes; returns how many.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write(&mut self, handle: u32, bytes: &[u8]) -> Result<usize, u16>;

    /// Sets the position: 0 from the start, 1 from the position, 2 from the end. Returns it.
    ///
    /// # Errors
    /// The file has no position, or this one is invalid.
    fn seek(&mut self, handle: u32, offset: i64, from: u32) -> Result<u64, u16>;

    /// Closes a file.
    fn close(&mut self, handle: u32);

    /// The kind of an open file.
    ///
    /// # Errors
    /// It cannot be examined.
    fn status(&mut self, handle: u32) -> Result<FileStatus, u16>;

    /// The status of a file.
    ///
    /// # Errors
    /// There is none.
    fn status_of(&mut self, path: &[u8]) -> Result<FileStatus, u16>;

    /// Removes a file.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove(&mut self, path: &[u8]) -> Result<(), u16>;

    /// Sets the length of a file.
    ///
    /// # Errors
    /// It cannot be changed.
    fn truncate(&mut self, handle: u32, bytes: u64) -> Result<(), u16>;
}

/// The file descriptors of a program.
#[derive(Clone, Debug)]
pub(super) struct Descriptors<F> {
    pub(super) files: F,
    /// The handle of each descriptor.
    handles: Vec<Option<u32>>,
}

/// Most bytes of one transfer.
const LONGEST: u64 = 1 << 24;
/// Most file descriptors.
const MOST: usize = 1024;
/// Reads and writes of several parts have at most this number of them.
const PARTS: u64 = 1024;

/// The flags of `open` as Linux has them, from those of newlib (`sys/_default_fcntl.h`). Flags that change nothing
/// for a file are left out.
fn flags_of_newlib(flags: u64) -> u64 {
    // Append, create, truncate, exclusive.
    const PAIRS: [(u64, u64); 4] = [(0x8, 0o2000), (0x200, 0o100), (0x400, 0o1000), (0x800, 0o200)];
    PAIRS.iter().filter(|(newlib, _)| flags & newlib != 0).fold(flags & 3, |all, (_, linux)| all | linux)
}

impl<F: Files> Descriptors<F> {
    pub(super) fn new(files: F) -> Self {
        Self { files, handles: vec![Some(0), Some(1), Some(2)] }
    }

    fn handle(&self, descriptor: u64) -> Result<u32, u16> {
        self.handles.get(descriptor as usize).copied().flatten().ok_or(errno::EBADF)
    }

    /// The lowest free descriptor from `least` on, which becomes that of `handle`.
    fn add(&mut self, handle: u32, least: usize) -> CallResult {
        let place = (least..MOST).find(|place| self.handles.get(*place).is_none_or(Option::is_none)).unwrap_or(MOST);
        if place >= MOST {
            return Err(errno::EMFILE);
        }
        self.put(place, handle);
        Ok(place as u64)
    }

    fn put(&mut self, place: usize, handle: u32) {
        if place >= self.handles.len() {
            self.handles.resize(place + 1, None);
        }
        self.handles[place] = Some(handle);
    }

    /// Bytes of a file from `offset` on, for mmap.
    pub(super) fn content(&mut self, descriptor: u64, offset: u64, length: usize) -> Result<Vec<u8>, u16> {
        let handle = self.handle(descriptor)?;
        let place = self.files.seek(handle, 0, 1)?;
        self.files.seek(handle, offset as i64, 0)?;
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            match self.files.read(handle, &mut bytes[done..])? {
                0 => break,
                count => done += count,
            }
        }
        self.files.seek(handle, place as i64, 0)?;
        bytes.truncate(done);
        Ok(bytes)
    }

    /// Serves a call, or returns `None` if it is not one on files.
    pub(super) fn call(
        &mut self,
        number: u64,
        [a, b, c, d, ..]: [u64; 6],
        memory: &mut dyn UserMemory,
    ) -> Option<CallResult> {
        Some(match number {
            numbers::OPENAT => self.open(b, c, d, memory),
            numbers::OPEN => self.open(a, flags_of_newlib(b), c, memory),
            numbers::CLOSE => self.close(a),
            numbers::READ => self.read(a, b, c, memory),
            numbers::WRITE => self.write(a, b, c, memory),
            numbers::READV => parts(b, c, memory, |memory, at, length| self.read(a, at, length, memory)),
            numbers::WRITEV => parts(b, c, memory, |memory, at, length| self.write(a, at, length, memory)),
            numbers::PREAD64 => self.content(a, d, c.min(LONGEST) as usize).and_then(|bytes| {
                memory.set(b, &bytes)?;
                Ok(bytes.len() as u64)
            }),
            numbers::LSEEK => self.handle(a).and_then(|handle| self.files.seek(handle, b as i64, c as u32)),
            numbers::FSTAT => self.status(a, b, memory),
            numbers::STAT => self.status_of(a, b, memory),
            numbers::NEWFSTATAT => match memory.string(b) {
                // AT_EMPTY_PATH.
                Ok(path) if path.is_empty() => self.status(a, c, memory),
                _ => self.status_of(b, c, memory),
            },
            numbers::FACCESSAT => memory.string(b).and_then(|path| self.files.status_of(&path)).map(|_| 0),
            numbers::ACCESS => memory.string(a).and_then(|path| self.files.status_of(&path)).map(|_| 0),
            numbers::UNLINKAT => memory.string(b).and_then(|path| self.files.remove(&path)).map(|()| 0),
            numbers::UNLINK => memory.string(a).and_then(|path| self.files.remove(&path)).map(|()| 0),
            numbers::FTRUNCATE => self.handle(a).and_then(|handle| self.files.truncate(handle, b)).map(|()| 0),
            numbers::DUP => self.handle(a).and_then(|handle| self.add(handle, 0)),
            numbers::DUP3 => self.handle(a).and_then(|handle| {
                if b as usize >= MOST || a == b {
                    return Err(errno::EINVAL);
                }
                // A descriptor that is open there is closed.
                let _ = self.close(b);
                self.put(b as usize, handle);
                Ok(b)
            }),
            numbers::FCNTL => self.control(a, b, c),
            numbers::IOCTL => self.handle(a).and(Err(errno::ENOTTY)),
            numbers::GETCWD => memory.set(a, b"/\0").map(|()| 2),
            _ => return None,
        })
    }

    fn open(&mut self, path: u64, flags: u64, mode: u64, memory: &dyn UserMemory) -> CallResult {
        let path = memory.string(path)?;
        let handle = self.files.open(&path, flags, mode as u32)?;
        self.add(handle, 0)
    }

    fn close(&mut self, descriptor: u64) -> CallResult {
        let handle = self.handle(descriptor)?;
        self.handles[descriptor as usize] = None;
        if !self.handles.contains(&Some(handle)) {
            self.files.close(handle);
        }
        Ok(0)
    }

    fn read(&mut self, descriptor: u64, address: u64, length: u64, memory: &mut dyn UserMemory) -> CallResult {
        let handle = self.handle(descriptor)?;
        let length = length.min(LONGEST) as usize;
        memory.bytes(address, length).ok_or(errno::EFAULT)?;
        let mut bytes = vec![0; length];
        let count = self.files.read(handle, &mut bytes)?;
        memory.set(address, &bytes[..count])?;
        Ok(count as u64)
    }

    fn write(&mut self, descriptor: u64, address: u64, length: u64, memory: &dyn UserMemory) -> CallResult {
        let handle = self.handle(descriptor)?;
        let bytes = memory.bytes(address, length.min(LONGEST) as usize).ok_or(errno::EFAULT)?;
        self.files.write(handle, bytes).map(|count| count as u64)
    }

    fn status(&mut self, descriptor: u64, address: u64, memory: &mut dyn UserMemory) -> CallResult {
        let status = self.handle(descriptor).and_then(|handle| self.files.status(handle))?;
        memory.set(address, &layout(&status)).map(|()| 0)
    }

    fn status_of(&mut self, path: u64, address: u64, memory: &mut dyn UserMemory) -> CallResult {
        let status = self.files.status_of(&memory.string(path)?)?;
        memory.set(address, &layout(&status)).map(|()| 0)
    }

    fn control(&mut self, descriptor: u64, command: u64, argument: u64) -> CallResult {
        const DUPLICATE: u64 = 0;
        const DUPLICATE_CLOSE_ON_EXEC: u64 = 1030;
        const GET_FLAGS: u64 = 3;
        let handle = self.handle(descriptor)?;
        match command {
            DUPLICATE | DUPLICATE_CLOSE_ON_EXEC => self.add(handle, argument as usize),
            // Read and write.
            GET_FLAGS => Ok(2),
            _ => Ok(0),
        }
    }
}

/// A transfer of several parts; ends after one that is shorter than asked for.
fn parts(
    list: u64,
    count: u64,
    memory: &mut dyn UserMemory,
    mut transfer: impl FnMut(&mut dyn UserMemory, u64, u64) -> CallResult,
) -> CallResult {
    let mut done = 0;
    if count > PARTS {
        return Err(errno::EINVAL);
    }
    for part in 0..count {
        let (address, length) = (memory.number(list + 16 * part)?, memory.number(list + 16 * part + 8)?);
        match transfer(memory, address, length) {
            Ok(moved) => {
                done += moved;
                if moved < length {
                    break;
                }
            }
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// `struct stat` (`include/uapi/asm-generic/stat.h`).
fn layout(status: &FileStatus) -> [u8; 128] {
    let mut bytes = [0; 128];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &1_u64.to_le_bytes());
    put(8, &status.number.to_le_bytes());
    put(16, &status.mode.to_le_bytes());
    put(20, &1_u32.to_le_bytes());
    put(48, &status.bytes.to_le_bytes());
    put(56, &4096_u32.to_le_bytes());
    put(64, &status.bytes.div_ceil(512).to_le_bytes());
    bytes
}
