// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns the bytes of the fuzzer into the files of a trace and reads them: open, check, statistics,
//! columns.
//!
//! No seeds are needed: edits start from valid traces that are built here and in the tests of
//! `workbench/trace`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use mb_replay::{Network, ReplayConfig, Report, Wildcards};
use mb_trace::generate::{GenerateError, Halo3dParameters, Plan, RandomParameters};
use mb_trace::record::{RECORD_BYTES, checksum};
use mb_trace::{Communicators, Header, Meta, Record, Trace, TraceOrigin};
use zerocopy::{FromBytes, IntoBytes};

#[path = "../../../workbench/trace/tests/common/mod.rs"]
mod common;

type Files = BTreeMap<String, Vec<u8>>;

/// The run of all traces here.
const RUN_ID: u64 = 0x5eed;

/// Opens and checks a trace.
fn checked(meta: &[u8], files: &Files) -> Option<(Trace, Communicators)> {
    let trace = Trace::from_bytes(meta, files).ok()?;
    let comms = trace.check(|_| ControlFlow::Continue(())).ok()?;
    Some((trace, comms))
}

/// Opens, checks and analyses a trace. Every outcome but a panic is accepted.
fn read(meta: &[u8], files: &Files) {
    let Some((trace, comms)) = checked(meta, files) else { return };
    let mut ranks = 0;
    let total = trace.stats(&comms, |_, _| {
        ranks += 1;
        ControlFlow::Continue(())
    });
    let total = total.expect("it is not interrupted");
    assert_eq!(ranks, trace.ranks());
    assert!(total.posted_depth.count + total.unexpected == total.sent);
    assert!(total.unexpected_depth.count <= total.unexpected);
    let rows: usize = trace.batches(&comms, 100).map(|columns| columns.len()).sum();
    // None in a trace whose ranks were killed at once.
    let records: usize = (0..trace.ranks()).map(|rank| trace.rank(rank).len()).sum();
    assert_eq!(rows > 0, records > 0);
    for rank in 0..trace.ranks() {
        for local in 0..comms.local_count(rank) {
            let view = comms.view(rank, local);
            assert_eq!(comms.world_rank(view.local, view.rank), rank);
            assert_eq!(comms.rank_of(view.local, rank), Some(view.rank));
        }
    }
}

fn meta(ranks: u32) -> Vec<u8> {
    serde_json::to_vec(&Meta::new(TraceOrigin::Generated, ranks, RUN_ID)).expect("strings and numbers")
}

fn rank_file(rank: usize) -> String {
    format!("rank-{rank:05}.mbt")
}

/// The first byte selects the meaning of the others: `meta.json`, a bundle, or equal parts for up to
/// eight rank files.
///
/// # Panics
/// The target does not accept the input.
pub fn trace_read(data: &[u8]) {
    let Some((&form, rest)) = data.split_first() else { return };
    let ranks = usize::from(form & 7) + 1;
    match form >> 6 {
        0 => read(rest, &Files::from([(rank_file(0), Vec::new())])),
        1 => read(&meta(ranks as u32), &Files::from([("bundle.mbt".to_owned(), rest.to_vec())])),
        _ => {
            let part = rest.len().div_ceil(ranks).max(1);
            let mut parts = rest.chunks(part);
            let files = (0..ranks).map(|rank| (rank_file(rank), parts.next().unwrap_or_default().to_vec())).collect();
            read(&meta(ranks as u32), &files);
        }
    }
}

/// A valid trace: two ranks and a message, every kind of record, or a pattern.
fn base(which: u8) -> &'static [Vec<Record>] {
    static BASES: LazyLock<[Vec<Vec<Record>>; 5]> = LazyLock::new(|| std::array::from_fn(make_base));
    &BASES[usize::from(which) % 5]
}

fn make_base(which: usize) -> Vec<Vec<Record>> {
    let generated = |plan: Result<Plan, GenerateError>| {
        let trace = plan.expect("parameters of the pattern").in_memory();
        (0..trace.ranks()).map(|rank| trace.rank(rank).to_vec()).collect()
    };
    match which {
        0 => common::ping(),
        1 => common::everything(),
        2 => common::everything().iter().map(|records| common::expand_done::one_done_per_request(records)).collect(),
        3 => generated(Plan::of(&RandomParameters { iterations: 1, ..Default::default() }, 3, 1)),
        _ => generated(Plan::of(&Halo3dParameters { iterations: 1, ..Default::default() }, 8, 1)),
    }
}

