// SPDX-License-Identifier: Apache-2.0 OR MIT
//! No two modules of a crate, nor of the Python package, use each other: each can then be read and tested on its own.
//!
//! A module is a file. It uses another when it names an item that the other declares; a name that is re-exported
//! belongs to the file that declares it. A file that only declares and re-exports its children does not use them. Code
//! under `#[cfg(test)]` and imports under `if TYPE_CHECKING` do not count. Uses through methods and through names that
//! macros make are not seen.

mod python;
mod rust;
mod uses;

use super::Objection;
use crate::tree::Tree;

/// Two modules that may use each other, and why.
type Permitted = (&'static str, &'static str, &'static str);

/// The pairs that may use each other. The first path of a pair comes first in alphabetical order.
const PERMITTED: &[Permitted] = &[];

/// Objects to two modules that use each other, and to a permitted pair that does not.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    objections(tree, PERMITTED)
}

fn objections(tree: &Tree, permitted: &[Permitted]) -> Vec<Objection> {
    let (mut uses, mut objections) = (python::uses(tree), Vec::new());
    for known in tree.crates() {
        match rust::uses(tree, &format!("{}/src/", known.folder)) {
            Ok(more) => uses.extend(more),
            Err(objection) => objections.push(objection),
        }
    }
    let is_permitted = |one: &str, other: &str| permitted.iter().any(|(a, b, _reason)| (*a, *b) == (one, other));
    for ((one, other), there) in &uses {
        if one < other
            && !is_permitted(one, other)
            && let Some(back) = uses.get(&(other.clone(), one.clone()))
        {
            let reason = format!(
                "found `{}` of {other}, which uses `{}` of this file in line {}; expected one direction: \
                 move what both need to a module of its own",
                there.name, back.name, back.line
            );
            objections.push(Objection::new(one, there.line, reason));
        }
    }
    for (one, other, _reason) in permitted {
        let is_use = |from: &str, to: &str| uses.contains_key(&(from.to_owned(), to.to_owned()));
        if !is_use(one, other) || !is_use(other, one) {
            let reason = format!("found no circle with {other}; remove the pair from PERMITTED");
            objections.push(Objection::new(one, 1, reason));
        }
    }
    objections
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::crate_of;

    fn found(files: &[(&str, &str)], permitted: &[Permitted]) -> Vec<String> {
        let files: Vec<(String, &str)> = files.iter().map(|&(path, text)| (format!("kit/src/{path}"), text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let tree = Tree::of(&files).with_crates(vec![crate_of("kit", "mb-kit", &[])]);
        objections(&tree, permitted).iter().map(ToString::to_string).collect()
    }

    fn circle(one: &str, name: &str, other: &str, back: &str, line: usize) -> String {
        format!(
            "kit/src/{one}: found `{name}` of kit/src/{other}, which uses `{back}` of this file in line {line}; \
             expected one direction: move what both need to a module of its own"
        )
    }

    #[test]
    fn two_modules_that_name_each_other_are_rejected() {
        let parts = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use std::fmt;\nuse super::b::{self, B};\npub struct A;\n"),
            ("b.rs", "pub struct B;\npub fn f() {\n    crate::a::A;\n}\n"),
        ];
        assert_eq!(found(&parts, &[]), [circle("a.rs:2", "super::b::B", "b.rs", "crate::a::A", 3)]);
        assert_eq!(found(&parts, &[("kit/src/a.rs", "kit/src/b.rs", "because")]), [""; 0]);
    }

    #[test]
    fn a_permitted_pair_that_is_no_circle_is_rejected() {
        assert_eq!(
            found(
                &[("a.rs", "use crate::b::B;\n"), ("b.rs", "pub struct B;\n")],
                &[("kit/src/a.rs", "kit/src/b.rs", "")]
            ),
            ["kit/src/a.rs:1: found no circle with kit/src/b.rs; remove the pair from PERMITTED"]
        );
    }

    #[test]
    fn a_child_that_needs_what_a_parent_declares_and_uses_with_it_is_rejected() {
        let child = ("a/b.rs", "use super::A;\npub struct B;\n");
        assert_eq!(
            found(&[("a.rs", "mod b;\npub struct A(b::B);\n"), child], &[]),
            [circle("a.rs:2", "b::B", "a/b.rs", "super::A", 1)]
        );
        assert_eq!(
            found(&[("a.rs", "mod b;\npub use b::B;\npub struct A(B);\n"), child], &[]),
            [circle("a.rs:3", "B", "a/b.rs", "super::A", 1)]
        );
    }

    #[test]
    fn a_parent_that_declares_modules_and_passes_names_on_is_accepted() {
        assert_eq!(
            found(
                &[
                    (
                        "a.rs",
                        "mod b;\nmod c;\npub use b::B;\npub(crate) use c::C;\npub struct A;\nfn f(c: C) { c.b }\n"
                    ),
                    ("a/b.rs", "use super::{A, C};\npub struct B;\n"),
                    (
                        "a/c.rs",
                        "pub struct C;\nmacro_rules! m { ($n:ident) => { mod $n { use super::A; } }; }\n#[cfg(test)]\nmod tests { use super::super::B; }\n"
                    ),
                    ("lib.rs", "mod a;\npub use a::*;\n#[cfg(test)]\nmod tests;\n"),
                    ("tests.rs", "use crate::a::A;\n"),
                ],
                &[]
            ),
            [""; 0]
        );
    }

    #[test]
    fn modules_of_python_that_import_each_other_are_rejected_also_in_functions() {
        let package = |lines: &str| {
            let files = [
                ("python/matchbench/a/b.py", "from typing import Any\nfrom matchbench.a import (\n    c,\n    d,\n)\n"),
                ("python/matchbench/a/c.py", lines),
            ];
            check_python(&files)
        };
        assert_eq!(
            package("def f() -> None:\n    from matchbench.a.b import g\n"),
            [circle("b.py:2", "matchbench.a.c", "c.py", "matchbench.a.b.g", 2)
                .replace("kit/src/", "python/matchbench/a/")]
        );
        assert_eq!(package("if TYPE_CHECKING:\n    import matchbench.a.b\n"), [""; 0]);
    }

    fn check_python(files: &[(&str, &str)]) -> Vec<String> {
        objections(&Tree::of(files), &[]).iter().map(ToString::to_string).collect()
    }
}
