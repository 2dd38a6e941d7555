// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opens traces: finds the files, checks them against `meta.json` and the index, finds the end of killed ranks
//! (`spec/trace.md`, 1 to 3).
//!
//! Records are read in place. Cost of opening: one mapping per file, and a pass over the ranks that
//! did not finish.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mb_input::InputLimit;
use zerocopy::IntoBytes;

use crate::content::Content;
use crate::error::{FileLocation, TraceError};
use crate::header::is_unwritten;
use crate::meta::{BUNDLE_FILE, META_FILE, Meta, TraceOrigin};
use crate::record::{Header, Kind, RECORD_BYTES, Record, checksum};
use crate::trace_state::TraceState;

/// Extension of all binary files of a trace.
pub(crate) const ENDING: &str = ".mbt";

/// With more files than this, small files are read instead of mapped: Linux allows 65,530 mappings
/// per process by default (`vm.max_map_count`), and the process itself needs some.
const MAPPED_FILES_LIMIT: usize = 32_768;

/// Name of the file of one rank.
pub(crate) fn rank_file(rank: u32) -> String {
    format!("rank-{rank:05}{ENDING}")
}

struct Segment {
    file: u32,
    end: TraceState,
    first: u64,
    records: u64,
}

struct TraceFile {
    path: PathBuf,
    content: Content,
    header: Header,
}

/// An open trace.
pub struct Trace {
    path: PathBuf,
    meta: Meta,
    files: Vec<TraceFile>,
    segments: Vec<Segment>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("path", &self.path).field("meta", &self.meta).finish_non_exhaustive()
    }
}

