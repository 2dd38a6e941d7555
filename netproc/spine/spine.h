// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the parts of SPINE share: waiting, locks, and the functions of each part.

#ifndef MB_NETPROC_SPINE_H
#define MB_NETPROC_SPINE_H

#include "handler.h"
#include "netproc.h"

// memory.c
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

// The status of this hart.
register struct np_status *np_self __asm__("tp");

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

// wrs.nto (Zawrs): waits until this hart has no reservation. Written as a number, because the
// compiler does not know the extension.
#define WRS_NTO ".4byte 0x00d00073\n"
// pause (Zihintpause): a hint in a loop that waits.
#define PAUSE ".4byte 0x0100000f\n"

_Static_assert(offsetof(struct np_config, idle) == 16, "lock_acquire loads idle from here");

// Acquires a lock word: 0 free, 1 locked. Waits as np_config.idle says.
static inline void lock_acquire(uint32_t *word)
{
    uint32_t seen;
    __asm__ volatile("1: lr.w.aq %0, (%1)\n"
                     "   bnez %0, 2f\n"
                     "   sc.w %0, %2, (%1)\n"
                     "   bnez %0, 1b\n"
                     ".subsection 1\n"
                     "2: lui %0, %%hi(np_config + 16)\n"
                     "   lw %0, %%lo(np_config + 16)(%0)\n"
                     "   bnez %0, 3f\n"
                     // The load above ends no reservation. A hart that lost its reservation does
                     // not wait.
                     "   " WRS_NTO "   j 1b\n"
                     "3: " PAUSE "   lw %0, (%1)\n"
                     "   bnez %0, 3b\n"
                     "   j 1b\n"
                     ".previous\n"
                     : "=&r"(seen)
                     : "r"(word), "r"(1)
                     : "memory");
}

static inline void lock_release(uint32_t *word)
{
    __asm__ volatile("amoswap.w.rl zero, zero, (%0)" : : "r"(word) : "memory");
}

// Waits until the value at `at` may differ from `value`. May return early.
static inline void wait_for_change(const volatile uint32_t *at, uint32_t value, uint32_t idle)
{
    if (idle == NP_IDLE_SPIN) {
        __asm__ volatile(PAUSE : : : "memory");
    } else {
        uint32_t seen;
        __asm__ volatile("   lr.w %0, (%1)\n"
                         "   bne %0, %2, 1f\n"
                         "   " WRS_NTO "1:"
                         : "=&r"(seen)
                         : "r"(at), "r"(value)
                         : "memory");
    }
}

// Stores to a register of the controller, after all stores to memory.
static inline void device_store(unsigned reg, uint64_t value)
{
    __asm__ volatile("fence w, o" : : : "memory");
    *(volatile uint64_t *)(NP_DEVICE + reg) = value;
}

static inline void set_phase(uint32_t phase)
{
    *(volatile uint32_t *)&np_self->phase = phase;
}

// A function of the OS path in a file of the workers.
#define OS_TEXT __attribute__((section(".os_text")))

// api.c: reports an error of this hart; does not return.
__attribute__((noreturn)) void np_fail(uint32_t error, const void *pc, uint64_t value);

// setup.c: unused zero bytes, aligned to NP_LINE.
void *np_take_heap(size_t bytes);

// os.c
void np_os_start(void);
__attribute__((noreturn)) void np_os_loop(void);
__attribute__((noreturn)) void np_spread_loop(void);

// worker.c
void np_work_put(struct np_packet *packet);
__attribute__((noreturn)) void np_worker_loop(void);
void np_process(struct np_packet *packet);
void np_complete(struct np_packet *packet, unsigned verdict);
// Returns all free records as a list, or null.
struct np_packet *np_free_take(void);
// Waits until there may be a free record.
void np_free_wait(uint32_t idle);

// classify.c
void np_classify_start(void);
uint32_t np_classify(struct np_packet *packet);

// packet.c: sets transport, protocol and fragment of the record.
void np_parse(struct np_packet *packet);

// What is above the IPv6 header and its extension headers.
struct np_upper {
    uint64_t protocol;
    const uint8_t *transport; // null if there is none
};

struct np_upper np_ipv6_upper(const uint8_t *network, uint64_t length);

// Whether this many bytes of a TCP or UDP header are enough to hold its ports.
enum { NP_PORT_BYTES = 4 };

// dpf.c: compiles np_config.filters into np_code. The result takes the network header and the bytes
// of the IP packet.
typedef uint32_t np_filter_code(const uint8_t *network, uint64_t length);
np_filter_code *np_dpf_compile(void);

// flow.c
void np_flow_start(void);

// A program without a user's handler has none of these.
#pragma weak np_handler
#pragma weak np_handler_init

// Applications.
void np_ip_forward_start(void);
unsigned np_ip_forward(struct np_packet *packet);
unsigned np_httpmon(struct np_packet *packet);
unsigned np_md5(struct np_packet *packet);
void np_3des_start(void);
unsigned np_3des(struct np_packet *packet);

#endif
