// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes traces rank by rank, as rank files or as a bundle. Memory does not grow with the trace.
//!
//! Headers are written last, that of a bundle after all ranks. If the writer stops early, no reader
//! accepts what is left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zerocopy::IntoBytes;

use crate::error::TraceError;
use crate::meta::{BUNDLE_FILE, META_FILE, Meta};
use crate::open::{ENDING, rank_file};
use crate::record::{Header, RECORD_BYTES, Record};

/// How a trace is stored in its directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceForm {
    /// One file per rank.
    RankFiles,
    /// All ranks in one file.
    Bundle,
}

/// Bytes buffered before a write.
const BUFFER_BYTES: usize = 1 << 20;

struct Output {
    path: PathBuf,
    out: BufWriter<File>,
}

/// Writes a trace: the ranks in order, then [`TraceWriter::finish`].
pub struct TraceWriter {
    path: PathBuf,
    meta: Meta,
    form: TraceForm,
    /// The bundle, or the file of the current rank.
    output: Option<Output>,
    /// Offset and number of records of each segment. The last one is incomplete while `in_rank`.
    index: Vec<[u64; 2]>,
    in_rank: bool,
}

impl TraceWriter {
    /// Starts a trace in directory `path`, which is created if necessary.
    ///
    /// # Errors
    /// When the directory already contains a trace or cannot be written.
    pub fn create(path: impl AsRef<Path>, meta: Meta, form: TraceForm) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        fs::create_dir_all(&path).map_err(TraceError::io(&path))?;
        for entry in fs::read_dir(&path).map_err(TraceError::io(&path))? {
            let name = entry.map_err(TraceError::io(&path))?.file_name();
            let name = name.to_string_lossy();
            if name == META_FILE || name.ends_with(ENDING) {
                return Err(TraceError::Refused {
                    path,
                    reason: format!("directory contains a trace ({name}), expected none; choose another directory"),
                });
            }
        }
        let meta_path = path.join(META_FILE);
        let text = serde_json::to_string_pretty(&meta).map_err(io::Error::from).map_err(TraceError::io(&meta_path))?;
        create(&meta_path).and_then(|mut file| writeln!(file, "{text}")).map_err(TraceError::io(&meta_path))?;
        let output = match form {
            TraceForm::RankFiles => None,
            TraceForm::Bundle => Some(Output::create(path.join(BUNDLE_FILE), first_segment(meta.ranks))?),
        };
        Ok(Self { path, meta, form, output, index: Vec::new(), in_rank: false })
    }

    /// Appends `records` to the current rank and fills in their checksums.
    ///
    /// # Errors
    /// When the file cannot be written, or all ranks were.
    pub fn append(&mut self, records: &[Record]) -> Result<(), TraceError> {
        if !self.in_rank {
            self.begin_rank()?;
        }
        if let (Some(output), Some([_, count])) = (&mut self.output, self.index.last_mut()) {
            for record in records {
                output.out.write_all(record.sealed(*count).as_bytes()).map_err(TraceError::io(&output.path))?;
                *count += 1;
            }
        }
        Ok(())
    }

    /// Ends the current rank.
    ///
    /// # Errors
    /// When the file cannot be written, or all ranks were.
    pub fn end_rank(&mut self) -> Result<(), TraceError> {
        self.append(&[])?;
        self.in_rank = false;
        if self.form == TraceForm::RankFiles
            && let Some(output) = self.output.take()
        {
            let rank = self.index.len() as u32 - 1;
            output.finish(&[], &Header::finalized(&self.meta, rank, self.index[rank as usize][1]))?;
        }
        Ok(())
    }

    /// Writes the next rank as a whole.
    ///
    /// # Errors
    /// As [`TraceWriter::append`].
    pub fn rank(&mut self, records: &[Record]) -> Result<(), TraceError> {
        self.append(records)?;
        self.end_rank()
    }

    /// Completes the trace.
    ///
    /// # Errors
    /// When ranks are missing or the file cannot be written.
    pub fn finish(self) -> Result<(), TraceError> {
        let written = self.index.len() - usize::from(self.in_rank);
        if written != self.meta.ranks as usize {
            let reason = format!("{written} ranks written, expected {}", self.meta.ranks);
            return Err(TraceError::Refused { path: self.path, reason });
        }
        let Some(output) = self.output else { return Ok(()) };
        let records = self.index.iter().map(|[_, records]| records).sum();
        let mut header = Header { segments: self.meta.ranks, ..Header::finalized(&self.meta, 0, records) };
        header.check = header.expected_check();
        output.finish(self.index.as_bytes(), &header)
    }

    fn begin_rank(&mut self) -> Result<(), TraceError> {
        let rank = self.index.len() as u32;
        if rank >= self.meta.ranks {
            let reason = format!("rank {rank} written, expected ranks below {}", self.meta.ranks);
            return Err(TraceError::Refused { path: self.path.clone(), reason });
        }
        if self.form == TraceForm::RankFiles {
            self.output = Some(Output::create(self.path.join(rank_file(rank)), RECORD_BYTES as u64)?);
        }
        let offset = match self.index.last() {
            Some([offset, records]) => offset + records * RECORD_BYTES as u64,
            None => first_segment(self.meta.ranks),
        };
        self.index.push([offset, 0]);
        self.in_rank = true;
        Ok(())
    }
}

impl Output {
    /// Creates a file that is written from `offset` on.
    fn create(path: PathBuf, offset: u64) -> Result<Self, TraceError> {
        let file = create(&path).map_err(TraceError::io(&path))?;
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
        out.seek(SeekFrom::Start(offset)).map_err(TraceError::io(&path))?;
        Ok(Self { path, out })
    }

    /// Writes the index, then the header, without which no reader accepts the file.
    fn finish(mut self, index: &[u8], header: &Header) -> Result<(), TraceError> {
        let mut write = || -> io::Result<()> {
            self.out.seek(SeekFrom::Start(RECORD_BYTES as u64))?;
            self.out.write_all(index)?;
            self.out.seek(SeekFrom::Start(0))?;
            self.out.write_all(header.as_bytes())?;
            self.out.flush()
        };
        write().map_err(TraceError::io(&self.path))
    }
}

/// Offset of the first segment of a bundle: after the header and the index, which is padded with
/// zeros.
fn first_segment(ranks: u32) -> u64 {
    RECORD_BYTES as u64 + (16 * u64::from(ranks)).next_multiple_of(RECORD_BYTES as u64)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
