// SPDX-License-Identifier: Apache-2.0 OR MIT
// Communicators: their objects, context numbers, and calls about one communicator.

#include "internal.h"

// Context numbers that are free here. Processes agree on one that is free at all of them.
enum { MASK_WORDS = MB_CONTEXT_IDS / 32 };
static uint32_t free_ids[MASK_WORDS];

void mb_release_id(int id)
{
    free_ids[id / 32] |= 1u << id % 32;
}

static void take_id(int id)
{
    free_ids[id / 32] &= ~(1u << id % 32);
}

// The lowest `count` numbers of a mask.
static int choose_ids(const uint32_t *mask, int count, int *ids)
{
    int found = 0;
    for (int id = 0; id < MB_CONTEXT_IDS && found < count; id++) {
        if (mask[id / 32] >> id % 32 & 1) ids[found++] = id;
    }
    return found == count ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int take_chosen(const uint32_t *mask, int count, int *ids)
{
    const int error = choose_ids(mask, count, ids);
    for (int i = 0; i < count && error == MPI_SUCCESS; i++)
        take_id(ids[i]);
    return error;
}

int mb_agree_on_id(struct mb_comm *comm, int count, int *ids)
{
    uint32_t mask[MASK_WORDS];
    struct mb_comm *within = comm->local_comm != NULL ? comm->local_comm : comm;
    mb_allreduce(free_ids, mask, MASK_WORDS, mb_basic(MPI_UINT32_T), mb_get(MPI_BAND, MB_OP), within);
    if (comm->local_comm != NULL) {
        // Rank 0 of each side exchanges the numbers that are free on its side.
        uint32_t other[MASK_WORDS];
        if (comm->rank == 0)
            mb_coll_sendrecv(mask, MASK_WORDS, mb_basic(MPI_UINT32_T), 0, other, MASK_WORDS, mb_basic(MPI_UINT32_T), 0,
                             MB_TAG_INTER, comm);
        mb_bcast(other, MASK_WORDS, mb_basic(MPI_UINT32_T), 0, within);
        for (int i = 0; i < MASK_WORDS; i++)
            mask[i] &= other[i];
    }
    if (take_chosen(mask, count, ids) == MPI_SUCCESS) return MPI_SUCCESS;
    return mb_fail(comm, "communicator creation", MPI_ERR_OTHER, "all %d context numbers are in use", MB_CONTEXT_IDS);
}

// Only the members of the group take part: its rank 0 collects what is free, and tells the result.
int mb_choose_id_within(struct mb_comm *comm, const struct mb_group *group, int tag)
{
    struct mb_type *word = mb_basic(MPI_UINT32_T);
    const int wire_tag = MB_TAG_GROUP + (tag & 0x7fff);
    uint32_t mask[MASK_WORDS], other[MASK_WORDS];
    memcpy(mask, free_ids, sizeof mask);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 1; i < group->size; i++) {
            const int peer = mb_rank_of(comm->local, group->world[group->rank == 0 ? i : 0]);
            if (group->rank != 0 && group->rank != i) continue;
            if ((group->rank == 0) == (pass == 0)) {
                mb_coll_recv(pass == 0 ? other : mask, MASK_WORDS, word, peer, wire_tag, comm);
                for (int k = 0; k < MASK_WORDS && pass == 0; k++)
                    mask[k] &= other[k];
            } else {
                mb_coll_send(mask, MASK_WORDS, word, peer, wire_tag, comm);
            }
        }
    }
    int id;
    return take_chosen(mask, 1, &id) == MPI_SUCCESS ? id : -1;
}

// Two numbers that are free on both sides of a new intercommunicator.
int mb_choose_ids_across(struct mb_comm *comm, int leader, struct mb_comm *peer, int remote_leader, int tag, int *ids)
{
    uint32_t mask[MASK_WORDS], other[MASK_WORDS];
    mb_allreduce(free_ids, mask, MASK_WORDS, mb_basic(MPI_UINT32_T), mb_get(MPI_BAND, MB_OP), comm);
    if (comm->rank == leader)
        MPI_Sendrecv(mask, MASK_WORDS, MPI_UINT32_T, remote_leader, tag, other, MASK_WORDS, MPI_UINT32_T, remote_leader,
                     tag, peer->handle, MPI_STATUS_IGNORE);
    mb_bcast(other, MASK_WORDS, mb_basic(MPI_UINT32_T), leader, comm);
    for (int i = 0; i < MASK_WORDS; i++)
        mask[i] &= other[i];
    if (take_chosen(mask, 2, ids) == MPI_SUCCESS) return MPI_SUCCESS;
    return mb_fail(comm, "MPI_Intercomm_create", MPI_ERR_OTHER, "all %d context numbers are in use", MB_CONTEXT_IDS);
}

