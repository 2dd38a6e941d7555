// SPDX-License-Identifier: Apache-2.0 OR MIT
// The software scheme, as MPICH 2 of 2010 has it for shared memory: eager below a threshold, otherwise
// rendezvous: request to send, reply, and the data in pieces through the buffer of the pair. Sender
// and receiver copy each byte once. Matching: two lists, each in order, searched from the oldest on.

#include "match.h"
#include "ring.h"

// What waits for a free packet in the queue to a process.
struct outgoing {
    struct outgoing *next;
    struct mb_packet packet;
    struct mb_request *send; // of packets with data
};

// Packets that wait, for each process; the last link for appending.
static struct outgoing **waiting, ***last;
static int waiting_count;
static struct outgoing *spare;
// The eager message of each process that is arriving in pieces, or NULL.
static struct mb_arrival *arriving;
static size_t eager_limit;

void (*mb_shm_before_packet)(void);
void (*mb_shm_marker)(int from, uint32_t episode);
void (*mb_shm_withdrawn)(int context, int source, int tag);

void mb_shm_start(void)
{
    const size_t size = (size_t)mb.size;
    waiting = mb_allocate_zeroed(size * sizeof *waiting);
    last = mb_allocate(size * sizeof *last);
    for (size_t i = 0; i < size; i++)
        last[i] = &waiting[i];
    arriving = mb_allocate_zeroed(size * sizeof *arriving);
    eager_limit = mb_option_number("MB_MPI_EAGER", 16384, 0, (size_t)1 << 30);
}

int mb_shm_is_idle(void)
{
    return waiting_count == 0;
}

// The software scheme has a request from here on.
static void enter(struct mb_request *request)
{
    if (request->place != MB_SOFTWARE) mb.software_requests++;
    request->place = MB_SOFTWARE;
}

// ---- sending ----

// Puts packets into the queue as long as it has room; whether the last one was.
static int put(int to, struct mb_packet *packet, struct mb_request *send)
{
    do {
        struct mb_slot *slot = mb_ring_next(to);
        if (slot == NULL) return 0;
        packet->piece = 0;
        if (send != NULL) {
            const size_t rest = send->limit - send->moved;
            packet->piece = (uint32_t)(rest < MB_PIECE ? rest : MB_PIECE);
            mb_pack(send->type, send->count, send->buffer, send->moved, slot->data, packet->piece);
            send->moved += packet->piece;
        }
        slot->packet = *packet;
        mb_ring_publish(to);
        if (packet->kind == MB_PACKET_EAGER) packet->kind = MB_PACKET_MORE;
    } while (send != NULL && send->moved < send->limit);
    return 1;
}

// The last packet of a send has left.
static void data_sent(const struct mb_packet *packet, struct mb_request *send)
{
    if (!packet->is_synchronous) mb_complete(send);
}

static void enqueue(int to, struct mb_packet packet, struct mb_request *send)
{
    if (waiting[to] == NULL && put(to, &packet, send)) {
        if (send != NULL) data_sent(&packet, send);
        return;
    }
    struct outgoing *entry = spare != NULL ? spare : mb_allocate(sizeof *entry);
    if (entry == spare) spare = entry->next;
    *entry = (struct outgoing){NULL, packet, send};
    *last[to] = entry;
    last[to] = &entry->next;
    waiting_count++;
}

static struct outgoing *unlink_waiting(int to, struct outgoing **link)
{
    struct outgoing *entry = *link;
    *link = entry->next;
    if (last[to] == &entry->next) last[to] = link;
    waiting_count--;
    return entry;
}

static int put_waiting(void)
{
    int any = 0;
    if (waiting_count == 0) return 0;
    for (int to = 0; to < mb.size; to++) {
        while (waiting[to] != NULL && put(to, &waiting[to]->packet, waiting[to]->send)) {
            struct outgoing *entry = unlink_waiting(to, &waiting[to]);
            any = 1;
            if (entry->send != NULL) data_sent(&entry->packet, entry->send);
            entry->next = spare;
            spare = entry;
        }
    }
    return any;
}

void mb_shm_send(struct mb_request *request)
{
    struct mb_packet packet = {
        .context = request->context,
        .source = request->source,
        .tag = request->tag,
        .bytes = request->bytes,
        .sender = (uintptr_t)request,
        .is_synchronous = request->mode == MB_SYNCHRONOUS,
    };
    enter(request);
    request->limit = request->bytes;
    request->moved = 0;
    if (request->bytes < eager_limit || request->bytes == 0) {
        packet.kind = MB_PACKET_EAGER;
        // No answer comes, and the memory of the request is soon that of another one.
        if (!packet.is_synchronous) packet.sender = 0;
        enqueue(request->world, packet, request);
    } else {
        packet.kind = MB_PACKET_REQUEST;
        enqueue(request->world, packet, NULL);
    }
}

