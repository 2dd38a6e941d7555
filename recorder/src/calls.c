/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The wrappers of all MPI functions in calls.h. They are called for MPI_ and PMPI_ names (Fortran bindings
 * call either, depending on the library), in whose place place.c puts them. The real function is the library's PMPI_
 * one; a thread's pass (trace.h) keeps calls that MPI makes to itself out.
 */
#define _GNU_SOURCE
#include "completion.h"
#include "messages.h"
#include "start.h"
#include "system.h"
#include "usual.h"

#include <stdlib.h>

const char *const mbr_other_calls[] = {
#define CALL(...)
#define OTHER_CALL(arity, name) "MPI_" #name,
#define NAMED(symbol, name) name,
#include "calls.h"
#undef CALL
#undef OTHER_CALL
    NULL,
};

/* --- communicators and the rest --- */

static void comm_make_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a, (void)role;
    frame->begin = mbr_stamp_begin(thread);
}

static void comm_make_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    const struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    if (error || mbr_handle((mbr_word)mbr_handle_at(a[role->made], 0)) == mbr_handle(mbr_library.comm_null)) {
        append_lost(thread, frame->begin, role->other, end.spans);
        return;
    }
    const uint64_t seed = role->name ? mbr_text_hash((const char *)a[role->name]) : role->tag ? (uint64_t)(uint32_t)a[role->tag] + 1 : 0;
    if (!mbr_comm_made(thread, &frame->begin, &end, (mbr_word)mbr_handle_at(a[role->made], 0), role->orphan ? NULL : &a[0], role->peek,
                       seed))
        append_lost(thread, frame->begin, OTHER_LOST_COMM, end.spans);
}

static void comm_free_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)role;
    frame->begin = mbr_stamp_begin(thread);
    frame->handle = mbr_handle_given(a[0]);
    frame->comm = mbr_comm_leaves(thread, &frame->begin, (mbr_word)frame->handle, &frame->open);
}

/* An attribute of the communicator may forbid to free it. */
static void comm_free_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a;
    if (!frame->comm)
        return;
    const struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    if (error) {
        replace_refused(thread, frame->begin, frame->open.place, role->other, end.spans);
        mbr_comm_stays(frame->comm, (mbr_word)frame->handle);
        return;
    }
    close_spans(frame, &end);
    mbr_comm_left(frame->comm);
}

static void other_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a;
    frame->begin = mbr_stamp_begin(thread);
    frame->open = append_lost(thread, frame->begin, role->other, 0);
    if (role->other == OTHER_Abort)
        mbr_file_abort();
}

static void other_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a, (void)error;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    close_open(frame, &end, role->other);
}

/* The root counts the processes that were started: those of the other side of the new intercommunicator. */
#define spawn_before other_before
static void spawn_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    int rank = -1, started = 0;
    if (!error)
        mbr_library.comm_rank(a[role->comm], &rank);
    if (!error && rank == (int)a[role->root]) {
        const mbr_word children = (mbr_word)mbr_handle_at(a[role->made], 0);
        if (mbr_handle(children) != mbr_handle(mbr_library.comm_null))
            mbr_library.comm_remote_size(children, &started);
    }
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    close_open(frame, &end, role->other | (uint64_t)(uint32_t)started << 32);
}

static void finalize_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a, (void)role;
    frame->begin = mbr_stamp_begin(thread);
    if (!mbr_life_ends()) {
        lost_before(thread, frame, OTHER_ONE_LESS_FINALIZE);
        return;
    }
    struct mbr_record record = record_of(thread, frame->begin, FINALIZE, 0);
    record.aux = mbr_delay_ns();
    mbr_append(thread, record);
    mbr_world_left();
    mbr_file_finalize();
}

static void finalize_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a, (void)role, (void)error;
    lost_after(thread, frame);
}

/* --- the wrappers --- */

#define EXPORT __attribute__((visibility("default")))

