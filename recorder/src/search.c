/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Finds the functions of the MPI library that the program has loaded, also with dlopen (mpi4py). static.c does so in
 * static programs.
 */
#define _GNU_SOURCE
#include "search.h"

#include "library.h"

#include <dlfcn.h>

bool mbr_object_read(const struct dl_phdr_info *info, struct mbr_object *object) {
    *object = (struct mbr_object){
        .base = info->dlpi_addr, .name = info->dlpi_name, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    const ElfW(Dyn) *entry = NULL;
    for (size_t i = 0; i < object->segment_count; i++)
        if (object->segments[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(object->base + object->segments[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        /* The loader has added the base, but not in objects whose table it cannot write. */
        const uintptr_t at = entry->d_un.d_ptr < object->base ? entry->d_un.d_ptr + object->base : entry->d_un.d_ptr;
        switch (entry->d_tag) {
        case DT_SYMTAB: object->symbols = (ElfW(Sym) *)at; break;
        case DT_STRTAB: object->strings = (const char *)at; break;
        case DT_GNU_HASH: object->gnu_hash = (const uint32_t *)at; break;
        case DT_HASH: object->hash = (const uint32_t *)at; break;
        case DT_RELA: object->relocations[0].first = (const ElfW(Rela) *)at; break;
        case DT_JMPREL: object->relocations[1].first = (const ElfW(Rela) *)at; break;
        case DT_RELASZ: object->relocations[0].count = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_PLTRELSZ: object->relocations[1].count = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        }
    }
    return object->symbols && object->strings && (object->gnu_hash || object->hash);
}

static ElfW(Sym) *if_defined(const struct mbr_object *object, uint32_t index, const char *name) {
    ElfW(Sym) *symbol = &object->symbols[index];
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value && !strcmp(object->strings + symbol->st_name, name) ? symbol : NULL;
}

/* Words of DT_GNU_HASH: buckets, first symbol of the table, words of the filter, its shift; filter; buckets; hashes. */
static ElfW(Sym) *gnu_find(const struct mbr_object *object, const char *name) {
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    const uint32_t *table = object->gnu_hash, buckets = table[0], first = table[1];
    const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(table + 4) + table[2]), *hashes = bucket + buckets;
    uint32_t index = buckets ? bucket[hash % buckets] : 0;
    if (index < first || !index)
        return NULL;
    for (;; index++) {
        const uint32_t other = hashes[index - first];
        ElfW(Sym) *symbol = (other | 1) == (hash | 1) ? if_defined(object, index, name) : NULL;
        if (symbol || other & 1)
            return symbol;
    }
}

/* Words of DT_HASH: buckets, symbols; buckets; chains. */
static ElfW(Sym) *old_find(const struct mbr_object *object, const char *name) {
    const uint32_t symbols = object->hash[1];
    for (uint32_t index = 1; index < symbols; index++) {
        ElfW(Sym) *symbol = if_defined(object, index, name);
        if (symbol)
            return symbol;
    }
    return NULL;
}

ElfW(Sym) *mbr_object_find(const struct mbr_object *object, const char *name) {
    return object->gnu_hash ? gnu_find(object, name) : old_find(object, name);
}

const ElfW(Phdr) *mbr_object_segment(const struct mbr_object *object, uintptr_t address) {
    for (size_t i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type == PT_LOAD && address - object->base - segment->p_vaddr < segment->p_memsz)
            return segment;
    }
    return NULL;
}

void *mbr_library_symbol(const char *name) {
    void *real = mbr_real(name);
    const struct mbr_object *library = mbr_placed();
    if (real || !library)
        return real;
    const ElfW(Sym) *symbol = mbr_object_find(library, name);
    return symbol ? (void *)(library->base + symbol->st_value) : NULL;
}

void *mbr_data_symbol(const char *name) {
    void *address = dlsym(RTLD_DEFAULT, name); /* the program's copy, where the linker made one */
    return address ? address : mbr_library_symbol(name);
}
