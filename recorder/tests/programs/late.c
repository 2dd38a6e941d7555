/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Knows nothing of MPI: loads the shared object that it is given, with its symbols kept to itself,
 * and runs it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    void *object = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!object) {
        fprintf(stderr, "late: %s\n", argc == 2 ? dlerror() : "usage: late OBJECT");
        return 2;
    }
    int (*run)(void);
    void *address = dlsym(object, "run");
    memcpy(&run, &address, sizeof run);
    return run();
}
