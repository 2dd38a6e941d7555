/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The MPI library in use: its constants, the layout of its status, its handles, and the functions
 * that the recorder calls. Nothing comes from an mpi.h; everything is determined when MPI_Init
 * returns. Source of the constants: the three binary interfaces (Open MPI since 1.7, the MPICH ABI
 * initiative, MPI-5.0 chapter 20).
 */
#ifndef MBR_LIBRARY_H
#define MBR_LIBRARY_H

#include "trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* One argument of any MPI function. All of them are integers or pointers, each passed in one
 * register or one 8-byte stack slot (System V x86-64, AAPCS64 on Linux); the upper half of an int
 * argument is undefined. */
typedef uintptr_t mbr_word;

/* Layout of size and cancellation in a status. With an unknown layout they are read by calls. */
enum mbr_layout { STATUS_BY_CALL, STATUS_OPEN_MPI, STATUS_MPICH };

struct mbr_library {
    int any_source, any_tag, proc_null, root;
    int err_arg, err_truncate, err_in_status, err_pending, err_request;
    int cart, graph, dist_graph;
    int thread_levels[4];
    unsigned handle_bytes;
    uint64_t handle_mask; /* which bits of a word are a handle */
    mbr_word comm_world, comm_self, comm_null, request_null, message_no_proc, byte_type, no_type;
    mbr_word in_place, status_ignore;
    unsigned status_bytes, status_source, status_tag, status_error;
    enum mbr_layout status_layout;
    /* MPI_Isendrecv ends with an arbitrary status (seen in MPICH 4.0 to 5.0 and Intel MPI 2021). */
    bool isendrecv_status_unset;
    char version[8192];

    int (*comm_rank)(mbr_word, int *), (*comm_size)(mbr_word, int *), (*comm_remote_size)(mbr_word, int *);
    int (*comm_test_inter)(mbr_word, int *), (*comm_group)(mbr_word, mbr_word *), (*comm_remote_group)(mbr_word, mbr_word *);
    int (*group_translate_ranks)(mbr_word, int, const int *, mbr_word, int *), (*group_free)(mbr_word *);
    int (*group_rank)(mbr_word, int *), (*group_size)(mbr_word, int *);
    int (*type_size)(mbr_word, int64_t *);
    int (*get_elements)(const void *, mbr_word, int64_t *), (*test_cancelled)(const void *, int *);
    int (*error_class)(int, int *), (*query_thread)(int *);
    int (*topo_test)(mbr_word, int *), (*cartdim_get)(mbr_word, int *), (*graph_neighbors_count)(mbr_word, int, int *);
    int (*dist_graph_neighbors_count)(mbr_word, int *, int *, int *);
    /* Null in a library that lacks them. */
    int (*cart_shift)(mbr_word, int, int, int *, int *), (*graph_neighbors)(mbr_word, int, int, int *);
    int (*dist_graph_neighbors)(mbr_word, int, int *, int *, int, int *, int *);
    int (*comm_get_parent)(mbr_word *);
    /* MPI 4; null in a library that has no sessions. */
    int (*group_from_session_pset)(mbr_word, const char *, mbr_word *), (*session_get_info)(mbr_word, mbr_word *);
    int (*info_get)(mbr_word, const char *, int, char *, int *), (*info_free)(mbr_word *);
};

extern struct mbr_library mbr_library;

/* Functions of the MPI library that are used beside the wrapped ones, and the data of Open MPI. */
#define MBR_ASKED(X)                                                                                                \
    X(Comm_rank) X(Comm_size) X(Comm_remote_size) X(Comm_test_inter) X(Comm_group) X(Comm_remote_group)             \
    X(Group_translate_ranks) X(Group_free) X(Group_rank) X(Group_size) X(Type_size_x) X(Get_elements_x)             \
    X(Test_cancelled) X(Error_class) X(Query_thread) X(Topo_test) X(Cartdim_get) X(Graph_neighbors_count)           \
    X(Dist_graph_neighbors_count) X(Cart_shift) X(Graph_neighbors) X(Dist_graph_neighbors) X(Comm_get_parent)       \
    X(Info_get) X(Info_free) X(Group_from_session_pset)                                                             \
    X(Session_get_info) X(Get_library_version) X(Abi_get_version) X(Status_set_elements_x) X(Status_set_cancelled)  \
    X(Init) X(Init_thread) X(Session_init) X(Finalize) X(Session_finalize) X(Type_free)
#define MBR_ASKED_DATA(X)                                                                                           \
    X(ompi_mpi_comm_world) X(ompi_mpi_comm_self) X(ompi_mpi_comm_null) X(ompi_request_null) X(ompi_message_no_proc) \
    X(ompi_mpi_byte) X(ompi_mpi_datatype_null)

/* The address of `name` in the MPI library, never our own; null if it has none. */
void *mbr_library_symbol(const char *name);
/* The address of a datum of the MPI library, or of the program's copy of it; null if there is none. */
void *mbr_data_symbol(const char *name);
/* Fill `mbr_library`; `false` (after a warning) if the MPI library is unknown. MPI must be
 * initialized. */
