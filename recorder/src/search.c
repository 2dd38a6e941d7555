/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Finds the functions of the MPI library that the program has loaded, also with dlopen (mpi4py). static.c does so in
 * static programs.
 */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <link.h>

static bool is_ours(const void *address) {
    Dl_info theirs, ours;
    return dladdr(address, &theirs) && dladdr((void *)(uintptr_t)is_ours, &ours) && theirs.dli_fbase == ours.dli_fbase;
}

/* Finds an object that defines PMPI_Init and keeps it open in `*data`. */
static int find_object(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    if (!info->dlpi_name[0])
        return 0;
    void *object = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!object)
        return 0;
    void *init = dlsym(object, "PMPI_Init");
    if (init && !is_ours(init)) {
        *(void **)data = object;
        return 1;
    }
    dlclose(object);
    return 0;
}

void *mbr_library_symbol(const char *name) {
    void *address = dlsym(RTLD_NEXT, name);
    if (address)
        return address;
    static void *object;
    if (!object)
        dl_iterate_phdr(find_object, &object);
    address = object ? dlsym(object, name) : NULL;
    return address && !is_ours(address) ? address : NULL;
}

void *mbr_data_symbol(const char *name) {
    void *address = dlsym(RTLD_DEFAULT, name); /* the program's copy, where the linker made one */
    return address ? address : mbr_library_symbol(name);
}
