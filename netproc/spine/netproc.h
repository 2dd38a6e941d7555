// SPDX-License-Identifier: Apache-2.0 OR MIT
// The contract between SPINE, the operating system of a network processor, and its machine.
//
// A bare RV64 machine: hart h starts at the ELF entry with a0 = h and a1 = number of harts. The
// start code gives each hart a stack and lets tp point to its element of np_status. Hart 0 is the
// OS thread, the others are workers. All numbers are little-endian.
//
// Start: the host loads the program, writes np_config (a symbol) and the arrays that it names, and
// starts all harts. Hart 0 builds tables and compiles filters, and then stores to NP_REG_READY. A
// machine may execute everything before that store without timing.
//
// Reception: the controller takes ring slots in order, and only slots announced by NP_REG_REFILL.
// For each packet it writes the frame to the buffer of the slot by DMA, then the slot's number,
// length and class, and its status last. The OS thread polls the status of the next slot.
//
// Completion: each packet is reported by exactly one store to NP_REG_COMPLETE. When the controller
// has accepted that store, it has read all that it needs of record and buffer (a frame that is
// transmitted included), and both belong to software again.

#ifndef MB_NETPROC_H
#define MB_NETPROC_H

#include <stddef.h>
#include <stdint.h>

enum {
    NP_MAGIC = 0x31504e, // first word of np_config: "NP1"
    NP_HARTS = 64,       // most harts of a machine
    NP_LINE = 64,        // bytes of a cache line and of a reservation granule, at most
};

// Registers of the network controller. All accesses are aligned and 8 bytes wide. Only stores.
#define NP_DEVICE 0x10000000ul

enum {
    NP_REG_RING = 0x00,     // address of the receive ring; hart 0, once
    NP_REG_SLOTS = 0x08,    // number of its slots; hart 0, once
    NP_REG_REFILL = 0x10,   // slots given to the controller since the start (a count, never reduced)
    NP_REG_COMPLETE = 0x18, // address of a packet record, plus its verdict in the low 6 bits
    NP_REG_READY = 0x20,    // 1: tables are built and workers may run; hart 0, once
    NP_REG_ERROR = 0x28,    // NP_ERROR_* of the storing hart, which then waits for ever; the run ends
    NP_DEVICE_BYTES = 0x1000,
};

// A slot of the receive ring. Slot n of the count is slot n % slots of the ring.
struct np_slot {
    uint64_t buffer; // written by software: where the frame begins (2 bytes before a multiple of 4)
    uint64_t number; // written by the controller: packet number, counted from 0 in order of arrival
    uint32_t length; // bytes of the frame on the link, without its check sequence
    uint32_t class_; // number of the filter that matches, if the classifier is hardware; NP_NO_CLASS
    uint32_t status; // written last; software writes 0 before it gives the slot to the controller
    uint32_t unused;
};

enum {
    NP_SLOT_FILLED = 1,    // bit of status: the slot has a packet
    NP_SLOT_TOO_LONG = 2,  // bit of status: longer than the buffer; only the first bytes were written
    NP_SLOT_BAD_CHECK = 4, // bit of status: the frame's check sequence was wrong
};

#define NP_NO_CLASS 0xffffffffu
#define NP_NO_PACKET 0xfffffffffffffffful

// A packet record: what software knows of the packet in one buffer. The buffer follows the record;
// a frame begins NP_FRAME_OFFSET bytes after the start of its record, so that its network header
// is aligned to 4.
struct np_packet {
    // First line, written by the OS thread.
    uint64_t number;
    uint8_t *data;           // the frame, from its Ethernet header on
    uint32_t length;         // bytes of the frame that are in the buffer
    uint32_t network_length; // bytes of the IP packet; what follows is padding of the link
    uint16_t network;        // offset of the network header in data
    uint16_t ethertype;      // of the network header: 0x0800 or 0x86dd
    uint16_t vlan;           // tag control information of the outer VLAN tag, 0 without a tag
    uint8_t vlans;           // number of VLAN tags
    uint8_t parsed;          // whether transport, protocol and fragment are valid
    uint16_t transport;      // offset of the transport header in data; 0 if there is none
    uint8_t protocol;        // IP protocol number of the transport header
    uint8_t fragment;        // 1 in a fragment that is not the first: no transport header
    uint32_t class_;         // number of the filter that matches, or NP_NO_CLASS
    struct np_packet *next;  // link of the work list and of the free list
    uint64_t unused[2];
    // Second line, written by the worker (or by the OS thread, when it drops the packet).
    uint32_t next_hop;      // of a forwarded packet: the number in the route
    uint16_t application;   // NP_APP_* that handled it; NP_APP_NONE if the OS thread dropped it
    uint8_t reason;         // NP_DROP_* of a dropped packet
    uint8_t result_length;  // bytes of result
    uint8_t result[56];     // what the application found, for example a digest
};

