/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Identifies the MPI library, whose symbols search.c or static.c finds. Layouts that are not part of a public
 * interface are verified on a scratch status before they are used.
 */
#include "library.h"

#include "trace.h"

#include <string.h>

struct mbr_library mbr_library;

static void use_open_mpi(struct mbr_library *lib) {
    lib->any_source = -1, lib->any_tag = -1, lib->proc_null = -2, lib->root = -4;
    lib->err_arg = 13, lib->err_request = 7, lib->err_truncate = 15, lib->err_in_status = 18, lib->err_pending = 19;
    lib->cart = 1, lib->graph = 2, lib->dist_graph = 3;
    lib->handle_bytes = 8;
    lib->comm_world = (mbr_word)mbr_data_symbol("ompi_mpi_comm_world");
    lib->comm_self = (mbr_word)mbr_data_symbol("ompi_mpi_comm_self");
    lib->comm_null = (mbr_word)mbr_data_symbol("ompi_mpi_comm_null");
    lib->request_null = (mbr_word)mbr_data_symbol("ompi_request_null");
    lib->message_no_proc = (mbr_word)mbr_data_symbol("ompi_message_no_proc");
    lib->byte_type = (mbr_word)mbr_data_symbol("ompi_mpi_byte");
    lib->no_type = (mbr_word)mbr_data_symbol("ompi_mpi_datatype_null");
    lib->in_place = 1, lib->status_ignore = 0;
    lib->status_bytes = 24, lib->status_source = 0, lib->status_tag = 4, lib->status_error = 8;
    lib->status_layout = STATUS_OPEN_MPI;
    for (int level = 0; level < 4; level++)
        lib->thread_levels[level] = level;
}

static void use_mpich(struct mbr_library *lib) {
    lib->any_source = -2, lib->any_tag = -1, lib->proc_null = -1, lib->root = -3;
    lib->err_arg = 12, lib->err_request = 19, lib->err_truncate = 14, lib->err_in_status = 17, lib->err_pending = 18;
    lib->cart = 2, lib->graph = 1, lib->dist_graph = 3;
    lib->handle_bytes = 4;
    lib->comm_world = 0x44000000, lib->comm_self = 0x44000001, lib->comm_null = 0x04000000;
    lib->request_null = 0x2c000000, lib->message_no_proc = 0x6c000000, lib->byte_type = 0x4c00010d, lib->no_type = 0x0c000000;
    lib->in_place = (mbr_word)-1, lib->status_ignore = 1;
    lib->status_bytes = 20, lib->status_source = 8, lib->status_tag = 12, lib->status_error = 16;
    lib->status_layout = STATUS_MPICH;
    lib->isendrecv_status_unset = true;
    for (int level = 0; level < 4; level++)
        lib->thread_levels[level] = level;
}

static void use_standard_abi(struct mbr_library *lib) {
    lib->any_source = -1, lib->any_tag = -2, lib->proc_null = -3, lib->root = -4;
    lib->err_arg = 13, lib->err_request = 7, lib->err_truncate = 15, lib->err_in_status = 19, lib->err_pending = 18;
    lib->cart = 211, lib->graph = 212, lib->dist_graph = 213;
    lib->handle_bytes = 8;
    lib->comm_world = 0x101, lib->comm_self = 0x102, lib->comm_null = 0x100;
    lib->request_null = 0x180, lib->message_no_proc = 0x129, lib->byte_type = 0x247, lib->no_type = 0x200;
    lib->in_place = 1, lib->status_ignore = 0;
    lib->status_bytes = 32, lib->status_source = 0, lib->status_tag = 4, lib->status_error = 8;
    lib->status_layout = STATUS_BY_CALL;
    lib->isendrecv_status_unset = true;
    for (int level = 0; level < 4; level++)
        lib->thread_levels[level] = level * 1024;
}

