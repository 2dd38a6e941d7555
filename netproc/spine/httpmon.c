// SPDX-License-Identifier: Apache-2.0 OR MIT
// HTTPMON: follows the state of TCP connections (RFC 9293 section 3.3.2, seen from between the
// hosts) and reads the request lines of HTTP/1 (RFC 9112 section 3).
//
// A request line is read where a segment of the client begins with a method, and only in that
// segment. Segments of the client that were seen before are not read again.

#include "httpmon.h"

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16, TCP_BYTES = 20 };

// The state of a connection: zero before its first packet.
struct connection {
    uint32_t packets;
    uint32_t requests;
    uint8_t state;  // HTTPMON_*
    uint8_t client; // direction of the client: 0 or 1
    uint8_t ended;  // bit of each direction that has sent FIN
    uint8_t has_next;
    uint32_t next;   // sequence number after the client's last segment, if has_next
    uint32_t end[2]; // of each direction that has ended: sequence number after its FIN
    uint8_t acknowledged; // bit of each direction whose FIN was acknowledged
};

_Static_assert(sizeof(struct connection) <= NP_FLOW_BYTES, "state of a flow");

static const struct {
    char name[8];
    uint8_t length;
} METHODS[] = {
    {"GET ", 4},     {"HEAD ", 5},   {"POST ", 5},    {"PUT ", 4},
    {"DELETE ", 7}, {"CONNECT ", 8}, {"OPTIONS ", 8}, {"TRACE ", 6},
};

// Returns the method at the start of a payload, 0 if there is none. Sets *length to the bytes of its
// name and the space.
static uint8_t method_of(const uint8_t *text, size_t left, size_t *length)
{
    for (unsigned i = 0; i < sizeof METHODS / sizeof METHODS[0]; i++) {
        size_t bytes = METHODS[i].length, j = 0;
        if (bytes > left || text[0] != (uint8_t)METHODS[i].name[0])
            continue;
        while (j < bytes && text[j] == (uint8_t)METHODS[i].name[j])
            j++;
        if (j == bytes) {
            *length = bytes;
            return (uint8_t)(i + 1);
        }
    }
    return 0;
}

static int is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

// Reads a request line: method, target, version.
static void read_request(const uint8_t *text, size_t left, struct httpmon_result *result)
{
    size_t at, begin;
    result->method = method_of(text, left, &at);
    if (!result->method)
        return;
    begin = at;
    // FNV-1a, 32 bits: a number to distribute requests by.
    uint32_t hash = 0x811c9dc5;
    while (at < left && text[at] > ' ' && text[at] < 0x7f) {
        hash = (hash ^ text[at]) * 0x01000193;
        at++;
    }
    result->target_length = (uint16_t)(at - begin);
    result->target_hash = hash;
    if (at == left || text[at] != ' ' || at == begin) {
        result->line = at == left ? HTTPMON_LINE_INCOMPLETE : HTTPMON_LINE_BAD;
        return;
    }
    // A space, "HTTP/", digit, point, digit, CR, LF.
    static const char PATTERN[] = " HTTP/0.0\r\n";
    result->line = HTTPMON_LINE_GOOD;
    for (size_t i = 0; i < sizeof PATTERN - 1; i++) {
        if (at + i == left) {
            result->line = HTTPMON_LINE_INCOMPLETE;
            return;
        }
        uint8_t expected = (uint8_t)PATTERN[i], found = text[at + i];
        if (expected == '0' ? !is_digit(found) : found != expected) {
            result->line = HTTPMON_LINE_BAD;
            return;
        }
    }
    result->version = (uint8_t)((text[at + 6] - '0') << 4 | (text[at + 8] - '0'));
}

// A packet of a new connection: chooses the client's side.
static void open(struct connection *c, uint8_t state, uint8_t client)
{
    uint32_t packets = c->packets, requests = c->requests;
    *c = (struct connection){.packets = packets, .requests = requests, .state = state, .client = client};
}

static void advance(struct connection *c, const uint8_t *tcp, uint8_t direction, uint32_t bytes)
{
    uint8_t flags = tcp[13];
    uint8_t bit = (uint8_t)(1u << direction);
    // If the first packets of the connection were not seen, the server has the smaller port.
    uint8_t client = np_get16(tcp + 2) <= np_get16(tcp) ? direction : !direction;
    if (flags & RST) {
        if (c->state == HTTPMON_NONE)
            open(c, HTTPMON_CLOSED, client);
        c->state = HTTPMON_CLOSED;
        return;
    }
    if (flags & SYN) {
        if (!(flags & ACK)) {
            if (c->state == HTTPMON_NONE || c->state == HTTPMON_CLOSED)
                open(c, HTTPMON_SYN_SENT, direction);
        } else if (c->state == HTTPMON_NONE) {
            open(c, HTTPMON_SYN_RECEIVED, !direction);
        } else if (c->state == HTTPMON_SYN_SENT && direction != c->client) {
            c->state = HTTPMON_SYN_RECEIVED;
        }
        return;
    }
    if (c->state == HTTPMON_NONE)
        open(c, HTTPMON_ESTABLISHED, client);
    if (c->state == HTTPMON_SYN_RECEIVED && (flags & ACK) && direction == c->client)
        c->state = HTTPMON_ESTABLISHED;
    if (c->state < HTTPMON_ESTABLISHED || c->state == HTTPMON_CLOSED)
        return;
    if ((flags & FIN) && !(c->ended & bit)) {
        c->ended |= bit;
        c->end[direction] = np_get32(tcp + 4) + bytes + 1;
        c->state = c->ended == 3 ? HTTPMON_BOTH_ENDED : HTTPMON_ONE_ENDED;
    }
    uint8_t other = (uint8_t)(3 - bit);
    if ((flags & ACK) && (c->ended & other) && (int32_t)(np_get32(tcp + 8) - c->end[!direction]) >= 0)
        c->acknowledged |= other;
    if (c->acknowledged == 3)
        c->state = HTTPMON_CLOSED;
}

unsigned np_httpmon(struct np_packet *packet)
{
    struct httpmon_result result = {0};
    size_t left, bytes;
    const uint8_t *tcp = np_transport(packet, &left);
    if (!tcp || packet->protocol != NP_TCP || left < TCP_BYTES)
        return np_forward(packet, 0);
    const uint8_t *payload = np_payload(packet, &bytes);
    if (payload == tcp)
        return np_forward(packet, 0); // the header is longer than the packet, or shorter than a header can be
    int reversed;
    struct connection *c = np_flow(packet, &reversed);
    if (!c) {
        packet->reason = NP_DROP_FLOWS;
        return NP_DROP;
    }
    result.packet = ++c->packets;
    result.before = c->state;
    advance(c, tcp, (uint8_t)reversed, (uint32_t)bytes);
    result.after = c->state;
    result.from_client = reversed == c->client;
    if (bytes && result.from_client && c->state >= HTTPMON_ESTABLISHED) {
        uint32_t sequence = np_get32(tcp + 4);
        if (!c->has_next || (int32_t)(sequence - c->next) >= 0) {
            c->has_next = 1;
            c->next = sequence + (uint32_t)bytes;
            read_request(payload, bytes, &result);
            c->requests += result.method != 0;
        }
    }
    result.requests = c->requests;
    np_flow_release();
    np_result(packet, &result, sizeof result);
    return np_forward(packet, 0);
}
