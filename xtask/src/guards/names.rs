// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The name of a public type has one meaning: no crate sees two public types of one name, among its own and those of
//! its dependencies.
//!
//! Structs, enums, traits and aliases are read if they are `pub`, which the compiler allows only where another crate
//! can name them. Types that a macro declares, and types of tests, are not read.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream, TokenTree};

use super::Objection;
use crate::tree::{Tree, extension};

/// Crates that list other crates, and name none of their types.
const LISTS: &[&str] = &["mb-catalog"];

const CORE: &str = "matching/core/";
const MBMATCH: &str = "mbmatch/";
const PAPERS: &str = "workbench/reproduce/src/papers/";

/// A name that types below these two folders may share, and why.
const PERMITTED: &[(&str, [&str; 2], &str)] = &[
    ("Assumptions", [PAPERS, PAPERS], "what a paper leaves open; a module of a paper uses its own only"),
    ("Designs", [PAPERS, PAPERS], "the designs that a paper compares; a module of a paper uses its own only"),
    ("Model", [PAPERS, PAPERS], "what a paper's claims are measured on; a module of a paper uses its own only"),
    ("Runs", [PAPERS, PAPERS], "the runs behind a paper's claims; a module of a paper uses its own only"),
    ("Envelope", [CORE, MBMATCH], "the same concept; `mbmatch` stands alone, and its users see only its types"),
    ("Pattern", [CORE, MBMATCH], "the same concept; `mbmatch` stands alone, and its users see only its types"),
];

/// Where a public type is declared.
struct Declaration<'a> {
    crate_name: &'a str,
    path: &'a str,
    line: usize,
}

/// Objects to a public type with the name of another one, where some crate sees both.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    let mut declarations: BTreeMap<String, Vec<Declaration<'_>>> = BTreeMap::new();
    for known in tree.crates() {
        let sources = format!("{}/src/", known.folder);
        for (path, text) in tree.texts().filter(|(path, _)| path.starts_with(&sources) && extension(path) == "rs") {
            match text.parse::<TokenStream>() {
                Ok(items) => {
                    for name in public_types(items) {
                        let line = name.span().start().line;
                        let declaration = Declaration { crate_name: &known.name, path, line };
                        declarations.entry(name.to_string()).or_default().push(declaration);
                    }
                }
                Err(error) => {
                    let reason = format!("found text that is not Rust, expected Rust: {error}");
                    objections.push(Objection::new(path, error.span().start().line, reason));
                }
            }
        }
    }
    for (name, declarations) in &declarations {
        for (index, later) in declarations.iter().enumerate() {
            let clash = declarations[..index].iter().find_map(|earlier| {
                let user = user_of_both(tree, earlier, later).filter(|_| !is_permitted(name, earlier, later))?;
                Some((earlier, user))
            });
            if let Some((Declaration { path, line, .. }, user)) = clash {
                let reason = format!(
                    "found a public type `{name}`, as in {path}:{line}; expected one meaning of each name, as \
                     `{user}` sees both; rename one of them"
                );
                objections.push(Objection::new(later.path, later.line, reason));
            }
        }
    }
    objections
}

/// The names of the public types among the items of a file or module, and in public modules among them. Bodies and
/// macros are groups of tokens, in which nothing is looked for.
fn public_types(items: TokenStream) -> Vec<Ident> {
    let mut names = Vec::new();
    let mut tokens = items.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if !is_word(&token, "pub") {
            continue;
        }
        // `pub(crate)` is followed by a group.
        tokens.next_if(|next| ["unsafe", "auto"].iter().any(|word| is_word(next, word)));
        let Some(kind) = tokens.next_if(|next| matches!(next, TokenTree::Ident(_))) else { continue };
        let Some(TokenTree::Ident(name)) = tokens.peek().cloned() else { continue };
        if is_word(&kind, "mod") {
            tokens.next();
            if let Some(TokenTree::Group(content)) = tokens.peek() {
                names.extend(public_types(content.stream()));
            }
        } else if ["enum", "struct", "trait", "type", "union"].iter().any(|word| is_word(&kind, word)) {
            names.push(name);
        }
    }
    names
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(found) if found == word)
}

