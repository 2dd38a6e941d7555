// SPDX-License-Identifier: Apache-2.0 OR MIT
// The OS thread: takes packets from the receive ring, gives the controller empty buffers, checks
// the headers of link and network, and puts packets on the work list.

#include "spine.h"

enum {
    REFILL_BATCH = 8, // slots given to the controller by one store

    ETHERNET_BYTES = 14,
    VLAN_BYTES = 4,
    MOST_VLANS = 2,
    TYPE_VLAN = 0x8100,         // IEEE 802.1Q
    TYPE_SERVICE_VLAN = 0x88a8, // IEEE 802.1ad
    LARGEST_LENGTH = 1500,      // up to here the type field is a length (IEEE 802.3)
    SNAP_BYTES = 8,
    IPV4_BYTES = 20,
    IPV6_BYTES = 40,
};

// What the OS thread counts. The host may read it.
struct os_counters {
    uint64_t packets;
    uint64_t bytes;
    uint64_t dropped[16]; // by NP_DROP_*
};

struct os_counters np_os_counters __attribute__((aligned(NP_LINE)));

static struct {
    struct np_slot *slots;
    uint32_t mask;      // slots - 1
    uint64_t received;  // slots taken from the controller
    uint64_t given;     // slots filled with an empty buffer
    uint64_t announced; // slots given to the controller
    struct np_packet *free;
    // Held by the hart that uses this structure, if every hart receives its own packets.
    uint32_t lock __attribute__((aligned(NP_LINE)));
} ring __attribute__((aligned(NP_LINE)));

static void announce(void)
{
    ring.announced = ring.given;
    device_store(NP_REG_REFILL, ring.given);
}

// Puts an empty buffer into every slot that has none, as long as there are free ones.
static void refill(void)
{
    while (ring.given - ring.received <= ring.mask) {
        if (!ring.free && !(ring.free = np_free_take()))
            break;
        struct np_packet *packet = ring.free;
        struct np_slot *slot = &ring.slots[ring.given & ring.mask];
        ring.free = packet->next;
        slot->buffer = (uint64_t)packet + NP_FRAME_OFFSET;
        ring.given++;
    }
    if (ring.given - ring.announced >= REFILL_BATCH)
        announce();
}

void np_os_start(void)
{
    const struct np_config *c = &np_config;
    // An odd number of lines, so that equal positions in buffers are in different cache sets.
    size_t pitch = ((NP_FRAME_OFFSET + c->buffer_bytes + NP_LINE - 1) / NP_LINE | 1) * NP_LINE;
    ring.slots = np_take_heap(c->ring_slots * sizeof *ring.slots);
    ring.mask = c->ring_slots - 1;
    uint8_t *records = np_take_heap(c->buffers * pitch);
    for (uint32_t i = c->buffers; i-- > 0;) {
        struct np_packet *packet = (struct np_packet *)(void *)(records + i * pitch);
        packet->data = (uint8_t *)packet + NP_FRAME_OFFSET;
        packet->next = ring.free;
        ring.free = packet;
    }
    device_store(NP_REG_RING, (uint64_t)ring.slots);
    device_store(NP_REG_SLOTS, c->ring_slots);
    refill();
    announce();
}

// Finds the network header; returns 0 or NP_DROP_*.
static unsigned process_link(struct np_packet *packet)
{
    const uint8_t *frame = packet->data;
    uint32_t length = packet->length, at = ETHERNET_BYTES;
    if (length < ETHERNET_BYTES)
        return NP_DROP_TRUNCATED;
    uint16_t type = np_get16(frame + at - 2);
    packet->vlan = 0;
    packet->vlans = 0;
    while (type == TYPE_VLAN || type == TYPE_SERVICE_VLAN) {
        if (packet->vlans == MOST_VLANS)
            return NP_DROP_TYPE;
        if (length < at + VLAN_BYTES)
            return NP_DROP_TRUNCATED;
        if (packet->vlans++ == 0)
            packet->vlan = np_get16(frame + at);
        at += VLAN_BYTES;
        type = np_get16(frame + at - 2);
    }
    if (type <= LARGEST_LENGTH) {
        // IEEE 802.2 with the subnetwork access protocol, organisation 0 (RFC 1042).
        if (length < at + SNAP_BYTES)
            return NP_DROP_TRUNCATED;
        if (np_get32(frame + at) != 0xaaaa0300 || np_get16(frame + at + 4) != 0)
            return NP_DROP_TYPE;
        type = np_get16(frame + at + 6);
        at += SNAP_BYTES;
    }
    packet->network = (uint16_t)at;
    packet->ethertype = type;
    const uint8_t *network = frame + at;
    uint32_t left = length - at, total, header;
    if (type == NP_IPV4) {
        if (left < IPV4_BYTES)
            return NP_DROP_TRUNCATED;
        header = (network[0] & 15u) * 4;
        if (network[0] >> 4 != 4 || header < IPV4_BYTES)
            return NP_DROP_HEADER;
        total = np_get16(network + 2);
        if (total < header)
            return NP_DROP_HEADER;
    } else if (type == NP_IPV6) {
        if (left < IPV6_BYTES)
            return NP_DROP_TRUNCATED;
        if (network[0] >> 4 != 6)
            return NP_DROP_HEADER;
        total = np_get16(network + 4) + IPV6_BYTES;
    } else {
        return NP_DROP_TYPE;
    }
    if (total > left)
        return NP_DROP_TRUNCATED;
    packet->network_length = total;
    return 0;
}

