// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The layer picture of `ARCHITECTURE.md`, from the manifests: every crate with what it depends on.

use std::fmt::Write as _;
use std::path::Path;

use super::Generated;
use super::engines::splice;
use crate::guards::LAYERS;
use crate::tree::Tree;
use crate::workspace::Crate;

/// `ARCHITECTURE.md` with the crates of each layer, from the top to the bottom.
pub(crate) fn picture(tree: &Tree, _: &Path) -> Result<Vec<Generated>, String> {
    const PAGE: &str = "ARCHITECTURE.md";
    Ok(vec![Generated { text: splice(tree, PAGE, &draw(tree.crates()))?, path: PAGE.to_owned() }])
}

/// One block for each layer; in it a line for each crate and its direct dependencies, the engines in one line.
fn draw(crates: &[Crate]) -> String {
    let mut text = String::from("\n```text\npython/matchbench -> workbench/py\n");
    for row in LAYERS.iter().rev() {
        text.push_str("-----------------------------------------------------------------\n");
        for product in *row {
            if *product == "engines" {
                let engines: Vec<&Crate> = crates.iter().filter(|known| known.product() == "engines").collect();
                let mut used: Vec<&str> = engines.iter().flat_map(|engine| uses(engine, crates)).collect();
                used.sort_unstable();
                used.dedup();
                line(&mut text, "engines/*", &used);
                continue;
            }
            for known in crates.iter().filter(|known| known.product() == *product) {
                let mut used = uses(known, crates);
                let engines = used.len();
                used.retain(|folder| !folder.starts_with("engines/"));
                if used.len() < engines {
                    used.push("engines/*");
                }
                line(&mut text, &known.folder, &used);
            }
        }
    }
    text.push_str("```\n\n");
    text
}

fn line(text: &mut String, folder: &str, used: &[&str]) {
    let _ =
        if used.is_empty() { writeln!(text, "{folder}") } else { writeln!(text, "{folder:21} -> {}", used.join(", ")) };
}

/// Folders of the crates that `subject` depends on outside of its tests, without those that others of them imply.
fn uses<'a>(subject: &Crate, crates: &'a [Crate]) -> Vec<&'a str> {
    let direct = dependencies(subject, crates);
    let implied: Vec<&str> = direct.iter().flat_map(|used| reachable(used, crates)).collect();
    direct.iter().map(|used| used.folder.as_str()).filter(|folder| !implied.contains(folder)).collect()
}

fn dependencies<'a>(subject: &Crate, crates: &'a [Crate]) -> Vec<&'a Crate> {
    let normal = subject.dependencies.iter().filter(|dependency| !dependency.dev);
    normal.filter_map(|dependency| crates.iter().find(|known| known.name == dependency.name)).collect()
}

/// Folders of everything below `subject`. Cargo refuses circles, so this ends.
fn reachable<'a>(subject: &Crate, crates: &'a [Crate]) -> Vec<&'a str> {
    let direct = dependencies(subject, crates);
    direct.iter().flat_map(|used| std::iter::once(used.folder.as_str()).chain(reachable(used, crates))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::crate_of;

    #[test]
    fn the_picture_has_every_layer_and_leaves_out_dependencies_of_tests() {
        let crates = [
            crate_of("matching/core", "mb-core", &[]),
            crate_of("matching/kit", "mb-kit", &["mb-core", "dev:mb-ideal"]),
            crate_of("engines/ideal", "mb-ideal", &["mb-core", "mb-kit"]),
            crate_of("workbench/catalog", "mb-catalog", &["mb-core", "mb-ideal"]),
        ];
        let text = draw(&crates);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains('/')).collect();
        assert_eq!(
            lines,
            [
                "python/matchbench -> workbench/py",
                "workbench/catalog     -> engines/*",
                "engines/*             -> matching/kit",
                "matching/core",
                "matching/kit          -> matching/core",
            ]
        );
    }
}
