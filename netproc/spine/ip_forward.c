// SPDX-License-Identifier: Apache-2.0 OR MIT
// IP-FORWARD: what a router does with a packet (RFC 1812 section 5.2, RFC 8200): it checks the
// header, finds the next hop of the destination, and reduces the time to live.
//
// Link addresses are not rewritten, and no ICMP messages are sent.

#include "ip_forward.h"

static unsigned drop(struct np_packet *packet, uint8_t reason)
{
    packet->reason = reason;
    return NP_DROP;
}

void np_ip_forward_start(void)
{
    np_routes4_start();
    np_routes6_start();
}

// The one's complement sum of the header, folded to 16 bits. The sum does not depend on the byte
// order (RFC 1071), so the words are loaded as they are; the header is aligned to 4 bytes.
static uint32_t sum_of(const uint8_t *header, uint32_t bytes)
{
    const uint32_t *words = (const uint32_t *)(const void *)header;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bytes / 4; i++)
        sum += words[i];
    sum = (sum >> 32) + (uint32_t)sum;
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint32_t)((sum >> 16) + (sum & 0xffff));
}

static unsigned forward4(struct np_packet *packet, uint8_t *header)
{
    if (sum_of(header, (header[0] & 15u) * 4) != 0xffff)
        return drop(packet, NP_DROP_CHECKSUM);
    uint32_t ttl = header[8];
    if (ttl <= 1)
        return drop(packet, NP_DROP_TTL);
    uint32_t next_hop = np_route4(np_get32(header + 16));
    if (next_hop == NO_NEXT_HOP)
        return drop(packet, NP_DROP_NO_ROUTE);
    header[8] = (uint8_t)(ttl - 1);
    // RFC 1624: the checksum becomes ~(~checksum + ~old + new); the old word is larger by 0x100.
    uint32_t sum = (uint16_t)~np_get16(header + 10) + 0xfeffu;
    sum = (sum >> 16) + (sum & 0xffff);
    np_put16(header + 10, (uint16_t)~sum);
    return np_forward(packet, next_hop);
}

static unsigned forward6(struct np_packet *packet, uint8_t *header)
{
    uint32_t hop_limit = header[7];
    if (hop_limit <= 1)
        return drop(packet, NP_DROP_TTL);
    uint64_t high = (uint64_t)np_get32(header + 24) << 32 | np_get32(header + 28);
    uint64_t low = (uint64_t)np_get32(header + 32) << 32 | np_get32(header + 36);
    uint32_t next_hop = np_route6(high, low);
    if (next_hop == NO_NEXT_HOP)
        return drop(packet, NP_DROP_NO_ROUTE);
    header[7] = (uint8_t)(hop_limit - 1);
    return np_forward(packet, next_hop);
}

unsigned np_ip_forward(struct np_packet *packet)
{
    uint8_t *header = np_network(packet);
    return packet->ethertype == NP_IPV4 ? forward4(packet, header) : forward6(packet, header);
}
