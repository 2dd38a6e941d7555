// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Models do no I/O, read no clock, environment or global randomness, print nothing and share no mutable global.
//!
//! Reads the tokens of every model's source, so comments and strings never object; items under `#[cfg(test)]` may do
//! as they like. `clippy.toml` bans the same methods where types are needed to see them.

use std::iter::Peekable;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree, token_stream};

use super::Objection;
use crate::tree::{Tree, extension};

/// Modules of `std` that reach outside, and containers whose order is random.
const BANNED_IN_STD: &[(&str, &str)] = &[
    ("env", "models read no environment"),
    ("fs", "models do no I/O"),
    ("io", "models do no I/O"),
    ("net", "models do no I/O"),
    ("os", "models do no I/O"),
    ("process", "models do no I/O"),
    ("thread", "the order of threads is not part of a model"),
];

/// Identifiers that reach outside wherever they stand.
const BANNED: &[(&str, &str)] = &[
    ("Instant", "models read no clock"),
    ("SystemTime", "models read no clock"),
    ("HashMap", "iteration order is random; use BTreeMap or Vec"),
    ("HashSet", "iteration order is random; use BTreeSet or Vec"),
    ("RandomState", "models have no global randomness"),
    ("thread_rng", "models have no global randomness"),
    ("thread_local", "models share no mutable global"),
];

/// Macros that print or read the environment.
const BANNED_MACROS: &[(&str, &str)] = &[
    ("print", "models print nothing"),
    ("println", "models print nothing"),
    ("eprint", "models print nothing"),
    ("eprintln", "models print nothing"),
    ("dbg", "models print nothing"),
    ("env", "models read no environment"),
    ("option_env", "models read no environment"),
];

/// Objects to everything in a model's source that makes two runs differ or that the caller cannot see.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_model(path)) {
        match text.parse::<TokenStream>() {
            Ok(tokens) => scan(path, tokens, &mut objections),
            Err(error) => objections.push(Objection::new(path, error.span().start().line, "not Rust")),
        }
    }
    objections
}

fn is_model(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    extension(path) == "rs"
        && matches!(
            parts[..],
            ["matching", "core" | "kit" | "oracle", "src", ..]
                | ["processor" | "moped" | "netproc", "src", ..]
                | ["processor", "firmware", "src", ..]
                | ["match_unit", "asm" | "unit", "src", ..]
                | ["engines", _, "src", ..]
        )
}

fn scan(path: &str, tokens: TokenStream, objections: &mut Vec<Objection>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(attribute)) = tokens.peek()
                    && attribute.stream().to_string().replace(' ', "") == "cfg(test)"
                {
                    skip_item(&mut tokens);
                }
            }
            TokenTree::Group(group) => scan(path, group.stream(), objections),
            TokenTree::Ident(word) => {
                let line = word.span().start().line;
                let word = word.to_string();
                let is_macro = next_is(&mut tokens, '!');
                let banned = BANNED.iter().chain(BANNED_MACROS.iter().filter(|_| is_macro));
                if let Some((_, reason)) = banned.into_iter().find(|(name, _)| *name == word) {
                    objections.push(Objection::new(path, line, format!("`{word}`: {reason}")));
                } else if word == "std" {
                    scan_std(path, &mut tokens, objections);
                } else if word == "static" && matches!(tokens.peek(), Some(TokenTree::Ident(next)) if next == "mut") {
                    objections.push(Objection::new(path, line, "`static mut`: models share no mutable global"));
                }
            }
            _ => {}
        }
    }
}

/// After `std`: objects to `::fs`, and to `fs` in `::{fs, ...}`; leaves the rest to the caller.
fn scan_std(path: &str, tokens: &mut Peekable<token_stream::IntoIter>, objections: &mut Vec<Objection>) {
    for _ in 0..2 {
        if !next_is(tokens, ':') {
            return;
        }
        tokens.next();
    }
    match tokens.peek() {
        Some(TokenTree::Ident(module)) => {
            let (line, module) = (module.span().start().line, module.to_string());
            objections.extend(module_objection(path, line, &module));
        }
        Some(TokenTree::Group(list)) => objections.extend(list_objections(path, list)),
        _ => {}
    }
}

fn list_objections(path: &str, list: &Group) -> Vec<Objection> {
    let mut found = Vec::new();
    let mut first = true;
    for token in list.stream() {
        match token {
            TokenTree::Ident(module) if first => {
                found.extend(module_objection(path, module.span().start().line, &module.to_string()));
                first = false;
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => first = true,
            _ => {}
        }
    }
    found
}

fn module_objection(path: &str, line: usize, module: &str) -> Option<Objection> {
    let (_, reason) = BANNED_IN_STD.iter().find(|(name, _)| *name == module)?;
    Some(Objection::new(path, line, format!("`std::{module}`: {reason}")))
}

fn next_is(tokens: &mut Peekable<token_stream::IntoIter>, mark: char) -> bool {
    matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// Skips an item: up to and including its body or its semicolon.
fn skip_item(tokens: &mut Peekable<token_stream::IntoIter>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    fn assert_source(source: &str, expected: &[&str]) {
        assert_objections(check, &[("engines/alpu/src/lib.rs", source)], expected);
    }

    #[test]
    fn a_model_that_reads_a_clock_is_rejected() {
        assert_source(
            "fn now() {\n    let _ = Instant::now();\n}\n",
            &["engines/alpu/src/lib.rs:2: `Instant`: models read no clock"],
        );
    }

    #[test]
    fn a_model_that_does_io_is_rejected_also_inside_a_list_of_imports() {
        assert_source(
            "use std::{collections::BTreeMap,\n    fs::File};\nfn f() { std::io::stdin(); }\n",
            &[
                "engines/alpu/src/lib.rs:2: `std::fs`: models do no I/O",
                "engines/alpu/src/lib.rs:3: `std::io`: models do no I/O",
            ],
        );
    }

    #[test]
    fn a_model_that_prints_is_rejected() {
        assert_source(
            "fn f() {\n    println!(\"{}\", 1);\n}\n",
            &["engines/alpu/src/lib.rs:2: `println`: models print nothing"],
        );
    }

    #[test]
    fn a_model_with_a_random_order_or_a_mutable_global_is_rejected() {
        assert_source(
            "struct Lists(HashMap<u64, u64>);\nstatic mut COUNT: u64 = 0;\n",
            &[
                "engines/alpu/src/lib.rs:1: `HashMap`: iteration order is random; use BTreeMap or Vec",
                "engines/alpu/src/lib.rs:2: `static mut`: models share no mutable global",
            ],
        );
    }

    #[test]
    fn comments_strings_and_tests_may_name_what_a_model_may_not_use() {
        assert_source(
            "// Instant\nconst A: &str = \"std::fs\";\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\nuse std::fmt;\n",
            &[],
        );
    }

    #[test]
    fn only_models_are_read() {
        assert_objections(
            check,
            &[("workbench/trace/src/lib.rs", "use std::fs;\n"), ("engines/a/tests/t.rs", "use std::fs;\n")],
            &[],
        );
    }
}
