/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Knows MPI by name only, as a binding does: loads the library that it is given, with its symbols kept to itself
 * (`local`) or for all (`global`), and calls through addresses.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *object;

static int call(const char *name, uintptr_t a, uintptr_t b) {
    int (*function)(uintptr_t, uintptr_t);
    void *address = dlsym(object, name);
    memcpy(&function, &address, sizeof function);
    return function(a, b);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    printf("before %d %d\n", dlsym(RTLD_DEFAULT, "MPI_Init") != NULL, dlsym(RTLD_DEFAULT, "PMPI_Send_c") != NULL);
    object = dlopen(argv[1], RTLD_LAZY | (strcmp(argv[2], "global") ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!object) {
        fprintf(stderr, "binding: %s\n", dlerror());
        return 2;
    }
    printf("after %d %d, in the library %d %d\n", dlsym(RTLD_DEFAULT, "MPI_Init") != NULL, dlsym(RTLD_DEFAULT, "MPI_Send_c") != NULL,
           dlsym(object, "MPI_Init") != NULL, dlsym(object, "MPI_Send_c") != NULL);
    void *world = dlsym(object, "ompi_mpi_comm_world"); /* MPICH's is a number */
    call("MPI_Init", 0, 0);
    call("PMPI_Barrier", world ? (uintptr_t)world : 0x44000000, 0);
    return call("MPI_Finalize", 0, 0);
}
