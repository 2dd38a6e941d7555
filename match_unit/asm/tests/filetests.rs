// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs with their expected words or errors beside the text: every file of `filetests/`.
//!
//! In `ok_*.mb` the first line of a word ends with `; = ` and its 164 bits in hexadecimal. In `err_*.mb` a line ends
//! with `; error COLUMN (RULE): MESSAGE` for each of its errors. `MATCHBENCH_BLESS=1` rewrites these comments to what
//! the assembler does now; read the difference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mb_asm::layout::Rule;
use mb_asm::{assemble, render};

/// What the comments of a program must say, by line.
type Notes = BTreeMap<usize, Vec<String>>;

/// What the assembler says of a program, or why the file is in the wrong half.
fn notes(name: &str, text: &str) -> Result<Notes, String> {
    let mut notes = Notes::new();
    match assemble(name, text) {
        Ok(_) if name.starts_with("err_") => return Err(format!("{name}: assembles, but must be refused")),
        Err(errors) if name.starts_with("ok_") => return Err(format!("{name}: is refused\n{}", render(&errors))),
        Ok(program) => {
            for (word, line) in program.words.iter().zip(&program.lines) {
                notes.entry(line.number).or_default().push(format!("; = {}", word.encode()));
            }
        }
        Err(errors) => {
            for error in errors {
                let note = format!("; error {} ({}): {}", error.span.column, error.rule.name(), error.message);
                notes.entry(error.span.line).or_default().push(note);
            }
        }
    }
    Ok(notes)
}

/// The program without the notes, and with those given.
fn annotate(text: &str, notes: &Notes) -> String {
    let mut out = String::new();
    for (index, line) in text.lines().enumerate() {
        let bare = ["; = ", "; error "].iter().filter_map(|mark| line.find(mark)).min().map_or(line, |at| &line[..at]);
        let bare = if notes.contains_key(&(index + 1)) || bare.len() < line.len() { bare.trim_end() } else { bare };
        let tail = notes.get(&(index + 1)).map(|notes| format!("  {}", notes.join(" "))).unwrap_or_default();
        out.extend([bare, &tail, "\n"]);
    }
    out
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is in the tree")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "mb"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_file_says_what_the_assembler_does() {
    let bless = std::env::var_os("MATCHBENCH_BLESS").is_some();
    let files = files();
    assert!(files.len() > 20, "the files are found");
    let mut failures = Vec::new();
    for path in files {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("text");
        let expected = match notes(&name, &text) {
            Ok(notes) => annotate(&text, &notes),
            Err(reason) => {
                failures.push(reason);
                continue;
            }
        };
        if bless {
            std::fs::write(&path, expected).expect("a writable tree");
            continue;
        }
        for (line, (is, must)) in text.lines().zip(expected.lines()).enumerate() {
            if is != must {
                failures.push(format!("{name}:{}:\n  in the file:     {is}\n  the assembler's: {must}", line + 1));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_rule_has_a_program_that_breaks_it() {
    let texts: Vec<String> = files().iter().map(|path| std::fs::read_to_string(path).expect("text")).collect();
    for rule in Rule::ALL {
        let note = format!(" ({}): ", rule.name());
        assert!(texts.iter().any(|text| text.contains(&note)), "no program breaks the rule `{}`", rule.name());
    }
}

#[test]
fn a_wrong_note_is_noticed() {
    let text = "a1 = 5  ; = 0\n";
    let notes = Notes::from([(1, vec!["; = 1".to_owned()])]);
    assert_eq!(annotate(text, &notes), "a1 = 5  ; = 1\n");
    assert_eq!(annotate("nop ; a comment\n", &Notes::new()), "nop ; a comment\n");
    assert_eq!(
        notes_of_a_sound_program(),
        Err("err_sound.mb: assembles, but must be refused".to_owned()),
        "a file in the wrong half"
    );
}

fn notes_of_a_sound_program() -> Result<Notes, String> {
    notes("err_sound.mb", "loop: goto loop\nnop\nnop\n")
}
