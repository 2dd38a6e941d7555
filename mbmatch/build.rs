// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the library in C, as an MPI library does: with optimization in every profile.

fn main() {
    println!("cargo::rerun-if-changed=mbmatch.c");
    println!("cargo::rerun-if-changed=mbmatch.h");
    cc::Build::new().file("mbmatch.c").std("c11").opt_level(2).warnings(true).compile("mbmatch");
}
