/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Every recorded MPI function, one line each: CALL(arguments, name, family, role...). A family
 * (calls.c) is the code before and after the call; the role gives the positions of arguments (from
 * 0) where members of a family differ. WIDE also defines the large-count form NAME_c. No include
 * guard: included once per use, with CALL defined by the includer.
 */

#define WIDE(arity, name, family, ...)          \
    CALL(arity, name, family, __VA_ARGS__)      \
    CALL(arity, name##_c, family, .wide = 1, __VA_ARGS__)

/* The blocking, nonblocking and persistent form of a collective; `next` and `last` are arity + 1
 * and + 2. */
#define COLLECTIVE_PLAIN(form, arity, next, last, name, iname, ...)                                              \
    form(arity, name, collective, .flags = BLOCKING, __VA_ARGS__)                                                \
    form(next, iname, collective, .request = arity, __VA_ARGS__)                                                 \
    form(last, name##_init, collective, .request = next, .persistent = 1, __VA_ARGS__)

/* --- sends and receives: (buffer, count, type, peer, tag, communicator [, request or status]) ---
 */
WIDE(6, Send, send, .flags = BLOCKING)
WIDE(6, Bsend, send, .flags = BLOCKING | BUFFERED)
WIDE(6, Ssend, send, .flags = BLOCKING | SYNCHRONOUS)
WIDE(6, Rsend, send, .flags = BLOCKING | READY)
WIDE(7, Isend, send, .flags = 0)
WIDE(7, Ibsend, send, .flags = BUFFERED)
WIDE(7, Issend, send, .flags = SYNCHRONOUS)
WIDE(7, Irsend, send, .flags = READY)
WIDE(7, Send_init, send, .persistent = 1)
WIDE(7, Bsend_init, send, .flags = BUFFERED, .persistent = 1)
WIDE(7, Ssend_init, send, .flags = SYNCHRONOUS, .persistent = 1)
WIDE(7, Rsend_init, send, .flags = READY, .persistent = 1)
WIDE(7, Recv, recv, .flags = BLOCKING)
WIDE(7, Irecv, recv, .flags = 0)
WIDE(7, Recv_init, recv, .persistent = 1)

/* `recv`: positions of count, type, source and tag of the receiving half. */
WIDE(12, Sendrecv, sendrecv, .flags = BLOCKING, .recv = {6, 7, 8, 9}, .comm = 10, .status = 11)
WIDE(9, Sendrecv_replace, sendrecv, .flags = BLOCKING, .recv = {1, 2, 5, 6}, .comm = 7, .status = 8)
WIDE(12, Isendrecv, sendrecv, .recv = {6, 7, 8, 9}, .comm = 10, .request = 11)
WIDE(9, Isendrecv_replace, sendrecv, .recv = {1, 2, 5, 6}, .comm = 7, .request = 8)

/* --- probes: (source, tag, communicator [, flag] [, message], status) --- */
CALL(4, Probe, probe, .flags = BLOCKING, .status = 3)
CALL(5, Iprobe, probe, .flag = 3, .status = 4)
CALL(5, Mprobe, probe, .flags = BLOCKING | MATCHED, .message = 3, .status = 4)
CALL(6, Improbe, probe, .flags = MATCHED, .flag = 3, .message = 4, .status = 5)
WIDE(5, Mrecv, mrecv, .flags = BLOCKING)
WIDE(5, Imrecv, mrecv, .flags = 0)

/* --- completion --- */
CALL(2, Wait, wait, .flags = BLOCKING, .form = ONE, .requests = 0, .status = 1)
CALL(3, Test, wait, .form = ONE, .requests = 0, .flag = 1, .status = 2)
CALL(3, Waitall, wait, .flags = BLOCKING, .form = ALL, .requests = 1, .status = 2)
CALL(4, Testall, wait, .form = ALL, .requests = 1, .flag = 2, .status = 3)
CALL(4, Waitany, wait, .flags = BLOCKING, .form = ANY, .requests = 1, .index = 2, .status = 3)
CALL(5, Testany, wait, .form = ANY, .requests = 1, .index = 2, .flag = 3, .status = 4)
CALL(5, Waitsome, wait, .flags = BLOCKING, .form = SOME, .requests = 1, .count = 2, .index = 3, .status = 4)
CALL(5, Testsome, wait, .form = SOME, .requests = 1, .count = 2, .index = 3, .status = 4)
CALL(3, Request_get_status, wait, .form = ONE, .peek = 1, .by_value = 1, .requests = 0, .flag = 1, .status = 2)
CALL(4, Request_get_status_all, wait, .form = ALL, .peek = 1, .requests = 1, .flag = 2, .status = 3)
CALL(5, Request_get_status_any, wait, .form = ANY, .peek = 1, .requests = 1, .index = 2, .flag = 3, .status = 4)
CALL(5, Request_get_status_some, wait, .form = SOME, .peek = 1, .requests = 1, .count = 2, .index = 3, .status = 4)
CALL(1, Cancel, cancel, .flags = 0)
CALL(1, Request_free, request_free, .flags = 0)
CALL(1, Start, start, .form = ONE, .requests = 0)
CALL(2, Startall, start, .form = ALL, .requests = 1)

/* --- collectives: each side is (buffer, count or counts, type or types, how the sizes are given)
 * --- */
#define COLLECTIVE(...) COLLECTIVE_PLAIN(WIDE, __VA_ARGS__)
COLLECTIVE_PLAIN(CALL, 1, 2, 3, Barrier, Ibarrier, .operation = BARRIER, .comm = 0)
COLLECTIVE(5, 6, 7, Bcast, Ibcast, .operation = BCAST, .root = 3, .comm = 4, .sent = {NO_BUFFER, 1, 2, ONE_SIZE},
           .received = {NO_BUFFER, 1, 2, ONE_SIZE})
COLLECTIVE(7, 8, 9, Reduce, Ireduce, .operation = REDUCE, .root = 5, .comm = 6, .sent = {NO_BUFFER, 2, 3, ONE_SIZE},
           .received = {NO_BUFFER, 2, 3, ONE_SIZE})
COLLECTIVE(6, 7, 8, Allreduce, Iallreduce, .operation = ALLREDUCE, .comm = 5, .sent = {NO_BUFFER, 2, 3, ONE_SIZE},
           .received = {NO_BUFFER, 2, 3, ONE_SIZE})
COLLECTIVE(6, 7, 8, Scan, Iscan, .operation = SCAN, .comm = 5, .sent = {NO_BUFFER, 2, 3, ONE_SIZE},
           .received = {NO_BUFFER, 2, 3, ONE_SIZE})
COLLECTIVE(6, 7, 8, Exscan, Iexscan, .operation = EXSCAN, .comm = 5, .sent = {NO_BUFFER, 2, 3, ONE_SIZE},
           .received = {NO_BUFFER, 2, 3, ONE_SIZE})
COLLECTIVE(8, 9, 10, Gather, Igather, .operation = GATHER, .root = 6, .comm = 7, .sent = {0, 1, 2, ONE_SIZE},
           .received = {3, 4, 5, ONE_SIZE})
COLLECTIVE(9, 10, 11, Gatherv, Igatherv, .operation = GATHER, .root = 7, .comm = 8, .sent = {0, 1, 2, ONE_SIZE},
           .received = {3, 4, 6, COUNTS})
COLLECTIVE(8, 9, 10, Scatter, Iscatter, .operation = SCATTER, .root = 6, .comm = 7, .sent = {0, 1, 2, ONE_SIZE},
           .received = {3, 4, 5, ONE_SIZE})
COLLECTIVE(9, 10, 11, Scatterv, Iscatterv, .operation = SCATTER, .root = 7, .comm = 8, .sent = {0, 1, 3, COUNTS},
           .received = {4, 5, 6, ONE_SIZE})
COLLECTIVE(7, 8, 9, Allgather, Iallgather, .operation = ALLGATHER, .comm = 6, .sent = {0, 1, 2, ONE_SIZE},
           .received = {3, 4, 5, ONE_SIZE})
COLLECTIVE(8, 9, 10, Allgatherv, Iallgatherv, .operation = ALLGATHER, .comm = 7, .sent = {0, 1, 2, ONE_SIZE},
           .received = {3, 4, 6, COUNTS})
COLLECTIVE(7, 8, 9, Alltoall, Ialltoall, .operation = ALLTOALL, .comm = 6, .sent = {0, 1, 2, ONE_SIZE},
           .received = {3, 4, 5, ONE_SIZE})
COLLECTIVE(9, 10, 11, Alltoallv, Ialltoallv, .operation = ALLTOALL, .comm = 8, .sent = {0, 1, 3, COUNTS},
           .received = {4, 5, 7, COUNTS})
COLLECTIVE(9, 10, 11, Alltoallw, Ialltoallw, .operation = ALLTOALL, .comm = 8, .sent = {0, 1, 3, COUNTS_AND_TYPES},
           .received = {4, 5, 7, COUNTS_AND_TYPES})
COLLECTIVE(6, 7, 8, Reduce_scatter, Ireduce_scatter, .operation = REDUCE_SCATTER, .comm = 5,
           .received = {NO_BUFFER, 2, 3, COUNTS})
COLLECTIVE(6, 7, 8, Reduce_scatter_block, Ireduce_scatter_block, .operation = REDUCE_SCATTER, .comm = 5,
           .received = {NO_BUFFER, 2, 3, ONE_SIZE})
COLLECTIVE(7, 8, 9, Neighbor_allgather, Ineighbor_allgather, .operation = NEIGHBOR_ALLGATHER, .comm = 6,
           .sent = {0, 1, 2, ONE_SIZE}, .received = {3, 4, 5, ONE_SIZE})
COLLECTIVE(8, 9, 10, Neighbor_allgatherv, Ineighbor_allgatherv, .operation = NEIGHBOR_ALLGATHER, .comm = 7,
           .sent = {0, 1, 2, ONE_SIZE}, .received = {3, 4, 6, COUNTS})
COLLECTIVE(7, 8, 9, Neighbor_alltoall, Ineighbor_alltoall, .operation = NEIGHBOR_ALLTOALL, .comm = 6,
           .sent = {0, 1, 2, ONE_SIZE}, .received = {3, 4, 5, ONE_SIZE})
COLLECTIVE(9, 10, 11, Neighbor_alltoallv, Ineighbor_alltoallv, .operation = NEIGHBOR_ALLTOALL, .comm = 8,
           .sent = {0, 1, 3, COUNTS}, .received = {4, 5, 7, COUNTS})
COLLECTIVE(9, 10, 11, Neighbor_alltoallw, Ineighbor_alltoallw, .operation = NEIGHBOR_ALLTOALL, .comm = 8,
           .sent = {0, 1, 3, COUNTS_AND_TYPES}, .received = {4, 5, 7, COUNTS_AND_TYPES})

/* NAMED gives the name of an Other that is not a function of the last list, with a number in the order of both
 * (spec/trace.md, section 9) */
#ifndef NAMED
#define NAMED(symbol, name)
#endif

/* --- communicators; argument 0 is the parent, except for orphans, whose members have no common
 * one; with `peek` the new one has its parent's members and cannot be asked yet. A call that makes or frees none is an
 * Other --- */
#define MAKER(arity, name, ...)                                     \
    CALL(arity, name, comm_make, .other = OTHER_##name, __VA_ARGS__) \
    NAMED(name, "MPI_" #name)
MAKER(2, Comm_dup, .made = 1)
MAKER(3, Comm_dup_with_info, .made = 2)
MAKER(3, Comm_idup, .made = 1, .peek = 1)
MAKER(4, Comm_idup_with_info, .made = 2, .peek = 1)
MAKER(3, Comm_create, .made = 2)
MAKER(4, Comm_create_group, .made = 3, .tag = 2)
MAKER(4, Comm_split, .made = 3)
MAKER(5, Comm_split_type, .made = 4)
MAKER(6, Cart_create, .made = 5)
MAKER(3, Cart_sub, .made = 2)
MAKER(6, Graph_create, .made = 5)
MAKER(9, Dist_graph_create, .made = 8)
MAKER(10, Dist_graph_create_adjacent, .made = 9)
MAKER(6, Intercomm_create, .made = 5, .tag = 4, .orphan = 1)
MAKER(5, Comm_create_from_group, .made = 4, .name = 1, .orphan = 1)
MAKER(8, Intercomm_create_from_groups, .made = 7, .name = 4, .orphan = 1)
MAKER(3, Intercomm_merge, .made = 2)
CALL(1, Comm_free, comm_free, .other = OTHER_Comm_free)
NAMED(Comm_free, "MPI_Comm_free")
CALL(1, Comm_disconnect, comm_free, .other = OTHER_Comm_disconnect)
NAMED(Comm_disconnect, "MPI_Comm_disconnect")

/* --- the rest that communicates: written as Other, with a number in the order of this list --- */
#define OTHER_WIDE(arity, name) OTHER_CALL(arity, name) OTHER_CALL(arity, name##_c)
OTHER_CALL(2, Abort)
CALL(8, Comm_spawn, spawn, .other = OTHER_SPAWN, .comm = 5, .root = 4, .made = 6)
NAMED(SPAWN, "MPI_Comm_spawn")
CALL(9, Comm_spawn_multiple, spawn, .other = OTHER_SPAWN_MULTIPLE, .comm = 6, .root = 5, .made = 7)
NAMED(SPAWN_MULTIPLE, "MPI_Comm_spawn_multiple")
OTHER_CALL(5, Comm_accept)
OTHER_CALL(5, Comm_connect)
OTHER_CALL(2, Comm_join)
CALL(9, Psend_init, partitioned, .operation = SEND)
CALL(9, Precv_init, partitioned, .operation = RECV)
CALL(2, Pready, ready, .other = OTHER_PREADY, .form = ONE, .request = 1)
NAMED(PREADY, "MPI_Pready")
CALL(3, Pready_range, ready, .other = OTHER_PREADY_RANGE, .form = SOME, .request = 2)
NAMED(PREADY_RANGE, "MPI_Pready_range")
CALL(3, Pready_list, ready, .other = OTHER_PREADY_LIST, .form = ALL, .request = 2)
NAMED(PREADY_LIST, "MPI_Pready_list")
CALL(3, Parrived, arrived, .other = OTHER_PARRIVED)
NAMED(PARRIVED, "MPI_Parrived")
OTHER_CALL(5, Grequest_start)
OTHER_CALL(1, Grequest_complete)
OTHER_WIDE(6, Win_create)
OTHER_WIDE(6, Win_allocate)
OTHER_WIDE(6, Win_allocate_shared)
OTHER_CALL(3, Win_create_dynamic)
OTHER_CALL(3, Win_attach)
OTHER_CALL(2, Win_detach)
OTHER_CALL(1, Win_free)
OTHER_CALL(2, Win_fence)
OTHER_CALL(3, Win_start)
OTHER_CALL(1, Win_complete)
OTHER_CALL(3, Win_post)
OTHER_CALL(1, Win_wait)
OTHER_CALL(2, Win_test)
OTHER_CALL(4, Win_lock)
OTHER_CALL(2, Win_unlock)
OTHER_CALL(2, Win_lock_all)
OTHER_CALL(1, Win_unlock_all)
OTHER_CALL(2, Win_flush)
OTHER_CALL(1, Win_flush_all)
OTHER_CALL(2, Win_flush_local)
OTHER_CALL(1, Win_flush_local_all)
OTHER_CALL(1, Win_sync)
OTHER_WIDE(8, Put)
OTHER_WIDE(8, Get)
OTHER_WIDE(9, Accumulate)
OTHER_WIDE(12, Get_accumulate)
OTHER_CALL(7, Fetch_and_op)
OTHER_CALL(7, Compare_and_swap)
OTHER_WIDE(9, Rput)
OTHER_WIDE(9, Rget)
OTHER_WIDE(10, Raccumulate)
OTHER_WIDE(13, Rget_accumulate)
OTHER_CALL(5, File_open)
OTHER_CALL(1, File_close)
OTHER_CALL(2, File_delete)
OTHER_CALL(2, File_set_size)
OTHER_CALL(2, File_preallocate)
OTHER_CALL(6, File_set_view)
OTHER_CALL(3, File_seek)
OTHER_CALL(3, File_seek_shared)
OTHER_CALL(1, File_sync)
OTHER_WIDE(5, File_read)
OTHER_WIDE(5, File_read_all)
OTHER_WIDE(6, File_read_at)
OTHER_WIDE(6, File_read_at_all)
OTHER_WIDE(5, File_read_shared)
OTHER_WIDE(5, File_read_ordered)
OTHER_WIDE(5, File_write)
OTHER_WIDE(5, File_write_all)
OTHER_WIDE(6, File_write_at)
OTHER_WIDE(6, File_write_at_all)
OTHER_WIDE(5, File_write_shared)
OTHER_WIDE(5, File_write_ordered)
OTHER_WIDE(5, File_iread)
OTHER_WIDE(5, File_iread_all)
OTHER_WIDE(6, File_iread_at)
OTHER_WIDE(6, File_iread_at_all)
OTHER_WIDE(5, File_iread_shared)
OTHER_WIDE(5, File_iwrite)
OTHER_WIDE(5, File_iwrite_all)
OTHER_WIDE(6, File_iwrite_at)
OTHER_WIDE(6, File_iwrite_at_all)
OTHER_WIDE(5, File_iwrite_shared)
OTHER_WIDE(4, File_read_all_begin)
OTHER_WIDE(5, File_read_at_all_begin)
OTHER_WIDE(4, File_read_ordered_begin)
OTHER_CALL(3, File_read_all_end)
OTHER_CALL(3, File_read_at_all_end)
OTHER_CALL(3, File_read_ordered_end)
OTHER_WIDE(4, File_write_all_begin)
OTHER_WIDE(5, File_write_at_all_begin)
OTHER_WIDE(4, File_write_ordered_begin)
OTHER_CALL(3, File_write_all_end)
OTHER_CALL(3, File_write_at_all_end)
OTHER_CALL(3, File_write_ordered_end)
NAMED(LOST_SEND, "send on a communicator that is not recorded")
NAMED(LOST_RECEIVE, "receive on a communicator that is not recorded")
NAMED(LOST_PROBE, "probe on a communicator that is not recorded")
NAMED(LOST_COLLECTIVE, "collective on a communicator that is not recorded")
NAMED(LOST_START, "start of a request that is not recorded")
NAMED(LOST_COMM, "communicator that is not recorded")
NAMED(REFUSED_SEND, "send that MPI refused")
NAMED(REFUSED_RECEIVE, "receive that MPI refused")
NAMED(REFUSED_PROBE, "probe that MPI refused")
NAMED(REFUSED_COLLECTIVE, "collective that MPI refused")
NAMED(ONE_MORE_INIT, "MPI_Init or MPI_Session_init beside another one")
NAMED(ONE_LESS_FINALIZE, "MPI_Finalize or MPI_Session_finalize before the last one")

#undef WIDE
#undef MAKER
#undef COLLECTIVE
#undef COLLECTIVE_PLAIN
#undef OTHER_WIDE
#undef NAMED
