// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The imports between modules of the Python package. Those inside of functions count: they hide a circle, and do not
//! break it.

use std::collections::BTreeMap;

use super::uses::{Use, Uses};
use crate::tree::{Tree, extension};

/// The uses between modules of the package.
pub(super) fn uses(tree: &Tree) -> Uses {
    let files = || tree.texts().filter(|(path, _)| path.starts_with("python/") && extension(path) == "py");
    let modules: BTreeMap<String, &str> = files().map(|(path, _)| (module_name(path), path)).collect();
    let mut uses = Uses::new();
    for (path, text) in files() {
        for (line, name) in imports(text) {
            // What is no module is an item of the module before the last point.
            let used = modules.get(&name).or_else(|| modules.get(name.rsplit_once('.')?.0));
            if let Some(used) = used.filter(|used| **used != path) {
                uses.entry((path.to_owned(), (*used).to_owned())).or_insert(Use { line, name });
            }
        }
    }
    uses
}

/// The name under which a file is imported.
fn module_name(path: &str) -> String {
    let name = path.trim_start_matches("python/").trim_end_matches(".py").replace('/', ".");
    name.trim_end_matches(".__init__").to_owned()
}

/// Lines and full names of what a file imports at run time.
fn imports(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut unread = None;
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if code.is_empty() || unread.is_some_and(|outer| indent > outer) {
            continue;
        }
        unread = code.starts_with("if TYPE_CHECKING:").then_some(indent);
        let mut statement = code.to_owned();
        if code.starts_with("from ") && code.ends_with('(') {
            statement.extend(lines.by_ref().map(|(line, _)| line.trim()).take_while(|line| *line != ")"));
        }
        let (prefix, names) = match statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
            Some((module, names)) => (format!("{module}."), names),
            None => (String::new(), statement.strip_prefix("import ").unwrap_or_default()),
        };
        let names = names
            .split('#')
            .next()
            .unwrap_or_default()
            .split([',', '('])
            .filter_map(|name| name.split_whitespace().next());
        found.extend(names.map(|name| (number, format!("{prefix}{name}"))));
    }
    found
}
