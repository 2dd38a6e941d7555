// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prose does not rot: paths and links in it exist, tests it names exist, and its commands are ones
//! that a user can type.
//!
//! Reads Markdown, and the comments of sources as far as they name paths and tests in back-ticks.

use std::collections::BTreeSet;

use super::Objection;
use crate::tree::{Tree, extension};

/// Folders at the root: a back-ticked path that starts with one is a repository path even when it leads nowhere.
const FOLDERS: &[&str] = &[
    ".ci",
    "benches",
    "docs",
    "engines",
    "examples",
    "fuzz",
    "integrations",
    "match_unit",
    "matching",
    "mbmatch",
    "moped",
    "mpi",
    "netproc",
    "processor",
    "python",
    "recorder",
    "spec",
    "studies",
    "tests",
    "traces",
    "workbench",
    "xtask",
];

/// Words that begin a command in a `console` block, besides `make`.
const COMMANDS: &[&str] = &["matchbench", ".venv/bin/matchbench", "git", "cd", "cargo", "mpicc", "mpirun", "python"];

/// Pages whose commands a newcomer types.
const COMMAND_PAGES: &[&str] = &["README.md", "CONTRIBUTING.md"];

/// Objects to back-ticked repository paths and to relative Markdown links that lead nowhere.
pub(crate) fn paths(tree: &Tree) -> Vec<Objection> {
    let known = Known::of(tree);
    let mut objections = Vec::new();
    for (path, number, line) in prose(tree) {
        for quoted in back_ticked(line) {
            if is_repository_path(quoted) && !known.has(path, quoted) {
                objections.push(Objection::new(path, number, format!("`{quoted}` does not exist")));
            }
        }
        for target in links(line).filter(|_| extension(path) == "md") {
            if !known.has(path, target) {
                objections.push(Objection::new(path, number, format!("the link to {target} leads nowhere")));
            }
        }
    }
    objections
}

/// Objects to a test that is named (``Test: `name` ``) and exists nowhere.
pub(crate) fn named_tests(tree: &Tree) -> Vec<Objection> {
    let functions: BTreeSet<&str> = tree
        .texts()
        .filter(|(path, _)| ["rs", "py"].contains(&extension(path)))
        .flat_map(|(_, text)| text.lines().filter_map(function_name))
        .collect();
    let mut objections = Vec::new();
    for (path, number, line) in prose(tree) {
        let Some((_, names)) = line.split_once("Test: ").or_else(|| line.split_once("Tests: ")) else { continue };
        for name in back_ticked(names).filter(|name| is_function_name(name)) {
            if !functions.contains(name) {
                objections.push(Objection::new(path, number, format!("no test is called `{name}`")));
            }
        }
    }
    objections
}

/// Objects to commands of README and CONTRIBUTING that do not exist: unknown words and make targets.
pub(crate) fn commands(tree: &Tree) -> Vec<Objection> {
    let makefile = tree.text("Makefile").unwrap_or_default();
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(targets, rest)| !targets.starts_with(['\t', '#', '.']) && !rest.starts_with('='))
        .flat_map(|(targets, _)| targets.split_whitespace())
        .collect();
    let mut objections = Vec::new();
    for &page in COMMAND_PAGES {
        for (number, command) in tree.text(page).into_iter().flat_map(console_commands) {
            let mut words = command.split_whitespace();
            let reason = match (words.next(), words.next()) {
                (Some("make"), Some(target)) if targets.contains(target) => continue,
                // Another folder's Makefile: its page tells of it.
                (Some("make"), _) if command.contains(" -C ") => continue,
                (Some("make"), target) => format!("the Makefile has no target `{}`", target.unwrap_or_default()),
                (Some(word), _) if COMMANDS.contains(&word) => continue,
                (word, _) => format!("`{}` is not a known command", word.unwrap_or_default()),
            };
            objections.push(Objection::new(page, number, reason));
        }
    }
    objections
}

