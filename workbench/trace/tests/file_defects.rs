// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every violated rule of files is an error with file, what was found, what was expected and what
//! to do, word for word; and the end of a killed rank is found.

use crate::common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use common::{Scratch, ping};
use mb_trace::{Header, Meta, RankBuilder, Record, Trace, TraceForm, TraceOrigin, TraceState, TraceWriter};
use zerocopy::{FromBytes, IntoBytes};

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

/// The bytes of a small trace, by name, as rank files or as a bundle.
fn bytes(form: TraceForm) -> (Vec<u8>, Files) {
    let scratch = Scratch::new(&format!("defects-{form:?}-{:?}", std::thread::current().id()));
    let mut writer = TraceWriter::create(scratch.path(), Meta::new(TraceOrigin::Generated, 2, 77), form).unwrap();
    for records in ping() {
        writer.rank(&records).unwrap();
    }
    writer.finish().unwrap();
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(scratch.path()).unwrap() {
        let entry = entry.unwrap();
        files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    (files.remove("meta.json").expect("written"), files)
}

/// Opens and checks these files.
fn read(meta: &[u8], files: &Files) -> Result<Trace, String> {
    let trace = Trace::from_bytes(meta, files).map_err(|error| error.to_string())?;
    trace.check(|_| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
    Ok(trace)
}

fn header(file: &mut [u8], change: impl FnOnce(&mut Header)) {
    let header = Header::mut_from_bytes(&mut file[..64]).unwrap();
    change(header);
    header.check = header.expected_check();
}

#[test]
fn headers_of_rank_files() {
    let with = |change: fn(&mut Header)| {
        let (meta, mut files) = bytes(TraceForm::RankFiles);
        header(files.get_mut("rank-00001.mbt").unwrap(), change);
        read(&meta, &files).unwrap_err()
    };
    for (change, reason) in [
        (
            (|h| h.magic[7] = 2) as fn(&mut Header),
            "first bytes are [4d, 42, 54, 52, 41, 43, 45, 02], expected [4d, 42, 54, 52, 41, 43, 45, 01]; this is not a trace file (T-3)",
        ),
        (|h| h.version = 4, "version is 4, expected 1 to 3; read it with the release that wrote it (T-3)"),
        (|h| h.record_bytes = 128, "record_bytes is 128, expected 64 (T-3)"),
        (|h| h.flags = 4, "flags are 0x4, expected 0, 1 or 2 (T-3)"),
        (|h| (h.version, h.flags) = (2, 7), "flags are 0x7, expected 0, 1, 2, 4, 5 or 6 (T-3)"),
        (|h| (h.version, h.flags) = (2, 8), "flags are 0x8, expected 0, 1, 2, 4, 5 or 6 (T-3)"),
        (|h| h.flags = 3, "flags are 0x3, expected 0, 1 or 2 (T-3)"),
        (|h| h.flags = 0, "records is 8, expected 0 in a file that is not finalized (T-3)"),
        (|h| h.first_rank = 0, "first_rank is 0, expected 1 (T-1)"),
        (|h| h.segments = 2, "segments is 2, expected 1 (T-3)"),
        (|h| h.world = 3, "world is 3, expected 2 as in meta.json (T-1)"),
        (|h| h.reserved = 1, "reserved field is 0x1, expected 0 (T-3)"),
        (|h| h.records = 9, "found a file of 576 bytes, expected a header and 9 records of 64 bytes (T-5)"),
        (
            |h| h.records = 1 << 63,
            "found a file of 576 bytes, expected a header and 9223372036854775808 records of 64 bytes (T-5)",
        ),
        (|h| h.run_id = 78, "run_id is 000000000000004e, expected 000000000000004d as in meta.json (T-1)"),
    ] {
        assert_eq!(with(change), format!("rank-00001.mbt: {reason}"));
    }
    let (meta, mut files) = bytes(TraceForm::RankFiles);
    files.get_mut("rank-00001.mbt").unwrap()[40] ^= 1;
    let error = read(&meta, &files).unwrap_err();
    assert!(error.starts_with("rank-00001.mbt: checksum of the header is "), "{error}");
    assert!(error.ends_with(" (T-13)"), "{error}");
}

#[test]
fn header_and_index_of_a_bundle() {
    let with = |change: fn(&mut Header)| {
        let (meta, mut files) = bytes(TraceForm::Bundle);
        header(files.get_mut("bundle.mbt").unwrap(), change);
        read(&meta, &files).unwrap_err()
    };
    for (change, reason) in [
        ((|h| (h.flags, h.records) = (0, 0)) as fn(&mut Header), "flags are 0x0, expected a finalized bundle (T-4)"),
        (|h| h.first_rank = 1, "found 2 segments from rank 1 on, expected 2 from rank 0 on (T-4)"),
        (|h| h.segments = u32::MAX, "found 4294967295 segments from rank 0 on, expected 2 from rank 0 on (T-4)"),
        (|h| h.records = 14, "records is 14, expected 15, the sum over its segments (T-4)"),
    ] {
        assert_eq!(with(change), format!("bundle.mbt: {reason}"));
    }
    let index = |at: usize, value: u64| {
        let (meta, mut files) = bytes(TraceForm::Bundle);
        files.get_mut("bundle.mbt").unwrap()[64 + 8 * at..][..8].copy_from_slice(&value.to_le_bytes());
        read(&meta, &files).unwrap_err()
    };
    assert_eq!(index(0, 64), "bundle.mbt: rank 0: segment begins at 64, expected 128 (T-4)");
    assert_eq!(index(2, u64::MAX), "bundle.mbt: rank 1: segment begins at 18446744073709551615, expected 576 (T-4)");
    assert_eq!(
        index(1, 1 << 63),
        "bundle.mbt: rank 0: segment has 9223372036854775808 records, expected at most 15 (T-4)"
    );
    assert_eq!(index(3, 7), "bundle.mbt: found a file of 1088 bytes, expected 1024, the end of its segments (T-4)");
    assert_eq!(index(4, 1), "bundle.mbt: found non-zero bytes after the index, expected zeros (T-4)");
    let (_, files) = bytes(TraceForm::Bundle);
    let meta = serde_json::to_vec(&Meta::new(TraceOrigin::Generated, i32::MAX as u32, 77)).unwrap();
    let mut many = files;
    header(many.get_mut("bundle.mbt").unwrap(), |h| (h.world, h.segments) = (i32::MAX as u32, i32::MAX as u32));
    assert_eq!(
        read(&meta, &many).unwrap_err(),
        "bundle.mbt: found a file of 1088 bytes, expected an index of 2147483647 entries (T-4)"
    );
}

#[test]
fn inconsistent_sets_of_files_are_refused() {
    let (meta, files) = bytes(TraceForm::RankFiles);
    let (_, bundle) = bytes(TraceForm::Bundle);
    let with = |change: &dyn Fn(&mut Files)| {
        let mut files = files.clone();
        change(&mut files);
        read(&meta, &files).unwrap_err()
    };
    assert_eq!(
        with(&|files| drop(files.remove("rank-00001.mbt"))),
        "rank-00001.mbt: found no file, expected one for each of the 2 ranks; copy the files of all nodes into this directory (T-1)"
    );
    assert_eq!(
        with(&|files| drop(files.insert("rank-00002.mbt".to_owned(), Vec::new()))),
        "rank-00002.mbt: found an unexpected file, expected only those of 2 ranks; remove it (T-1)"
    );
    assert_eq!(
        with(&|files| files.extend(bundle.clone())),
        "rank-00000.mbt: found beside bundle.mbt, expected either rank files or a bundle; remove one of them (T-1)"
    );
    assert_eq!(
        with(&|files| {
            let first = files["rank-00000.mbt"].clone();
            files.insert("rank-00001.mbt".to_owned(), first);
        }),
        "rank-00001.mbt: first_rank is 0, expected 1 (T-1)"
    );
    assert_eq!(
        with(&|files| files.get_mut("rank-00000.mbt").unwrap().truncate(30)),
        "rank-00000.mbt: found a file of 30 bytes, expected at least a header of 64 (T-3)"
    );
}

#[test]
fn a_rank_that_ended_before_it_wrote_a_header_is_cut_and_has_no_records() {
    let (meta, files) = bytes(TraceForm::RankFiles);
    let zeros = |length: usize| vec![0; length];
    for unwritten in [zeros(0), zeros(64), zeros(4096)] {
        let mut files = files.clone();
        files.insert("rank-00001.mbt".to_owned(), unwritten);
        let trace = Trace::from_bytes(&meta, &files).unwrap();
        assert_eq!((trace.end(1), trace.rank(1).len()), (TraceState::Cut, 0));
        assert_eq!(trace.state(), TraceState::Cut);
        assert!(!trace.rank(0).is_empty());
        trace.check(|_| ControlFlow::Continue(())).unwrap();
    }
    let first = |name: &str, bytes: &[u8]| mb_trace::file_bytes(name, bytes).map_err(|error| error.to_string());
    assert_eq!(first("rank-00001.mbt", &[]), Ok(None));
    assert_eq!(first("rank-00001.mbt", &[0; 64]), Ok(None));
    let refused = "bundle.mbt: found a file of 0 bytes, expected at least a header of 64 (T-3)";
    assert_eq!(first("bundle.mbt", &[]), Err(refused.to_owned()));
}

#[test]
fn meta_json() {
    let (_, files) = bytes(TraceForm::RankFiles);
    let with = |text: &str| read(text.as_bytes(), &files).unwrap_err();
    let good =
        r#"{"format":"matchbench-trace","version":1,"ranks":2,"run_id":"000000000000004d","origin":"generated"}"#;
    assert!(read(good.as_bytes(), &files).is_ok());
    for (from, to, reason) in [
        ("matchbench-trace", "trace", r#"`format` is "trace", expected "matchbench-trace""#),
        (r#""version":1"#, r#""version":2"#, "`version` is 2, expected 1"),
        (r#""ranks":2"#, r#""ranks":0"#, "`ranks` is 0, expected 1 to 2147483647"),
        (r#""ranks":2"#, r#""ranks":4294967295"#, "`ranks` is 4294967295, expected 1 to 2147483647"),
        ("000000000000004d", "4d", r#"`run_id` is "4d", expected 16 hexadecimal digits"#),
        ("000000000000004d", "+00000000000004d", r#"`run_id` is "+00000000000004d", expected 16 hexadecimal digits"#),
        ("generated", "guessed", "unknown variant `guessed`, expected `recorded` or `generated` at line 1 column 97"),
        (r#""version":1,"#, "", "missing field `version` at line 1 column 88"),
    ] {
        assert_eq!(with(&good.replace(from, to)), format!("meta.json: {reason} (section 2)"));
    }
    assert_eq!(with(""), "meta.json: EOF while parsing a value at line 1 column 0 (section 2)");
    let unknown = good.replace(r#""version":1"#, r#""version":1,"note":{"kept":[1]}"#);
    assert_eq!(read(unknown.as_bytes(), &files).unwrap().meta().more["note"]["kept"][0], 1);
}

#[test]
fn every_flipped_bit_of_a_small_trace_is_found() {
    for form in [TraceForm::RankFiles, TraceForm::Bundle] {
        let (meta, files) = bytes(form);
        assert!(read(&meta, &files).is_ok());
        for (name, content) in &files {
            for bit in 0..content.len() * 8 {
                let mut files = files.clone();
                files.get_mut(name).unwrap()[bit / 8] ^= 1 << (bit % 8);
                assert!(read(&meta, &files).is_err(), "{name}, bit {bit}");
            }
        }
    }
}

#[test]
fn every_truncation_of_a_finalized_trace_is_found() {
    for form in [TraceForm::RankFiles, TraceForm::Bundle] {
        let (meta, files) = bytes(form);
        for (name, content) in &files {
            for length in 0..content.len() {
                let mut files = files.clone();
                files.get_mut(name).unwrap().truncate(length);
                // Without a byte, the file is that of a rank that ended at once, whose state says so.
                let is_found = match read(&meta, &files) {
                    Err(_) => true,
                    Ok(trace) => length == 0 && name.starts_with("rank-") && trace.state() == TraceState::Cut,
                };
                assert!(is_found, "{name}, {length} bytes");
            }
            let mut files = files.clone();
            files.get_mut(name).unwrap().push(0);
            assert!(read(&meta, &files).is_err(), "{name}, a byte more");
        }
    }
}

/// The files of a killed rank: not finalized, with reserved space after its records.
fn killed(records: &[Record], reserved: usize) -> (Vec<u8>, Files) {
    let (meta, mut files) = bytes(TraceForm::RankFiles);
    let file = files.get_mut("rank-00001.mbt").unwrap();
    file.truncate(64);
    header(file, |h| (h.flags, h.records) = (0, 0));
    for (index, record) in records.iter().enumerate() {
        file.extend(record.sealed(index as u64).as_bytes());
    }
    file.resize(file.len() + reserved, 0);
    (meta, files)
}

#[test]
fn a_killed_rank_ends_where_it_stopped_writing() {
    let all = &ping()[1];
    // Records and their Extra records are written together, so cuts fall between groups.
    for count in [0, 1, 3, 5, 6, 7, 8] {
        for reserved in [0, 10, 64, 6400] {
            let (meta, files) = killed(&all[..count], reserved);
            let trace = read(&meta, &files).unwrap();
            assert_eq!(
                (trace.rank(1).len(), trace.end(1), trace.end(0)),
                (count, TraceState::Cut, TraceState::Complete)
            );
        }
    }
    // A record whose write was interrupted is not read.
    let (meta, mut files) = killed(&all[..6], 640);
    files.get_mut("rank-00001.mbt").unwrap()[64 + 5 * 64 + 20] ^= 4;
    assert_eq!(read(&meta, &files).unwrap().rank(1).len(), 5);
    // A damaged record in front of others of its thread is a defect.
    let (meta, mut files) = killed(&all[..7], 640);
    files.get_mut("rank-00001.mbt").unwrap()[64 + 5 * 64 + 20] ^= 4;
    let error = read(&meta, &files).unwrap_err();
    assert!(error.starts_with("rank-00001.mbt: rank 1, record 5: checksum is "), "{error}");
    // A full disk.
    let (meta, mut files) = killed(&all[..6], 0);
    header(files.get_mut("rank-00001.mbt").unwrap(), |h| h.flags = Header::STOPPED);
    assert_eq!(read(&meta, &files).unwrap().end(1), TraceState::Stopped);
}

#[test]
fn a_killed_rank_ends_before_an_interrupted_poll_count() {
    let mut program = RankBuilder::new(1, 2);
    program.miss(3);
    program.probe_miss(0, -1, 7, 3);
    let torn = |records: &[Record]| {
        let (meta, mut files) = killed(records, 64);
        files.get_mut("rank-00001.mbt").unwrap()[64 + 5 * 64 + 56] ^= 2;
        read(&meta, &files).map(|trace| trace.rank(1).len())
    };
    assert_eq!(torn(program.records()), Ok(5), "only a Miss follows it");
    program.send(0, 0, 7, 0);
    let error = torn(program.records()).unwrap_err();
    assert!(error.starts_with("rank-00001.mbt: rank 1, record 5: checksum is "), "{error}");
}

#[test]
fn a_killed_rank_of_several_threads_ends_before_an_interrupted_write() {
    let mut program = RankBuilder::new(1, 2);
    program.thread(1);
    program.send(0, 0, 7, 0);
    program.thread(0);
    program.send(0, 0, 8, 0);
    let (meta, mut files) = killed(program.records(), 64);
    files.get_mut("rank-00001.mbt").unwrap()[64 + 5 * 64 + 56] ^= 2;
    assert_eq!(read(&meta, &files).unwrap().rank(1).len(), 5, "thread 1 wrote nothing after it");
}

#[test]
fn a_directory_is_opened_like_its_files() {
    let scratch = Scratch::new("defects-open");
    let error = |scratch: &Scratch| Trace::open(scratch.path()).unwrap_err().to_string();
    let path = scratch.path().display();
    assert_eq!(
        error(&scratch),
        format!("{path}/meta.json: found no such file, expected a file of a trace; check the path")
    );
    std::fs::create_dir_all(scratch.path()).unwrap();
    std::fs::write(scratch.path().join("meta.json"), bytes(TraceForm::Bundle).0).unwrap();
    assert_eq!(
        error(&scratch),
        format!(
            "{path}/rank-00000.mbt: found no file, expected one for each of the 2 ranks; copy the files of all nodes into this directory (T-1)"
        )
    );
    std::fs::write(scratch.path().join("bundle.mbt"), b"").unwrap();
    assert_eq!(
        error(&scratch),
        format!("{path}/bundle.mbt: found a file of 0 bytes, expected at least a header of 64 (T-3)")
    );
}

#[test]
fn a_writer_refuses_incomplete_or_misplaced_traces() {
    let scratch = Scratch::new("defects-writer");
    let path = scratch.path();
    let create = |ranks| TraceWriter::create(path, Meta::new(TraceOrigin::Generated, ranks, 1), TraceForm::Bundle);
    let mut writer = create(1).unwrap();
    assert_eq!(
        create(1).map(drop).unwrap_err().to_string(),
        format!("{}: directory contains a trace (meta.json), expected none; choose another directory", path.display())
            .replace("meta.json", &first_name(path))
    );
    writer.rank(&ping()[0]).unwrap();
    assert_eq!(
        writer.rank(&ping()[1]).unwrap_err().to_string(),
        format!("{}: rank 1 written, expected ranks below 1", path.display())
    );
    drop(writer);
    let error = Trace::open(path).unwrap_err().to_string();
    assert!(error.contains("bundle.mbt: "), "{error}: no header was written");

    let scratch = Scratch::new("defects-writer-2");
    let writer =
        TraceWriter::create(scratch.path(), Meta::new(TraceOrigin::Generated, 2, 1), TraceForm::RankFiles).unwrap();
    let reason = format!("{}: 0 ranks written, expected 2", scratch.path().display());
    assert_eq!(writer.finish().unwrap_err().to_string(), reason);
}

/// The first name in a listing of the directory.
fn first_name(path: &std::path::Path) -> String {
    let entry = std::fs::read_dir(path).unwrap().next().unwrap().unwrap();
    entry.file_name().into_string().unwrap()
}

#[test]
fn an_interrupted_check_returns_an_error() {
    let trace = Trace::in_memory(ping());
    let stop = |_| ControlFlow::Break(());
    assert_eq!(trace.check(stop).unwrap_err().to_string(), "interrupted");
    let comms = trace.check(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(trace.stats(&comms, |_, _| ControlFlow::Break(())).unwrap_err().to_string(), "interrupted");
}
