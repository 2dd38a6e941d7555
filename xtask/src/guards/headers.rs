// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every source file opens with its licence in one line and says next what it is.

use super::Objection;
use crate::tree::{Tree, extension};

const LICENCE: &str = "SPDX-License-Identifier: Apache-2.0 OR MIT";
const SOURCE_EXTENSIONS: &[&str] = &["rs", "py", "pyi", "c", "h", "S", "f90", "F90", "sh", "sv"];
const SOURCE_NAMES: &[&str] = &["Makefile", ".ci/run"];

/// Objects to a source file whose first line (second, after `#!`) is not the licence, or whose next line is not prose.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    tree.texts().filter(|(path, _)| is_source(path)).filter_map(|(path, text)| check_file(path, text)).collect()
}

fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    SOURCE_EXTENSIONS.contains(&extension(name)) || SOURCE_NAMES.contains(&path) || name == "Makefile"
}

fn check_file(path: &str, text: &str) -> Option<Objection> {
    let mut lines = text.lines().zip(1..).skip_while(|(line, _)| line.starts_with("#!"));
    let (first, number) = lines.next().unwrap_or(("", 1));
    if !first.contains(LICENCE) {
        return Some(Objection::new(path, number, format!("the file must open with `{LICENCE}`")));
    }
    let (second, number) = lines.next().unwrap_or(("", number + 1));
    let is_prose = ["//", "/*", " *", "#", "!", "\"\"\""].iter().any(|mark| second.starts_with(mark));
    (!is_prose).then(|| Objection::new(path, number, "the line after the licence must say what the file is"))
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn a_source_file_without_its_licence_is_rejected() {
        assert_objections(
            check,
            &[
                ("matching/core/src/a.rs", "//! Times.\n"),
                ("tool.sh", "#!/bin/sh\nset -eu\n"),
                ("notes.md", "Notes.\n"),
            ],
            &[
                "matching/core/src/a.rs:1: the file must open with `SPDX-License-Identifier: Apache-2.0 OR MIT`",
                "tool.sh:2: the file must open with `SPDX-License-Identifier: Apache-2.0 OR MIT`",
            ],
        );
    }

    #[test]
    fn a_source_file_that_does_not_say_what_it_is_is_rejected() {
        let text = format!("// {LICENCE}\nuse std::fmt;\n");
        assert_objections(
            check,
            &[("matching/core/src/a.rs", &text)],
            &["matching/core/src/a.rs:2: the line after the licence must say what the file is"],
        );
    }

    #[test]
    fn licence_and_sentence_are_accepted() {
        let rust = format!("// {LICENCE}\n//! Times.\n");
        let shell = format!("#!/bin/sh\n# {LICENCE}\n# Runs the tests.\n");
        assert_objections(check, &[("a.rs", &rust), ("b.sh", &shell)], &[]);
    }
}