/// Objects to a changelog whose newest version, or what is unreleased, does not say how results changed.
pub(crate) fn changelog(tree: &Tree) -> Vec<Objection> {
    const PAGE: &str = "CHANGELOG.md";
    let Some(text) = tree.text(PAGE) else { return vec![Objection::new(PAGE, 1, "there is no changelog")] };
    let mut versions = text.lines().zip(1..).skip_while(|(line, _)| !line.starts_with("## "));
    let Some((_, number)) = versions.next() else { return vec![Objection::new(PAGE, 1, "there is no version")] };
    let has_results = versions.take_while(|(line, _)| !line.starts_with("## ")).any(|(line, _)| line == "### Results");
    if has_results {
        Vec::new()
    } else {
        vec![Objection::new(PAGE, number, "`### Results` is missing from this version")]
    }
}

/// Every path of the repository, files and folders.
struct Known<'a> {
    paths: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    fn of(tree: &'a Tree) -> Self {
        let mut paths = BTreeSet::new();
        for path in tree.paths() {
            paths.insert(path);
            paths.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
        Self { paths }
    }

    /// Whether `quoted` exists seen from the root, from the folder of `page`, or from a folder above it.
    fn has(&self, page: &str, quoted: &str) -> bool {
        let quoted = quoted.split('#').next().unwrap_or(quoted).trim_end_matches('/');
        let mut folder = page;
        loop {
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
            let full = normal(&format!("{folder}/{quoted}"));
            if full.is_empty() || self.matches(&full) {
                return true;
            }
            if folder.is_empty() {
                return false;
            }
        }
    }

    /// `<name>`, `NAME` and `*` stand for anything between two slashes.
    fn matches(&self, pattern: &str) -> bool {
        if !(pattern.contains(['<', '*']) || pattern.contains("NAME")) {
            return self.paths.contains(pattern);
        }
        let wanted: Vec<&str> = pattern.split('/').collect();
        self.paths.iter().any(|path| {
            path.split('/').count() == wanted.len()
                && path.split('/').zip(&wanted).all(|(part, want)| part_matches(part, want))
        })
    }
}

/// Whether one folder or file name matches a name with at most one placeholder.
fn part_matches(part: &str, want: &str) -> bool {
    let (start, end) = if let Some((start, rest)) = want.split_once('<') {
        (start, rest.split_once('>').map_or("", |(_, end)| end))
    } else if let Some((start, end)) = want.split_once('*').or_else(|| want.split_once("NAME")) {
        (start, end)
    } else {
        return part == want;
    };
    part.len() >= start.len() + end.len() && part.starts_with(start) && part.ends_with(end)
}

/// The path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_repository_path(quoted: &str) -> bool {
    let Some((first, rest)) = quoted.split_once('/') else { return false };
    let built = rest.split('/').any(|part| part == "build");
    FOLDERS.contains(&first) && !built && !rest.contains([' ', '(', ',', '{', '$', ':', '|', '"', '\\'])
}

/// Lines in which back-ticks quote: Markdown outside of code blocks, and comments of sources.
fn prose(tree: &Tree) -> impl Iterator<Item = (&str, usize, &str)> {
    tree.texts().flat_map(|(path, text)| {
        let markdown = extension(path) == "md";
        let comment: &[&str] = match extension(path) {
            "rs" | "c" | "h" => &["//", "*", "/*"],
            "toml" | "py" => &["#"],
            _ => &[],
        };
        let mut in_block = false;
        text.lines().zip(1..).filter_map(move |(line, number)| {
            let start = line.trim_start();
            let read = if markdown {
                let fence = start.starts_with("```");
                in_block ^= fence;
                !in_block && !fence
            } else {
                comment.iter().any(|mark| start.starts_with(mark))
            };
            read.then_some((path, number, line))
        })
    })
}

/// The texts between single back-ticks of a line.
fn back_ticked(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|text| !text.is_empty())
}

/// Targets of `[text](target)` that are files.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ']).next()?;
        (!target.contains("://") && !target.starts_with(['#', '<']) && !target.is_empty()).then_some(target)
    })
}

