/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Puts the wrappers in the place of the MPI library's functions. The recorder defines no MPI_ or PMPI_ name: it writes
 * the addresses of its wrappers into the symbol table of the MPI library that the process has loaded, and into the
 * slots of objects that were bound before. So every search for a name finds what it finds without the recorder, other
 * tools come before it, and a function that the library lacks is missing (docs/decisions/0008-recorder-in-place.md).
 *
 * This is done when the process starts, and, for programs that load MPI themselves, when dlopen returns.
 */
#define _GNU_SOURCE
#include "library.h"
#include "search.h"
#include "start.h"
#include "trace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Every wrapper: calls.h, and those that calls.c adds to it. */
#define MBR_WRAPPERS(X) X(Finalize) X(Session_finalize) X(Init) X(Init_thread) X(Session_init) X(Type_free)
#define CALL(arity, name, ...) EACH(name)
#define OTHER_CALL(arity, name) EACH(name)
#define EACH(name) extern char MPI_##name[] __attribute__((visibility("hidden")));
#include "calls.h"
MBR_WRAPPERS(EACH)
#undef EACH

static struct wrapper {
    const char *name; /* without MPI_ */
    char *address;
    uintptr_t real[2]; /* the library's own function under MPI_ and PMPI_; 0 if it has none */
} wrappers[] = {
#define EACH(name) {#name, MPI_##name, {0, 0}},
#include "calls.h"
    MBR_WRAPPERS(EACH)
#undef EACH
};
enum { WRAPPERS = sizeof wrappers / sizeof *wrappers };

static const char *const prefixes[2] = {"MPI_", "PMPI_"};

/* The relocations that bind a name to an address, and the one that copies data of a library into the program. */
#if defined(__x86_64__)
enum { IN_DATA = R_X86_64_64, IN_TABLE = R_X86_64_GLOB_DAT, OF_CALL = R_X86_64_JUMP_SLOT, COPY = R_X86_64_COPY };
#elif defined(__aarch64__)
enum { IN_DATA = R_AARCH64_ABS64, IN_TABLE = R_AARCH64_GLOB_DAT, OF_CALL = R_AARCH64_JUMP_SLOT, COPY = R_AARCH64_COPY };
#endif

static const char *directory; /* of the trace; null if nothing is to be recorded */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mbr_object library; /* without a base there is none */
static unsigned long long loads, unloads; /* of objects, when they were last searched */

const struct mbr_object *mbr_placed(void) { return library.base ? &library : NULL; }

/* The wrapper of the function with this name, of which `*form` is the prefix; null if it is not wrapped. */
static const struct wrapper *wrapper_of(const char *name, unsigned *form) {
    *form = *name == 'P';
    if (strncmp(name + *form, "MPI_", 4))
        return NULL;
    for (unsigned i = 0; i < WRAPPERS; i++)
        if (!strcmp(wrappers[i].name, name + *form + 4))
            return &wrappers[i];
    return NULL;
}

void *mbr_real(const char *name) {
    unsigned form;
    const struct wrapper *wrapper = wrapper_of(name, &form);
    return wrapper && library.base ? (void *)(wrapper->real[form] ? wrapper->real[form] : wrapper->real[!form]) : NULL;
}

static uintptr_t page_of(uintptr_t address) { return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1); }

static bool protect(uintptr_t first, uintptr_t end, int protection) {
    first = page_of(first);
    return !mprotect((void *)first, end - first, protection);
}

/* Makes the symbols of the library refer to the wrappers. */
static void replace_symbols(void) {
    ElfW(Sym) *symbols[WRAPPERS][2];
    uintptr_t first = UINTPTR_MAX, end = 0;
    for (unsigned i = 0; i < WRAPPERS; i++)
        for (unsigned form = 0; form < 2; form++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s", prefixes[form], wrappers[i].name);
            ElfW(Sym) *symbol = symbols[i][form] = mbr_object_find(&library, name);
            wrappers[i].real[form] = 0;
            if (!symbol)
                continue;
            first = (uintptr_t)symbol < first ? (uintptr_t)symbol : first;
            end = (uintptr_t)(symbol + 1) > end ? (uintptr_t)(symbol + 1) : end;
            wrappers[i].real[form] = library.base + symbol->st_value;
        }
    const ElfW(Phdr) *segment = mbr_object_segment(&library, first);
    if (!protect(first, end, PROT_READ | PROT_WRITE)) {
        mbr_warn("not recorded: cannot write to the symbols of %s", library.name);
        return;
    }
    for (unsigned i = 0; i < WRAPPERS; i++)
        for (unsigned form = 0; form < 2; form++)
            if (symbols[i][form])
                symbols[i][form]->st_value = (uintptr_t)wrappers[i].address - library.base;
    if (segment && !(segment->p_flags & PF_W))
        protect(first, end, PROT_READ | (segment->p_flags & PF_X ? PROT_EXEC : 0));
}