/// Changes units of 64 bytes, the header among them. Each edit takes 12 bytes: what, file, unit
/// (2), and a value (8).
fn edit(files: &mut [Vec<[u8; RECORD_BYTES]>], edit: &[u8; 12]) {
    let [what, file, unit_low, unit_high, value @ ..] = *edit;
    let count = files.len();
    let other = files[usize::from(value[0]) % count].get(usize::from(value[1])).copied();
    let units = &mut files[usize::from(file) % count];
    if units.is_empty() {
        return;
    }
    let at = usize::from(u16::from_le_bytes([unit_low, unit_high])) % units.len();
    match what % 16 {
        0..=7 => {
            // One word, or 1, 2 or 4 bytes of it, at each of its places.
            let bytes = 8 >> (what >> 4 & 3);
            let place = usize::from(what % 8) * 8 + usize::from(what >> 6) * bytes % 8;
            let end = (place + bytes).min(RECORD_BYTES);
            units[at][place..end].copy_from_slice(&value[..end - place]);
        }
        8 => drop(units.remove(at)),
        9 => units.insert(at, units[at]),
        10 => {
            let with = usize::from(value[0]) % units.len();
            units.swap(at, with);
        }
        11 => units.truncate(at),
        12 => units.extend(std::iter::repeat_n([0; RECORD_BYTES], usize::from(value[0]))),
        13 => units[at] = other.unwrap_or([0xff; RECORD_BYTES]),
        // Not finalized: a killed rank.
        14 => {
            if let Ok(header) = Header::mut_from_bytes(&mut units[0]) {
                (header.flags, header.records) = (u32::from(value[0] & 2), 0);
            }
        }
        // Finalized with as many records as there are.
        _ => {
            let records = units.len() as u64 - 1;
            if let Ok(header) = Header::mut_from_bytes(&mut units[0]) {
                (header.flags, header.records) = (Header::FINALIZED, records);
            }
        }
    }
}

/// The files of a trace, divided into units: headers and records without checksums.
fn units_of(ranks: &[Vec<Record>], description: &Meta) -> Vec<Vec<[u8; RECORD_BYTES]>> {
    let header = |rank: u32, records: usize| {
        let header = Header::finalized(description, rank, records as u64);
        zerocopy::transmute!(header)
    };
    let file = |(rank, records): (u32, &Vec<Record>)| {
        let mut units = vec![header(rank, records.len())];
        units.extend(records.iter().map(|record| -> [u8; RECORD_BYTES] { zerocopy::transmute!(*record) }));
        units
    };
    (0..).zip(ranks).map(file).collect()
}

/// Computes the checksums of a file.
fn seal(units: &mut [[u8; RECORD_BYTES]]) {
    for (index, unit) in units.iter_mut().enumerate() {
        if let (0, Ok(header)) = (index, Header::mut_from_bytes(unit)) {
            header.check = header.expected_check();
        } else if let Ok(record) = Record::mut_from_bytes(unit)
            && record.kind != 0
        {
            record.check = checksum(record, index as u64 - 1);
        }
    }
}

/// The files of ranks, each given in units.
fn rank_files(files: &[Vec<[u8; RECORD_BYTES]>]) -> Files {
    files.iter().enumerate().map(|(rank, units)| (rank_file(rank), units.as_bytes().to_vec())).collect()
}

/// A valid trace with edits and recomputed checksums. The first byte selects the trace and, in its
/// upper bits, whether it is a bundle and whether the header of each file is adapted to its length.
///
/// # Panics
/// The target does not accept the input.
pub fn trace_sealed(data: &[u8]) {
    if let Some((meta, files)) = sealed(data) {
        read(&meta, &files);
    }
}

