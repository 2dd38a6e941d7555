// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The names that modules of a crate use of each other, from the tokens of their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Objection;
use super::uses::{Use, Uses};
use crate::tree::{Tree, extension};

/// Words before the name of an item.
const KINDS: &[&str] = &["const", "enum", "fn", "macro_rules", "static", "struct", "trait", "type", "union"];

/// Re-exports lead on; this many are followed.
const LONGEST_CHAIN: usize = 8;

type Path = Vec<String>;

/// A module: a file, or one with a body inside of a file.
#[derive(Default)]
struct Module {
    file: String,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Path>,
    globs: Vec<Path>,
}

/// A path where it stands.
struct Mention {
    file: String,
    module: Path,
    path: Path,
    line: usize,
    re_export: bool,
}

/// What is known of a crate.
#[derive(Default)]
struct Names {
    modules: BTreeMap<Path, Module>,
    mentions: Vec<Mention>,
    /// Modules without a body that exist for tests.
    tests: Vec<Path>,
}

/// The uses between the files below `sources`.
///
/// # Errors
/// When a file is not Rust.
pub(super) fn uses(tree: &Tree, sources: &str) -> Result<Uses, Objection> {
    let mut names = Names::default();
    for (file, text) in tree.texts().filter(|(path, _)| path.starts_with(sources) && extension(path) == "rs") {
        let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            Objection::new(file, error.span().start().line, format!("found text that is not Rust: {error}"))
        })?;
        let name = file.trim_start_matches(sources).trim_end_matches(".rs").trim_end_matches("/mod");
        let module: Path = name.split('/').filter(|part| !["lib", "main"].contains(part)).map(str::to_owned).collect();
        names.modules.insert(module.clone(), Module { file: file.to_owned(), ..Module::default() });
        names.read(file, &module, tokens, true);
    }
    let mut uses = Uses::new();
    for mention in &names.mentions {
        let Some(used) = names.file_of(&mention.module, &mention.path, LONGEST_CHAIN, true) else { continue };
        let is_test = names.tests.iter().any(|test| mention.module.starts_with(test));
        let is_passed_on = mention.re_export && used.starts_with(&children(&mention.file));
        if used != mention.file && !is_test && !is_passed_on {
            let place = Use { line: mention.line, name: mention.path.join("::") };
            uses.entry((mention.file.clone(), used.to_owned())).or_insert(place);
        }
    }
    Ok(uses)
}

impl Names {
    /// Reads the tokens of a module, or of a group inside of it, whose items are not names of the module.
    fn read(&mut self, file: &str, module: &[String], tokens: TokenStream, is_module: bool) {
        let tokens = Tokens(tokens.into_iter().collect());
        let mut at = 0;
        while let Some(token) = tokens.0.get(at) {
            let text = match token {
                TokenTree::Ident(ident) => ident.to_string(),
                TokenTree::Group(group) => {
                    self.read(file, module, group.stream(), false);
                    String::new()
                }
                _ => String::new(),
            };
            at = match text.as_str() {
                "" if tokens.is_mark(at, '#') => self.read_attribute(module, &tokens, at),
                "" => at + 1,
                "use" if !tokens.is_mark(at + 1, '<') => self.read_use(file, module, &tokens, at, is_module),
                "mod" => self.read_module(file, module, &tokens, at),
                kind if is_module && KINDS.contains(&kind) => self.read_item(module, &tokens, at),
                _ => self.read_path(file, module, &tokens, at),
            };
        }
    }

    /// Passes an attribute and, if it is for tests, the item behind it.
    fn read_attribute(&mut self, module: &[String], tokens: &Tokens, at: usize) -> usize {
        let at = at + 1 + usize::from(tokens.is_mark(at + 1, '!'));
        let attribute = tokens.0.get(at).map(|group| group.to_string().replace(' ', "")).unwrap_or_default();
        if !attribute.starts_with("[cfg(test") && !attribute.starts_with("[cfg(all(test") {
            return at + 1;
        }
        let end = tokens.find(at + 1, |at| tokens.body(at).is_some() || tokens.is_mark(at, ';'));
        if tokens.is_mark(end, ';') && tokens.word(end - 2) == "mod" {
            self.tests.push([module, &[tokens.word(end - 1)]].concat());
        }
        end + 1
    }

    fn read_use(&mut self, file: &str, module: &[String], tokens: &Tokens, at: usize, is_module: bool) -> usize {
        let end = tokens.find(at, |at| tokens.is_mark(at, ';'));
        // `pub`, or `pub` and a group.
        let re_export = (1..=2).any(|back| at >= back && tokens.word(at - back) == "pub");
        let mut imports = Vec::new();
        read_imports(&tokens.0[at + 1..end], &[], &mut imports);
        for (name, path, line) in imports {
            if let Some(module) = self.modules.get_mut(module).filter(|_| is_module) {
                if name == "*" {
                    module.globs.push(path.clone());
                } else {
                    module.imports.insert(name, path.clone());
                }
            }
            self.mentions.push(Mention { file: file.to_owned(), module: module.to_vec(), path, line, re_export });
        }
        end
    }