#define PARAMETERS_0 void
#define PARAMETERS_1 mbr_word a0
#define PARAMETERS_2 PARAMETERS_1, mbr_word a1
#define PARAMETERS_3 PARAMETERS_2, mbr_word a2
#define PARAMETERS_4 PARAMETERS_3, mbr_word a3
#define PARAMETERS_5 PARAMETERS_4, mbr_word a4
#define PARAMETERS_6 PARAMETERS_5, mbr_word a5
#define PARAMETERS_7 PARAMETERS_6, mbr_word a6
#define PARAMETERS_8 PARAMETERS_7, mbr_word a7
#define PARAMETERS_9 PARAMETERS_8, mbr_word a8
#define PARAMETERS_10 PARAMETERS_9, mbr_word a9
#define PARAMETERS_11 PARAMETERS_10, mbr_word a10
#define PARAMETERS_12 PARAMETERS_11, mbr_word a11
#define PARAMETERS_13 PARAMETERS_12, mbr_word a12
#define NAMES_0
#define NAMES_1 a0
#define NAMES_2 NAMES_1, a1
#define NAMES_3 NAMES_2, a2
#define NAMES_4 NAMES_3, a3
#define NAMES_5 NAMES_4, a4
#define NAMES_6 NAMES_5, a5
#define NAMES_7 NAMES_6, a6
#define NAMES_8 NAMES_7, a7
#define NAMES_9 NAMES_8, a8
#define NAMES_10 NAMES_9, a9
#define NAMES_11 NAMES_10, a10
#define NAMES_12 NAMES_11, a11
#define NAMES_13 NAMES_12, a12
#define ELEMENTS_0
#define ELEMENTS_1 a[0]
#define ELEMENTS_2 ELEMENTS_1, a[1]
#define ELEMENTS_3 ELEMENTS_2, a[2]
#define ELEMENTS_4 ELEMENTS_3, a[3]
#define ELEMENTS_5 ELEMENTS_4, a[4]
#define ELEMENTS_6 ELEMENTS_5, a[5]
#define ELEMENTS_7 ELEMENTS_6, a[6]
#define ELEMENTS_8 ELEMENTS_7, a[7]
#define ELEMENTS_9 ELEMENTS_8, a[8]
#define ELEMENTS_10 ELEMENTS_9, a[9]
#define ELEMENTS_11 ELEMENTS_10, a[10]
#define ELEMENTS_12 ELEMENTS_11, a[11]
#define ELEMENTS_13 ELEMENTS_12, a[12]

/* The MPI library's function. */
static void *target_find(const char *name) {
    void *found = mbr_library_symbol(name);
    if (!found) {
        mbr_warn("%s: not found in this MPI library, but called by the program; run the program with a library that has it", name + 1);
        abort();
    }
    return found;
}

/* NAME_target is the address of the MPI library's function. It initially points to code that looks
 * the function up, so that no call has to test whether this was done. */