/// The name a line defines as `fn name` or `def name`.
fn function_name(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fn ").or_else(|| line.split_once("def "))?;
    rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
}

fn is_function_name(text: &str) -> bool {
    text.contains('_') && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Line and text of every `$ command` in `console` blocks.
fn console_commands(page: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_console = false;
    for (line, number) in page.lines().zip(1..) {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            in_console = kind == "console";
        } else if let Some(command) = line.trim_start().strip_prefix("$ ").filter(|_| in_console) {
            found.push((number, command));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn a_back_ticked_path_that_does_not_exist_is_rejected() {
        assert_objections(
            paths,
            &[
                (
                    "README.md",
                    "See `spec/matching.md` and `spec/cases/`, not\n`spec/gone.md`.\n```\n`spec/never.md`\n```\n",
                ),
                ("matching/core/src/a.rs", "//! Rules: `spec/lost.md`.\nlet a = \"`spec/b`\";\n"),
                ("spec/matching.md", ""),
                ("spec/cases/a.toml", ""),
            ],
            &["README.md:2: `spec/gone.md` does not exist", "matching/core/src/a.rs:1: `spec/lost.md` does not exist"],
        );
    }

    #[test]
    fn a_placeholder_must_stand_for_something() {
        assert_objections(
            paths,
            &[
                ("README.md", "`engines/<name>/README.md`, `spec/*.md`\n`engines/<name>/rtl/`\n"),
                ("engines/alpu/README.md", "`src/lib.rs`"),
                ("spec/trace.md", ""),
            ],
            &["README.md:2: `engines/<name>/rtl/` does not exist"],
        );
    }

    #[test]
    fn a_path_is_looked_up_from_the_page_and_from_the_folders_above() {
        assert_objections(
            paths,
            &[
                ("engines/alpu/README.md", "`tests/timing.rs`, `spec/trace.md`"),
                ("engines/alpu/tests/timing.rs", ""),
                ("spec/trace.md", ""),
            ],
            &[],
        );
    }

    #[test]
    fn a_link_that_leads_nowhere_is_rejected() {
        assert_objections(
            paths,
            &[
                ("docs/a.md", "[one](b.md), [two](../README.md#tour), [web](https://example.org)\n[three](c.md)\n"),
                ("docs/b.md", ""),
                ("README.md", ""),
            ],
            &["docs/a.md:2: the link to c.md leads nowhere"],
        );
    }

    #[test]
    fn a_named_test_that_does_not_exist_is_rejected() {
        assert_objections(
            named_tests,
            &[
                (
                    "ARCHITECTURE.md",
                    "Test: `oldest_wins` in `matching/core`.\nTests: `oldest_wins`, `youngest_wins`.\n",
                ),
                ("matching/core/src/a.rs", "    fn oldest_wins() {}\n"),
            ],
            &["ARCHITECTURE.md:2: no test is called `youngest_wins`"],
        );
    }

    #[test]
    fn a_command_that_nobody_can_type_is_rejected() {
        assert_objections(
            commands,
            &[
                ("README.md", "```console\n$ make run\n$ make coffee\n$ sudo reboot\n```\n"),
                ("Makefile", "run: setup\n\tcoffee: x\nFLAGS := -x\n"),
            ],
            &["README.md:3: the Makefile has no target `coffee`", "README.md:4: `sudo` is not a known command"],
        );
    }

    #[test]
    fn a_changelog_that_hides_its_results_is_rejected() {
        let old = "## 0.1.0\n### Added\n## 0.0.1\n### Results\n";
        assert_objections(
            changelog,
            &[("CHANGELOG.md", old)],
            &["CHANGELOG.md:1: `### Results` is missing from this version"],
        );
        assert_objections(changelog, &[], &["CHANGELOG.md:1: there is no changelog"]);
        assert_objections(changelog, &[("CHANGELOG.md", "## 0.1.0\n### Results\n")], &[]);
    }
}
