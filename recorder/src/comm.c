/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The identity of a communicator is a hash of its parent's identity, a tag, the world ranks of its
 * group or groups, and the number of earlier communicators with the same data in this process. All
 * members have the same data: MPI requires them to create communicators of one parent in one order;
 * where it does not (MPI_Comm_create_group, MPI_Intercomm_create), the hash covers all members of
 * the group and the tag. Spec: spec/trace.md, section 6.
 */
#include "comm.h"

#include "tables.h"

#include <string.h>

static const uint64_t identity_bit = UINT64_C(1) << 63;

static mbr_word world_group;
static uint32_t comms_made;
static struct mbr_lock make_lock;

/* A communicator, followed by its counters of sends. */
static size_t pages_of(int peers) { return sizeof(struct mbr_comm) + (size_t)peers * sizeof(uint64_t); }

static struct mbr_record comm_record(struct mbr_thread *thread, const struct mbr_stamp *begin, uint8_t kind, uint32_t number) {
    return (struct mbr_record){.kind = kind,
                               .flags = begin->carried,
                               .origin = thread->origin | mbr_origin(0, number),
                               .wall_ns = begin->wall_ns,
                               .cpu_ns = begin->cpu_ns};
}

/* World ranks of a group as runs of two words: first | stride << 32, length. Returns the number of
 * words. */
static uint64_t runs_of(const int *ranks, int count, uint64_t *words) {
    uint64_t used = 0;
    for (int at = 0; at < count;) {
        int length = 1;
        int64_t stride = at + 1 < count ? (int64_t)ranks[at + 1] - ranks[at] : 0;
        while (at + length < count && (int64_t)ranks[at + length] - ranks[at + length - 1] == stride)
            length++;
        words[used++] = (uint32_t)ranks[at] | (uint64_t)(uint32_t)(length > 1 ? stride : 0) << 32;
        words[used++] = (uint64_t)length;
        at += length;
    }
    return used;
}

/* Writes the world ranks of `group` to `ranks`; `scratch` has the same size. False if a member is
 * outside of the world. */
static bool world_ranks(mbr_word group, int count, int *ranks, int *scratch) {
    for (int i = 0; i < count; i++)
        scratch[i] = i;
    mbr_library.group_translate_ranks(group, count, scratch, world_group, ranks);
    for (int i = 0; i < count; i++)
        if (ranks[i] < 0)
            return false;
    return true;
}

static uint64_t hash_words(uint64_t hash, const uint64_t *words, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        hash = mbr_mix(hash ^ words[i]) + i;
    return hash;
}

enum { CARTESIAN = 1, GRAPH, DISTRIBUTED_GRAPH }; /* as the trace numbers topologies */

struct mbr_topology mbr_comm_topology(mbr_word handle, int rank) {
    const struct mbr_library *lib = &mbr_library;
    struct mbr_topology topology = {0};
    int kind = 0, weighted, dimensions = 0;
    lib->topo_test(handle, &kind);
    if (kind == lib->cart && lib->cart_shift) {
        lib->cartdim_get(handle, &dimensions);
        topology = (struct mbr_topology){CARTESIAN, 2 * dimensions, 2 * dimensions};
    } else if (kind == lib->graph && lib->graph_neighbors) {
        topology.form = GRAPH;
        lib->graph_neighbors_count(handle, rank, &topology.sources);
        topology.destinations = topology.sources;
    } else if (kind == lib->dist_graph && lib->dist_graph_neighbors) {
        topology.form = DISTRIBUTED_GRAPH;
        lib->dist_graph_neighbors_count(handle, &topology.sources, &topology.destinations, &weighted);
    }
    return topology;
}

/* Fills `sources` and `destinations` with ranks of the communicator, or constants of MPI; `weights` has room for
 * both. */
static void neighbors_of(mbr_word handle, int rank, const struct mbr_topology *topology, int *sources, int *destinations, int *weights) {
    const int in = topology->sources, out = topology->destinations;
    if (topology->form == CARTESIAN) {
        for (int dimension = 0; 2 * dimension < in; dimension++)
            mbr_library.cart_shift(handle, dimension, 1, &sources[2 * dimension], &sources[2 * dimension + 1]);
    } else if (topology->form == GRAPH) {
        mbr_library.graph_neighbors(handle, rank, in, sources);
    } else {
        mbr_library.dist_graph_neighbors(handle, in, sources, weights, out, destinations, weights + in);
        return;
    }
    memcpy(destinations, sources, (size_t)out * sizeof *destinations);
}

