// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files that programs see. Models do no I/O: whoever runs a machine implements [`Files`].

use std::collections::BTreeMap;

/// An error number of Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub u16);

impl Errno {
    /// No such file.
    pub const NOT_FOUND: Self = Self(2);
    /// Not an open file.
    pub const BAD_FILE: Self = Self(9);
    /// A file exists and must not.
    pub const EXISTS: Self = Self(17);
    /// An argument has no meaning.
    pub const INVALID: Self = Self(22);
    /// A seek in something that is no file.
    pub const NO_SEEK: Self = Self(29);
}

/// The status of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// Type and permissions, `st_mode`.
    pub mode: u32,
    /// Length in bytes.
    pub bytes: u64,
    /// A number that tells files apart, `st_ino`.
    pub inode: u64,
}

/// Files of a program; 0, 1 and 2 are standard input, output and error. Flags, modes and origins
/// have their values of Linux on RISC-V.
pub trait Files {
    /// Opens a file; returns its number.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open(&mut self, path: &[u8], flags: u64, mode: u64) -> Result<u64, Errno>;

    /// Closes a file.
    ///
    /// # Errors
    /// It is not open.
    fn close(&mut self, file: u64) -> Result<(), Errno>;

    /// Reads at the position of the file; returns how many bytes were read, 0 at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&mut self, file: u64, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// Writes at the position of the file; returns how many bytes were written.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write(&mut self, file: u64, bytes: &[u8]) -> Result<usize, Errno>;

    /// Moves the position: from the start (0), the position (1) or the end (2). Returns it.
    ///
    /// # Errors
    /// The file has no positions, or the new one is negative.
    fn seek(&mut self, file: u64, offset: i64, origin: u64) -> Result<u64, Errno>;

    /// The status of an open file.
    ///
    /// # Errors
    /// It is not open.
    fn stat(&mut self, file: u64) -> Result<Stat, Errno>;

    /// Removes a file.
    ///
    /// # Errors
    /// There is no such file.
    fn unlink(&mut self, path: &[u8]) -> Result<(), Errno>;

    /// Sets the length of an open file.
    ///
    /// # Errors
    /// It is not open.
    fn truncate(&mut self, file: u64, bytes: u64) -> Result<(), Errno>;
}

const CREATE: u64 = 0o100;
const EXCLUSIVE: u64 = 0o200;
const TRUNCATE: u64 = 0o1000;
const APPEND: u64 = 0o2000;
const STANDARD: u64 = 3;
const CHARACTER_DEVICE: u32 = 0o020_620;
const REGULAR_FILE: u32 = 0o100_644;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Open {
    path: Vec<u8>,
    position: usize,
    appends: bool,
}

/// Files in memory, for tests and for programs that need none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<Vec<u8>, Vec<u8>>,
    open: BTreeMap<u64, Open>,
    input: Vec<u8>,
    taken: usize,
    output: Vec<u8>,
}

impl MemoryFiles {
    /// No files; `input` is what programs read from standard input.
    #[must_use]
    pub fn new(input: &[u8]) -> Self {
        Self { input: input.to_vec(), ..Self::default() }
    }

    /// Adds a file.
    pub fn insert(&mut self, path: &str, bytes: &[u8]) {
        self.files.insert(path.as_bytes().to_vec(), bytes.to_vec());
    }

    /// The bytes of a file.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path.as_bytes()).map(Vec::as_slice)
    }

    /// What programs wrote to standard output and standard error.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    fn find(&mut self, file: u64) -> Result<(&mut Open, &mut Vec<u8>), Errno> {
        let open = self.open.get_mut(&file).ok_or(Errno::BAD_FILE)?;
        let bytes = self.files.get_mut(&open.path).ok_or(Errno::NOT_FOUND)?;
        Ok((open, bytes))
    }
}

impl Files for MemoryFiles {
    fn open(&mut self, path: &[u8], flags: u64, _: u64) -> Result<u64, Errno> {
        let known = self.files.contains_key(path);
        if known && flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE {
            return Err(Errno::EXISTS);
        }
        if !known && flags & CREATE == 0 {
            return Err(Errno::NOT_FOUND);
        }
        let bytes = self.files.entry(path.to_vec()).or_default();
        if flags & TRUNCATE != 0 {
            bytes.clear();
        }
        let number = self.open.last_key_value().map_or(STANDARD, |(number, _)| number + 1);
        self.open.insert(number, Open { path: path.to_vec(), position: 0, appends: flags & APPEND != 0 });
        Ok(number)
    }

    fn close(&mut self, file: u64) -> Result<(), Errno> {
        self.open.remove(&file).map(drop).ok_or(Errno::BAD_FILE)
    }

    fn read(&mut self, file: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        if file == 0 {
            let rest = &self.input[self.taken..];
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            self.taken += count;
            return Ok(count);
        }
        let (open, bytes) = self.find(file)?;
        let rest = bytes.get(open.position..).unwrap_or(&[]);
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        open.position += count;
        Ok(count)
    }

    fn write(&mut self, file: u64, bytes: &[u8]) -> Result<usize, Errno> {
        if file == 1 || file == 2 {
            self.output.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let (open, content) = self.find(file)?;
        if open.appends {
            open.position = content.len();
        }
        let end = open.position + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[open.position..end].copy_from_slice(bytes);
        open.position = end;
        Ok(bytes.len())
    }

    fn seek(&mut self, file: u64, offset: i64, origin: u64) -> Result<u64, Errno> {
        if file < STANDARD {
            return Err(Errno::NO_SEEK);
        }
        let (open, bytes) = self.find(file)?;
        let base = match origin {
            0 => 0,
            1 => open.position,
            2 => bytes.len(),
            _ => return Err(Errno::INVALID),
        };
        let position = (base as i64).checked_add(offset).filter(|position| *position >= 0).ok_or(Errno::INVALID)?;
        open.position = position as usize;
        Ok(position as u64)
    }

    fn stat(&mut self, file: u64) -> Result<Stat, Errno> {
        if file < STANDARD {
            return Ok(Stat { mode: CHARACTER_DEVICE, bytes: 0, inode: 1 + file });
        }
        let (_, bytes) = self.find(file)?;
        Ok(Stat { mode: REGULAR_FILE, bytes: bytes.len() as u64, inode: 1 + file })
    }

    fn unlink(&mut self, path: &[u8]) -> Result<(), Errno> {
        self.files.remove(path).map(drop).ok_or(Errno::NOT_FOUND)
    }

    fn truncate(&mut self, file: u64, bytes: u64) -> Result<(), Errno> {
        let (_, content) = self.find(file)?;
        content.resize(usize::try_from(bytes).map_err(|_| Errno::INVALID)?, 0);
        Ok(())
    }
}