/// `meta.json` and the other files for an input of [`trace_sealed`].
fn sealed(data: &[u8]) -> Option<(Vec<u8>, Files)> {
    let (&choice, edits) = data.split_first()?;
    let ranks = base(choice);
    let world = ranks.len() as u32;
    let meta_text = meta(world);
    let description: Meta = serde_json::from_slice(&meta_text).expect("just made");
    let mut files = units_of(ranks, &description);
    for chunk in edits.chunks_exact(12) {
        edit(&mut files, chunk.try_into().expect("twelve bytes"));
    }
    if choice & 0x40 != 0 {
        for units in &mut files {
            edit(std::slice::from_mut(units), &[15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
    for units in &mut files {
        seal(units);
    }
    if choice & 0x80 == 0 {
        return Some((meta_text, rank_files(&files)));
    }
    // The records of all files in a bundle with a right index.
    let index_units = files.len().div_ceil(4);
    let mut offset = (1 + index_units) * RECORD_BYTES;
    let mut index = vec![0_u64; index_units * 8];
    let mut records = Vec::new();
    for (rank, units) in files.iter().enumerate() {
        let segment = units.get(1..).unwrap_or_default();
        index[2 * rank] = offset as u64;
        index[2 * rank + 1] = segment.len() as u64;
        offset += segment.len() * RECORD_BYTES;
        records.extend_from_slice(segment.as_bytes());
    }
    let mut head =
        Header { segments: world, ..Header::finalized(&description, 0, (records.len() / RECORD_BYTES) as u64) };
    head.check = head.expected_check();
    let bundle = [head.as_bytes(), index.as_bytes(), &records].concat();
    Some((meta_text, Files::from([("bundle.mbt".to_owned(), bundle)])))
}

/// What a recorder leaves that is killed: of each file of a valid trace a number of records, what it had written of the
/// next one, and space that it had reserved. The first byte selects the trace, then three bytes for each file say how
/// much there is of each. What is read is these records. Edits as in [`trace_sealed`] follow, without right checksums:
/// then every outcome but a panic is accepted.
///
/// # Panics
/// The target does not accept the input.
pub fn trace_killed(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let ranks = base(choice);
    let meta_text = meta(ranks.len() as u32);
    let description: Meta = serde_json::from_slice(&meta_text).expect("just made");
    let mut files = units_of(ranks, &description);
    let mut kept = Vec::with_capacity(ranks.len());
    for (number, units) in files.iter_mut().enumerate() {
        // Not finalized, with no number of records.
        edit(std::slice::from_mut(units), &[14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        seal(units);
        let [records, torn, reserved] = std::array::from_fn(|byte| rest.get(3 * number + byte).copied().unwrap_or(0));
        let records = usize::from(records) % units.len();
        let next = units.get(records + 1).copied();
        units.truncate(records + 1);
        if let Some(mut next) = next {
            // The kind is written last.
            let written = usize::from(torn) % RECORD_BYTES;
            next[..written].fill(0);
            Record::mut_from_bytes(&mut next).expect("a unit").kind = 0;
            units.push(next);
        }
        units.extend(std::iter::repeat_n([0; RECORD_BYTES], usize::from(reserved)));
        kept.push(records);
    }
    let edits = rest.get(3 * ranks.len()..).unwrap_or_default();
    for chunk in edits.chunks_exact(12) {
        edit(&mut files, chunk.try_into().expect("twelve bytes"));
    }
    let files = rank_files(&files);
    if edits.len() < 12 {
        let trace = Trace::from_bytes(&meta_text, &files).expect("a killed rank is no defect of its file");
        for (rank, kept) in (0..).zip(&kept) {
            assert_eq!(trace.rank(rank).len(), *kept, "rank {rank}");
        }
    }
    read(&meta_text, &files);
}

/// Engines of one structure each; a replay on the first is what the others are compared with.
const ENGINES: [&str; 8] =
    ["ideal:zero", "linear:qsnet2", "linear:software", "alpu", "cam_list", "hash_buckets", "lhs", "match_unit"];

/// Calls of the progress callback after which a replay is interrupted.
const PATIENCE: u32 = 2_000;

/// A trace of [`trace_sealed`] that keeps the rules is replayed, and ends with a report or an error. The first byte
/// selects the engine and, in its upper bits, free wildcards and computation without time.
/// Every message is received or counted as never received; where all ranks finish and take what was recorded, counts
/// are those of a replay without cost of matching.
///
/// # Panics
/// The target does not accept the input.
pub fn replay(data: &[u8]) {
    let Some((&how, trace)) = data.split_first() else { return };
    let Some((trace, comms)) = sealed(trace).and_then(|(meta, files)| checked(&meta, &files)) else { return };
    let mut config = ReplayConfig::new(Network::preset("slingshot").expect("the default network"));
    config.wildcards = if how & 0x80 == 0 { Wildcards::Recorded } else { Wildcards::Free };
    config.cpu_scale = if how & 0x40 == 0 { 1.0 } else { 0.0 };
    config.depths = how & 0x20 != 0;
    let run = |spec: &str| {
        let choice = mb_catalog::find(spec).expect("a known engine");
        let mut calls = 0;
        let mut progress = |_, _| {
            calls += 1;
            if calls > PATIENCE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut build = || choice.build().expect("a preset without contradiction");
        mb_replay::replay(&trace, &comms, &mut build, choice.placement(), &config, &mut progress)
    };
    let Ok(report) = run(ENGINES[usize::from(how) % ENGINES.len()]) else { return };
    assert_eq!(report.total.sent, report.total.received + report.total.never_received);
    if report.unfinished.is_empty()
        && config.wildcards == Wildcards::Recorded
        && let Ok(ideal) = run(ENGINES[0])
        && ideal.unfinished.is_empty()
    {
        let counts = |report: &Report| (report.total.sent, report.total.received, report.total.never_matched);
        assert_eq!(counts(&report), counts(&ideal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without edits all bases are valid traces, in both forms. Otherwise edited traces would be
    /// rejected at once.
    #[test]
    fn the_bases_are_valid() {
        for which in 0..4 {
            let trace = Trace::in_memory(base(which).to_vec());
            trace.check(|_| ControlFlow::Continue(())).unwrap();
            for choice in [which, which | 0x40, which | 0x80, which | 0xc0] {
                trace_sealed(&[choice]);
            }
        }
    }
}
