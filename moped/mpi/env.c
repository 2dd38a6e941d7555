// SPDX-License-Identifier: Apache-2.0 OR MIT
// Start, end, time, and what the library says about itself.

#include "ring.h"

size_t mb_option_number(const char *name, size_t otherwise, size_t least, size_t most)
{
    const char *text = mb_platform_option(name);
    if (text == NULL) return otherwise;
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || value < least || value > most)
        mb_panic("%s: found \"%s\"; expected a number from %zu to %zu", name, text, least, most);
    return (size_t)value;
}

static const struct mb_transport *chosen(void)
{
    const char *name = mb_platform_option("MB_MPI_TRANSPORT");
    if (name == NULL) name = mb_platform_has_moped() ? "moped" : "shm";
    if (strcmp(name, "shm") == 0) return &mb_shm;
    if (strcmp(name, "moped") != 0)
        mb_panic("MB_MPI_TRANSPORT: found \"%s\"; expected shm or moped", name);
    if (!mb_platform_has_moped()) mb_panic("MB_MPI_TRANSPORT: found moped; this machine has no such device");
    return &mb_moped;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    if (mb.is_initialized) mb_panic("MPI_Init: called twice");
    mb.rank = mb_platform_rank();
    mb.size = mb_platform_size();
    mb_errhandler_start();
    mb_types_start();
    mb_ops_start();
    mb_reserve_handles(MB_REQUEST, 1);
    mb_reserve_handles(MB_MESSAGE, 2);
    mb_reserve_handles(MB_INFO, 2);
    mb_ring_start();
    mb_comms_start();
    mb.transport = chosen();
    mb.transport->start();
    mb.is_initialized = 1;
    mb.provided = required < MPI_THREAD_SERIALIZED ? required : MPI_THREAD_SERIALIZED;
    *provided = mb.provided;
    return mb_barrier(mb.world);
}

int MPI_Init(int *argc, char ***argv)
{
    int provided;
    return MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int MPI_Query_thread(int *provided)
{
    *provided = mb.provided;
    return MPI_SUCCESS;
}

int MPI_Is_thread_main(int *flag)
{
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    *flag = mb.is_initialized;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    *flag = mb.is_finalized;
    return MPI_SUCCESS;
}

// Of the whole program, for tests and studies.
static void report_counters(void)
{
    if (mb.rank != 0 || mb_platform_option("MB_MPI_COUNTERS") == NULL) return;
    char line[160];
    snprintf(line, sizeof line, "mpi: %s refusals %u revocations %u returns %u\n", mb.transport->name,
             atomic_load(&mb_shared->refusals.value), atomic_load(&mb_shared->revocations.value),
             atomic_load(&mb_shared->returns.value));
    mb_platform_report(line);
}

int MPI_Finalize(void)
{
    if (!mb.is_initialized || mb.is_finalized) mb_panic("MPI_Finalize: called before MPI_Init or twice");
    mb_comms_end();
    mb_buffered_end();
    mb.transport->end();
    mb_barrier(mb.world);
    // Others may still need this process, to return from a back-off.
    atomic_fetch_add(&mb_shared->finished.value, 1);
    while (atomic_load(&mb_shared->finished.value) < (uint32_t)mb.size)
        mb_progress();
    report_counters();
    mb.is_finalized = 1;
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    char line[80];
    snprintf(line, sizeof line, "mpi: rank %d: MPI_Abort with code %d\n", mb.rank, code);
    mb_platform_error(line);
    if (mb_shared != NULL) atomic_store(&mb_shared->aborted.value, 1);
    mb_platform_abort(code);
}

double MPI_Wtime(void)
{
    return mb_platform_time();
}

double MPI_Wtick(void)
{
    return 1e-9;
}

int MPI_Get_processor_name(char *name, int *length)
{
    mb_platform_name(name, MPI_MAX_PROCESSOR_NAME);
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}

int MPI_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "matchbench guest MPI, transport %s",
                       mb.transport != NULL ? mb.transport->name : "not started");
    return MPI_SUCCESS;
}

int MPI_Get_address(const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

int MPI_Address(void *location, MPI_Aint *address)
{
    return MPI_Get_address(location, address);
}

MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displacement)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)displacement);
}

MPI_Aint MPI_Aint_diff(MPI_Aint a, MPI_Aint b)
{
    return (MPI_Aint)((uintptr_t)a - (uintptr_t)b);
}

int MPI_Alloc_mem(MPI_Aint bytes, MPI_Info info, void *pointer)
{
    (void)info;
    void *memory = bytes >= 0 ? malloc(bytes > 0 ? (size_t)bytes : 1) : NULL;
    if (memory == NULL) return mb_fail(NULL, __func__, MPI_ERR_NO_MEM, "%lld bytes", (long long)bytes);
    *(void **)pointer = memory;
    return MPI_SUCCESS;
}

int MPI_Free_mem(void *memory)
{
    free(memory);
    return MPI_SUCCESS;
}

int MPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}

// Hints are accepted and not used.
int MPI_Info_create(MPI_Info *info)
{
    static int any;
    *info = mb_add_handle(MB_INFO, &any);
    return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info info, const char *key, const char *value)
{
    (void)key, (void)value;
    if (mb_get(info, MB_INFO) == NULL) return mb_fail(NULL, __func__, MPI_ERR_INFO, "handle 0x%x", (unsigned)info);
    return MPI_SUCCESS;
}

int MPI_Info_free(MPI_Info *info)
{
    if (mb_get(*info, MB_INFO) == NULL) return mb_fail(NULL, __func__, MPI_ERR_INFO, "handle 0x%x", (unsigned)*info);
    mb_remove_handle(*info);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}