/* The Topology of a communicator that has this Comm, with words in the thread's memory; false if it has none. */
static bool topology_group(struct mbr_thread *thread, const struct mbr_record *comm, mbr_word handle, int rank,
                           struct mbr_group *group) {
    const struct mbr_topology topology = mbr_comm_topology(handle, rank);
    const size_t count = (size_t)(topology.sources + topology.destinations);
    if (!topology.form)
        return false;
    uint64_t *words = mbr_buffer_fit(&thread->words, (count + 1) * (sizeof *words + 2 * sizeof(int)));
    if (!words)
        return false;
    int *ranks = (int *)(words + count);
    neighbors_of(handle, rank, &topology, ranks, ranks + topology.sources, ranks + count);
    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)mbr_peer((mbr_word)ranks[i]);
    group->head = *comm;
    group->head.kind = TOPOLOGY;
    group->head.spans = 0;
    group->head.aux = (uint64_t)topology.form;
    group->head.peer = topology.sources;
    group->head.tag = topology.destinations;
    group->head.bytes = group->count = count;
    group->words = words;
    return true;
}

/* Gives a communicator its local number and writes its record; null when out of memory. `words` are its
 * groups, `known` the properties that calls need; its handle is not in the table yet. `shape` is a communicator with
 * its topology, if it can have one. */
static struct mbr_comm *enroll(struct mbr_thread *thread, struct mbr_record record, struct mbr_comm known, int64_t remote,
                               const uint64_t *words, uint64_t count, const mbr_word *shape) {
    struct mbr_comm *comm = mbr_pages_map(pages_of((int)known.peers));
    if (!comm) {
        mbr_stop("out of memory");
        return NULL;
    }
    *comm = known;
    comm->sent = (uint64_t *)(comm + 1);
    comm->number = comms_made++;
    record.origin |= mbr_origin(0, comm->number);
    record.aux = known.identity;
    record.tag = (int32_t)known.size;
    record.peer = (int32_t)remote;
    record.bytes = count;
    const struct mbr_group groups = {record, words, count};
    struct mbr_group topology;
    if (shape && topology_group(thread, &record, *shape, comm->rank, &topology))
        mbr_put_both(thread, &groups, &topology);
    else
        mbr_put_words(thread, record, words, count);
    return comm;
}

/* Calls on `handle` find `comm` from now on. The caller holds `mbr_lock`. */
static void announce(struct mbr_comm *comm, mbr_word handle) {
    struct mbr_entry *entry = mbr_entry_push(mbr_handle(handle) | MBR_COMM_KEY);
    if (entry) {
        entry->use.kind = COMM;
        entry->as_comm = comm;
    }
}

/* Queries MPI for `shape` and records it as the communicator `handle`; false if it has members outside
 * of the world. */
static bool record_comm(struct mbr_thread *thread, struct mbr_record record, mbr_word handle, mbr_word shape, uint64_t seed) {
    int inter = 0, size = 0, remote = 0, rank = 0;
    mbr_word group = 0, remote_group = 0;
    mbr_library.comm_test_inter(shape, &inter);
    mbr_library.comm_size(shape, &size);
    mbr_library.comm_rank(shape, &rank);
    if (inter)
        mbr_library.comm_remote_size(shape, &remote);
    int *ranks = mbr_buffer_fit(&thread->words, 2 * (size_t)(size > remote ? size : remote) * sizeof(int));
    uint64_t *words = mbr_buffer_fit(&thread->statuses, 2 * (size_t)(size + remote) * sizeof *words);
    if (!ranks || !words) {
        mbr_stop("out of memory");
        return true;
    }

    mbr_library.comm_group(shape, &group);
    bool known = world_ranks(group, size, ranks, ranks + (size > remote ? size : remote));
    mbr_library.group_free(&group);
    uint64_t local_words = runs_of(ranks, size, words), all_words = local_words;
    if (inter && known) {
        mbr_library.comm_remote_group(shape, &remote_group);
        known = world_ranks(remote_group, remote, ranks, ranks + (size > remote ? size : remote));
        mbr_library.group_free(&remote_group);
        all_words += runs_of(ranks, remote, words + local_words);
    }
    if (!known)
        return false;

    /* The two sides of an intercommunicator see the groups swapped: add the hashes. */
    uint64_t groups = hash_words(1, words, local_words);
    if (inter)
        groups += hash_words(1, words + local_words, all_words - local_words);
    uint64_t key = mbr_mix(seed ^ groups) | identity_bit;

    mbr_lock_take(&make_lock); /* local numbers count up in the order of the records */
    mbr_lock_take(&mbr_lock);
    uint64_t identity = mbr_mix(key + mbr_counter_next(key)) | identity_bit;
    mbr_lock_drop(&mbr_lock);
    struct mbr_comm made = {
        .identity = identity,
        .size = (uint32_t)size,
        .peers = (uint32_t)(inter ? remote : size),
        .rank = rank,
        .inter = inter,
    };
    struct mbr_comm *comm = enroll(thread, record, made, inter ? remote : -1, words, all_words, inter ? NULL : &shape);
    mbr_lock_take(&mbr_lock);
    if (comm)
        announce(comm, handle);
    mbr_lock_drop(&mbr_lock);
    mbr_lock_drop(&make_lock);
    return true;
}

