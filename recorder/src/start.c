/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The launcher writes meta.json before the ranks start, but cannot know the number of ranks or the
 * MPI library; rank 0 inserts them after the first brace and replaces the file atomically
 * (recorder/README.md).
 */
#define _GNU_SOURCE
#include "start.h"

#include "comm.h"
#include "library.h"
#include "requests.h"
#include "tables.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Largest meta.json that is read, bytes. */
enum { META_ROOM = 1 << 20 };

static void write_json_string(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

/* The text of the launcher after its first brace, or null. */
static char *read_rest(const char *path) {
    static char rest[META_ROOM];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t used = 0;
    ssize_t got;
    while (used < sizeof rest - 1 && (got = read(fd, rest + used, sizeof rest - 1 - used)) > 0)
        used += (size_t)got;
    close(fd);
    char *brace = strchr(rest, '{');
    return brace && used < sizeof rest - 1 ? brace + 1 : NULL;
}

static bool meta_complete(const char *dir, int world, uint64_t run_id) {
    char path[4096], temporary[4096];
    snprintf(path, sizeof path, "%s/meta.json", dir);
    snprintf(temporary, sizeof temporary, "%s/meta.json.tmp", dir);
    const char *rest = read_rest(path);
    FILE *out = fopen(temporary, "wxe");
    if (!out)
        return false;
    fprintf(out, "{\n  \"ranks\": %d,\n  \"mpi\": ", world);
    char *version = mbr_library.version;
    version[strcspn(version, "\r\n")] = 0; /* MPICH appends its configuration */
    write_json_string(out, version);
    fprintf(out, ",\n  \"recorder\": \"%s\",\n  \"other_calls\": [", MBR_VERSION);
    for (int i = 0; mbr_other_calls[i]; i++) {
        fputs(i ? ", " : "", out);
        write_json_string(out, mbr_other_calls[i]);
    }
    fputs("],", out);
    if (rest)
        fputs(rest, out);
    else
        fprintf(out, "\n  \"format\": \"matchbench-trace\",\n  \"version\": 1,\n  \"origin\": \"recorded\",\n"
                     "  \"run_id\": \"%016" PRIx64 "\"\n}\n", run_id);
    bool failed = ferror(out);
    failed |= fclose(out) != 0;
    return !failed && !rename(temporary, path);
}

struct mbr_beginning mbr_beginning_now(void) {
    return (struct mbr_beginning){
        .ticks = mbr_clock_ticks(),
        .epoch_ns = mbr_clock_ns(CLOCK_REALTIME),
        .cpu_ns = mbr_clock_ns(CLOCK_THREAD_CPUTIME_ID),
    };
}

static int thread_level(void) {
    int provided = 0, level = 0;
    mbr_library.query_thread(&provided);
    while (level < 3 && mbr_library.thread_levels[level] != provided)
        level++;
    return level;
}

static bool run_id_parse(const char *text, uint64_t *run_id) {
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16)
        return false;
    *run_id = strtoull(text, NULL, 16);
    return true;
}

void mbr_recording_begin(const struct mbr_beginning *beginning) {
    const char *dir = getenv("MATCHBENCH_RECORD_DIR");
    uint64_t run_id;
    if (!dir || !*dir)
        return;
    if (!run_id_parse(getenv("MATCHBENCH_RECORD_RUN_ID"), &run_id)) {
        mbr_warn("not recorded: MATCHBENCH_RECORD_RUN_ID must be 16 hexadecimal digits");
        return;
    }
    if (!mbr_library_learn())
        return;
    int rank = 0, world = 0;
    mbr_library.comm_rank(mbr_library.comm_world, &rank);
    mbr_library.comm_size(mbr_library.comm_world, &world);
    int level = thread_level();
    mbr_clock_calibrate();
    if (!mbr_tables_setup() || !mbr_line_setup()) {
        mbr_warn("not recorded: out of memory");
        return;
    }
    if (!mbr_file_create(dir, rank, world, run_id, beginning->epoch_ns))
        return;
    if (rank == 0 && !meta_complete(dir, world, run_id)) {
        mbr_stop("cannot complete meta.json");
        return;
    }

    struct mbr_thread *thread = &mbr_self;
    mbr_threaded = level == 3;
    mbr_thread_setup(thread);
    mbr_clock_start(beginning->ticks);
    struct mbr_stamp begin = {0, beginning->cpu_ns, 0};
    struct mbr_stamp end = mbr_stamp_end(thread, &begin).stamp;
    mbr_append(thread, (struct mbr_record){
        .kind = INIT,
        .cpu_ns = begin.cpu_ns,
        .spans = mbr_pair(mbr_span(0, end.wall_ns), mbr_span(begin.cpu_ns, end.cpu_ns)),
        .aux = (uint64_t)level,
    });
    if (mbr_comms_setup(thread, end) && !mbr_stopped())
        __atomic_fetch_and(&mbr_generation, ~MBR_OFF, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void loaded(void) {
    const char *dir = getenv("MATCHBENCH_RECORD_DIR");
    if (dir && *dir)
        mbr_clock_calibrate();
}
