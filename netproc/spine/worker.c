// SPDX-License-Identifier: Apache-2.0 OR MIT
// The workers: they take packets from the work list, classify them, call the handler of the
// application, report the packet to the controller and return its buffer.

#include "spine.h"

// The global list of packets to process, first in, first out. The lock is in a line of its own, so
// that waiting harts, which watch `changes`, are not woken by it.
static struct {
    uint32_t lock __attribute__((aligned(NP_LINE)));
    struct np_packet *head __attribute__((aligned(NP_LINE)));
    struct np_packet *tail; // valid if head is not null
    uint32_t filled;        // whether head is not null
} work;

// Records that no packet uses: a stack. Harts push one; the OS thread takes all at once.
static struct np_packet *free_records __attribute__((aligned(NP_LINE)));

static unsigned handle_null(struct np_packet *packet)
{
    return np_drop(packet);
}

static unsigned (*const HANDLERS[NP_APPS])(struct np_packet *) = {
    [NP_APP_NULL] = handle_null, [NP_APP_IP_FORWARD] = np_ip_forward, [NP_APP_HTTPMON] = np_httpmon,
    [NP_APP_MD5] = np_md5,       [NP_APP_3DES] = np_3des,             [NP_APP_USER] = np_handler,
};

OS_TEXT void np_work_put(struct np_packet *packet)
{
    packet->next = NULL;
    lock_acquire(&work.lock);
    if (work.filled)
        work.tail->next = packet;
    else
        work.head = packet;
    work.tail = packet;
    *(volatile uint32_t *)&work.filled = 1;
    lock_release(&work.lock);
}

// Removes the first packet; null if there is none.
static struct np_packet *work_take(void)
{
    lock_acquire(&work.lock);
    struct np_packet *packet = work.filled ? work.head : NULL;
    if (packet) {
        work.head = packet->next;
        if (!packet->next)
            *(volatile uint32_t *)&work.filled = 0;
    }
    lock_release(&work.lock);
    return packet;
}

OS_TEXT struct np_packet *np_free_take(void)
{
    struct np_packet *all;
    __asm__ volatile("amoswap.d.aq %0, zero, %1" : "=r"(all), "+A"(free_records) : : "memory");
    return all;
}

OS_TEXT void np_free_wait(uint32_t idle)
{
    // The lower half of the head: not zero for any record.
    wait_for_change((const volatile uint32_t *)(volatile void *)&free_records, 0, idle);
}

static void free_put(struct np_packet *packet)
{
    struct np_packet *seen;
    uint64_t failed;
    // The record is written before the reservation: between lr and sc there are no other accesses.
    // Nobody removes a single record, so an equal head is an unchanged stack.
    __asm__ volatile("1: ld %1, (%2)\n"
                     "   sd %1, %4(%3)\n"
                     "   lr.d %0, (%2)\n"
                     "   bne %0, %1, 1b\n"
                     "   sc.d.rl %1, %3, (%2)\n"
                     "   bnez %1, 1b"
                     : "=&r"(seen), "=&r"(failed)
                     : "r"(&free_records), "r"(packet), "i"(offsetof(struct np_packet, next))
                     : "memory");
}

void np_complete(struct np_packet *packet, unsigned verdict)
{
    device_store(NP_REG_COMPLETE, (uint64_t)packet | verdict);
    // The controller has the packet before another hart can reuse its buffer.
    __asm__ volatile("fence o, w" : : : "memory");
    np_self->packets++;
    np_self->packet = NP_NO_PACKET;
    free_put(packet);
}

// The application of a packet's class.
static inline uint32_t application_of(const struct np_packet *packet)
{
    if (packet->class_ >= np_config.filter_count)
        return np_config.default_application;
    return ((const struct np_filter *)np_config.filters)[packet->class_].application;
}

void np_process(struct np_packet *packet)
{
    np_self->packet = packet->number;
    np_self->record = packet;
    if (np_config.classify_in == NP_CLASSIFY_IN_WORKER && np_config.classifier != NP_CLASSIFIER_HARDWARE) {
        set_phase(NP_PHASE_CLASSIFY);
        packet->class_ = np_classify(packet);
    }
    uint32_t application = application_of(packet);
    unsigned verdict;
    packet->application = (uint16_t)application;
    packet->result_length = 0;
    np_self->application = application;
    if (UNLIKELY(application == NP_APP_NONE)) {
        packet->reason = NP_DROP_NO_CLASS;
        verdict = NP_DROP;
    } else {
        unsigned (*handler)(struct np_packet *) = HANDLERS[application];
        if (UNLIKELY(!handler))
            np_fail(NP_ERROR_NO_HANDLER, (const void *)np_process, application);
        set_phase(NP_PHASE_HANDLER);
        verdict = handler(packet);
        if (UNLIKELY(verdict - NP_FORWARD > NP_CONSUME - NP_FORWARD))
            np_fail(NP_ERROR_VERDICT, (const void *)handler, verdict);
        if (UNLIKELY(np_self->locks))
            np_fail(NP_ERROR_LOCK_HELD, (const void *)handler, np_self->locks);
    }
    set_phase(NP_PHASE_COMPLETE);
    np_complete(packet, verdict);
}

void np_worker_loop(void)
{
    for (;;) {
        struct np_packet *packet = NULL;
        if (*(volatile uint32_t *)&work.filled)
            packet = work_take();
        if (packet) {
            np_process(packet);
        } else {
            set_phase(NP_PHASE_IDLE);
            wait_for_change(&work.filled, 0, np_config.idle);
        }
    }
}
