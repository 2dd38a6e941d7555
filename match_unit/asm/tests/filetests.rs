// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One test per program of `filetests/`, which states its expected words or errors in comments.
//!
//! In `ok_*.mb` the first line of a word ends with `; = ` and its 164 bits in hexadecimal. In `err_*.mb` a line ends
//! with `; error COLUMN (RULE): MESSAGE` for each of its errors. `MATCHBENCH_BLESS=1` rewrites these comments to the
//! current output of the assembler; review the difference. A file name or a part of it selects tests, as usual.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use mb_asm::layout::Rule;
use mb_asm::{assemble, render};

/// The expected comments of a program, by line.
type Notes = BTreeMap<usize, Vec<String>>;

/// The comments for a program, or an error when its prefix does not fit.
fn notes(name: &str, text: &str) -> Result<Notes, String> {
    let mut notes = Notes::new();
    match assemble(name, text) {
        Ok(_) if name.starts_with("err_") => return Err(format!("{name}: assembles; expected an error")),
        Err(errors) if name.starts_with("ok_") => {
            return Err(format!("{name}: does not assemble\n{}", render(&errors)));
        }
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

/// The program with its notes replaced by `notes`.
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

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is part of the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "mb"))
        .collect();
    files.sort();
    assert!(files.len() > 20, "the files are found");
    files
}

/// Compares the comments of one file with the output of the assembler, or rewrites them.
fn comments_match_the_assembler(path: &Path) -> Result<(), Failed> {
    let name = name_of(path);
    let text = std::fs::read_to_string(path)?;
    let expected = annotate(&text, &notes(&name, &text)?);
    if std::env::var_os("MATCHBENCH_BLESS").is_some() {
        std::fs::write(path, expected)?;
        return Ok(());
    }
    let differs = |(line, (file, assembler)): (usize, (&str, &str))| {
        (file != assembler)
            .then(|| format!("{name}:{}:\n  in the file:  {file}\n  assembler:    {assembler}", line + 1))
    };
    let failures: Vec<String> = text.lines().zip(expected.lines()).enumerate().filter_map(differs).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn every_rule_has_a_program_that_breaks_it() -> Result<(), Failed> {
    let texts = files().iter().map(std::fs::read_to_string).collect::<Result<Vec<String>, _>>()?;
    for rule in Rule::ALL {
        let note = format!(" ({}): ", rule.name());
        if !texts.iter().any(|text| text.contains(&note)) {
            return Err(format!("no program breaks the rule `{}`", rule.name()).into());
        }
    }
    Ok(())
}

fn a_wrong_note_is_replaced() {
    let notes_of_line_1 = Notes::from([(1, vec!["; = 1".to_owned()])]);
    assert_eq!(annotate("a1 = 5  ; = 0\n", &notes_of_line_1), "a1 = 5  ; = 1\n");
    assert_eq!(annotate("nop ; a comment\n", &Notes::new()), "nop ; a comment\n");
}

fn a_correct_program_with_the_prefix_err_fails() {
    let result = notes("err_correct.mb", "loop: goto loop\nnop\nnop\n");
    assert_eq!(result, Err("err_correct.mb: assembles; expected an error".to_owned()));
}

/// A test that fails by a panic only.
fn passing(test: fn()) -> impl FnOnce() -> Result<(), Failed> {
    move || {
        test();
        Ok(())
    }
}

fn main() -> ExitCode {
    let mut trials: Vec<Trial> = files()
        .into_iter()
        .map(|path| Trial::test(name_of(&path), move || comments_match_the_assembler(&path)))
        .collect();
    trials.push(Trial::test("every_rule_has_a_program_that_breaks_it", every_rule_has_a_program_that_breaks_it));
    trials.push(Trial::test("a_wrong_note_is_replaced", passing(a_wrong_note_is_replaced)));
    trials.push(Trial::test(
        "a_correct_program_with_the_prefix_err_fails",
        passing(a_correct_program_with_the_prefix_err_fails),
    ));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
