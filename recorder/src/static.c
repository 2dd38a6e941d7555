/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The functions of a statically linked MPI library, in place of search.c. The references are
 * weak, because no library has all of these functions. A weak reference takes nothing out of an archive:
 * the MPI library is linked as a whole (recorder/docs/recorder.md).
 */
#include "library.h"
#include "start.h"

#include <stdlib.h>
#include <string.h>

#define DECLARE(name) extern char PMPI_##name[] __attribute__((weak));
#define CALL(arity, name, ...) DECLARE(name)
#define OTHER_CALL(arity, name) DECLARE(name)
#include "calls.h"
#undef CALL
#undef OTHER_CALL
MBR_ASKED(DECLARE)
#define DECLARE_DATA(name) extern char name[] __attribute__((weak));
MBR_ASKED_DATA(DECLARE_DATA)

static const struct {
    const char *name;
    char *address;
} symbols[] = {
#define ENTRY(name) {"PMPI_" #name, PMPI_##name},
#define CALL(arity, name, ...) ENTRY(name)
#define OTHER_CALL(arity, name) ENTRY(name)
#include "calls.h"
#undef CALL
#undef OTHER_CALL
    MBR_ASKED(ENTRY)
#define DATA_ENTRY(name) {#name, name},
    MBR_ASKED_DATA(DATA_ENTRY)
};

void *mbr_library_symbol(const char *name) {
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!strcmp(symbols[i].name, name))
            return symbols[i].address;
    return NULL;
}

void *mbr_data_symbol(const char *name) { return mbr_library_symbol(name); }

__attribute__((constructor)) static void loaded(void) {
    const char *dir = getenv("MATCHBENCH_RECORD_DIR");
    if (!dir || !*dir)
        return;
    mbr_loaded(dir);
    mbr_note(dir, 'm');
}