struct mb_comm *mb_comm_new(struct mb_comm *parent, int id, struct mb_group *local, struct mb_group *remote)
{
    struct mb_comm *comm = mb_allocate_zeroed(sizeof *comm);
    comm->refs = 1;
    comm->id = id;
    comm->local_id = -1;
    comm->local = local;
    comm->remote = remote;
    comm->rank = local->rank;
    comm->size = local->size;
    comm->errhandler = MPI_ERRORS_ARE_FATAL;
    if (parent != NULL) MPI_Comm_get_errhandler(parent->handle, &comm->errhandler);
    comm->handle = mb_add_handle(MB_COMM, comm);
    return comm;
}

void mb_comm_release(struct mb_comm *comm)
{
    if (--comm->refs > 0) return;
    mb_cart_free(comm);
    if (comm->local_comm != NULL) mb_comm_release(comm->local_comm);
    if (comm->remote != comm->local) mb_group_release(comm->remote);
    mb_group_release(comm->local);
    mb_release_id(comm->id);
    MPI_Errhandler_free(&comm->errhandler);
    mb_remove_handle(comm->handle);
    free(comm);
}

// A communicator with the predefined handle, context number and group.
static struct mb_comm *predefined(MPI_Comm handle, int id, struct mb_group *group, const char *name)
{
    struct mb_comm *comm = mb_comm_new(NULL, id, group, group);
    mb_remove_handle(comm->handle);
    comm->handle = handle;
    mb_set_handle(handle, comm);
    snprintf(comm->name, sizeof comm->name, "%s", name);
    take_id(id);
    return comm;
}

void mb_comms_start(void)
{
    memset(free_ids, 0xff, sizeof free_ids);
    mb_reserve_handles(MB_COMM, 3);
    mb_reserve_handles(MB_GROUP, 2);
    mb.empty = mb_group_new(0);
    mb.empty->handle = MPI_GROUP_EMPTY;
    mb.empty->rank = MPI_UNDEFINED;
    mb_set_handle(MPI_GROUP_EMPTY, mb.empty);
    struct mb_group *all = mb_group_new(mb.size), *alone = mb_group_new(1);
    for (int i = 0; i < mb.size; i++)
        all->world[i] = i;
    alone->world[0] = mb.rank;
    mb.world = predefined(MPI_COMM_WORLD, 0, mb_group_finish(all), "MPI_COMM_WORLD");
    mb.self = predefined(MPI_COMM_SELF, 1, mb_group_finish(alone), "MPI_COMM_SELF");
}

void mb_comms_end(void)
{
    mb_attributes_delete(mb.self, "MPI_Finalize");
    mb_attributes_delete(mb.world, "MPI_Finalize");
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    MB_CHECK_COMM(c, comm);
    *rank = c->rank;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    MB_CHECK_COMM(c, comm);
    *size = c->size;
    return MPI_SUCCESS;
}

// No program starts another.
int MPI_Comm_get_parent(MPI_Comm *parent)
{
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    MB_CHECK_COMM(c, comm);
    if (c->local_comm == NULL) return mb_fail(c, __func__, MPI_ERR_COMM, "%s is no intercommunicator", c->name);
    *size = c->remote->size;
    return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    MB_CHECK_COMM(c, comm);
    *flag = c->local_comm != NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *result)
{
    MB_CHECK_COMM(x, a);
    MB_CHECK_COMM(y, b);
    *result = MPI_UNEQUAL;
    if (x == y) {
        *result = MPI_IDENT;
    } else if ((x->local_comm != NULL) == (y->local_comm != NULL)) {
        int remote;
        MPI_Group_compare(x->local->handle, y->local->handle, result);
        MPI_Group_compare(x->remote->handle, y->remote->handle, &remote);
        if (remote > *result) *result = remote;
        if (*result == MPI_IDENT) *result = MPI_CONGRUENT;
    }
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    MB_CHECK_COMM(c, *comm);
    if (c == mb.world || c == mb.self) return mb_fail(c, __func__, MPI_ERR_COMM, "%s cannot be freed", c->name);
    const int error = mb_attributes_delete(c, __func__);
    if (error != MPI_SUCCESS) return error;
    mb_comm_release(c);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    MB_CHECK_COMM(c, comm);
    c->local->refs++;
    *group = c->local->handle;
    return MPI_SUCCESS;
}

int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    MB_CHECK_COMM(c, comm);
    if (c->local_comm == NULL) return mb_fail(c, __func__, MPI_ERR_COMM, "%s is no intercommunicator", c->name);
    c->remote->refs++;
    *group = c->remote->handle;
    return MPI_SUCCESS;
}

int MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
    MB_CHECK_COMM(c, comm);
    snprintf(c->name, sizeof c->name, "%s", name);
    return MPI_SUCCESS;
}

int MPI_Comm_get_name(MPI_Comm comm, char *name, int *length)
{
    MB_CHECK_COMM(c, comm);
    *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", c->name);
    return MPI_SUCCESS;
}