bool mbr_library_learn(void);

/* The general case of mbr_type_bytes: a type that is not cached, a large one, or many elements. */
uint64_t mbr_type_bytes_far(struct mbr_thread *thread, mbr_word type, int64_t count);

/* A handle argument, and the handle number `at` of an array: values that compare equal if the
 * handles do. Before MPI has accepted an argument, its address may be null: mbr_handle_given. */
static inline uint64_t mbr_handle(mbr_word word) { return word & mbr_library.handle_mask; }
static inline uint64_t mbr_handle_at(mbr_word array, uint64_t at) {
    return mbr_library.handle_bytes == 4 ? ((const uint32_t *)array)[at] : ((const uint64_t *)array)[at];
}

/* The handle at this address, which the program may have given wrongly: 0, which no handle is, for a null pointer. */
static inline uint64_t mbr_handle_given(mbr_word address) { return address ? mbr_handle_at(address, 0) : 0; }
/* The number at this address, which MPI stores if the pointer is not null. */
static inline int mbr_int_given(mbr_word address) { return address ? *(const int *)address : 0; }

/* Size of up to INT32_MAX elements of the cached type: each has at most 2^17 bytes, so the sum is
 * at most 2^48. */
MBR_INLINE uint64_t mbr_type_bytes_near(const struct mbr_thread *thread, int64_t count) { return thread->type.size * (uint64_t)count; }

/* Size of `count` elements; saturates at 2^48, the most that a trace holds. With no elements the
 * type may be no type at all. */
MBR_INLINE uint64_t mbr_type_bytes(struct mbr_thread *thread, mbr_word type, int64_t count) {
    if (count <= 0)
        return 0;
    if (__builtin_expect(thread->type.word == type && count <= INT32_MAX, 1))
        return mbr_type_bytes_near(thread, count);
    return mbr_type_bytes_far(thread, type, count);
}

/* The number of the trace for a rank or a constant of MPI, and for a tag; TRACE_INVALID for other negative numbers. */
static inline int32_t mbr_peer(mbr_word word) {
    int peer = (int)word;
    if (peer >= 0)
        return peer;
    return peer == mbr_library.any_source  ? TRACE_ANY_SOURCE
           : peer == mbr_library.proc_null ? TRACE_PROC_NULL
           : peer == mbr_library.root      ? TRACE_ROOT
                                           : TRACE_INVALID;
}
static inline int32_t mbr_tag(mbr_word word) {
    int tag = (int)word;
    return tag >= 0 ? tag : tag == mbr_library.any_tag ? TRACE_ANY_TAG : TRACE_INVALID;
}

struct mbr_status {
    int32_t source, tag; /* as in the library: negative values are its constants */
    bool cancelled;
    uint64_t bytes;
};

/* Size and cancellation from the library's own functions. */
void mbr_status_ask(const void *status, bool may_be_cancelled, uint64_t *bytes, bool *cancelled);

/* Bytes of the status at this address, and whether it is cancelled (read only on request). */
MBR_INLINE uint64_t mbr_status_bytes(const void *status, enum mbr_layout layout, bool may_be_cancelled, bool *cancelled) {
    uint64_t bytes;
    bool is_cancelled;
    if (layout == STATUS_OPEN_MPI) { /* int source, tag, error, cancelled; size_t bytes */
        is_cancelled = ((const int *)status)[3];
        memcpy(&bytes, (const char *)status + 16, sizeof bytes); /* of the chip's library: aligned to 4 */
    } else if (layout == STATUS_MPICH) { /* int low, high << 1 | cancelled; int source, tag, error */
        const uint32_t *halves = status;
        bytes = halves[0] | (uint64_t)(halves[1] >> 1) << 32;
        is_cancelled = halves[1] & 1;
    } else {
        mbr_status_ask(status, may_be_cancelled, &bytes, &is_cancelled);
    }
    *cancelled = is_cancelled && may_be_cancelled;
    return bytes;
}

/* All fields of the status at this address. */
MBR_INLINE struct mbr_status mbr_status_read(const void *status, enum mbr_layout layout, bool may_be_cancelled) {
    const char *at = status;
    struct mbr_status read = {
        .source = *(const int *)(const void *)(at + mbr_library.status_source),
        .tag = *(const int *)(const void *)(at + mbr_library.status_tag),
    };
    read.bytes = mbr_status_bytes(status, layout, may_be_cancelled, &read.cancelled);
    return read;
}

/* The class of an error code. */
int mbr_error_class(int code);

/* Whether MPI returned this error because of an argument, and so did nothing: the classes from MPI_ERR_BUFFER, 1, to
 * MPI_ERR_ARG in each binary interface, and MPI_ERR_REQUEST. Then nothing is read that an argument points to. */
static inline bool mbr_is_refusal(int error) {
    if (__builtin_expect(!error, 1))
        return false;
    int class = mbr_error_class(error);
    return (class >= 1 && class <= mbr_library.err_arg) || class == mbr_library.err_request;
}

#endif