/// A crate that sees both types.
fn user_of_both<'a>(tree: &'a Tree, one: &Declaration<'_>, other: &Declaration<'_>) -> Option<&'a str> {
    if one.crate_name == other.crate_name {
        return tree.crates().iter().map(|known| known.name.as_str()).find(|name| *name == one.crate_name);
    }
    let mut users = tree.crates().iter().filter(|user| !LISTS.contains(&user.name.as_str()));
    let user = users.find(|user| {
        let sees =
            |name: &str| user.name == name || user.dependencies.iter().any(|used| !used.dev && used.name == name);
        sees(one.crate_name) && sees(other.crate_name)
    })?;
    Some(&user.name)
}

fn is_permitted(name: &str, one: &Declaration<'_>, other: &Declaration<'_>) -> bool {
    PERMITTED.iter().any(|(permitted, [first, second], _reason)| {
        let fits = |a: &str, b: &str| a.starts_with(first) && b.starts_with(second);
        *permitted == name && (fits(one.path, other.path) || fits(other.path, one.path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::crate_of;

    fn objections(files: &[(&str, &str)]) -> Vec<String> {
        let crates = vec![
            crate_of("engines/alpu", "mb-alpu", &["mb-kit"]),
            crate_of("engines/lhs", "mb-lhs", &["mb-kit", "dev:mb-alpu"]),
            crate_of("matching/kit", "mb-kit", &[]),
            crate_of("workbench/catalog", "mb-catalog", &["mb-alpu", "mb-lhs"]),
            crate_of("workbench/reproduce", "mb-reproduce", &[]),
        ];
        check(&Tree::of(files).with_crates(crates)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_second_public_type_of_a_name_in_a_crate_is_rejected() {
        assert_eq!(
            objections(&[
                ("matching/kit/src/a.rs", "/// A.\npub struct Run;\n"),
                ("matching/kit/src/b.rs", "pub mod inner {\n    pub enum Run {}\n}\n"),
            ]),
            ["matching/kit/src/b.rs:2: found a public type `Run`, as in matching/kit/src/a.rs:2; \
              expected one meaning of each name, as `mb-kit` sees both; rename one of them"]
        );
    }

    #[test]
    fn a_public_type_with_the_name_of_one_of_a_dependency_is_rejected() {
        assert_eq!(
            objections(&[
                ("engines/alpu/src/lib.rs", "pub type Run = u8;\n"),
                ("matching/kit/src/lib.rs", "pub trait Run {}\n"),
            ]),
            ["matching/kit/src/lib.rs:1: found a public type `Run`, as in engines/alpu/src/lib.rs:1; \
              expected one meaning of each name, as `mb-alpu` sees both; rename one of them"]
        );
    }

    #[test]
    fn private_types_and_types_that_no_crate_sees_together_are_accepted() {
        assert_eq!(
            objections(&[
                ("engines/alpu/src/lib.rs", "pub struct Entries;\nstruct Run;\n"),
                ("engines/lhs/src/lib.rs", "pub struct Entries;\npub(crate) struct Run;\n"),
                ("matching/kit/src/lib.rs", "pub struct Run;\n#[cfg(test)]\nmod tests {\n    pub struct Run;\n}\n"),
                ("workbench/reproduce/src/papers/a.rs", "pub struct Runs;\n"),
                ("workbench/reproduce/src/papers/b.rs", "pub struct Runs;\n"),
            ]),
            [""; 0]
        );
    }

    #[test]
    fn types_in_functions_and_macros_are_not_read() {
        assert_eq!(
            objections(&[
                (
                    "matching/kit/src/a.rs",
                    "#[derive(Debug)]\npub struct Run(pub u8);\nmacro_rules! a { () => { pub struct Run; } }\n"
                ),
                ("matching/kit/src/b.rs", "pub fn f() { pub struct Run; }\npub const fn type_of(kind: Run) {}\n"),
            ]),
            [""; 0]
        );
        assert_eq!(
            objections(&[
                ("matching/kit/src/a.rs", "pub union Run { a: u8 }\n"),
                ("matching/kit/src/b.rs", "/// A trait.\npub unsafe trait Run {}\n"),
            ])
            .len(),
            1
        );
    }

    #[test]
    fn a_permitted_name_is_rejected_elsewhere() {
        assert_eq!(
            objections(&[
                ("workbench/reproduce/src/papers/a.rs", "pub struct Runs;\n"),
                ("workbench/reproduce/src/study.rs", "pub struct Runs;\n"),
            ])
            .len(),
            1
        );
    }
}
