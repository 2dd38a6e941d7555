/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The launcher writes meta.json before the ranks start, but cannot know the number of ranks or the
 * MPI library; rank 0 inserts them after the first brace and replaces the file atomically
 * (recorder/docs/recorder.md).
 */
#define _GNU_SOURCE
#include "start.h"

#include "comm.h"
#include "library.h"
#include "requests.h"
#include "system.h"
#include "tables.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
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
    return !failed && mbr_system_replace(temporary, path);
}

struct mbr_beginning mbr_beginning_now(void) {
    return (struct mbr_beginning){
        .ticks = mbr_clock_ticks(),
        .epoch_ns = mbr_clock_ns(CLOCK_REALTIME),
        .cpu_ns = mbr_system_cpu_ns(),
    };
}

/* The thread level, 0 (single) to 3 (multiple), of MPI_Init or of the session at this address. */
static int thread_level(mbr_word session) {
    int provided = 0, level = 0, found = 0;
    mbr_word info;
    if (!session) {
        mbr_library.query_thread(&provided);
        while (level < 3 && mbr_library.thread_levels[level] != provided)
            level++;
        return level;
    }
    static const char *const names[3] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED"};
    char text[64] = "";
    if (mbr_library.session_get_info && !mbr_library.session_get_info((mbr_word)mbr_handle_at(session, 0), &info)) {
        mbr_library.info_get(info, "thread_level", sizeof text - 1, text, &found);
        mbr_library.info_free(&info);
    }
    while (level < 3 && strcmp(text, names[level]))
        level++;
    return level;
}

static bool run_id_parse(const char *text, uint64_t *run_id) {
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdefABCDEF") != 16)
        return false;
    *run_id = strtoull(text, NULL, 16);
    return true;
}

static void begin_recording(const struct mbr_beginning *beginning, mbr_word session) {
    const char *dir = getenv("MATCHBENCH_RECORD_DIR");
    uint64_t run_id;
    if (!dir || !*dir)
        return;
    const char *id = getenv("MATCHBENCH_RECORD_RUN_ID");
    if (!run_id_parse(id, &run_id)) {
        mbr_warn("not recorded: MATCHBENCH_RECORD_RUN_ID: found \"%.40s\", expected 16 hexadecimal digits; use `matchbench record`",
                 id ? id : "");
        return;
    }
    if (!mbr_library_learn())
        return;
    int rank = 0, world = 0;
    if (!mbr_world_find(session, &rank, &world)) {
        mbr_warn("not recorded: process set mpi://WORLD: not found in this MPI library, but needed by the recorder; use another MPI "
                 "library");
        return;
    }
    mbr_word parent = mbr_library.comm_null;
    if (!session)
        mbr_library.comm_get_parent(&parent);
    if (mbr_handle(parent) != mbr_handle(mbr_library.comm_null)) {
        mbr_note(dir, 's'); /* its rank is that of another process too; the parents' trace says how many were started */
        return;
    }
    int level = thread_level(session);
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
    mbr_threaded = level == 3 || session; /* MPI_Init may come later, with another level */
    if (!mbr_thread_setup(thread))
        return;
    mbr_clock_start(beginning->ticks);
    struct mbr_stamp begin = {0, beginning->cpu_ns, 0};
    struct mbr_stamp end = mbr_stamp_end(thread, &begin).stamp;
    uint64_t place[MBR_PLACE_WORDS], words = mbr_system_place(place);
    struct mbr_record init = {
        .kind = INIT,
        .bytes = words,
        .cpu_ns = begin.cpu_ns,
        .spans = mbr_pair(mbr_span(0, end.wall_ns), mbr_span(begin.cpu_ns, end.cpu_ns)),
        .aux = (uint64_t)level,
    };
    mbr_put_words(thread, init, place, words);
    if (!mbr_comms_setup(thread, end, world) || mbr_stopped())
        return;
    if (!session)
        mbr_world_joined();
    __atomic_fetch_and(&mbr_generation, ~MBR_OFF, __ATOMIC_RELEASE);
}

/* Successful initializations, by MPI_Init and MPI_Session_init, that were not finalized yet. */
static int lives;

enum mbr_life mbr_life_begins(const struct mbr_beginning *beginning, mbr_word session) {
    static int tried; /* as RV64 has no atomic byte */
    const int before = __atomic_fetch_add(&lives, 1, __ATOMIC_ACQ_REL);
    if (!__atomic_exchange_n(&tried, 1, __ATOMIC_ACQ_REL)) {
        begin_recording(beginning, session);
        return LIFE_FIRST;
    }
    if (before == 0) {
        int rank, size;
        if (mbr_file_resume() && !mbr_world_find(session, &rank, &size))
            mbr_stop("the process set mpi://WORLD is gone");
    }
    if (__atomic_load_n(&mbr_generation, __ATOMIC_ACQUIRE) & MBR_OFF)
        return LIFE_UNRECORDED;
    if (!session)
        mbr_world_joined();
    if (!mbr_threaded && thread_level(session) == 3) {
        mbr_threaded = true;
        __atomic_fetch_add(&mbr_generation, MBR_GENERATION_STEP, __ATOMIC_RELEASE); /* no thread takes the fast path any more */
    }
    return LIFE_FURTHER;
}

bool mbr_life_ends(void) { return __atomic_sub_fetch(&lives, 1, __ATOMIC_ACQ_REL) <= 0; }

void mbr_loaded(const char *dir) {
    mbr_clock_calibrate();
    mbr_note(dir, 'l');
}
