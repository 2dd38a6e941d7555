// SPDX-License-Identifier: Apache-2.0 OR MIT
// Buffered sends: the packed message lies in the program's buffer until it was sent.

#include "internal.h"

// A part of the buffer, in the order of addresses. Parts begin at multiples of their alignment.
struct part {
    struct part *next;
    size_t bytes; // with this header
    struct mb_request *inner;
};

_Static_assert(sizeof(struct part) + 2 * _Alignof(struct part) <= MPI_BSEND_OVERHEAD, "MPI_BSEND_OVERHEAD");

static unsigned char *attached;
static size_t attached_bytes;
static struct part *parts;

static size_t rounded(size_t bytes)
{
    return (bytes + _Alignof(struct part) - 1) / _Alignof(struct part) * _Alignof(struct part);
}

void mb_buffered_progress(void)
{
    for (struct part **link = &parts; *link != NULL;) {
        struct part *part = *link;
        if (!part->inner->is_complete) {
            link = &part->next;
            continue;
        }
        mb_request_release(part->inner);
        *link = part->next;
    }
}

// First fit between the parts in use.
static struct part *take(size_t bytes)
{
    unsigned char *at = attached + (rounded((uintptr_t)attached) - (uintptr_t)attached);
    struct part **link = &parts;
    while (*link != NULL && (size_t)((unsigned char *)*link - at) < bytes) {
        at = (unsigned char *)*link + (*link)->bytes;
        link = &(*link)->next;
    }
    if (*link == NULL && (at > attached + attached_bytes ||
                          (size_t)(attached + attached_bytes - at) < bytes)) return NULL;
    struct part *part = (struct part *)at;
    part->next = *link;
    part->bytes = bytes;
    *link = part;
    return part;
}

int mb_start_buffered(struct mb_request *request, const char *call)
{
    const size_t bytes = rounded(sizeof(struct part) + request->bytes);
    struct part *part = attached != NULL ? take(bytes) : NULL;
    if (part == NULL) {
        mb_progress();
        part = attached != NULL ? take(bytes) : NULL;
    }
    if (part == NULL) {
        request->is_complete = 1;
        return mb_fail(request->comm, call, MPI_ERR_BUFFER,
                       "%zu bytes are needed; the attached buffer of %zu has no room",
                       bytes, attached_bytes);
    }
    unsigned char *copy = (unsigned char *)(part + 1);
    mb_pack(request->type, request->count, request->buffer, 0, copy, request->bytes);
    part->inner = mb_new_send(copy, request->bytes, mb_basic(MPI_BYTE), request->peer, request->tag, request->comm, 0,
                              MB_STANDARD);
    mb_start(part->inner);
    mb_complete(request);
    return MPI_SUCCESS;
}

void mb_buffered_end(void)
{
    while (parts != NULL)
        mb_progress();
}

int MPI_Buffer_attach(void *buffer, int bytes)
{
    if (attached != NULL) return mb_fail(NULL, __func__, MPI_ERR_BUFFER, "a buffer is attached already");
    if (bytes < 0) return mb_fail(NULL, __func__, MPI_ERR_ARG, "%d bytes; expected at least 0", bytes);
    attached = buffer;
    attached_bytes = (size_t)bytes;
    return MPI_SUCCESS;
}

int MPI_Buffer_detach(void *address, int *bytes)
{
    mb_buffered_end();
    *(void **)address = attached;
    *bytes = (int)attached_bytes;
    attached = NULL;
    attached_bytes = 0;
    return MPI_SUCCESS;
}
