// SPDX-License-Identifier: Apache-2.0 OR MIT
// How messages move and match. Two transports: shm.c (software, through queues in shared memory)
// and moped.c (the device, with shm.c below it for back-off).

#ifndef MB_TRANSPORT_H
#define MB_TRANSPORT_H

#include "internal.h"

struct mb_transport {
    const char *name;
    void (*start)(void);
    void (*end)(void);
    // Both may complete the request at once; mb_complete is called exactly once for each.
    void (*send)(struct mb_request *request);
    void (*receive)(struct mb_request *request);
    // Returns whether anything happened.
    int (*progress)(void);
    // Begins to cancel; a request that is cancelled completes with status.mb_cancelled.
    void (*cancel)(struct mb_request *request);
    // Whether a message was found; if `message` is not NULL it is taken.
    int (*probe)(int context, int source, int tag, MPI_Status *status, struct mb_message *message);
    // Receives a message that a matched probe has taken.
    void (*receive_message)(struct mb_request *request, struct mb_message *message);
    // The process waits for this request alone. NULL: nothing to do.
    void (*stalled)(struct mb_request *request);
    // A request with a `number` is complete.
    void (*received)(struct mb_request *request);
};

extern const struct mb_transport mb_shm, mb_moped;

// The head of the shared segment. Each counter has a cache line of its own.
struct mb_shared_line {
    _Alignas(64) _Atomic uint32_t value;
};
struct mb_shared {
    struct mb_shared_line aborted, finished;
    struct mb_shared_line episode; // transport moped: number of the last back-off, from 1
    struct mb_shared_line ready;   // ranks that were ready to return, over all back-offs
    struct mb_shared_line resumed; // the last back-off that has ended
    struct mb_shared_line arrived; // ranks in the barrier of the literal form, over all barriers
    struct mb_shared_line refusals, revocations, returns; // counters for tests
};
extern struct mb_shared *mb_shared;

// The software scheme, as transport moped uses it.
void mb_shm_start(void);
void mb_shm_end(void);
void mb_shm_send(struct mb_request *request);
void mb_shm_receive(struct mb_request *request);
int mb_shm_progress(void);
void mb_shm_cancel(struct mb_request *request);
int mb_shm_probe(int context, int source, int tag, MPI_Status *status, struct mb_message *message);
void mb_shm_receive_message(struct mb_request *request, struct mb_message *message);
// Receives an unexpected message if there is one that the request accepts.
int mb_shm_receive_unexpected(struct mb_request *request);
// Removes and returns the oldest posted receive, NULL if there is none.
struct mb_request *mb_shm_take_posted(void);
// A marker behind all earlier packets to each other rank.
void mb_shm_send_markers(uint32_t episode);
// Tells the receiver that a message was cancelled which it may have probed.
void mb_shm_send_withdrawn(const struct mb_request *request);
// Whether everything that was sent has left this process.
int mb_shm_is_idle(void);
// Called before a packet is handled, and with each marker that arrives.
extern void (*mb_shm_before_packet)(void);
extern void (*mb_shm_marker)(int from, uint32_t episode);
// Called when a message that a probe may have found was cancelled. NULL in transport shm.
extern void (*mb_shm_withdrawn)(int context, int source, int tag);

// Sets status, error and limit of a receive that matched.
void mb_matched(struct mb_request *receive, int source, int tag, uint64_t bytes);
size_t mb_option_number(const char *name, size_t otherwise, size_t least, size_t most);

#endif