void mb_shm_send_markers(uint32_t episode)
{
    for (int to = 0; to < mb.size; to++) {
        if (to != mb.rank) enqueue(to, (struct mb_packet){.kind = MB_PACKET_MARKER, .bytes = episode}, NULL);
    }
}

void mb_shm_send_withdrawn(const struct mb_request *request)
{
    const struct mb_packet packet = {
        .kind = MB_PACKET_WITHDRAWN, .context = request->context, .source = request->source, .tag = request->tag};
    enqueue(request->world, packet, NULL);
}

// ---- receiving ----

// A receive and an unexpected message match.
static void accept(struct mb_unexpected *message, struct mb_request *receive)
{
    enter(receive);
    mb_matched(receive, message->source, message->tag, message->bytes);
    if (message->is_request) {
        const struct mb_packet reply = {.kind = MB_PACKET_REPLY,
                                        .bytes = receive->limit,
                                        .sender = message->sender,
                                        .receiver = (uintptr_t)receive};
        enqueue(message->world, reply, NULL);
        free(message);
        if (receive->limit == 0) mb_complete(receive);
        return;
    }
    if (message->is_synchronous)
        enqueue(message->world, (struct mb_packet){.kind = MB_PACKET_MATCHED, .sender = message->sender}, NULL);
    if (message->arrived < message->bytes) {
        message->taker = receive;
        return;
    }
    mb_unpack(receive->type, receive->count, receive->buffer, 0, message->data, receive->limit);
    free(message);
    mb_complete(receive);
}

int mb_shm_receive_unexpected(struct mb_request *request)
{
    struct mb_unexpected *message = mb_take_unexpected(request->context, request->peer, request->tag);
    if (message == NULL) return 0;
    accept(message, request);
    return 1;
}

void mb_shm_receive(struct mb_request *request)
{
    enter(request);
    if (!mb_shm_receive_unexpected(request)) mb_post(request);
}

void mb_shm_receive_message(struct mb_request *request, struct mb_message *message)
{
    accept(message->unexpected, request);
}

int mb_shm_probe(int context, int source, int tag, MPI_Status *status, struct mb_message *message)
{
    const struct mb_unexpected *found = mb_find_unexpected(context, source, tag);
    if (found == NULL) return 0;
    status->MPI_SOURCE = found->source;
    status->MPI_TAG = found->tag;
    mb_set_bytes(status, found->bytes);
    if (message != NULL) message->unexpected = mb_take_unexpected(context, source, tag);
    return 1;
}

struct mb_request *mb_shm_take_posted(void)
{
    struct mb_request *oldest = mb_take_oldest_posted();
    if (oldest != NULL) mb.software_requests--;
    if (oldest != NULL) oldest->place = MB_NOWHERE;
    return oldest;
}

static void arrived_piece(int from, const struct mb_slot *slot)
{
    struct mb_arrival *arrival = &arriving[from];
    const size_t piece = slot->packet.piece;
    if (arrival->receive != NULL) {
        struct mb_request *receive = arrival->receive;
        const size_t room = receive->limit - receive->moved, n = piece < room ? piece : room;
        mb_unpack(receive->type, receive->count, receive->buffer, receive->moved, slot->data, n);
        receive->moved += n;
        arrival->left -= piece;
        if (arrival->left > 0) return;
        arrival->receive = NULL;
        mb_complete(receive);
        return;
    }
    struct mb_unexpected *message = arrival->unexpected;
    memcpy(message->data + message->arrived, slot->data, piece);
    message->arrived += piece;
    if (message->arrived < message->bytes) return;
    arrival->unexpected = NULL;
    struct mb_request *receive = message->taker;
    if (receive == NULL) return;
    mb_unpack(receive->type, receive->count, receive->buffer, 0, message->data, receive->limit);
    free(message);
    mb_complete(receive);
}

static void arrived_envelope(int from, const struct mb_slot *slot)
{
    const struct mb_packet *packet = &slot->packet;
    struct mb_request *receive = mb_take_posted(packet->context, packet->source, packet->tag);
    const int is_request = packet->kind == MB_PACKET_REQUEST;
    if (receive != NULL && !is_request) {
        mb_matched(receive, packet->source, packet->tag, packet->bytes);
        if (packet->is_synchronous)
            enqueue(from, (struct mb_packet){.kind = MB_PACKET_MATCHED, .sender = packet->sender}, NULL);
        arriving[from] = (struct mb_arrival){.receive = receive, .left = packet->bytes};
        arrived_piece(from, slot);
        return;
    }
    struct mb_unexpected *message = mb_allocate(sizeof *message + (is_request ? 0 : packet->bytes));
    *message = (struct mb_unexpected){
        .context = packet->context,
        .source = packet->source,
        .tag = packet->tag,
        .world = from,
        .bytes = packet->bytes,
        .sender = packet->sender,
        .is_synchronous = packet->is_synchronous,
        .is_request = is_request,
    };
    if (receive != NULL) {
        accept(message, receive);
        return;
    }
    mb_add_unexpected(message);
    if (!is_request) {
        arriving[from] = (struct mb_arrival){.unexpected = message};
        arrived_piece(from, slot);
    }
}

