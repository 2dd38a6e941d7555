// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calls that make communicators.

#include "internal.h"

static void retain(struct mb_group *group)
{
    group->refs++;
}

// The communicator that an intercommunicator uses for collective calls of its own side.
static void add_local_comm(struct mb_comm *inter, int id)
{
    retain(inter->local);
    inter->local_comm = mb_comm_new(inter, id, inter->local, inter->local);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    MB_CHECK_COMM(c, comm);
    const int is_inter = c->local_comm != NULL;
    int ids[2], error = mb_agree_on_id(c, 1 + is_inter, ids);
    *made = MPI_COMM_NULL;
    if (error != MPI_SUCCESS) return error;
    retain(c->local);
    if (is_inter) retain(c->remote);
    struct mb_comm *copy = mb_comm_new(c, ids[0], c->local, c->remote);
    if (is_inter) add_local_comm(copy, ids[1]);
    if (c->cart != NULL) {
        const int n = c->cart->dimensions;
        copy->cart = mb_allocate_zeroed(sizeof *copy->cart);
        copy->cart->dimensions = n;
        // One allocation for the three arrays.
        copy->cart->dims = mb_allocate(3 * (size_t)n * sizeof(int));
        copy->cart->periods = copy->cart->dims + n;
        copy->cart->coords = copy->cart->dims + 2 * n;
        memcpy(copy->cart->dims, c->cart->dims, 3 * (size_t)n * sizeof(int));
    }
    error = mb_attributes_copy(c, copy, __func__);
    if (error != MPI_SUCCESS) {
        mb_comm_release(copy);
        return error;
    }
    *made = copy->handle;
    return MPI_SUCCESS;
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made)
{
    (void)info;
    return MPI_Comm_dup(comm, made);
}

struct entry {
    int color, key;
};

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    MB_CHECK_COMM(c, comm);
    *made = MPI_COMM_NULL;
    if (c->local_comm != NULL)
        return mb_fail(c, __func__, MPI_ERR_COMM, "intercommunicators cannot be split in this library");
    if (color < 0 && color != MPI_UNDEFINED)
        return mb_fail(c, __func__, MPI_ERR_ARG, "color %d; expected at least 0 or MPI_UNDEFINED", color);
    struct entry mine = {color, key}, *all = mb_allocate((size_t)c->size * sizeof *all);
    mb_allgather(&mine, 2, mb_basic(MPI_INT), all, 2, mb_basic(MPI_INT), c);
    int id;
    const int error = mb_agree_on_id(c, 1, &id);
    if (error == MPI_SUCCESS && color == MPI_UNDEFINED) mb_release_id(id);
    if (error == MPI_SUCCESS && color != MPI_UNDEFINED) {
        struct mb_group *group = mb_group_new(c->size);
        int *order = mb_allocate((size_t)c->size * sizeof *order), n = 0;
        for (int i = 0; i < c->size; i++) {
            if (all[i].color != color) continue;
            // Insertion keeps the order of ranks with equal keys.
            int at = n++;
            for (; at > 0 && all[order[at - 1]].key > all[i].key; at--)
                order[at] = order[at - 1];
            order[at] = i;
        }
        for (int i = 0; i < n; i++)
            group->world[i] = c->local->world[order[i]];
        group->size = n;
        mb_group_finish(group);
        *made = mb_comm_new(c, id, group, group)->handle;
        free(order);
    }
    free(all);
    return error;
}

