// SPDX-License-Identifier: Apache-2.0 OR MIT
// Objects of the library and the functions that its files share. Names of the library begin with
// mb_ so that they do not collide with those of a program.

#ifndef MB_INTERNAL_H
#define MB_INTERNAL_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"
#include "platform.h"

enum { MB_KIND_SHIFT = 24, MB_INDEX_MASK = 0xffffff };
enum mb_kind { MB_COMM = 1, MB_GROUP, MB_TYPE, MB_REQUEST, MB_OP, MB_ERRHANDLER, MB_MESSAGE, MB_INFO, MB_KINDS };

// Context numbers: a communicator has an even one for messages and the next one for collectives.
enum { MB_CONTEXT_IDS = 2048, MB_TAG_MAX = 0x7ffffffe };

struct mb_group {
    int handle, refs;
    int size, rank; // rank of this process, MPI_UNDEFINED if it is no member
    int world[];    // rank in MPI_COMM_WORLD of each member
};

struct mb_block {
    ptrdiff_t at;
    size_t bytes;
    size_t element; // bytes of the basic elements
    size_t before;  // bytes of the datatype in earlier blocks
};

struct mb_type {
    int handle, refs;
    int is_predefined, class; // class: what predefined operations see (op.c)
    size_t size;
    ptrdiff_t lb, ub, true_lb, true_ub;
    size_t align;
    int blocks, capacity;
    int is_bounded; // under construction: lb and ub are set
    int is_dense;   // one block, whose copies are adjacent
    struct mb_block *block;
    char name[MPI_MAX_OBJECT_NAME];
};

struct mb_op {
    int handle, refs;
    int commutes, predefined; // predefined: index, 0 if it is the user's
    MPI_User_function *function;
};

struct mb_errhandler {
    int handle, refs;
    MPI_Comm_errhandler_function *function;
};

struct mb_attribute {
    struct mb_attribute *next;
    int keyval;
    void *value;
};

struct mb_cart {
    int dimensions;
    int *dims, *periods, *coords;
};

struct mb_comm {
    int handle, refs;
    int id, local_id; // context numbers; local_id: of an intercommunicator's local communicator
    int rank, size;
    struct mb_group *local, *remote; // the same for an intracommunicator
    struct mb_comm *local_comm;      // of an intercommunicator, for its own collective calls
    int errhandler;
    struct mb_attribute *attributes;
    struct mb_cart *cart;
    unsigned barriers; // calls of MPI_Ibarrier
    char name[MPI_MAX_OBJECT_NAME];
};

enum mb_mode { MB_STANDARD, MB_SYNCHRONOUS, MB_READY, MB_BUFFERED };
enum mb_request_kind { MB_SEND, MB_RECEIVE, MB_BARRIER };
enum mb_place { MB_NOWHERE, MB_SOFTWARE, MB_DEVICE };

struct mb_packet_out;
struct mb_unexpected;

struct mb_request {
    struct mb_request *next, *previous; // of the transport
    int handle;
    unsigned char kind, mode, is_persistent, is_active, is_complete, is_freed, is_revoked, place;
    struct mb_comm *comm;
    struct mb_type *type;
    unsigned char *buffer;
    size_t count, bytes; // bytes: of the message, or capacity of the receive
    int peer, tag, context;
    int source; // a send's: rank of the sender in the communicator
    int world;  // a send's: destination in MPI_COMM_WORLD
    MPI_Status status;
    int error;
    size_t moved, limit; // transport: bytes moved so far, and to move
    uint64_t remote;     // transport: the request of the other side
    struct mb_request *inner; // of a buffered send, and of MPI_Ibarrier
    struct mb_request *inner2;
    // Transport moped:
    unsigned char *packed; // packed copy of the data while a descriptor exists
    unsigned char *owned;  // buffer that is freed with the request
    uint32_t descriptor;
    unsigned polls;
    unsigned number; // of a receive that may take a message that a probe has found, else 0
    unsigned step; // of MPI_Ibarrier
};

struct mb_message {
    int handle, refs;
    struct mb_comm *comm;
    struct mb_unexpected *unexpected; // taken from the software queue, or
    uint32_t descriptor;              // the descriptor that holds it
    MPI_Status status;
};