#define TARGET(arity, name)                                                                   \
    static int name##_first(PARAMETERS_##arity);                                              \
    static int (*name##_target)(PARAMETERS_##arity) = name##_first;                           \
    static __attribute__((noinline, cold)) int name##_first(PARAMETERS_##arity) {             \
        int (*found)(PARAMETERS_##arity) = (int (*)(PARAMETERS_##arity))target_find("PMPI_" #name); \
        __atomic_store_n(&name##_target, found, __ATOMIC_RELEASE);                            \
        return found(NAMES_##arity);                                                          \
    }
#define TARGET_OF(name) __atomic_load_n(&name##_target, __ATOMIC_RELAXED)

/* Whether a call is recorded although the pass of its thread is not the current generation. */
static __attribute__((noinline)) bool enter_otherwise(struct mbr_thread *thread, uint64_t generation) {
    if (thread->pass & INSIDE || generation & MBR_OFF)
        return false;
    if (thread->pass == NEW && !mbr_thread_setup(thread))
        return false;
    mbr_thread_forget(thread);
    thread->pass = generation;
    return true;
}

/* The thread's state if this call is to be recorded, else null. */
MBR_INLINE struct mbr_thread *enter(void) {
    struct mbr_thread *thread = &mbr_self;
    uint64_t generation = __atomic_load_n(&mbr_generation, __ATOMIC_ACQUIRE);
    if (__builtin_expect(thread->pass != generation, 0) && !enter_otherwise(thread, generation))
        return NULL;
    thread->pass += INSIDE;
    return thread;
}

MBR_INLINE void leave(struct mbr_thread *thread) { thread->pass -= INSIDE; }

/* A wrapper without fast path. */
#define GENERAL(arity, name, family, symbol)                                                  \
    symbol(PARAMETERS_##arity) {                                                              \
        struct mbr_thread *thread = enter();                                                  \
        if (!thread)                                                                          \
            return TARGET_OF(name)(NAMES_##arity);                                            \
        mbr_word a[arity + 1] = {NAMES_##arity};                                              \
        struct frame frame;                                                                   \
        frame.recorded = frame.lost = false; /* other fields are set where they are used: zeroing all costs 10 ns */ \
        frame.request = 0;                                                                    \
        family##_before(thread, &frame, a, &name##_role);                                     \
        int error = TARGET_OF(name)(ELEMENTS_##arity);                                        \
        family##_after(thread, &frame, a, &name##_role, error);                               \
        leave(thread);                                                                        \
        return error;                                                                         \
    }
#define GENERAL_ONLY(arity, name, family) GENERAL(arity, name, family, EXPORT int MPI_##name)

/* A wrapper with fast path. */
#define USUAL(arity, name, family, kind)                                                      \
    GENERAL(arity, name, family, static __attribute__((noinline)) int name##_general)         \
    EXPORT int MPI_##name(PARAMETERS_##arity) {                                               \
        struct mbr_thread *thread = &mbr_self;                                                \
        struct usual usual;                                                                   \
        mbr_word a[7] = {NAMES_##arity};                                                      \
        if (!usual_before(thread, &usual, a, &name##_role, kind))                             \
            return name##_general(NAMES_##arity);                                             \
        int error = TARGET_OF(name)(ELEMENTS_##arity);                                        \
        usual_after(thread, usual, a, &name##_role, kind, error);                             \
        return error;                                                                         \
    }

/* Selects one of the two, by family. */
#define WRAPPER_send(arity, name) USUAL(arity, name, send, SEND)
#define WRAPPER_recv(arity, name) USUAL(arity, name, recv, RECV)
#define WRAPPER_sendrecv(arity, name) GENERAL_ONLY(arity, name, sendrecv)
#define WRAPPER_probe(arity, name) GENERAL_ONLY(arity, name, probe)
#define WRAPPER_mrecv(arity, name) GENERAL_ONLY(arity, name, mrecv)
#define WRAPPER_wait(arity, name) GENERAL_ONLY(arity, name, wait)
#define WRAPPER_cancel(arity, name) GENERAL_ONLY(arity, name, cancel)
#define WRAPPER_request_free(arity, name) GENERAL_ONLY(arity, name, request_free)
#define WRAPPER_start(arity, name) GENERAL_ONLY(arity, name, start)
#define WRAPPER_collective(arity, name) GENERAL_ONLY(arity, name, collective)
#define WRAPPER_partitioned(arity, name) GENERAL_ONLY(arity, name, partitioned)
#define WRAPPER_ready(arity, name) GENERAL_ONLY(arity, name, ready)
#define WRAPPER_arrived(arity, name) GENERAL_ONLY(arity, name, arrived)
#define WRAPPER_comm_make(arity, name) GENERAL_ONLY(arity, name, comm_make)
#define WRAPPER_comm_free(arity, name) GENERAL_ONLY(arity, name, comm_free)
#define WRAPPER_other(arity, name) GENERAL_ONLY(arity, name, other)
#define WRAPPER_spawn(arity, name) GENERAL_ONLY(arity, name, spawn)
#define WRAPPER_finalize(arity, name) GENERAL_ONLY(arity, name, finalize)

#define CALL(arity, name, family, ...)                                                        \
    TARGET(arity, name)                                                                       \
    static const struct role name##_role = {__VA_ARGS__};                                     \
    WRAPPER_##family(arity, name)
#define OTHER_CALL(arity, name) CALL(arity, name, other, .other = OTHER_##name)
#include "calls.h"
CALL(0, Finalize, finalize, .flags = 0)
CALL(1, Session_finalize, finalize, .flags = 0)

/* Starts an initialization: the timestamps of the recording's start, and those of a call if recording has begun. */
static struct mbr_beginning init_before(struct mbr_thread *thread, struct mbr_stamp *begin, bool *timed) {
    *timed = thread->pass != NEW && !(__atomic_load_n(&mbr_generation, __ATOMIC_ACQUIRE) & MBR_OFF);
    if (*timed)
        *begin = mbr_stamp_begin(thread);
    return mbr_beginning_now();
}

/* After the first initialization recording has begun; a further one is a call like others. `session` is the
 * address of the new session, 0 if there is none. */
static void init_after(struct mbr_thread *thread, uint64_t former, const struct mbr_beginning *beginning, const struct mbr_stamp *begin,
                       bool timed, mbr_word session) {
    const enum mbr_life life = mbr_life_begins(beginning, session);
    thread->pass = life == LIFE_FIRST ? FIRST_GENERATION : former;
    if (life != LIFE_FURTHER || !enter())
        return;
    if (timed) {
        struct mbr_end end = mbr_stamp_end(thread, begin);
        append_lost(thread, *begin, OTHER_ONE_MORE_INIT, end.spans);
    } else {
        append_lost(thread, mbr_stamp_begin(thread), OTHER_ONE_MORE_INIT, 0);
    }
    leave(thread);
}

#define INIT_CALL(arity, name, session)                                                       \
    TARGET(arity, name)                                                                       \
    EXPORT int MPI_##name(PARAMETERS_##arity) {                                               \
        struct mbr_thread *thread = &mbr_self;                                                \
        const uint64_t former = thread->pass;                                                 \
        if (former & INSIDE)                                                                  \
            return TARGET_OF(name)(NAMES_##arity);                                            \
        struct mbr_stamp begin;                                                               \
        bool timed;                                                                           \
        struct mbr_beginning beginning = init_before(thread, &begin, &timed);                 \
        thread->pass |= INSIDE;                                                               \
        int error = TARGET_OF(name)(NAMES_##arity);                                           \
        if (error)                                                                            \
            thread->pass = former;                                                            \
        else                                                                                  \
            init_after(thread, former, &beginning, &begin, timed, session);                   \
        return error;                                                                         \
    }
INIT_CALL(2, Init, 0)
INIT_CALL(4, Init_thread, 0)
INIT_CALL(3, Session_init, a2)

/* Not recorded: it invalidates cached datatypes. */
TARGET(1, Type_free)
EXPORT int MPI_Type_free(PARAMETERS_1) {
    __atomic_fetch_add(&mbr_generation, MBR_GENERATION_STEP, __ATOMIC_RELEASE);
    return TARGET_OF(Type_free)(NAMES_1);
}
