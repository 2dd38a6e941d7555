// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Static programs with glibc, where the cross compiler has it.

use std::path::Path;
use std::process::Command;

use mb_moped::kernel::{Boot, UserProgram};

use crate::KernelRun;

const SOURCE: &str = r#"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    double sum = 0;
    for (int i = 1; i < argc; i++)
        sum += sqrt(atof(argv[i]));
    printf("%d arguments, sum %.6f, %s\n", argc - 1, sum, getenv("NAME"));
    // Small blocks come from brk, large ones from mmap; realloc grows both.
    size_t total = 0;
    char *grown = NULL;
    for (size_t bytes = 16; bytes <= 4 << 20; bytes *= 4) {
        char *block = malloc(bytes);
        if (!block || !(grown = realloc(grown, bytes)))
            return 1;
        memset(block, 1, bytes);
        memset(grown, 2, bytes);
        total += bytes;
        free(block);
    }
    free(grown);
    FILE *file = fopen("/table", "w+");
    if (!file)
        return 2;
    for (int i = 0; i < 2000; i++)
        fprintf(file, "line %d\n", i);
    fseek(file, 0, SEEK_SET);
    char line[64];
    int lines = 0;
    while (fgets(line, sizeof line, file))
        lines++;
    struct stat status;
    if (fstat(fileno(file), &status) || fclose(file))
        return 3;
    struct timespec first, second;
    clock_gettime(CLOCK_MONOTONIC, &first);
    usleep(1000);
    clock_gettime(CLOCK_MONOTONIC, &second);
    long waited = (second.tv_sec - first.tv_sec) * 1000000000 + second.tv_nsec - first.tv_nsec;
    char input[16] = "";
    if (!fgets(input, sizeof input, stdin))
        return 4;
    if (fopen("/missing", "r") || errno != ENOENT)
        return 5;
    printf("%zu bytes, %d lines, %ld in the file, %s, input %s\n", total, lines, (long)status.st_size,
           waited >= 1000000 ? "waited" : "too early", input);
    return 0;
}
"#;

/// Compiles a program; the output of the compiler if it fails.
fn build(name: &str, source: &str) -> Result<Vec<u8>, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (file, program) = (target.join(format!("{name}.c")), target.join(name));
    std::fs::write(&file, source).unwrap();
    let compiler = Command::new("riscv64-linux-gnu-gcc")
        .args(["-static", "-O2", "-Wall", "-Werror", "-o"])
        .args([&program, &file])
        .arg("-lm")
        .output()
        .map_err(|error| error.to_string())?;
    if !compiler.status.success() {
        return Err(String::from_utf8_lossy(&compiler.stderr).into_owned());
    }
    Ok(std::fs::read(program).unwrap())
}

/// Compiles a program; `None` if even an empty one cannot be linked with the C library.
fn compile(name: &str, source: &str) -> Option<Vec<u8>> {
    build(&format!("{name}_empty"), "int main(void) { return 0; }\n").ok()?;
    Some(build(name, source).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn a_program_with_glibc_runs_unmodified() {
    let Some(file) = compile("kernel_glibc", SOURCE) else { return };
    let program = UserProgram {
        file: &file,
        ranks: 1,
        first_core: 0,
        arguments: &["program", "4", "2.25"],
        environment: &["NAME=value"],
    };
    let outcome = KernelRun::on(1).succeeds(&[program]);
    assert_eq!(
        outcome.output(),
        "2 arguments, sum 3.500000, value\n5592400 bytes, 2000 lines, 18890 in the file, waited, input input\n"
    );
}

#[test]
fn many_ranks_with_glibc_share_few_harts() {
    let source = "#include <stdio.h>\nint main(void) { return printf(\"%a\\n\", 0.1) != 21; }\n";
    let Some(file) = compile("kernel_glibc_ranks", source) else { return };
    let program = UserProgram { file: &file, ranks: 24, first_core: 0, arguments: &["p"], environment: &[] };
    let run = KernelRun { boot: Boot { harts: 4, slice: 3000, ..Boot::default() }, ..KernelRun::on(4) };
    assert_eq!(run.succeeds(&[program]).output(), "0x1.999999999999ap-4\n".repeat(24));
}