int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *made)
{
    MB_CHECK_COMM(c, comm);
    (void)info;
    if (split_type != MPI_COMM_TYPE_SHARED && split_type != MPI_UNDEFINED)
        return mb_fail(c, __func__, MPI_ERR_ARG, "type %d; expected MPI_COMM_TYPE_SHARED", split_type);
    return MPI_Comm_split(comm, split_type == MPI_UNDEFINED ? MPI_UNDEFINED : 0, key, made);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made)
{
    MB_CHECK_COMM(c, comm);
    MB_CHECK_GROUP(g, group);
    *made = MPI_COMM_NULL;
    if (c->local_comm != NULL)
        return mb_fail(c, __func__, MPI_ERR_COMM, "expected an intracommunicator, which this library requires");
    int id;
    const int error = mb_agree_on_id(c, 1, &id);
    if (error != MPI_SUCCESS) return error;
    if (g->rank == MPI_UNDEFINED) {
        mb_release_id(id);
        return MPI_SUCCESS;
    }
    retain(g);
    *made = mb_comm_new(c, id, g, g)->handle;
    return MPI_SUCCESS;
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
    MB_CHECK_COMM(c, comm);
    MB_CHECK_GROUP(g, group);
    *made = MPI_COMM_NULL;
    if (g->rank == MPI_UNDEFINED) return MPI_SUCCESS;
    const int id = mb_choose_id_within(c, g, tag);
    if (id < 0) return mb_fail(c, __func__, MPI_ERR_OTHER, "all %d context numbers are in use", MB_CONTEXT_IDS);
    retain(g);
    *made = mb_comm_new(c, id, g, g)->handle;
    return MPI_SUCCESS;
}

// Sends of the leaders of both sides over the peer communicator.
static int exchange(struct mb_comm *peer, int leader, int tag, const void *sent, int sent_count, void *received,
                    int received_count)
{
    return MPI_Sendrecv(sent, sent_count, MPI_INT, leader, tag, received, received_count, MPI_INT, leader, tag,
                        peer->handle, MPI_STATUS_IGNORE);
}

int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *made)
{
    MB_CHECK_COMM(c, local);
    *made = MPI_COMM_NULL;
    if (leader < 0 || leader >= c->size)
        return mb_fail(c, __func__, MPI_ERR_RANK, "leader %d; expected 0 to %d", leader, c->size - 1);
    struct mb_comm *p = mb_get(peer, MB_COMM);
    if (c->rank == leader && p == NULL)
        return mb_fail(c, __func__, MPI_ERR_COMM, "handle 0x%x; expected the peer communicator", (unsigned)peer);
    int remote_size = 0, error = MPI_SUCCESS;
    if (c->rank == leader) error = exchange(p, remote_leader, tag, &c->size, 1, &remote_size, 1);
    if (error != MPI_SUCCESS) return error;
    mb_bcast(&remote_size, 1, mb_basic(MPI_INT), leader, c);
    struct mb_group *remote = mb_group_new(remote_size);
    if (c->rank == leader)
        exchange(p, remote_leader, tag, c->local->world, c->size, remote->world, remote_size);
    mb_bcast(remote->world, (size_t)remote_size, mb_basic(MPI_INT), leader, c);
    mb_group_finish(remote);
    int ids[2];
    error = mb_choose_ids_across(c, leader, p, remote_leader, tag, ids);
    if (error != MPI_SUCCESS) {
        mb_group_release(remote);
        return error;
    }
    retain(c->local);
    struct mb_comm *inter = mb_comm_new(c, ids[0], c->local, remote);
    add_local_comm(inter, ids[1]);
    *made = inter->handle;
    return MPI_SUCCESS;
}

int MPI_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm *made)
{
    MB_CHECK_COMM(c, inter);
    *made = MPI_COMM_NULL;
    if (c->local_comm == NULL) return mb_fail(c, __func__, MPI_ERR_COMM, "%s is no intercommunicator", c->name);
    int id, other_high = 0;
    const int error = mb_agree_on_id(c, 1, &id);
    if (error != MPI_SUCCESS) return error;
    if (c->rank == 0)
        mb_coll_sendrecv(&high, 1, mb_basic(MPI_INT), 0, &other_high, 1, mb_basic(MPI_INT), 0, MB_TAG_INTER, c);
    mb_bcast(&other_high, 1, mb_basic(MPI_INT), 0, c->local_comm);
    // Where both sides say the same, the one with the lower first process comes first.
    const int is_first = !high != !other_high ? !high : c->local->world[0] < c->remote->world[0];
    struct mb_group *group = mb_group_new(c->local->size + c->remote->size);
    const struct mb_group *first = is_first ? c->local : c->remote, *second = is_first ? c->remote : c->local;
    memcpy(group->world, first->world, (size_t)first->size * sizeof(int));
    memcpy(group->world + first->size, second->world, (size_t)second->size * sizeof(int));
    mb_group_finish(group);
    *made = mb_comm_new(c, id, group, group)->handle;
    return MPI_SUCCESS;
}
