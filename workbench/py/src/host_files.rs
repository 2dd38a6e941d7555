// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of this machine, for a simulated program.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use mb_processor::linux::{FileStatus, Files, errno};

/// Standard input, output and error of this process, and the files that the program opened.
#[derive(Debug)]
pub(crate) struct HostFiles {
    open: BTreeMap<u32, File>,
    next: u32,
    /// Whether the line on the terminal may show progress, which the program's output replaces.
    display: bool,
    /// Whether the program has begun a line and not ended it.
    inside_line: bool,
}

/// The error number of this machine. Those of Linux are the same on every architecture here.
#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn number(error: io::Error) -> u16 {
    error.raw_os_error().and_then(|number| u16::try_from(number).ok()).unwrap_or(errno::EIO)
}

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn describe(found: &Metadata) -> FileStatus {
    FileStatus { mode: found.mode(), bytes: found.len(), number: found.ino() }
}

impl HostFiles {
    /// No file is open. `display`: progress is shown on standard error while no line is begun.
    pub(crate) const fn new(display: bool) -> Self {
        Self { open: BTreeMap::new(), next: 3, display, inside_line: false }
    }

    /// Whether the program has begun a line of output and not ended it.
    pub(crate) const fn inside_line(&self) -> bool {
        self.inside_line
    }

    /// Erases progress before output or input of the program.
    fn erase_progress(&self) {
        if self.display && !self.inside_line {
            // Without standard error there is no progress either.
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }

    fn file(&mut self, handle: u32) -> Result<&mut File, u16> {
        self.open.get_mut(&handle).ok_or(errno::EBADF)
    }
}

impl Files for HostFiles {
    fn open(&mut self, name: &[u8], flags: u64, mode: u32) -> Result<u32, u16> {
        // Append, truncate, exclusive and create: this machine has the same numbers (`asm-generic/fcntl.h`). The
        // methods of `OpenOptions` refuse some combinations, such as append and truncate.
        const PASSED: u64 = 0o3300;
        let (reads, writes) = (flags & 3 != 1, flags & 3 != 0);
        let mut options = OpenOptions::new();
        options.read(reads).write(writes).custom_flags((flags & PASSED) as i32).mode(mode & 0o777);
        let file = options.open(path(name)).map_err(number)?;
        let handle = self.next;
        self.next += 1;
        self.open.insert(handle, file);
        Ok(handle)
    }

    fn read(&mut self, handle: u32, bytes: &mut [u8]) -> Result<usize, u16> {
        match handle {
            0 => {
                self.erase_progress();
                io::stdin().read(bytes).map_err(number)
            }
            _ => self.file(handle)?.read(bytes).map_err(number),
        }
    }

    fn write(&mut self, handle: u32, bytes: &[u8]) -> Result<usize, u16> {
        if matches!(handle, 1 | 2) {
            self.erase_progress();
            self.inside_line = bytes.last().map_or(self.inside_line, |last| *last != b'\n');
        }
        let count = match handle {
            1 => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()).map(|()| bytes.len()),
            2 => io::stderr().write_all(bytes).map(|()| bytes.len()),
            _ => self.file(handle)?.write(bytes),
        };
        count.map_err(number)
    }

    fn seek(&mut self, handle: u32, offset: i64, from: u32) -> Result<u64, u16> {
        let place = match from {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| errno::EINVAL)?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(errno::EINVAL),
        };
        if handle < 3 {
            return Err(errno::ESPIPE);
        }
        self.file(handle)?.seek(place).map_err(number)
    }

    fn close(&mut self, handle: u32) {
        self.open.remove(&handle);
    }

    fn status(&mut self, handle: u32) -> Result<FileStatus, u16> {
        if handle < 3 {
            return Ok(FileStatus::CHARACTER);
        }
        self.file(handle)?.metadata().map(|found| describe(&found)).map_err(number)
    }

    fn status_of(&mut self, name: &[u8]) -> Result<FileStatus, u16> {
        std::fs::metadata(path(name)).map(|found| describe(&found)).map_err(number)
    }

    fn remove(&mut self, name: &[u8]) -> Result<(), u16> {
        std::fs::remove_file(path(name)).map_err(number)
    }

    fn truncate(&mut self, handle: u32, bytes: u64) -> Result<(), u16> {
        self.file(handle)?.set_len(bytes).map_err(number)
    }
}
