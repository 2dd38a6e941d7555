// SPDX-License-Identifier: Apache-2.0 OR MIT
// A packet handler: forwards packets, drops those of a port, and counts both. Change it, and run
// `matchbench netproc build` on it.

#include "handler.h"

enum { BLOCKED_PORT = 23, UPLINK = 1 };

static np_counter forwarded, blocked;

unsigned np_handler(struct np_packet *packet)
{
    size_t length;
    const uint8_t *transport = np_transport(packet, &length);
    int has_ports = transport && (packet->protocol == NP_TCP || packet->protocol == NP_UDP) && length >= 4;
    if (has_ports && np_get16(transport + 2) == BLOCKED_PORT) {
        np_count(&blocked, 1);
        return np_drop(packet);
    }
    np_count(&forwarded, 1);
    return np_forward(packet, UPLINK);
}