/* An object whose slots are replaced, and the part of them that the loader protects when it has bound them. */
struct bound {
    struct mbr_object object;
    uintptr_t sealed, sealed_end;
    bool is_open;
};

static void write_slot(struct bound *bound, uintptr_t *slot, const struct wrapper *wrapper) {
    const ElfW(Phdr) *segment = mbr_object_segment(&bound->object, (uintptr_t)slot);
    if (!segment || !(segment->p_flags & PF_W))
        return;
    if (!bound->is_open && (uintptr_t)slot >= bound->sealed && (uintptr_t)slot < bound->sealed_end)
        bound->is_open = protect(bound->sealed, bound->sealed_end, PROT_READ | PROT_WRITE);
    if (bound->is_open || (uintptr_t)slot < bound->sealed || (uintptr_t)slot >= bound->sealed_end)
        __atomic_store_n(slot, (uintptr_t)wrapper->address, __ATOMIC_RELEASE);
}

/* Data that the program has a copy of may hold the addresses of functions. */
static void replace_in_copy(struct bound *bound, uintptr_t *words, size_t bytes) {
    if ((uintptr_t)words % sizeof *words)
        return;
    for (size_t at = 0; at < bytes / sizeof *words; at++)
        for (unsigned i = 0; i < WRAPPERS && words[at]; i++)
            if (words[at] == wrappers[i].real[0] || words[at] == wrappers[i].real[1])
                write_slot(bound, &words[at], &wrappers[i]);
}

/* Makes slots of an object that were bound to the library's functions refer to the wrappers. */
static int replace_slots(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    struct bound bound = {0};
    struct mbr_object *object = &bound.object;
    if (!mbr_object_read(info, object))
        return 0;
    for (size_t i = 0; i < object->segment_count; i++)
        if (object->segments[i].p_type == PT_GNU_RELRO) {
            bound.sealed = page_of(object->base + object->segments[i].p_vaddr);
            bound.sealed_end = page_of(object->base + object->segments[i].p_vaddr + object->segments[i].p_memsz);
        }
    for (unsigned part = 0; part < 2; part++)
        for (size_t i = 0; i < object->relocations[part].count; i++) {
            const ElfW(Rela) *relocation = &object->relocations[part].first[i];
            const uint64_t type = ELF64_R_TYPE(relocation->r_info);
            const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
            uintptr_t *slot = (uintptr_t *)(object->base + relocation->r_offset);
            unsigned form;
            if (type == COPY)
                replace_in_copy(&bound, slot, symbol->st_size);
            if (type != OF_CALL && type != IN_TABLE && (type != IN_DATA || relocation->r_addend))
                continue;
            const struct wrapper *wrapper = wrapper_of(object->strings + symbol->st_name, &form);
            /* Others are not of MPI, not bound yet, or bound to another tool. */
            if (wrapper && wrapper->real[form] && *slot == wrapper->real[form])
                write_slot(&bound, slot, wrapper);
        }
    if (bound.is_open)
        protect(bound.sealed, bound.sealed_end, PROT_READ);
    return 0;
}

/* What the loaded objects are. */
struct search {
    unsigned long long loads, unloads;
    bool is_there; /* the library in which the wrappers are */
    struct mbr_object found;
};

static int count_objects(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    search->loads = info->dlpi_adds, search->unloads = info->dlpi_subs;
    return 1;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    struct mbr_object object;
    /* The program itself may contain an MPI library, which it does not call by name. */
    if (!info->dlpi_name[0] || !mbr_object_read(info, &object))
        return 0;
    const ElfW(Sym) *init = mbr_object_find(&object, "PMPI_Init");
    if (init && object.base + init->st_value == (uintptr_t)MPI_Init)
        search->is_there = true;
    else if (init && !search->found.base)
        search->found = object;
    return 0;
}