/* The library of the simulated chip (moped/mpi/mpi.h). */
static void use_chip(struct mbr_library *lib) {
    lib->any_source = -2, lib->any_tag = -1, lib->proc_null = -1, lib->root = -3;
    lib->err_arg = 13, lib->err_request = 7, lib->err_truncate = 15, lib->err_in_status = 18, lib->err_pending = 19;
    lib->cart = 2, lib->graph = 1, lib->dist_graph = 3;
    lib->handle_bytes = 4;
    lib->comm_world = 0x01000001, lib->comm_self = 0x01000002, lib->comm_null = 0x01000000;
    lib->request_null = 0x04000000, lib->message_no_proc = 0x07000001, lib->byte_type = 0x03000004, lib->no_type = 0x03000000;
    lib->in_place = (mbr_word)-1, lib->status_ignore = 0;
    lib->status_bytes = 24, lib->status_source = 0, lib->status_tag = 4, lib->status_error = 8;
    lib->status_layout = STATUS_OPEN_MPI;
    for (int level = 0; level < 4; level++)
        lib->thread_levels[level] = level;
}

/* Sets a scratch status through the library and checks that reading it directly gives the same. */
static bool layout_holds(void) {
    int (*set_elements)(void *, mbr_word, int64_t) =
        (int (*)(void *, mbr_word, int64_t))mbr_library_symbol("PMPI_Status_set_elements_x");
    int (*set_cancelled)(void *, int) = (int (*)(void *, int))mbr_library_symbol("PMPI_Status_set_cancelled");
    const int64_t sizes[] = {0, 1, INT64_C(0x123456789)};
    if (!set_elements || !set_cancelled)
        return false;
    for (unsigned i = 0; i < 6; i++) {
        _Alignas(8) char scratch[64] = {0};
        set_elements(scratch, mbr_library.byte_type, sizes[i / 2]);
        set_cancelled(scratch, i % 2);
        struct mbr_status status = mbr_status_read(scratch, mbr_library.status_layout, true);
        if (status.bytes != (uint64_t)sizes[i / 2] || status.cancelled != i % 2)
            return false;
    }
    return true;
}

