// SPDX-License-Identifier: Apache-2.0 OR MIT
// What HTTPMON writes as the result of a TCP packet.

#ifndef MB_NETPROC_HTTPMON_H
#define MB_NETPROC_HTTPMON_H

#include "spine.h"

// States of a connection.
enum {
    HTTPMON_NONE = 0, // no packet was seen
    HTTPMON_SYN_SENT = 1,
    HTTPMON_SYN_RECEIVED = 2,
    HTTPMON_ESTABLISHED = 3,
    HTTPMON_ONE_ENDED = 4,  // one side has sent FIN
    HTTPMON_BOTH_ENDED = 5, // both sides have
    HTTPMON_CLOSED = 6,     // both FIN were acknowledged, or a reset
};

// Request lines.
enum {
    HTTPMON_LINE_NONE = 0,
    HTTPMON_LINE_GOOD = 1,
    HTTPMON_LINE_INCOMPLETE = 2, // ends in a later segment
    HTTPMON_LINE_BAD = 3,
};

struct httpmon_result {
    uint32_t packet;   // number of the packet in its connection, from 1, in the order of the lock
    uint32_t requests; // of the connection so far
    uint8_t before, after; // HTTPMON_NONE to HTTPMON_CLOSED
    uint8_t from_client;
    uint8_t method;  // 1 GET, 2 HEAD, 3 POST, 4 PUT, 5 DELETE, 6 CONNECT, 7 OPTIONS, 8 TRACE; 0: no request
    uint8_t line;    // HTTPMON_LINE_*
    uint8_t version; // of HTTP: major in the upper, minor in the lower 4 bits; 0 if the line is not good
    uint16_t target_length;
    uint32_t target_hash; // FNV-1a of the target, 0 without a request
};

_Static_assert(sizeof(struct httpmon_result) == 20, "result");

#endif