enum {
    NP_FRAME_OFFSET = 130, // sizeof(struct np_packet) + 2
    NP_RESULT_BYTES = 56,
};

// Verdicts.
enum {
    NP_FORWARD = 1, // transmit the frame in the buffer to next_hop
    NP_DROP = 2,    // reason says why
    NP_CONSUME = 3, // the application keeps what it needs of it
};

// Reasons of NP_DROP.
enum {
    NP_DROP_HANDLER = 1,   // decided by the application (the null application drops every packet)
    NP_DROP_TRUNCATED = 2, // frame shorter than its headers, or than the length in the IP header
    NP_DROP_TOO_LONG = 3,  // NP_SLOT_TOO_LONG
    NP_DROP_CHECK = 4,     // NP_SLOT_BAD_CHECK
    NP_DROP_TYPE = 5,      // neither IPv4 nor IPv6, or more than two VLAN tags
    NP_DROP_HEADER = 6,    // version or header length of the IP header
    NP_DROP_CHECKSUM = 7,  // checksum of the IPv4 header
    NP_DROP_TTL = 8,       // time to live or hop limit 0 or 1
    NP_DROP_NO_ROUTE = 9,  // no route has a prefix of the destination
    NP_DROP_NO_CLASS = 10, // no filter matches, and there is no default application
    NP_DROP_FLOWS = 11,    // the flow table is full
};

// Applications.
enum {
    NP_APP_NULL = 0,
    NP_APP_IP_FORWARD = 1,
    NP_APP_HTTPMON = 2,
    NP_APP_MD5 = 3,
    NP_APP_3DES = 4, // des.c says what becomes of the bytes after the last whole block
    NP_APP_USER = 5, // the handler of handler.h
    NP_APPS = 6,
    NP_APP_NONE = 0xff,
};

// A filter: all its conditions hold. Of several filters that match, the first one of the array
// classifies the packet. A packet has ports if it is TCP or UDP, not a fragment after the first, and
// has at least 4 bytes of the transport header; without ports it matches only the whole range 0 to
// 65535 of both. Prefixes are in network byte order, their
// bits after the length zero; IPv4 addresses have the first 4 bytes. Prefixes with bits need a version.
struct np_filter {
    uint8_t version;           // 4, 6, or 0: any
    uint8_t any_protocol;      // 1: protocol is ignored
    uint8_t protocol;          // IP protocol number, in IPv6 that of the upper layer
    uint8_t source_bits;       // length of the source prefix; 0: any
    uint8_t destination_bits;  // length of the destination prefix; 0: any
    uint8_t unused[3];
    uint16_t source_port[2];      // first and last
    uint16_t destination_port[2]; // first and last
    uint8_t source[16];
    uint8_t destination[16];
    uint32_t application; // NP_APP_* of the packets of this class
    uint32_t unused2;
};

// A route. Routes are unique, ordered by prefix (as numbers), and of equal prefixes by length; the
// bits of a prefix after its length are zero.
struct np_route4 {
    uint32_t prefix;
    uint32_t bits; // 0 to 32
    uint32_t next_hop;
    uint32_t unused;
};

struct np_route6 {
    uint64_t prefix[2]; // the more significant half first
    uint32_t bits;      // 0 to 128
    uint32_t next_hop;
};

enum { NP_CLASSIFIER_HARDWARE = 0, NP_CLASSIFIER_DPF = 1, NP_CLASSIFIER_TABLE = 2 };
enum { NP_CLASSIFY_IN_WORKER = 0, NP_CLASSIFY_IN_OS = 1 };
enum { NP_IDLE_WAIT = 0, NP_IDLE_SPIN = 1 };
enum { NP_OS_PINNED = 0, NP_OS_SPREAD = 1 };

// The configuration, symbol np_config. The host writes all of it before the start.
struct np_config {
    uint32_t magic;               // NP_MAGIC
    uint32_t harts;               // 1 to NP_HARTS, as a1; one hart is OS thread and worker in turn
    uint32_t classifier;          // NP_CLASSIFIER_*
    uint32_t classify_in;         // NP_CLASSIFY_IN_*: who calls a software classifier
    uint32_t idle;                // NP_IDLE_*: how harts wait for work and locks: wrs.nto, or pause in a loop
    uint32_t os_idle;             // NP_IDLE_*: how the OS thread waits for a packet
    uint32_t os;                  // NP_OS_PINNED, or NP_OS_SPREAD: every hart receives its own packets
    uint32_t ring_slots;          // power of two, 2 to 4096
    uint32_t buffers;             // more than ring_slots
    uint32_t buffer_bytes;        // longest frame; 64 to 16000
    uint32_t default_application; // NP_APP_* of packets without a class, or NP_APP_NONE: dropped
    uint32_t filter_count;        // 0 to NP_FILTERS
    uint64_t filters;             // address of struct np_filter[filter_count]
    uint64_t routes4;             // address of struct np_route4[route4_count]
    uint64_t routes6;             // address of struct np_route6[route6_count]
    uint32_t route4_count;
    uint32_t route6_count;
    uint32_t flow_buckets; // power of two: buckets of the flow table
    uint32_t flows;        // most flows that it holds
    uint8_t des_keys[24];  // three DES keys; parity bits are ignored
    uint8_t des_iv[8];     // initialisation vector of each packet
    uint64_t heap;         // memory that SPINE may use, zero at the start: from here, a multiple of 64,
    uint64_t heap_end;     // to here, below 2 GiB
};