/* Places the wrappers if an MPI library was loaded, or loaded again, since the last call. */
static void place(void) {
    struct search search = {0};
    dl_iterate_phdr(count_objects, &search);
    pthread_mutex_lock(&lock);
    if (loads != search.loads && (!library.base || unloads != search.unloads)) {
        loads = search.loads, unloads = search.unloads;
        dl_iterate_phdr(find_library, &search);
        if (!search.is_there) {
            library = search.found;
            if (library.base) {
                replace_symbols();
                dl_iterate_phdr(replace_slots, NULL);
                mbr_note(directory, 'm');
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

/* The loader calls this before it initializes other objects (-z initfirst); getenv has no environment yet. */
__attribute__((constructor)) static void placed_at_start(int argc, char **argv, char **environment) {
    static const char name[] = "MATCHBENCH_RECORD_DIR=";
    (void)argc, (void)argv;
    for (; *environment && !directory; environment++)
        if (!strncmp(*environment, name, sizeof name - 1) && (*environment)[sizeof name - 1])
            directory = *environment + sizeof name - 1;
    if (!directory)
        return;
    mbr_loaded(directory);
    place();
}

/* --- dlopen --- */

typedef void *opener(const char *file, int mode);

/* Whether the object that `map` describes states where its libraries are. */
static bool has_search_path(const struct link_map *map) {
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH)
            return true;
    return false;
}

/* Opens a file that is looked for on the search path of its caller, which for the loader is the recorder. */
static void *open_on_path(opener *next, struct link_map *caller, const char *file, int mode) {
    void *opened = next(file, mode | RTLD_NOLOAD);
    Dl_serinfo size;
    if (opened || dlinfo(caller, RTLD_DI_SERINFOSIZE, &size))
        return opened ? opened : next(file, mode);
    Dl_serinfo *path = malloc(size.dls_size);
    if (path && !dlinfo(caller, RTLD_DI_SERINFOSIZE, path) && !dlinfo(caller, RTLD_DI_SERINFO, path))
        for (unsigned i = 0; i < path->dls_cnt && !opened; i++) {
            char name[4096];
            if (path->dls_serpath[i].dls_flags & LA_SER_DEFAULT)
                continue;
            const int length = snprintf(name, sizeof name, "%s/%s", path->dls_serpath[i].dls_name, file);
            if (length > 0 && (size_t)length < sizeof name && !access(name, R_OK))
                opened = next(name, mode);
        }
    free(path);
    return opened ? opened : next(file, mode);
}

/* The directory of the caller in place of `$ORIGIN`, which for the loader is that of the recorder. */
static void *open_beside(opener *next, struct link_map *caller, const char *file, int mode) {
    char origin[4096], name[8192];
    const char *rest = file + (file[1] == '{' ? strlen("${ORIGIN}") : strlen("$ORIGIN"));
    if (dlinfo(caller, RTLD_DI_ORIGIN, origin) || snprintf(name, sizeof name, "%s%s", origin, rest) >= (int)sizeof name)
        return next(file, mode);
    return next(name, mode);
}

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode) {
    static opener *next;
    if (!__atomic_load_n(&next, __ATOMIC_RELAXED)) {
        void *found = dlsym(RTLD_NEXT, "dlopen");
        __atomic_store_n((void **)&next, found, __ATOMIC_RELAXED);
    }
    Dl_info info;
    struct link_map *caller = NULL;
    void *opened;
    if (!file || !dladdr1(__builtin_return_address(0), &info, (void **)&caller, RTLD_DL_LINKMAP) || !caller)
        opened = next(file, mode);
    else if (!strncmp(file, "$ORIGIN/", 8) || !strncmp(file, "${ORIGIN}/", 10))
        opened = open_beside(next, caller, file, mode);
    else if (*file && !strchr(file, '/') && !(mode & RTLD_NOLOAD) && has_search_path(caller))
        opened = open_on_path(next, caller, file, mode);
    else
        opened = next(file, mode);
    if (opened && directory)
        place();
    return opened;
}