impl Trace {
    /// Opens the trace in directory `path`. Its files must not be shortened while it is open.
    ///
    /// # Errors
    /// When a file cannot be read or violates one of the rules T-1 to T-5. Records are not checked
    /// (see [`Trace::check`]), except to find the end of ranks that did not finish.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let meta_path = path.join(META_FILE);
        let meta = mb_input::read(&meta_path, InputLimit::Text).map_err(TraceError::input(&meta_path))?;
        let mut names = BTreeSet::new();
        for entry in std::fs::read_dir(path).map_err(TraceError::io(path))? {
            if let Ok(name) = entry.map_err(TraceError::io(path))?.file_name().into_string()
                && name.ends_with(ENDING)
            {
                names.insert(name);
            }
        }
        let map = names.len() <= MAPPED_FILES_LIMIT;
        Self::assemble(path, &meta, &names, |name| Content::read(&path.join(name), map))
    }

    /// Opens a trace whose files are given as bytes: `meta.json` and the binary files by name.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_bytes(meta: &[u8], files: &BTreeMap<String, Vec<u8>>) -> Result<Self, TraceError> {
        let names = files.keys().cloned().collect();
        Self::assemble(Path::new(""), meta, &names, |name| Ok(Content::owned(&files[name])))
    }

    /// A finalized trace of these records (see [`crate::RankBuilder`]), with checksums filled in.
    /// Unchecked, as after [`Trace::open`].
    ///
    /// # Panics
    /// When there is no rank, or more than 2^31 - 1.
    #[must_use]
    pub fn in_memory(ranks: Vec<Vec<Record>>) -> Self {
        Self::in_version(crate::record::VERSION, ranks)
    }

    /// As [`Trace::in_memory`], in this version of the record layout.
    ///
    /// # Panics
    /// When there is no rank, or more than 2^31 - 1.
    #[must_use]
    pub fn in_version(version: u16, ranks: Vec<Vec<Record>>) -> Self {
        let world = u32::try_from(ranks.len()).ok().filter(|n| (1..=crate::meta::MAX_RANKS).contains(n));
        let meta = Meta::new(TraceOrigin::Generated, world.expect("1 to 2^31 - 1 ranks"), 0);
        let mut trace = Self { path: PathBuf::new(), meta, files: Vec::new(), segments: Vec::new() };
        for (rank, mut records) in ranks.into_iter().enumerate() {
            for (index, record) in records.iter_mut().enumerate() {
                *record = record.sealed(index as u64);
            }
            let count = records.len() as u64;
            let header = Header { version, ..Header::finalized(&trace.meta, rank as u32, count) };
            trace.files.push(TraceFile {
                path: rank_file(rank as u32).into(),
                content: Content::Owned(records, 0),
                header,
            });
            trace.segments.push(Segment { file: rank as u32, end: TraceState::Complete, first: 0, records: count });
        }
        trace
    }

    /// The directory of the trace.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of `meta.json`.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Ranks in the world.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.meta.ranks
    }

    /// The records of `rank`, in place.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    #[inline]
    pub fn rank(&self, rank: u32) -> &[Record] {
        let segment = &self.segments[rank as usize];
        let units = self.files[segment.file as usize].content.units();
        &units[segment.first as usize..(segment.first + segment.records) as usize]
    }

    /// Records of all ranks.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.segments.iter().map(|segment| segment.records).sum()
    }

    /// How the records of `rank` end. A rank that called `MPI_Abort` may have finalized too, where
    /// MPI returned from the call.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    pub fn end(&self, rank: u32) -> TraceState {
        self.segments[rank as usize].end
    }

    /// Wall clock at the first record of `rank`, ns since 1970-01-01 UTC; 0 in generated traces.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    pub fn epoch_ns(&self, rank: u32) -> u64 {
        self.files[self.segments[rank as usize].file as usize].header.epoch_ns
    }

    /// Whether `rank` ends with its Finalize.
    pub(crate) fn is_finalized(&self, rank: u32) -> bool {
        self.files[self.segments[rank as usize].file as usize].header.flags & Header::FINALIZED != 0
    }

    /// Version of the format in which `rank` is written.
    pub(crate) fn version(&self, rank: u32) -> u16 {
        self.files[self.segments[rank as usize].file as usize].header.version
    }

    /// The file that holds `rank`.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    pub fn file(&self, rank: u32) -> &Path {
        &self.files[self.segments[rank as usize].file as usize].path
    }

    fn assemble(
        path: &Path,
        meta: &[u8],
        names: &BTreeSet<String>,
        mut load: impl FnMut(&str) -> Result<Content, TraceError>,
    ) -> Result<Self, TraceError> {
        let meta = Meta::parse(&path.join(META_FILE), meta)?;
        let mut trace = Self { path: path.to_owned(), meta, files: Vec::new(), segments: Vec::new() };
        if names.contains(BUNDLE_FILE) {
            if let Some(other) = names.iter().find(|name| *name != BUNDLE_FILE) {
                let reason =
                    format!("found beside {BUNDLE_FILE}, expected either rank files or a bundle; remove one of them");
                return Err(TraceError::defect(path.join(other), FileLocation::File, 1, reason));
            }
            trace.add_bundle(path.join(BUNDLE_FILE), load(BUNDLE_FILE)?)?;
            return Ok(trace);
        }
        for rank in 0..trace.ranks() {
            let name = rank_file(rank);
            if !names.contains(&name) {
                let reason = format!(
                    "found no file, expected one for each of the {} ranks; copy the files of all nodes into this directory",
                    trace.ranks()
                );
                return Err(TraceError::defect(path.join(name), FileLocation::File, 1, reason));
            }
            let content = load(&name)?;
            trace.add_rank_file(rank, path.join(name), content)?;
        }
        if names.len() > trace.files.len() {
            let expected: BTreeSet<String> = (0..trace.ranks()).map(rank_file).collect();
            let other = names.difference(&expected).next().expect("there is one more");
            let reason = format!("found an unexpected file, expected only those of {} ranks; remove it", trace.ranks());
            return Err(TraceError::defect(path.join(other), FileLocation::File, 1, reason));
        }
        Ok(trace)
    }

    /// Checks what the headers of rank files and bundles have in common.
    fn header(&self, path: &Path, content: &Content) -> Result<Header, TraceError> {
        let defect = |rule, reason| Err(TraceError::defect(path, FileLocation::File, rule, reason));
        let Some(first) = content.units().first() else {
            return defect(
                3,
                format!("found a file of {} bytes, expected at least a header of {RECORD_BYTES}", content.length()),
            );
        };
        let header = Header::parse(path, first)?;
        if header.world != self.ranks() {
            return defect(1, format!("world is {}, expected {} as in {META_FILE}", header.world, self.ranks()));
        }
        if header.run_id != self.meta.run_id() {
            let expected = self.meta.run_id();
            return defect(1, format!("run_id is {:016x}, expected {expected:016x} as in {META_FILE}", header.run_id));
        }
        Ok(header)
    }

    fn add_rank_file(&mut self, rank: u32, path: PathBuf, content: Content) -> Result<(), TraceError> {
        if content.length() == 0 || content.units().first().is_some_and(|first| is_unwritten(&path, first.as_bytes())) {
            let header = Header::unwritten(&self.meta, rank);
            self.segments.push(Segment { file: self.files.len() as u32, end: header.state(), first: 0, records: 0 });
            self.files.push(TraceFile { path, content, header });
            return Ok(());
        }
        let header = self.header(&path, &content)?;
        let defect = |rule, reason| Err(TraceError::defect(&path, FileLocation::File, rule, reason));
        if header.first_rank != rank {
            return defect(1, format!("first_rank is {}, expected {rank}", header.first_rank));
        }
        if header.segments != 1 {
            return defect(3, format!("segments is {}, expected 1", header.segments));
        }
        let records = if header.flags & Header::FINALIZED != 0 {
            let length = content.length();
            if (length - RECORD_BYTES as u64) / RECORD_BYTES as u64 != header.records
                || !length.is_multiple_of(RECORD_BYTES as u64)
            {
                let reason = format!(
                    "found a file of {length} bytes, expected a header and {} records of 64 bytes",
                    header.records
                );
                return defect(5, reason);
            }
            header.records
        } else {
            written(&content.units()[1..])
        };
        let end = header.state();
        self.segments.push(Segment { file: self.files.len() as u32, end, first: 1, records });
        self.files.push(TraceFile { path, content, header });
        Ok(())
    }

    fn add_bundle(&mut self, path: PathBuf, content: Content) -> Result<(), TraceError> {
        let header = self.header(&path, &content)?;
        let defect = |place, rule, reason| Err(TraceError::defect(&path, place, rule, reason));
        let world = self.ranks();
        if header.flags != Header::FINALIZED {
            return defect(
                FileLocation::File,
                4,
                format!("flags are {:#x}, expected a finalized bundle", header.flags),
            );
        }
        if header.first_rank != 0 || header.segments != world {
            let reason = format!(
                "found {} segments from rank {} on, expected {world} from rank 0 on",
                header.segments, header.first_rank
            );
            return defect(FileLocation::File, 4, reason);
        }
        let length = content.length();
        if !length.is_multiple_of(RECORD_BYTES as u64) {
            return defect(
                FileLocation::File,
                4,
                format!("found a file of {length} bytes, expected a multiple of {RECORD_BYTES}"),
            );
        }
        let units = content.units();
        let index_units = u64::from(world).div_ceil(4);
        if 1 + index_units > units.len() as u64 {
            return defect(
                FileLocation::File,
                4,
                format!("found a file of {length} bytes, expected an index of {world} entries"),
            );
        }
        let index = units[1..=index_units as usize].as_bytes();
        let mut next = 1 + index_units;
        if index[16 * world as usize..].iter().any(|&byte| byte != 0) {
            return defect(FileLocation::File, 4, "found non-zero bytes after the index, expected zeros".to_owned());
        }
        let mut segments = Vec::with_capacity(world as usize);
        for (rank, entry) in index.as_chunks::<16>().0.iter().take(world as usize).enumerate() {
            let [offset, records]: [u64; 2] = zerocopy::transmute!(*entry);
            if offset != next * RECORD_BYTES as u64 {
                let reason = format!("segment begins at {offset}, expected {}", next * RECORD_BYTES as u64);
                return defect(FileLocation::Rank(rank as u32), 4, reason);
            }
            let left = units.len() as u64 - next;
            if records > left {
                let reason = format!("segment has {records} records, expected at most {left}");
                return defect(FileLocation::Rank(rank as u32), 4, reason);
            }
            segments.push(Segment { file: 0, end: TraceState::Complete, first: next, records });
            next += records;
        }
        if next != units.len() as u64 {
            let reason = format!(
                "found a file of {length} bytes, expected {}, the end of its segments",
                next * RECORD_BYTES as u64
            );
            return defect(FileLocation::File, 4, reason);
        }
        if header.records != next - 1 - index_units {
            let found = next - 1 - index_units;
            return defect(
                FileLocation::File,
                4,
                format!("records is {}, expected {found}, the sum over its segments", header.records),
            );
        }
        self.segments = segments;
        self.files.push(TraceFile { path, content, header });
        Ok(())
    }
}

/// Number of records of a rank that did not finish (T-5): those in front of the first unwritten
/// one, without the ones whose write was interrupted.
fn written(units: &[Record]) -> u64 {
    let count = units.iter().position(|record| record.kind == 0).unwrap_or(units.len());
    let valid = |index: usize| units[index].check == checksum(&units[index], index as u64);
    let Some(wrong) = (0..count).find(|&index| !valid(index)) else { return count as u64 };
    // Extra records have no thread of their own, and the count of a Miss may grow while later
    // records are written.
    let inconclusive = [Kind::Extra as u8, Kind::Miss as u8];
    let thread = units[wrong].thread;
    let thread_continues = (wrong + 1..count)
        .any(|index| units[index].thread == thread && !inconclusive.contains(&units[index].kind) && valid(index));
    if thread_continues { count as u64 } else { wrong as u64 }
}