bool mbr_library_learn(void) {
    struct mbr_library *lib = &mbr_library;
    int (*get_version)(char *, int *) = (int (*)(char *, int *))mbr_library_symbol("PMPI_Get_library_version");
    int (*abi_version)(int *, int *) = (int (*)(int *, int *))mbr_library_symbol("PMPI_Abi_get_version");
    int length, major = -1, minor = -1;
    if (get_version)
        get_version(lib->version, &length);
    if (abi_version)
        abi_version(&major, &minor);
    if (major >= 1) {
        use_standard_abi(lib);
    } else if (mbr_data_symbol("ompi_mpi_comm_world")) {
        use_open_mpi(lib);
    } else if (strstr(lib->version, "matchbench guest MPI")) {
        use_chip(lib);
    } else if (strstr(lib->version, "MPICH") || strstr(lib->version, "Intel(R) MPI") || strstr(lib->version, "MVAPICH")) {
        use_mpich(lib);
    } else {
        mbr_refuse("found the MPI library \"%.80s\", expected Open MPI, MPICH, Intel MPI, MVAPICH or one with the MPI ABI",
                 lib->version);
        return false;
    }

    const struct {
        const char *name;
        void *target;
    } functions[] = {
        {"PMPI_Comm_rank", &lib->comm_rank},
        {"PMPI_Comm_size", &lib->comm_size},
        {"PMPI_Comm_remote_size", &lib->comm_remote_size},
        {"PMPI_Comm_test_inter", &lib->comm_test_inter},
        {"PMPI_Comm_group", &lib->comm_group},
        {"PMPI_Comm_remote_group", &lib->comm_remote_group},
        {"PMPI_Group_translate_ranks", &lib->group_translate_ranks},
        {"PMPI_Group_free", &lib->group_free},
        {"PMPI_Group_rank", &lib->group_rank},
        {"PMPI_Group_size", &lib->group_size},
        {"PMPI_Type_size_x", &lib->type_size},
        {"PMPI_Get_elements_x", &lib->get_elements},
        {"PMPI_Test_cancelled", &lib->test_cancelled},
        {"PMPI_Error_class", &lib->error_class},
        {"PMPI_Query_thread", &lib->query_thread},
        {"PMPI_Topo_test", &lib->topo_test},
        {"PMPI_Cartdim_get", &lib->cartdim_get},
        {"PMPI_Graph_neighbors_count", &lib->graph_neighbors_count},
        {"PMPI_Dist_graph_neighbors_count", &lib->dist_graph_neighbors_count},
        {"PMPI_Comm_get_parent", &lib->comm_get_parent},
        {"PMPI_Info_get", &lib->info_get},
        {"PMPI_Info_free", &lib->info_free},
        {"PMPI_Cart_shift", &lib->cart_shift},
        {"PMPI_Graph_neighbors", &lib->graph_neighbors},
        {"PMPI_Dist_graph_neighbors", &lib->dist_graph_neighbors},
        {"PMPI_Group_from_session_pset", &lib->group_from_session_pset},
        {"PMPI_Session_get_info", &lib->session_get_info},
    };
    const unsigned count = sizeof functions / sizeof *functions, optional = 5;
    for (unsigned i = 0; i < count; i++) {
        void *address = mbr_library_symbol(functions[i].name);
        if (!address && i < count - optional) {
            mbr_refuse("%s: not found in this MPI library, but needed by the recorder; use another MPI library",
                     functions[i].name);
            return false;
        }
        memcpy(functions[i].target, &address, sizeof address);
    }
    lib->handle_mask = lib->handle_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    if (lib->status_layout != STATUS_BY_CALL && !layout_holds())
        lib->status_layout = STATUS_BY_CALL;
    return true;
}

/* Whether this handle may be a datatype. Querying the size of any other one calls an error handler, which may end the
 * program. */
static bool is_type(uint64_t handle) {
    if (!handle || handle == mbr_handle(mbr_library.no_type))
        return false;
    /* MPICH and its relatives: bits 26 to 29 are the kind of object, 3 for a datatype. */
    return mbr_library.status_layout != STATUS_MPICH || (handle >> 26 & 15) == 3;
}

uint64_t mbr_type_bytes_far(struct mbr_thread *thread, mbr_word type, int64_t count) {
    const uint64_t small_bytes = UINT64_C(1) << 17, most_bytes = UINT64_C(1) << 48;
    const struct mbr_type *known = thread->type.word == type ? &thread->type : &thread->large_type;
    if (known->word != type) {
        int64_t size = 0;
        if (!is_type(mbr_handle(type)) || mbr_library.type_size((mbr_word)mbr_handle(type), &size) || size < 0)
            return 0; /* not cached: a type that is created later may have this handle */
        struct mbr_type *learnt = (uint64_t)size <= small_bytes ? &thread->type : &thread->large_type;
        *learnt = (struct mbr_type){type, (uint64_t)size};
        known = learnt;
    }
    uint64_t bytes;
    if (__builtin_mul_overflow(known->size, (uint64_t)count, &bytes) || bytes > most_bytes)
        return most_bytes;
    return bytes;
}

void mbr_status_ask(const void *status, bool may_be_cancelled, uint64_t *bytes, bool *cancelled) {
    int64_t count = 0;
    int set = 0;
    mbr_library.get_elements(status, mbr_library.byte_type, &count);
    if (may_be_cancelled)
        mbr_library.test_cancelled(status, &set);
    *bytes = count > 0 ? (uint64_t)count : 0;
    *cancelled = set;
}

int mbr_error_class(int code) {
    int class = code;
    if (code)
        mbr_library.error_class(code, &class);
    return class;
}