static void handle(int from, const struct mb_slot *slot)
{
    const struct mb_packet *packet = &slot->packet;
    struct mb_request *sent = (struct mb_request *)(uintptr_t)packet->sender;
    switch (packet->kind) {
        case MB_PACKET_EAGER:
        case MB_PACKET_REQUEST: arrived_envelope(from, slot); break;
        case MB_PACKET_MORE: arrived_piece(from, slot); break;
        case MB_PACKET_REPLY:
            sent->limit = packet->bytes;
            if (sent->limit == 0) {
                mb_complete(sent);
            } else {
                enqueue(from, (struct mb_packet){.kind = MB_PACKET_DATA, .receiver = packet->receiver}, sent);
            }
            break;
        case MB_PACKET_DATA: {
            struct mb_request *receive = (struct mb_request *)(uintptr_t)packet->receiver;
            mb_unpack(receive->type, receive->count, receive->buffer, receive->moved, slot->data, packet->piece);
            receive->moved += packet->piece;
            if (receive->moved == receive->limit) mb_complete(receive);
            break;
        }
        case MB_PACKET_MATCHED: mb_complete(sent); break;
        case MB_PACKET_CANCEL:
            if (!mb_withdraw_unexpected(from, packet->sender)) break;
            enqueue(from, (struct mb_packet){.kind = MB_PACKET_CANCELLED, .sender = packet->sender}, NULL);
            if (mb_shm_withdrawn != NULL) mb_shm_withdrawn(packet->context, packet->source, packet->tag);
            break;
        case MB_PACKET_WITHDRAWN: mb_shm_withdrawn(packet->context, packet->source, packet->tag); break;
        case MB_PACKET_CANCELLED:
            sent->status.mb_cancelled = 1;
            mb_complete(sent);
            break;
        case MB_PACKET_MARKER:
            if (mb_shm_marker != NULL) mb_shm_marker(from, (uint32_t)packet->bytes);
            break;
        default: mb_panic("a packet of kind %d from rank %d", (int)packet->kind, from);
    }
}

int mb_shm_progress(void)
{
    int any = put_waiting();
    if (!mb_ring_may_have()) return any;
    for (int from = 0; from < mb.size; from++) {
        struct mb_slot *slot;
        while ((slot = mb_ring_oldest(from)) != NULL) {
            if (mb_shm_before_packet != NULL) mb_shm_before_packet();
            handle(from, slot);
            mb_ring_release(from);
            any = 1;
        }
    }
    return any;
}

// ---- cancellation ----

void mb_shm_cancel(struct mb_request *request)
{
    if (request->kind == MB_RECEIVE) {
        if (!mb_withdraw_posted(request)) return;
        request->status.mb_cancelled = 1;
        mb_complete(request);
        return;
    }
    const int to = request->world;
    for (struct outgoing **link = &waiting[to]; *link != NULL; link = &(*link)->next) {
        const struct mb_packet *packet = &(*link)->packet;
        const int is_start = packet->kind == MB_PACKET_EAGER || packet->kind == MB_PACKET_REQUEST;
        if (!is_start || ((*link)->send != request && packet->sender != (uintptr_t)request)) continue;
        struct outgoing *entry = unlink_waiting(to, link);
        entry->next = spare;
        spare = entry;
        if (mb_shm_withdrawn != NULL) mb_shm_send_withdrawn(request);
        request->status.mb_cancelled = 1;
        mb_complete(request);
        return;
    }
    // A standard eager message on its way completes by itself. Otherwise the receiver knows whether it was matched.
    const int is_eager = request->bytes < eager_limit || request->bytes == 0;
    if (is_eager && request->mode != MB_SYNCHRONOUS) return;
    const struct mb_packet packet = {.kind = MB_PACKET_CANCEL,
                                     .context = request->context,
                                     .source = request->source,
                                     .tag = request->tag,
                                     .sender = (uintptr_t)request};
    enqueue(to, packet, NULL);
}

void mb_shm_end(void)
{
    while (!mb_shm_is_idle())
        mb_progress();
}

const struct mb_transport mb_shm = {
    .name = "shm",
    .start = mb_shm_start,
    .end = mb_shm_end,
    .send = mb_shm_send,
    .receive = mb_shm_receive,
    .progress = mb_shm_progress,
    .cancel = mb_shm_cancel,
    .probe = mb_shm_probe,
    .receive_message = mb_shm_receive_message,
};
