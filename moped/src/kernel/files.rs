// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files in memory.

use std::collections::BTreeMap;

use mb_processor::linux::{FileStatus, Files, errno};

const CREATE: u64 = 0o100;
const EXCLUSIVE: u64 = 0o200;
const TRUNCATE: u64 = 0o1000;
const APPEND: u64 = 0o2000;
/// The first handle after standard input, output and error.
const FIRST: u32 = 3;
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
    open: BTreeMap<u32, Open>,
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

    /// The output of programs to standard output and standard error.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    fn find(&mut self, file: u32) -> Result<(&mut Open, &mut Vec<u8>), u16> {
        let open = self.open.get_mut(&file).ok_or(errno::EBADF)?;
        let bytes = self.files.get_mut(&open.path).ok_or(errno::ENOENT)?;
        Ok((open, bytes))
    }
}

impl Files for MemoryFiles {
    fn open(&mut self, path: &[u8], flags: u64, _: u32) -> Result<u32, u16> {
        let known = self.files.contains_key(path);
        if known && flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE {
            return Err(errno::EEXIST);
        }
        if !known && flags & CREATE == 0 {
            return Err(errno::ENOENT);
        }
        let bytes = self.files.entry(path.to_vec()).or_default();
        if flags & TRUNCATE != 0 {
            bytes.clear();
        }
        let number = self.open.last_key_value().map_or(FIRST, |(number, _)| number + 1);
        self.open.insert(number, Open { path: path.to_vec(), position: 0, appends: flags & APPEND != 0 });
        Ok(number)
    }

    fn close(&mut self, file: u32) {
        self.open.remove(&file);
    }

    fn read(&mut self, file: u32, buffer: &mut [u8]) -> Result<usize, u16> {
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

    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<usize, u16> {
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

    fn seek(&mut self, file: u32, offset: i64, origin: u32) -> Result<u64, u16> {
        if file < FIRST {
            return Err(errno::ESPIPE);
        }
        let (open, bytes) = self.find(file)?;
        let base = match origin {
            0 => 0,
            1 => open.position,
            2 => bytes.len(),
            _ => return Err(errno::EINVAL),
        };
        let position = (base as i64).checked_add(offset).filter(|position| *position >= 0).ok_or(errno::EINVAL)?;
        open.position = position as usize;
        Ok(position as u64)
    }

    fn status(&mut self, file: u32) -> Result<FileStatus, u16> {
        if file < FIRST {
            return Ok(FileStatus::CHARACTER);
        }
        let (open, _) = self.find(file)?;
        let path = open.path.clone();
        self.status_of(&path)
    }

    fn status_of(&mut self, path: &[u8]) -> Result<FileStatus, u16> {
        let place = self.files.keys().position(|known| known == path).ok_or(errno::ENOENT)?;
        let bytes = self.files.get(path).map_or(0, Vec::len) as u64;
        Ok(FileStatus { mode: REGULAR_FILE, bytes, number: 1 + place as u64 })
    }

    fn remove(&mut self, path: &[u8]) -> Result<(), u16> {
        self.files.remove(path).map(drop).ok_or(errno::ENOENT)
    }

    fn truncate(&mut self, file: u32, bytes: u64) -> Result<(), u16> {
        let (_, content) = self.find(file)?;
        content.resize(usize::try_from(bytes).map_err(|_| errno::EINVAL)?, 0);
        Ok(())
    }
}
