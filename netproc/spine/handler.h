// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a packet handler is written against.
//
// A handler is one C file that defines np_handler, and np_handler_init if it needs one:
//
//     #include "handler.h"
//
//     static np_counter seen;
//
//     unsigned np_handler(struct np_packet *packet)
//     {
//         np_count(&seen, 1);
//         return packet->network_length > 1000 ? np_drop(packet) : np_forward(packet, 1);
//     }
//
// Several harts call np_handler at the same time, each for its own packet. It is freestanding C11:
// no library, no system calls. The stack of a hart has NP_STACK bytes. It may write its own static
// data, its stack, the memory of np_allocate, the frame and the record of its packet. A call against
// these rules ends the run with an error that names hart, packet and caller.

#ifndef MB_NETPROC_HANDLER_H
#define MB_NETPROC_HANDLER_H

#include "netproc.h"

enum {
    NP_STACK = 8192,
    NP_STATE_BYTES = 1024, // bytes of np_hart_state
    NP_FLOW_BYTES = 64,    // bytes of np_flow_state
};

// Values of ethertype and protocol in the record.
enum { NP_IPV4 = 0x0800, NP_IPV6 = 0x86dd, NP_TCP = 6, NP_UDP = 17 };

// Handles a packet; returns the value of np_forward, np_drop or np_consume.
unsigned np_handler(struct np_packet *packet);

// Called once on hart 0 before the first packet. Optional.
void np_handler_init(void);

// Verdicts.
static inline unsigned np_forward(struct np_packet *packet, uint32_t next_hop)
{
    packet->next_hop = next_hop;
    return NP_FORWARD;
}

static inline unsigned np_drop(struct np_packet *packet)
{
    packet->reason = NP_DROP_HANDLER;
    return NP_DROP;
}

static inline unsigned np_consume(struct np_packet *packet)
{
    (void)packet;
    return NP_CONSUME;
}

// Stores what the handler found in the packet's record; at most NP_RESULT_BYTES.
void np_result(struct np_packet *packet, const void *bytes, size_t length);

// The network header, and the bytes of the IP packet from there on.
static inline uint8_t *np_network(struct np_packet *packet)
{
    return packet->data + packet->network;
}

// The transport header, or null: fragments after the first, and other damaged or unknown packets.
// Sets *length, if it is not null, to the bytes of the IP packet from there on.
// packet->protocol is valid after this call.
uint8_t *np_transport(struct np_packet *packet, size_t *length);

// What TCP or UDP carries; for other protocols what IP carries. Sets *length to its bytes.
uint8_t *np_payload(struct np_packet *packet, size_t *length);

// Big-endian numbers of packets, at any address.
static inline uint16_t np_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t np_get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void np_put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void np_put32(uint8_t *at, uint32_t value)
{
    np_put16(at, (uint16_t)(value >> 16));
    np_put16(at + 2, (uint16_t)value);
}

// The number of the calling hart, below NP_HARTS.
static inline uint32_t np_hart(void)
{
    const struct np_status *self;
    __asm__("mv %0, tp" : "=r"(self));
    return self->hart;
}

// Memory of the calling hart, NP_STATE_BYTES, zero at the start. No other hart uses its lines.
void *np_hart_state(void);

// Unused zero bytes, aligned to NP_LINE; only in np_handler_init.
void *np_allocate(size_t bytes);

// A counter for all harts. Zero is its initial value.
typedef struct {
    _Alignas(NP_LINE) uint64_t value;
} np_counter;

static inline void np_count(np_counter *counter, uint64_t by)
{
    __asm__ volatile("amoadd.d zero, %1, %0" : "+A"(counter->value) : "r"(by) : "memory");
}

// A lock. Zero is its initial value. The handler releases every lock before it returns.
typedef struct {
    _Alignas(NP_LINE) uint32_t owner; // number of the hart plus 1, 0: free
} np_lock;

void np_acquire(np_lock *lock);
void np_release(np_lock *lock);

// The state of the packet's flow: NP_FLOW_BYTES, zero in a flow's first packet. A flow is IP
// version, addresses, protocol and ports; both directions of a connection are one flow. Locks the
// flow, which np_flow_release must unlock; null (and no lock) if the flow table is full. An error
// if the hart already holds a flow. *reversed, if it is not null, is set to 0 or 1: packets of the
// two directions have different values.
void *np_flow(struct np_packet *packet, int *reversed);
void np_flow_release(void);

#endif