// Reports a packet that the OS thread drops.
static void drop(struct np_packet *packet, unsigned reason)
{
    np_os_counters.dropped[reason]++;
    packet->reason = (uint8_t)reason;
    packet->application = NP_APP_NONE;
    packet->result_length = 0;
    np_complete(packet, NP_DROP);
}

// The next slot of the ring.
static inline struct np_slot *next_slot(void)
{
    return &ring.slots[ring.received & ring.mask];
}

static inline uint32_t slot_status(const struct np_slot *slot)
{
    return *(const volatile uint32_t *)&slot->status;
}

// Takes the packet of a filled slot; returns its record. Sets *status to the slot's status.
static inline struct np_packet *receive(struct np_slot *slot, uint32_t *status)
{
    // The controller writes the status last.
    __asm__ volatile("fence r, r" : : : "memory");
    struct np_packet *packet = (struct np_packet *)(slot->buffer - NP_FRAME_OFFSET);
    packet->number = slot->number;
    packet->length = slot->length;
    packet->class_ = slot->class_;
    packet->parsed = 0;
    *status = slot->status;
    // If there is no buffer for the slot, the ring returns to it before the controller has.
    slot->status = 0;
    np_self->packet = packet->number;
    np_self->record = packet;
    ring.received++;
    np_os_counters.packets++;
    np_os_counters.bytes += packet->length;
    return packet;
}

// Checks the packet, and classifies it if the OS thread does that. Returns 0 if it was dropped.
static inline int check(struct np_packet *packet, uint32_t status)
{
    unsigned reason;
    if (UNLIKELY(status & NP_SLOT_TOO_LONG))
        packet->length = np_config.buffer_bytes, reason = NP_DROP_TOO_LONG;
    else if (UNLIKELY(status & NP_SLOT_BAD_CHECK))
        reason = NP_DROP_CHECK;
    else
        reason = process_link(packet);
    if (UNLIKELY(reason)) {
        drop(packet, reason);
        return 0;
    }
    if (np_config.classify_in == NP_CLASSIFY_IN_OS && np_config.classifier != NP_CLASSIFIER_HARDWARE) {
        set_phase(NP_PHASE_CLASSIFY);
        packet->class_ = np_classify(packet);
        set_phase(NP_PHASE_OS);
    }
    return 1;
}

// Waits for a packet in the slot. If the controller has no buffers, waits until one is free.
static void idle(const struct np_slot *slot, int has_buffers)
{
    set_phase(NP_PHASE_IDLE);
    if (LIKELY(has_buffers))
        wait_for_change(&slot->status, 0, np_config.os_idle);
    else
        np_free_wait(np_config.os_idle);
}

void np_os_loop(void)
{
    for (;;) {
        struct np_slot *slot = next_slot();
        if (!(slot_status(slot) & NP_SLOT_FILLED)) {
            // The controller may have used all slots that were announced.
            refill();
            if (ring.announced != ring.given)
                announce();
            else
                idle(slot, ring.given != ring.received);
            continue;
        }
        set_phase(NP_PHASE_OS);
        uint32_t status;
        struct np_packet *packet = receive(slot, &status);
        refill();
        if (check(packet, status))
            np_work_put(packet);
        np_self->packet = NP_NO_PACKET;
    }
}

// Every hart receives its own packets, and there is no work list.
void np_spread_loop(void)
{
    for (;;) {
        lock_acquire(&ring.lock);
        struct np_slot *slot = next_slot();
        if (!(slot_status(slot) & NP_SLOT_FILLED)) {
            refill();
            int announced = ring.announced != ring.given, has_buffers = ring.given != ring.received;
            if (announced)
                announce();
            lock_release(&ring.lock);
            if (!announced)
                idle(slot, has_buffers);
            continue;
        }
        set_phase(NP_PHASE_OS);
        uint32_t status;
        struct np_packet *packet = receive(slot, &status);
        refill();
        lock_release(&ring.lock);
        if (check(packet, status))
            np_process(packet);
        np_self->packet = NP_NO_PACKET;
    }
}
