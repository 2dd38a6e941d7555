/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Tests at run time, in every way, whether the MPI library has a function: prints what it found, and sends with the
 * newest function that is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define NAMES(X)                                                                \
    X(MPI_Send) X(PMPI_Send) X(MPI_Send_c) X(PMPI_Send_c) X(MPI_Session_init) \
    X(MPI_Parrived) X(MPI_Isendrecv) X(MPI_Request_get_status_all)
#define DECLARE(name) extern char weak_##name[] __asm__(#name) __attribute__((weak));
NAMES(DECLARE)
#define ENTRY(name) {#name, weak_##name},
static const struct {
    const char *name;
    char *weak; /* bound before main, in data */
} names[] = {NAMES(ENTRY)};

/* The answer of dlsym, and whether it says why there is none. */
static const char *found(void *handle, const char *name) {
    dlerror();
    void *address = dlsym(handle, name);
    return dlerror() ? "missing" : address ? "there" : "null";
}

int main(int argc, char **argv) {
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Dl_info info;
    void *self = dlopen(NULL, RTLD_LAZY), *mpi = dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_version"), &info) ? dlopen(info.dli_fname, RTLD_LAZY) : NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = names[i].name;
        printf("%d %s weak %d default %s next %s program %s library %s\n", rank, name, names[i].weak != NULL, found(RTLD_DEFAULT, name),
               found(RTLD_NEXT, name), found(self, name), found(mpi, name));
    }
    int (*send_c)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
    void *address = dlsym(mpi, "MPI_Send_c");
    memcpy(&send_c, &address, sizeof send_c);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (send_c)
        send_c(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    else
        MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    return MPI_Finalize();
}
