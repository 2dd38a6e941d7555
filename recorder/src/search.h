/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The loaded objects of the process and their symbol tables (System V ABI, chapter 5).
 */
#ifndef MBR_SEARCH_H
#define MBR_SEARCH_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded object. */
struct mbr_object {
    uintptr_t base; /* what is added to the addresses in its file */
    const char *name;
    const ElfW(Phdr) *segments;
    size_t segment_count;
    ElfW(Sym) *symbols;
    const char *strings;
    const uint32_t *gnu_hash, *hash; /* one of them may be null */
    struct mbr_relocations {
        const ElfW(Rela) *first;
        size_t count;
    } relocations[2]; /* of data, of calls */
};

/* Describe an object that dl_iterate_phdr names; false if it has no symbols. */
bool mbr_object_read(const struct dl_phdr_info *info, struct mbr_object *object);
/* The definition of `name`; null if the object has none. */
ElfW(Sym) *mbr_object_find(const struct mbr_object *object, const char *name);
/* The segment that contains this address; null if it is not of this object. */
const ElfW(Phdr) *mbr_object_segment(const struct mbr_object *object, uintptr_t address);

/* The wrapped function `name`, MPI_X or PMPI_X, as the MPI library defines it (place.c); null if it does not, or if it
 * is not wrapped. */
void *mbr_real(const char *name);
/* The MPI library in which the wrappers are placed; null if there is none. */
const struct mbr_object *mbr_placed(void);

#endif
