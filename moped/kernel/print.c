// SPDX-License-Identifier: Apache-2.0 OR MIT
// Messages of the kernel on the console, each with one call of the host.

#include <stdarg.h>

#include "kernel.h"

enum { LONGEST = 768 };

struct text {
    char bytes[LONGEST];
    unsigned length;
};

static void add(struct text *text, char byte)
{
    if (text->length < LONGEST)
        text->bytes[text->length++] = byte;
}

static void add_number(struct text *text, uint64_t value, unsigned base)
{
    char digits[20];
    unsigned count = 0;
    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (count)
        add(text, digits[--count]);
}

static void add_format(struct text *text, const char *format, va_list arguments)
{
    for (; *format; format++) {
        if (*format != '%') {
            add(text, *format);
            continue;
        }
        switch (*++format) {
        case 's':
            for (const char *string = va_arg(arguments, const char *); *string; string++)
                add(text, *string);
            break;
        case 'x':
            add(text, '0');
            add(text, 'x');
            add_number(text, va_arg(arguments, unsigned long), 16);
            break;
        default:
            add_number(text, va_arg(arguments, unsigned long), 10);
            break;
        }
    }
}

void print(struct hart *hart, const char *format, ...)
{
    (void)hart;
    struct text text;
    text.length = 0;
    va_list arguments;
    va_start(arguments, format);
    add_format(&text, format, arguments);
    va_end(arguments);
    host_call(HOST_CONSOLE, physical_of(text.bytes), text.length, 0, 0);
}

void complain(struct hart *hart, uint64_t pc, const char *format, ...)
{
    const struct process *process = hart->current;
    struct text text;
    text.length = 0;
    va_list arguments;
    va_start(arguments, format);
    add_format(&text, format, arguments);
    va_end(arguments);
    add(&text, 0);
    text.bytes[LONGEST - 1] = 0;
    host_call(HOST_PLACE, pc, process->frame.x[SP], physical_of(process->root), process->frame.x[RA]);
    print(hart, "kernel: program %u rank %u pid %u core %u: %s, pc %x\n",
          (unsigned long)process->program->number, (unsigned long)process->rank, (unsigned long)process->pid,
          hart->number, text.bytes, pc);
}

void panic(struct hart *hart, const char *why)
{
    print(hart, "kernel: hart %u: %s\n", hart ? hart->number : 0ul, why);
    for (;;)
        host_call(HOST_EXIT, 255, 0, 0, 0);
}
