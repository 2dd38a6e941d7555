// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of the host, for programs on the machine.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use mb_guest::kernel::{Errno, Files, Stat};

const STANDARD: u64 = 3;
const CHARACTER_DEVICE: u32 = 0o020_620;

/// Files of the host; 0, 1 and 2 are those of this process.
#[derive(Debug)]
pub(crate) struct HostFiles {
    open: BTreeMap<u64, File>,
}

fn number(error: &std::io::Error) -> Errno {
    let fallback = if error.kind() == ErrorKind::NotFound { Errno::NOT_FOUND } else { Errno::INVALID };
    error.raw_os_error().and_then(|number| u16::try_from(number).ok()).map_or(fallback, Errno)
}

impl HostFiles {
    /// No open files beside the standard ones.
    pub(crate) fn new() -> Self {
        Self { open: BTreeMap::new() }
    }

    fn find(&mut self, file: u64) -> Result<&mut File, Errno> {
        self.open.get_mut(&file).ok_or(Errno::BAD_FILE)
    }
}

impl Files for HostFiles {
    fn open(&mut self, path: &[u8], flags: u64, _: u64) -> Result<u64, Errno> {
        let mut options = OpenOptions::new();
        options.read(flags & 3 != 1).write(flags & 3 != 0).truncate(flags & 0o1000 != 0).append(flags & 0o2000 != 0);
        if flags & 0o300 == 0o300 {
            options.create_new(true);
        } else {
            options.create(flags & 0o100 != 0);
        }
        let file = options.open(Path::new(std::ffi::OsStr::from_bytes(path))).map_err(|error| number(&error))?;
        let at = self.open.last_key_value().map_or(STANDARD, |(last, _)| last + 1);
        self.open.insert(at, file);
        Ok(at)
    }

    fn close(&mut self, file: u64) -> Result<(), Errno> {
        self.open.remove(&file).map(drop).ok_or(Errno::BAD_FILE)
    }

    fn read(&mut self, file: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        let done = if file == 0 { std::io::stdin().read(buffer) } else { self.find(file)?.read(buffer) };
        done.map_err(|error| number(&error))
    }

    fn write(&mut self, file: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let done = match file {
            1 => std::io::stdout().write_all(bytes),
            2 => std::io::stderr().write_all(bytes),
            _ => self.find(file)?.write_all(bytes),
        };
        done.map(|()| bytes.len()).map_err(|error| number(&error))
    }

    fn seek(&mut self, file: u64, offset: i64, origin: u64) -> Result<u64, Errno> {
        if file < STANDARD {
            return Err(Errno::NO_SEEK);
        }
        let place = match origin {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::INVALID)?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(Errno::INVALID),
        };
        self.find(file)?.seek(place).map_err(|error| number(&error))
    }

    fn stat(&mut self, file: u64) -> Result<Stat, Errno> {
        if file < STANDARD {
            return Ok(Stat { mode: CHARACTER_DEVICE, bytes: 0, inode: 1 + file });
        }
        let status = self.find(file)?.metadata().map_err(|error| number(&error))?;
        Ok(Stat { mode: status.mode(), bytes: status.len(), inode: status.ino() })
    }

    fn unlink(&mut self, path: &[u8]) -> Result<(), Errno> {
        std::fs::remove_file(Path::new(std::ffi::OsStr::from_bytes(path))).map_err(|error| number(&error))
    }

    fn truncate(&mut self, file: u64, bytes: u64) -> Result<(), Errno> {
        self.find(file)?.set_len(bytes).map_err(|error| number(&error))
    }
}