enum { NP_FILTERS = 256 };

// What a hart does: symbol np_status, one element for each of NP_HARTS harts.
struct np_status {
    uint64_t packet; // number of its packet, or NP_NO_PACKET
    uint32_t phase;  // NP_PHASE_*
    uint32_t hart;
    uint32_t application;     // NP_APP_* of the handler that it called last
    uint32_t error;           // NP_ERROR_*, before the store to NP_REG_ERROR
    uint64_t error_pc;        // return address of the call of handler.h that found the error; if the
                              // handler has returned, its entry; in an error at the start, any
    uint64_t error_value;     // see NP_ERROR_*
    uint32_t locks;           // locks of handler.h that it holds
    uint32_t unused;
    struct np_packet *record; // of its packet
    uint64_t packets;         // packets that it has completed
};

enum {
    NP_PHASE_START = 0,
    NP_PHASE_IDLE = 1,
    NP_PHASE_OS = 2,       // receives a packet
    NP_PHASE_CLASSIFY = 3,
    NP_PHASE_HANDLER = 4,
    NP_PHASE_COMPLETE = 5,
    NP_PHASE_ERROR = 6,
};

// Errors of the configuration and of handlers. The value that follows the dash is error_value.
enum {
    NP_ERROR_CONFIG = 1,      // a field of np_config - its offset
    NP_ERROR_HEAP = 2,        // heap too small - bytes requested
    NP_ERROR_FILTER = 3,      // a filter is invalid - its number
    NP_ERROR_ROUTE = 4,       // a route is invalid or out of order - its number
    NP_ERROR_CODE = 5,        // compiled filters do not fit - bytes available
    NP_ERROR_VERDICT = 16,    // the handler returned no verdict - what it returned
    NP_ERROR_LOCK_HELD = 17,  // the handler returned with a lock held - how many
    NP_ERROR_RELOCK = 18,     // a lock that this hart holds is locked again - its address
    NP_ERROR_UNLOCK = 19,     // a lock that this hart does not hold is unlocked - its address
    NP_ERROR_RESULT = 20,     // more than NP_RESULT_BYTES - bytes
    NP_ERROR_ALLOCATE = 21,   // np_allocate while packets are handled - bytes
    NP_ERROR_NO_HANDLER = 22, // a packet for an application that is not linked - its number
    NP_ERROR_FLOW = 23,       // np_flow for a packet without addresses, or while it holds a flow - packet number
};

// Code that the program writes: symbol np_code, NP_CODE_BYTES long, executed after fence.i.
enum { NP_CODE_BYTES = 0x40000 };

// Symbols that divide the code: instructions at np_os_text to np_os_text_end are the OS path, and
// likewise np_worker_text (waiting, work list, completion), np_classify_text, np_app_text
// (applications of this folder) and np_handler_text (the user's handler). Data of the user's
// handler is at np_handler_data to np_handler_data_end.
extern const char np_os_text[], np_os_text_end[], np_worker_text[], np_worker_text_end[];
extern const char np_classify_text[], np_classify_text_end[], np_app_text[], np_app_text_end[];
extern const char np_handler_text[], np_handler_text_end[];
extern char np_handler_data[], np_handler_data_end[];

// Stacks: symbol np_stacks. That of hart h ends NP_STACK_PITCH * (h + 1) bytes after its start.
enum { NP_STACK_PITCH = 9216 };

extern struct np_config np_config;
extern struct np_status np_status[NP_HARTS];
extern uint32_t np_code[NP_CODE_BYTES / 4];

_Static_assert(sizeof(struct np_slot) == 32, "slot");
_Static_assert(sizeof(struct np_packet) == 128 && offsetof(struct np_packet, next_hop) == 64, "record");
_Static_assert(sizeof(struct np_filter) == 56, "filter");
_Static_assert(sizeof(struct np_route4) == 16 && sizeof(struct np_route6) == 24, "routes");
_Static_assert(sizeof(struct np_status) == 64, "status");
_Static_assert(sizeof(struct np_config) == 136, "configuration");

#endif