struct mb_state {
    int rank, size;
    int is_initialized, is_finalized, provided;
    struct mb_comm *world, *self;
    struct mb_group *empty;
    const struct mb_transport *transport;
    struct mb_request *waited; // the request that this process waits for, or NULL
    int software_requests;     // requests that the software scheme has
};
extern struct mb_state mb;

// Tables of objects (object.c).
extern struct mb_table {
    void **item;
    int *free_index;
    int capacity, frees;
} mb_table[MB_KINDS];

void mb_reserve_handles(int kind, int count);
int mb_add_handle(int kind, void *object);
void mb_remove_handle(int handle);
void mb_set_handle(int handle, void *object);
static inline void *mb_get(int handle, int kind)
{
    const struct mb_table *table = &mb_table[kind];
    const int index = handle & MB_INDEX_MASK;
    return handle >> MB_KIND_SHIFT == kind && index < table->capacity ? table->item[index] : NULL;
}
void *mb_allocate(size_t bytes);
void *mb_allocate_zeroed(size_t bytes);

// Errors (errors.c). `mb_fail` calls the error handler of the communicator (NULL: of
// MPI_COMM_WORLD) and returns the class if the handler returns.
int mb_fail(struct mb_comm *comm, const char *call, int error_class, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int mb_raise(struct mb_comm *comm, const char *call, int error_class, const char *text);
_Noreturn void mb_panic(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mb_errhandler_start(void);

#define MB_CHECK_COMM(name, handle)                                                                                    \
    struct mb_comm *name = mb_get(handle, MB_COMM);                                                                    \
    if (name == NULL)                                                                                                  \
    return mb_fail(NULL, __func__, MPI_ERR_COMM, "handle 0x%x; expected a communicator%s", (unsigned)(handle),         \
                   mb.is_initialized ? "" : ": MPI_Init was not called")
#define MB_CHECK_TYPE(name, handle, comm)                                                                              \
    struct mb_type *name = mb_get(handle, MB_TYPE);                                                                    \
    if (name == NULL)                                                                                                  \
    return mb_fail(comm, __func__, MPI_ERR_TYPE, "handle 0x%x; expected a datatype", (unsigned)(handle))
#define MB_CHECK_GROUP(name, handle)                                                                                   \
    struct mb_group *name = mb_get(handle, MB_GROUP);                                                                  \
    if (name == NULL)                                                                                                  \
    return mb_fail(NULL, __func__, MPI_ERR_GROUP, "handle 0x%x; expected a group", (unsigned)(handle))
#define MB_CHECK_OP(name, handle, comm)                                                                                \
    struct mb_op *name = mb_get(handle, MB_OP);                                                                        \
    if (name == NULL)                                                                                                  \
    return mb_fail(comm, __func__, MPI_ERR_OP, "handle 0x%x; expected an operation", (unsigned)(handle))
#define MB_CHECK_COUNT(count, comm)                                                                                    \
    if ((count) < 0) return mb_fail(comm, __func__, MPI_ERR_COUNT, "count %d; expected at least 0", (int)(count))

// Datatypes (datatype.c, pack.c).
void mb_types_start(void);
void mb_type_release(struct mb_type *type);
size_t mb_type_alignment(const struct mb_type *type);
static inline ptrdiff_t mb_extent(const struct mb_type *type) { return type->ub - type->lb; }
static inline int mb_is_contiguous(const struct mb_type *type, size_t count)
{
    return type->is_dense || (count == 1 && type->blocks == 1);
}
// Address of the first byte of a contiguous buffer.
static inline unsigned char *mb_first(const struct mb_type *type, void *buffer)
{
    return type->blocks > 0 ? (unsigned char *)buffer + type->block[0].at : buffer;
}
// Bytes `position` to `position + bytes` of the packed form of a buffer.
void mb_pack(const struct mb_type *type, size_t count, const void *buffer, size_t position, void *to, size_t bytes);
void mb_unpack(const struct mb_type *type, size_t count, void *buffer, size_t position, const void *from, size_t bytes);
// Copies as a message would. The destination has room for at least as many bytes.
void mb_copy(const void *from, size_t from_count, const struct mb_type *from_type, void *to, size_t to_count,
             const struct mb_type *to_type);
MPI_Count mb_elements(const struct mb_type *type, size_t bytes);

// Groups and communicators.
struct mb_group *mb_group_new(int size);
struct mb_group *mb_group_finish(struct mb_group *group); // finds the rank, registers the handle
void mb_group_release(struct mb_group *group);
int mb_rank_of(const struct mb_group *group, int world); // MPI_UNDEFINED if it is no member
void mb_comms_start(void);
void mb_comms_end(void);
struct mb_comm *mb_comm_new(struct mb_comm *parent, int id, struct mb_group *local, struct mb_group *remote);
void mb_comm_release(struct mb_comm *comm);
int mb_agree_on_id(struct mb_comm *comm, int count, int *ids); // collective
int mb_choose_id_within(struct mb_comm *comm, const struct mb_group *group, int tag); // -1: none is free
int mb_choose_ids_across(struct mb_comm *comm, int leader, struct mb_comm *peer, int remote_leader, int tag, int *ids);
void mb_release_id(int id);
int mb_attributes_copy(struct mb_comm *from, struct mb_comm *to, const char *call);
int mb_attributes_delete(struct mb_comm *comm, const char *call);
void mb_cart_free(struct mb_comm *comm);
void mb_ops_start(void);
// inout = in op inout, element by element.
int mb_apply(struct mb_op *op, const void *in, void *inout, size_t count, struct mb_type *type);
int mb_op_accepts(const struct mb_op *op, const struct mb_type *type);

// Messages (p2p.c, request.c). Arguments were checked.
struct mb_request *mb_request_new(int kind, struct mb_comm *comm, struct mb_type *type);
void mb_request_release(struct mb_request *request);
struct mb_request *mb_new_send(const void *buffer, size_t count, struct mb_type *type, int dest, int tag,
                               struct mb_comm *comm, int is_collective, int mode);
struct mb_request *mb_new_receive(void *buffer, size_t count, struct mb_type *type, int source, int tag,
                                  struct mb_comm *comm, int is_collective);
void mb_start(struct mb_request *request);
void mb_progress(void);
void mb_wait_for(struct mb_request *request);
int mb_finish(struct mb_request *request, MPI_Status *status); // waits and releases
MPI_Request mb_request_handle(struct mb_request *request);
void mb_complete(struct mb_request *request);
void mb_empty_status(MPI_Status *status);
void mb_set_bytes(MPI_Status *status, uint64_t bytes);
static inline uint64_t mb_get_bytes(const MPI_Status *status)
{
    return status->mb_bytes[0] | (uint64_t)status->mb_bytes[1] << 32;
}
// Buffered sends (bsend.c).
int mb_start_buffered(struct mb_request *request, const char *call);
void mb_buffered_progress(void);
void mb_buffered_end(void);
void mb_barrier_progress(void);

// Collectives (coll.c and others). Each returns an error class after all of its steps.
int mb_coll_send(const void *buffer, size_t count, struct mb_type *type, int dest, int tag, struct mb_comm *comm);
int mb_coll_recv(void *buffer, size_t count, struct mb_type *type, int source, int tag, struct mb_comm *comm);
int mb_coll_sendrecv(const void *sent, size_t sent_count, struct mb_type *sent_type, int dest, void *received,
                     size_t received_count, struct mb_type *received_type, int source, int tag, struct mb_comm *comm);
int mb_barrier(struct mb_comm *comm);
int mb_bcast(void *buffer, size_t count, struct mb_type *type, int root, struct mb_comm *comm);
int mb_allreduce(const void *sent, void *received, size_t count, struct mb_type *type, struct mb_op *op,
                 struct mb_comm *comm);
int mb_allgather(const void *sent, size_t sent_count, struct mb_type *sent_type, void *received, size_t received_count,
                 struct mb_type *received_type, struct mb_comm *comm);
// Space for `count` elements of any layout; `*base` is to be freed.
void *mb_temporary(const struct mb_type *type, size_t count, void **base);
static inline struct mb_type *mb_basic(MPI_Datatype type) { return mb_get(type, MB_TYPE); }
enum { MB_TAG_BARRIER = 1, MB_TAG_BCAST, MB_TAG_REDUCE, MB_TAG_GATHER, MB_TAG_SCATTER, MB_TAG_ALLGATHER,
       MB_TAG_ALLTOALL, MB_TAG_SCAN, MB_TAG_SPLIT, MB_TAG_INTER, MB_TAG_GROUP, MB_TAG_IBARRIER = 1 << 16 };

#endif
