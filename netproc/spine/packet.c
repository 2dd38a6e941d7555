// SPDX-License-Identifier: Apache-2.0 OR MIT
// The headers of a packet above the link: where the transport header is, and which one.
//
// The OS thread has checked that the IP header is complete and that the packet is not longer than
// the frame. Nothing else in a packet is trusted.

#include "spine.h"

enum {
    PROTOCOL_HOP_BY_HOP = 0,
    PROTOCOL_ROUTING = 43,
    PROTOCOL_FRAGMENT = 44,
    PROTOCOL_AUTHENTICATION = 51,
    PROTOCOL_DESTINATION = 60,

    UDP_BYTES = 8,
    TCP_BYTES = 20,
    IPV6_BYTES = 40,
};

// Walks the extension headers (RFC 8200 section 4; RFC 4302 for authentication).
struct np_upper np_ipv6_upper(const uint8_t *network, uint64_t length)
{
    uint8_t protocol = network[6];
    uint64_t at = IPV6_BYTES;
    for (;;) {
        uint64_t bytes;
        switch (protocol) {
        case PROTOCOL_HOP_BY_HOP:
        case PROTOCOL_ROUTING:
        case PROTOCOL_DESTINATION:
            if (at + 2 > length)
                return (struct np_upper){protocol, NULL};
            bytes = (network[at + 1] + 1u) * 8;
            break;
        case PROTOCOL_AUTHENTICATION:
            if (at + 2 > length)
                return (struct np_upper){protocol, NULL};
            bytes = (network[at + 1] + 2u) * 4;
            break;
        case PROTOCOL_FRAGMENT:
            if (at + 8 > length)
                return (struct np_upper){protocol, NULL};
            if (np_get16(network + at + 2) & 0xfff8)
                return (struct np_upper){network[at], NULL};
            bytes = 8;
            break;
        default:
            return (struct np_upper){protocol, at < length ? network + at : NULL};
        }
        if (at + bytes > length)
            return (struct np_upper){protocol, NULL};
        protocol = network[at];
        at += bytes;
    }
}

void np_parse(struct np_packet *packet)
{
    const uint8_t *network = np_network(packet);
    packet->parsed = 1;
    packet->transport = 0;
    packet->fragment = 0;
    if (packet->ethertype == NP_IPV4) {
        uint32_t header = (network[0] & 15u) * 4;
        packet->protocol = network[9];
        if (np_get16(network + 6) & 0x1fff)
            packet->fragment = 1;
        else if (header < packet->network_length)
            packet->transport = (uint16_t)(packet->network + header);
    } else {
        struct np_upper upper = np_ipv6_upper(network, packet->network_length);
        packet->protocol = (uint8_t)upper.protocol;
        if (upper.transport)
            packet->transport = (uint16_t)(upper.transport - packet->data);
        else
            packet->fragment = network[6] != upper.protocol;
    }
}

uint8_t *np_transport(struct np_packet *packet, size_t *length)
{
    if (!packet->parsed)
        np_parse(packet);
    if (length)
        *length = packet->transport ? packet->network + packet->network_length - packet->transport : 0;
    return packet->transport ? packet->data + packet->transport : NULL;
}

uint8_t *np_payload(struct np_packet *packet, size_t *length)
{
    size_t left, header = 0;
    uint8_t *transport = np_transport(packet, &left);
    if (!transport) {
        // A later fragment or an incomplete header: what follows the first header.
        header = packet->ethertype == NP_IPV4 ? (np_network(packet)[0] & 15u) * 4 : IPV6_BYTES;
        *length = packet->network_length - header;
        return np_network(packet) + header;
    }
    if (packet->protocol == NP_UDP)
        header = UDP_BYTES;
    else if (packet->protocol == NP_TCP && left >= TCP_BYTES)
        header = (size_t)(transport[12] >> 4) * 4;
    // An impossible length of the header: everything is payload.
    if (header > left || (packet->protocol == NP_TCP && header < TCP_BYTES))
        header = 0;
    *length = left - header;
    return transport + header;
}
