// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes traces rank by rank, as rank files or as a bundle. Memory does not grow with the trace.
//!
//! Headers are written last, and a bundle's when all ranks are there: whatever stops the writer, no reader takes the rest for whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zerocopy::IntoBytes;

use crate::error::TraceError;
use crate::meta::{META_FILE, Meta};
use crate::open::{BUNDLE_FILE, ENDING, rank_file};
use crate::record::{Header, RECORD_BYTES, Record};

/// How a trace lies in its directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One file per rank.
    RankFiles,
    /// All ranks in one file.
    Bundle,
}

/// Bytes gathered before a write.
const BUFFER_BYTES: usize = 1 << 20;

struct Bundle {
    path: PathBuf,
    out: BufWriter<File>,
    /// Offset and records of each segment written.
    index: Vec<[u64; 2]>,
}

/// Writes a trace: the ranks in order, then [`TraceWriter::finish`].
pub struct TraceWriter {
    path: PathBuf,
    meta: Meta,
    next_rank: u32,
    bundle: Option<Bundle>,
}

impl TraceWriter {
    /// Begins a trace in directory `path`, which is made if it is not there.
    ///
    /// # Errors
    /// When the directory holds a trace already, or cannot be written.
    pub fn create(path: impl AsRef<Path>, meta: Meta, form: Form) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        fs::create_dir_all(&path).map_err(TraceError::io(&path))?;
        for entry in fs::read_dir(&path).map_err(TraceError::io(&path))? {
            let name = entry.map_err(TraceError::io(&path))?.file_name();
            let name = name.to_string_lossy();
            if name == META_FILE || name.ends_with(ENDING) {
                return Err(TraceError::Refused { path, reason: format!("holds a trace already ({name})") });
            }
        }
        let meta_path = path.join(META_FILE);
        let text = serde_json::to_string_pretty(&meta).map_err(io::Error::from).map_err(TraceError::io(&meta_path))?;
        create(&meta_path).and_then(|mut file| writeln!(file, "{text}")).map_err(TraceError::io(&meta_path))?;
        let bundle = match form {
            Form::RankFiles => None,
            Form::Bundle => {
                let path = path.join(BUNDLE_FILE);
                let mut out = BufWriter::with_capacity(BUFFER_BYTES, create(&path).map_err(TraceError::io(&path))?);
                out.seek(SeekFrom::Start(first_segment(meta.ranks))).map_err(TraceError::io(&path))?;
                Some(Bundle { path, out, index: Vec::new() })
            }
        };
        Ok(Self { path, meta, next_rank: 0, bundle })
    }

    /// Writes the next rank, sealing its records.
    ///
    /// # Errors
    /// When the file cannot be written, or all ranks were.
    pub fn rank(&mut self, records: &[Record]) -> Result<(), TraceError> {
        let rank = self.next_rank;
        if rank >= self.meta.ranks {
            let reason = format!("rank {rank} does not belong to a world of {}", self.meta.ranks);
            return Err(TraceError::Refused { path: self.path.clone(), reason });
        }
        if let Some(Bundle { path, out, index }) = &mut self.bundle {
            let offset = match index.last() {
                Some([offset, records]) => offset + records * RECORD_BYTES as u64,
                None => first_segment(self.meta.ranks),
            };
            write_sealed(out, records).map_err(TraceError::io(&*path))?;
            index.push([offset, records.len() as u64]);
        } else {
            let path = self.path.join(rank_file(rank));
            let header = Header::new(&self.meta, rank, records.len() as u64);
            let write = || -> io::Result<()> {
                let mut out = BufWriter::with_capacity(BUFFER_BYTES, create(&path)?);
                out.seek(SeekFrom::Start(RECORD_BYTES as u64))?;
                write_sealed(&mut out, records)?;
                out.seek(SeekFrom::Start(0))?;
                out.write_all(header.as_bytes())?;
                out.flush()
            };
            write().map_err(TraceError::io(&path))?;
        }
        self.next_rank += 1;
        Ok(())
    }

    /// Completes the trace.
    ///
    /// # Errors
    /// When ranks are missing or the file cannot be written.
    pub fn finish(self) -> Result<(), TraceError> {
        if self.next_rank != self.meta.ranks {
            let reason = format!("{} of {} ranks were written", self.next_rank, self.meta.ranks);
            return Err(TraceError::Refused { path: self.path, reason });
        }
        let Some(Bundle { path, mut out, index }) = self.bundle else { return Ok(()) };
        let records = index.iter().map(|[_, records]| records).sum();
        let mut header = Header { segments: self.meta.ranks, ..Header::new(&self.meta, 0, records) };
        header.check = header.expected_check();
        let mut write = || -> io::Result<()> {
            out.seek(SeekFrom::Start(RECORD_BYTES as u64))?;
            out.write_all(index.as_bytes())?;
            out.seek(SeekFrom::Start(0))?;
            out.write_all(header.as_bytes())?;
            out.flush()
        };
        write().map_err(TraceError::io(&path))
    }
}

/// Where the first segment of a bundle begins: behind the header and the index, which is filled up with zeros.
fn first_segment(ranks: u32) -> u64 {
    RECORD_BYTES as u64 + (16 * u64::from(ranks)).next_multiple_of(RECORD_BYTES as u64)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn write_sealed(out: &mut impl Write, records: &[Record]) -> io::Result<()> {
    for (index, record) in records.iter().enumerate() {
        out.write_all(record.sealed(index as u64).as_bytes())?;
    }
    Ok(())
}
