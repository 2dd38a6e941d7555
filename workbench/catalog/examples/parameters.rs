// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the parameter table of every engine for `cargo xtask gen`: a line `== engine`, then Markdown.

#![expect(clippy::print_stdout, reason = "printing is its work")]

fn main() -> Result<(), mb_catalog::CatalogError> {
    for entry in mb_catalog::ENGINES {
        print!("== {}\n{}", entry.card.name, mb_catalog::parameters_table(entry)?);
    }
    Ok(())
}
