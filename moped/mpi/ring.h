// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queues of packets in shared memory, one for each ordered pair of processes: 16 packets of 16 KiB
// are the 256 KiB buffer of a pair. A packet is a header and at most MB_PIECE bytes of data.

#ifndef MB_RING_H
#define MB_RING_H

#include "transport.h"

enum { MB_PIECE = 16384, MB_RING_PACKETS = 16 };

enum mb_packet_kind {
    MB_PACKET_EAGER,   // an envelope and the first piece of the message
    MB_PACKET_MORE,    // the next piece of the last MB_PACKET_EAGER of this pair
    MB_PACKET_REQUEST, // request to send: an envelope
    MB_PACKET_REPLY,   // of the receiver: `bytes` may be sent to `receiver`
    MB_PACKET_DATA,    // a piece for `receiver`
    MB_PACKET_MATCHED, // a synchronous eager message was matched
    MB_PACKET_CANCEL,  // is the message of `sender` still unexpected?
    MB_PACKET_CANCELLED, // it was, and is gone
    MB_PACKET_WITHDRAWN, // of transport moped: a message was cancelled before it came to this queue
    MB_PACKET_MARKER,  // of transport moped; `bytes` has the number of the back-off
};

struct mb_packet {
    int32_t kind, is_synchronous;
    int32_t context, source, tag;
    uint32_t piece;    // bytes of data in this packet
    uint64_t bytes;    // of the message
    uint64_t sender;   // request of the sending process
    uint64_t receiver; // request of the receiving process
};

struct mb_slot {
    _Alignas(64) struct mb_packet packet;
    _Atomic uint32_t is_full;
    _Alignas(64) unsigned char data[MB_PIECE];
};

void mb_ring_start(void);
// The slot for the next packet to a process, NULL if the queue is full; filled, then published.
struct mb_slot *mb_ring_next(int to);
void mb_ring_publish(int to);
// The oldest packet from a process, NULL if there is none; handled, then released.
struct mb_slot *mb_ring_oldest(int from);
void mb_ring_release(int from);

// Each packet is announced in one place of its receiver, so that a receiver without packets looks at no queue. Every
// process of a program calls it at its start, or none does.
void mb_ring_announce(void);
// Whether a packet may have arrived; 1 if packets are not announced.
int mb_ring_may_have(void);

// Of transport moped: from the begin to the end of a withdrawal, messages to a process may be neither in the device nor
// in the queue.
void mb_ring_begin_withdrawal(int to);
void mb_ring_end_withdrawal(int to);
// Withdrawals of messages to this process: two equal values mean that none began or ended between.
uint64_t mb_ring_withdrawals(void);
// Whether one of these has not ended.
int mb_ring_is_withdrawing(uint64_t withdrawals);

#endif
