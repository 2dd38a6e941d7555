// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every generated file of the repository, computed from the tree.
//!
//! Contract: a generator is a function of the tree and of the programs that the tree compiles to. `write` writes the
//! files, one generator after the other; `stale` compares them.
//! A generated file names its source and `make gen` in its first lines, a generated section in the lines around it.

mod conform;
mod engine_page;
mod engines;
mod generated;
mod isa;
mod layers;

use std::path::Path;

pub(crate) use generated::Generated;

use crate::tree::Tree;

/// The files that a generator makes from the tree and its root folder, or the reason why it cannot.
type Generator = fn(&Tree, &Path) -> Result<Vec<Generated>, String>;

/// Every generator, in the order in which they run.
const GENERATORS: &[Generator] =
    &[isa::match_unit, conform::codes, engines::list, engines::cards, engine_page::list, layers::picture];

/// Puts every generated file in place; a file that is fresh is not touched. A generator sees what
/// those before it wrote.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    for generator in GENERATORS {
        let tree = Tree::read(root).map_err(|error| format!("{}: {error}", root.display()))?;
        for file in outdated(&tree, root, &[*generator])? {
            std::fs::write(root.join(&file.path), &file.text).map_err(|error| format!("{}: {error}", file.path))?;
        }
    }
    Ok(())
}

/// One line for each generated file that differs from what its source says.
pub(crate) fn stale(tree: &Tree, root: &Path) -> Result<Vec<String>, String> {
    let outdated = outdated(tree, root, GENERATORS)?;
    Ok(outdated.iter().map(|file| format!("{}: stale; run `make gen`", file.path)).collect())
}

fn outdated(tree: &Tree, root: &Path, generators: &[Generator]) -> Result<Vec<Generated>, String> {
    let mut files = Vec::new();
    for generator in generators {
        files.extend(generator(tree, root)?);
    }
    files.retain(|file| tree.text(&file.path) != Some(&file.text));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "the signature of a generator")]
    fn list_of_engines(_: &Tree, _: &Path) -> Result<Vec<Generated>, String> {
        Ok(vec![Generated { path: "list.txt".to_owned(), text: "ideal\nlinear\n".to_owned() }])
    }

    #[test]
    fn a_file_that_differs_from_its_source_is_outdated() {
        for (content, outdated_files) in [("ideal\n", 1), ("ideal\nlinear\n", 0)] {
            let tree = Tree::of(&[("list.txt", content)]);
            let found = outdated(&tree, Path::new(""), &[list_of_engines]).expect("the generator has no errors");
            assert_eq!(found.len(), outdated_files, "with content {content:?}");
        }
    }

    #[test]
    fn a_file_that_is_missing_is_outdated() {
        let found = outdated(&Tree::of(&[]), Path::new(""), &[list_of_engines]).expect("the generator has no errors");
        assert_eq!(found.len(), 1);
    }
}