    fn read_module(&mut self, file: &str, module: &[String], tokens: &Tokens, at: usize) -> usize {
        if tokens.is_mark(at + 1, '$') {
            // A module of a macro, and its body.
            return at + 4;
        }
        let inner = [module, &[tokens.word(at + 1)]].concat();
        if let Some(body) = tokens.body(at + 2) {
            self.modules.insert(inner.clone(), Module { file: file.to_owned(), ..Module::default() });
            self.read(file, &inner, body, true);
        }
        at + 3
    }

    /// Reads the name of an item; what follows is read as any other tokens.
    fn read_item(&mut self, module: &[String], tokens: &Tokens, at: usize) -> usize {
        let at = at + 1 + usize::from(tokens.is_mark(at + 1, '!'));
        let name = tokens.word(at);
        if KINDS.contains(&name.as_str()) {
            return at;
        }
        if let Some(module) = self.modules.get_mut(module) {
            module.items.insert(name);
        }
        at + 1
    }

    fn read_path(&mut self, file: &str, module: &[String], tokens: &Tokens, start: usize) -> usize {
        let mut path = vec![tokens.word(start)];
        let mut at = start + 1;
        while tokens.is_separator(at) && !tokens.word(at + 2).is_empty() {
            path.push(tokens.word(at + 2));
            at += 3;
        }
        // Behind a point and before a colon stand fields; behind `::` the rest of a path with types.
        let is_field = path.len() == 1 && tokens.is_mark(at, ':') && !tokens.is_separator(at);
        let is_rest = start > 0 && tokens.is_mark(start - 1, '.') || start > 1 && tokens.is_separator(start - 2);
        if !is_field && !is_rest {
            let line = tokens.0[start].span().start().line;
            self.mentions.push(Mention {
                file: file.to_owned(),
                module: module.to_vec(),
                path,
                line,
                re_export: false,
            });
        }
        at
    }

    /// The file with the item that a path in a module names. `chain` more imports are followed. In a module that is
    /// known, an item that is not may come from a macro, and counts if `any`.
    fn file_of(&self, from: &[String], path: &[String], chain: usize, any: bool) -> Option<&str> {
        let mut at = from.to_vec();
        for (index, name) in path.iter().enumerate() {
            let module = self.modules.get(&at)?;
            let inner = [at.as_slice(), slice::from_ref(name)].concat();
            match name.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => _ = at.pop(),
                "*" => return Some(&module.file),
                _ if self.modules.contains_key(&inner) => at = inner,
                _ if module.items.contains(name) => return Some(&module.file),
                _ => {
                    let rest = &path[index + 1..];
                    let import = module.imports.get(name).map(|import| [import, rest].concat());
                    let globs = module.globs.iter().map(|glob| [&glob[..glob.len() - 1], &path[index..]].concat());
                    let chain = chain.checked_sub(1)?;
                    return match import {
                        Some(import) => self.file_of(&at, &import, chain, any),
                        None => globs.into_iter().find_map(|path| self.file_of(&at, &path, chain, false)),
                    }
                    .or((any && index > 0).then_some(&module.file));
                }
            }
        }
        None
    }
}

/// Reads an import without its `use`: the names that it makes, each with its path and line.
fn read_imports(tokens: &[TokenTree], prefix: &[String], imports: &mut Vec<(String, Path, usize)>) {
    let Some(first) = tokens.first() else { return };
    let (mut path, mut name) = (prefix.to_vec(), None);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let parts: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
                return parts.split(is_comma).for_each(|part| read_imports(part, &path, imports));
            }
            TokenTree::Ident(word) if word == "as" => {
                name = tokens.get(at + 1).map(ToString::to_string);
                break;
            }
            TokenTree::Ident(word) if at > 0 || prefix.is_empty() || word != "self" => path.push(word.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == '*' => path.push("*".to_owned()),
            _ => {}
        }
    }
    let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
    imports.push((name, path, first.span().start().line));
}

/// The folder with the children of a file.
fn children(file: &str) -> String {
    let stem = file.trim_end_matches(".rs");
    let own = ["/lib", "/main", "/mod"].iter().find_map(|name| stem.strip_suffix(name)).unwrap_or(stem);
    format!("{own}/")
}

/// Tokens of one level.
struct Tokens(Vec<TokenTree>);

impl Tokens {
    /// The word at a place; empty when there is none.
    fn word(&self, at: usize) -> String {
        match self.0.get(at) {
            Some(TokenTree::Ident(word)) => word.to_string(),
            _ => String::new(),
        }
    }

    fn is_mark(&self, at: usize, mark: char) -> bool {
        matches!(self.0.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
    }

    fn is_separator(&self, at: usize) -> bool {
        self.is_mark(at, ':') && self.is_mark(at + 1, ':')
    }

    fn body(&self, at: usize) -> Option<TokenStream> {
        match self.0.get(at) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
            _ => None,
        }
    }

    /// The first place from `at` on that fits, or the end.
    fn find(&self, at: usize, fits: impl Fn(usize) -> bool) -> usize {
        (at..self.0.len()).find(|&at| fits(at)).unwrap_or(self.0.len())
    }
}
