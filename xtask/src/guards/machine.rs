// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nothing in the repository names a folder of somebody's machine or the host of a package registry.

use super::Objection;
use crate::tree::Tree;

/// Starts of paths that exist on one machine only, and registry hosts; written in halves so that
/// this file passes itself.
const BANNED: &[(&str, &str)] = &[
    ("/ro", "ot/"),
    ("/wo", "rk/"),
    ("/ho", "me/"),
    ("/Us", "ers/"),
    ("/opt/", "wheels"),
    ("crat", "es.io"),
    ("py", "pi.org"),
    ("pythonh", "osted.org"),
    ("npm", "js.com"),
    ("deb.de", "bian.org"),
];

/// Objects to machine paths and registry hosts in text files. `Cargo.lock` is cargo's own.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let banned: Vec<String> = BANNED.iter().map(|(start, end)| format!("{start}{end}")).collect();
    let mut objections = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !path.ends_with("Cargo.lock")) {
        for (line, number) in text.lines().zip(1..) {
            if let Some(found) = banned.iter().find(|banned| contains_alone(line, banned)) {
                objections.push(Objection::new(
                    path,
                    number,
                    format!("`{found}` belongs to one machine or one registry"),
                ));
            }
        }
    }
    objections
}

/// Whether `line` holds `needle` other than in the middle of a longer relative path (out, then work).
fn contains_alone(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        !needle.starts_with('/')
            || !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-*>})".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn a_machine_path_is_rejected() {
        let line = ["see ", "/ho", "me/ada/notes\n"].concat();
        assert_objections(
            check,
            &[("README.md", &line)],
            &[&["README.md:1: `", "/ho", "me/` belongs to one machine or one registry"].concat()],
        );
    }

    #[test]
    fn a_registry_host_is_rejected_outside_of_the_lock_file() {
        let line = ["url = \"https://pypi", ".org/simple\"\n"].concat();
        let expected = ["pyproject.toml:1: `pypi", ".org` belongs to one machine or one registry"].concat();
        assert_objections(check, &[("pyproject.toml", &line), ("Cargo.lock", &line)], &[&expected]);
    }

    #[test]
    fn a_relative_path_with_the_same_word_is_accepted() {
        let line = ["out", "/wo", "rk/rows.csv\n"].concat();
        assert_objections(check, &[("README.md", &line)], &[]);
    }
}
