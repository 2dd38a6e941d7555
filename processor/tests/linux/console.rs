// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A console and files in memory.

use std::collections::BTreeMap;

use mb_processor::linux::{FileStatus, Files, errno};

/// Standard input, what was written to standard output and error, and named files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Console {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) error: Vec<u8>,
    files: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Path and position by handle, from 3 on.
    open: Vec<(Vec<u8>, usize)>,
}

impl Console {
    fn file(&mut self, handle: u32) -> Result<(&mut Vec<u8>, &mut usize), u16> {
        let open = (handle as usize).checked_sub(3).and_then(|place| self.open.get_mut(place));
        let (path, position) = open.ok_or(errno::EBADF)?;
        Ok((self.files.get_mut(path).ok_or(errno::ENOENT)?, position))
    }
}

impl Files for Console {
    fn open(&mut self, path: &[u8], flags: u64, _: u32) -> Result<u32, u16> {
        const CREATE: u64 = 0o100;
        const EXCLUSIVE: u64 = 0o200;
        const TRUNCATE: u64 = 0o1000;
        const APPEND: u64 = 0o2000;
        if flags & CREATE != 0 && flags & EXCLUSIVE != 0 && self.files.contains_key(path) {
            return Err(errno::EEXIST);
        }
        if flags & CREATE != 0 {
            self.files.entry(path.to_vec()).or_default();
        }
        let content = self.files.get_mut(path).ok_or(errno::ENOENT)?;
        if flags & TRUNCATE != 0 {
            content.clear();
        }
        // Nothing else writes the file: its end does not move between two writes.
        let position = if flags & APPEND == 0 { 0 } else { content.len() };
        self.open.push((path.to_vec(), position));
        Ok(self.open.len() as u32 + 2)
    }

    fn read(&mut self, handle: u32, bytes: &mut [u8]) -> Result<usize, u16> {
        if handle == 0 {
            let count = bytes.len().min(self.input.len());
            bytes[..count].copy_from_slice(&self.input[..count]);
            self.input.drain(..count);
            return Ok(count);
        }
        let (content, position) = self.file(handle)?;
        let rest = content.get(*position..).unwrap_or_default();
        let count = bytes.len().min(rest.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        *position += count;
        Ok(count)
    }

    fn write(&mut self, handle: u32, bytes: &[u8]) -> Result<usize, u16> {
        match handle {
            1 => self.output.extend(bytes),
            2 => self.error.extend(bytes),
            _ => {
                let (content, position) = self.file(handle)?;
                let end = *position + bytes.len();
                content.resize(content.len().max(end), 0);
                content[*position..end].copy_from_slice(bytes);
                *position = end;
            }
        }
        Ok(bytes.len())
    }

    fn seek(&mut self, handle: u32, offset: i64, from: u32) -> Result<u64, u16> {
        if handle < 3 {
            return Err(errno::ESPIPE);
        }
        let (content, position) = self.file(handle)?;
        let base = [0, *position, content.len()][from as usize % 3] as i64;
        *position = usize::try_from(base + offset).map_err(|_| errno::EINVAL)?;
        Ok(*position as u64)
    }

    fn close(&mut self, _: u32) {}

    fn status(&mut self, handle: u32) -> Result<FileStatus, u16> {
        if handle < 3 {
            return Ok(FileStatus::CHARACTER);
        }
        let bytes = self.file(handle)?.0.len() as u64;
        Ok(FileStatus { mode: 0o100_644, bytes, number: handle.into() })
    }

    fn status_of(&mut self, path: &[u8]) -> Result<FileStatus, u16> {
        let bytes = self.files.get(path).ok_or(errno::ENOENT)?.len() as u64;
        Ok(FileStatus { mode: 0o100_644, bytes, number: 99 })
    }

    fn remove(&mut self, path: &[u8]) -> Result<(), u16> {
        self.files.remove(path).map(|_| ()).ok_or(errno::ENOENT)
    }

    fn truncate(&mut self, handle: u32, bytes: u64) -> Result<(), u16> {
        self.file(handle)?.0.resize(bytes as usize, 0);
        Ok(())
    }
}
