// SPDX-License-Identifier: Apache-2.0 OR MIT
// Back-off from the device into the software scheme, and the return from it (Gu et al. 4.4).
//
// Back-offs are numbered in the shared segment. The process that is refused, or finds a descriptor
// revoked, raises the number before it uses software; each process compares the number before it
// handles a packet. It then has each of its descriptors decided: those that matched stay with the
// device, the others move to software in their order, before anything that is newer. Nothing matches
// in the device meanwhile (moped.h), so that what moved cannot be overtaken there.
//
// Return. A process is ready when it has no descriptor left. The last one to be ready ends the
// device's back-off. From then on a process sends by the device, after a marker in the software queue
// to each other process. A process that has the markers of all others has all messages of software:
// it gives the receives that are still posted to the device, in their order, and new ones after them;
// a new receive takes an unexpected message of software first, because it is older. No process waits.
//
// The published form (MB_MPI_BACKOFF=literal) moves each descriptor when it is polled, and ends with a
// barrier of the processes that saw the back-off. It breaks the order of messages and can deadlock:
// tests/literal_order.c and tests/literal_deadlock.c.

#include "device.h"

// Software requests that do not delay the return.
enum { FEW = 4 };

static uint32_t episode, markers, literal_barriers;
static int sends_in_software, receives_in_software, is_ready, is_literal;

int mb_sends_in_software(void)
{
    return sends_in_software;
}

int mb_receives_in_software(void)
{
    return receives_in_software;
}

static void do_in_software(struct mb_request *request)
{
    if (request->kind == MB_SEND) {
        mb_shm_send(request);
    } else {
        mb_shm_receive(request);
    }
}

// Moves what the device has not matched to software, if there is a back-off that is not known here.
static void follow(void)
{
    const uint32_t current = atomic_load_explicit(&mb_shared->episode.value, memory_order_acquire);
    if (current == episode) return;
    episode = current;
    sends_in_software = receives_in_software = 1;
    is_ready = 0;
    markers = 0;
    struct mb_request *revoked = NULL;
    mb_device_revoke(&revoked);
    for (struct mb_request *next; revoked != NULL; revoked = next) {
        next = revoked->next;
        do_in_software(revoked);
    }
}

static void marker_arrived(int from, uint32_t of)
{
    (void)from;
    if (of == episode) markers++;
}

void mb_backoff_start(void)
{
    const char *form = mb_platform_option("MB_MPI_BACKOFF");
    is_literal = form != NULL && strcmp(form, "literal") == 0;
    if (form != NULL && !is_literal && strcmp(form, "ordered") != 0)
        mb_panic("MB_MPI_BACKOFF: found \"%s\"; expected ordered or literal", form);
    mb_shm_marker = marker_arrived;
    if (!is_literal) mb_shm_before_packet = follow;
}

// ---- the published form ----

static void literal_begin(void)
{
    sends_in_software = receives_in_software = 1;
    struct mb_request *revoked = mb_device_take_revoked();
    if (revoked != NULL) do_in_software(revoked);
}

static int literal_progress(void)
{
    if (!sends_in_software || mb_device_descriptors() > 0) return 0;
    if (mb_port_poll(0, MOPED_BACKOFF) & MOPED_BACKOFF_BIT) return 0;
    // The barrier before the device is used again.
    const uint32_t all = ++literal_barriers * (uint32_t)mb.size;
    atomic_fetch_add(&mb_shared->arrived.value, 1);
    for (unsigned rounds = 0; atomic_load(&mb_shared->arrived.value) < all; rounds++) {
        mb_shm_progress();
        mb_platform_idle(rounds);
    }
    sends_in_software = receives_in_software = 0;
    atomic_fetch_add_explicit(&mb_shared->returns.value, 1, memory_order_relaxed);
    return 1;
}

// ---- the ordered form ----

void mb_backoff_begin(void)
{
    if (is_literal) {
        literal_begin();
        return;
    }
    uint32_t expected = episode;
    atomic_compare_exchange_strong(&mb_shared->episode.value, &expected, episode + 1);
    follow();
}

// This process has no descriptor any more. The last one ends the back-off of the device.
static void become_ready(void)
{
    is_ready = 1;
    const uint32_t all = episode * (uint32_t)mb.size;
    if (atomic_fetch_add(&mb_shared->ready.value, 1) + 1 != all) return;
    mb_port_store(0, MOPED_RESUME, 0);
    while (mb_port_poll(0, MOPED_BACKOFF) & MOPED_BACKOFF_BIT) {
    }
    atomic_fetch_add_explicit(&mb_shared->returns.value, 1, memory_order_relaxed);
    atomic_store(&mb_shared->resumed.value, episode);
}

static void return_sends(void)
{
    mb_shm_send_markers(episode);
    sends_in_software = 0;
}

static void return_receives(void)
{
    struct mb_request *posted = NULL, **end = &posted, *request;
    while ((request = mb_shm_take_posted()) != NULL) {
        *end = request;
        end = &request->next;
    }
    *end = NULL;
    receives_in_software = 0;
    for (struct mb_request *next; posted != NULL; posted = next) {
        next = posted->next;
        if (!receives_in_software && mb_device_post(posted)) continue;
        if (!receives_in_software) mb_backoff_begin();
        mb_shm_receive(posted);
    }
}

int mb_backoff_progress(void)
{
    if (is_literal) return literal_progress();
    const uint32_t before = episode;
    follow();
    if (!receives_in_software) return episode != before;
    if (!is_ready) {
        if (mb_device_descriptors() > 0 || mb.software_requests > FEW) return episode != before;
        become_ready();
        return 1;
    }
    if (sends_in_software) {
        // The bit of another core's MOPED may be cleared later.
        if (atomic_load(&mb_shared->resumed.value) != episode) return 0;
        if (mb_port_poll(0, MOPED_BACKOFF) & MOPED_BACKOFF_BIT) return 0;
        return_sends();
        return 1;
    }
    if (markers != (uint32_t)mb.size - 1) return 0;
    return_receives();
    return 1;
}
