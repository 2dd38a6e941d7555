// SPDX-License-Identifier: Apache-2.0 OR MIT
// Messages of the kernel on the console, each with one call of the host.

#include <stdarg.h>

#include "kernel.h"

enum { LONGEST = 256 };

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

void print(struct hart *hart, const char *format, ...)
{
    (void)hart;
    struct text text;
    text.length = 0;
    va_list arguments;
    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%') {
            add(&text, *format);
            continue;
        }
        switch (*++format) {
        case 's':
            for (const char *string = va_arg(arguments, const char *); *string; string++)
                add(&text, *string);
            break;
        case 'x':
            add(&text, '0');
            add(&text, 'x');
            add_number(&text, va_arg(arguments, unsigned long), 16);
            break;
        default:
            add_number(&text, va_arg(arguments, unsigned long), 10);
            break;
        }
    }
    va_end(arguments);
    host_call(HOST_CONSOLE, physical_of(text.bytes), text.length, 0, 0);
}

void panic(struct hart *hart, const char *why)
{
    print(hart, "kernel: hart %u: %s\n", hart ? hart->number : 0ul, why);
    for (;;)
        host_call(HOST_EXIT, 255, 0, 0, 0);
}