/* --- the world --- */

/* MPI_COMM_WORLD and MPI_COMM_SELF. */
static struct mbr_comm *predefined[2];

bool mbr_world_find(mbr_word session, int *rank, int *size) {
    if (!session) {
        mbr_library.comm_group(mbr_library.comm_world, &world_group);
    } else {
        const mbr_word handle = (mbr_word)mbr_handle_at(session, 0);
        if (!mbr_library.group_from_session_pset || mbr_library.group_from_session_pset(handle, "mpi://WORLD", &world_group))
            return false;
    }
    return !mbr_library.group_rank(world_group, rank) && !mbr_library.group_size(world_group, size);
}

bool mbr_comms_setup(struct mbr_thread *thread, struct mbr_stamp stamp, int world) {
    const struct mbr_record record = comm_record(thread, &stamp, COMM, 0);
    const uint64_t everyone[2] = {world > 1 ? UINT64_C(1) << 32 : 0, (uint64_t)world}, me[2] = {(uint64_t)mbr_rank, 1};
    const struct mbr_comm shape = {.size = (uint32_t)world, .peers = (uint32_t)world, .rank = mbr_rank};
    const struct mbr_comm self = {.identity = 1 + (uint64_t)mbr_rank, .size = 1, .peers = 1};
    predefined[0] = enroll(thread, record, shape, -1, everyone, 2, NULL);
    predefined[1] = enroll(thread, record, self, -1, me, 2, NULL);
    return predefined[0] && predefined[1];
}

void mbr_world_joined(void) {
    int rank = -1, size = 0;
    mbr_library.comm_rank(mbr_library.comm_world, &rank);
    mbr_library.comm_size(mbr_library.comm_world, &size);
    if (!predefined[0] || rank != mbr_rank || (uint32_t)size != predefined[0]->size)
        return; /* not the processes of mpi://WORLD: calls on it are counted as not recorded */
    mbr_lock_take(&mbr_lock);
    announce(predefined[0], mbr_library.comm_world);
    announce(predefined[1], mbr_library.comm_self);
    mbr_lock_drop(&mbr_lock);
}

void mbr_world_left(void) { mbr_library.group_free(&world_group); }

bool mbr_comm_search(struct mbr_thread *thread, mbr_word word) {
    mbr_lock_take(&mbr_lock);
    const struct mbr_entry *entry = mbr_entry_oldest(mbr_handle(word) | MBR_COMM_KEY);
    if (entry) {
        thread->comm = *entry->as_comm;
        thread->comm.origin = thread->origin | mbr_origin(0, thread->comm.number);
        thread->comm_word = word;
    }
    mbr_lock_drop(&mbr_lock);
    return entry;
}

bool mbr_comm_made(struct mbr_thread *thread, const struct mbr_stamp *begin, const struct mbr_end *end, mbr_word handle,
                   const mbr_word *parent, bool like, uint64_t seed) {
    if (mbr_handle(handle) == mbr_handle(mbr_library.comm_null) || !mbr_handle(handle))
        return true;
    if (parent) {
        const struct mbr_comm *found = mbr_comm_find(thread, *parent);
        if (!found)
            return false;
        seed ^= mbr_mix(found->identity + 1);
    }
    struct mbr_record record = comm_record(thread, begin, COMM, 0);
    record.spans = end->spans;
    return record_comm(thread, record, handle, like ? *parent : handle, seed);
}

struct mbr_comm *mbr_comm_leaves(struct mbr_thread *thread, const struct mbr_stamp *begin, mbr_word word, struct mbr_open *open) {
    const struct mbr_comm *found = mbr_comm_find(thread, word);
    if (!found || found->number < 2)
        return NULL;
    struct mbr_comm *comm = NULL;
    const uint64_t key = mbr_handle(word) | MBR_COMM_KEY;
    mbr_lock_take(&mbr_lock);
    const struct mbr_entry *entry = mbr_entry_oldest(key);
    if (entry) {
        comm = entry->as_comm;
        mbr_entry_pop(key);
    }
    mbr_lock_drop(&mbr_lock);
    __atomic_fetch_add(&mbr_generation, MBR_GENERATION_STEP, __ATOMIC_RELEASE);
    if (comm)
        *open = mbr_append(thread, comm_record(thread, begin, COMM_FREE, comm->number));
    return comm;
}

void mbr_comm_left(struct mbr_comm *comm) { mbr_pages_unmap(comm, pages_of((int)comm->peers)); }

void mbr_comm_stays(struct mbr_comm *comm, mbr_word handle) {
    mbr_lock_take(&mbr_lock);
    announce(comm, handle);
    mbr_lock_drop(&mbr_lock);
}
