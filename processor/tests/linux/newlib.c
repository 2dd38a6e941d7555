/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The calls on files that newlib's libgloss makes for RISC-V, with newlib's flags of open. Status 0, or the line of
 * the first wrong answer. */

enum { OPEN = 1024, UNLINK = 1026, ACCESS = 1033, STAT = 1038, CLOSE = 57, READ = 63, WRITE = 64 };
enum { WRITE_ONLY = 1, READ_WRITE = 2, APPEND = 0x8, CREATE = 0x200, TRUNCATE = 0x400, EXCLUSIVE = 0x800 };

static long call(long number, const void *a, long b, long c)
{
    register long a0 __asm__("a0") = (long)a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

#define CHECK(condition)                                                                                               \
    if (!(condition)) return __LINE__

int main(void)
{
    static const char path[] = "newlib";
    char status[128], text[8];
    long file;
    CHECK(call(ACCESS, path, 0, 0) == -2);
    CHECK(call(OPEN, path, WRITE_ONLY | TRUNCATE | APPEND, 0) == -2);
    CHECK((file = call(OPEN, path, WRITE_ONLY | CREATE | TRUNCATE | EXCLUSIVE, 0644)) >= 3);
    CHECK(call(WRITE, (void *)file, (long)"abc", 3) == 3 && call(CLOSE, (void *)file, 0, 0) == 0);
    CHECK(call(OPEN, path, WRITE_ONLY | CREATE | EXCLUSIVE, 0644) == -17);
    CHECK(call(ACCESS, path, 0, 0) == 0 && call(STAT, path, (long)status, 0) == 0);
    CHECK((file = call(OPEN, path, WRITE_ONLY | APPEND, 0)) >= 3);
    CHECK(call(WRITE, (void *)file, (long)"de", 2) == 2 && call(CLOSE, (void *)file, 0, 0) == 0);
    CHECK((file = call(OPEN, path, 0, 0)) >= 3);
    CHECK(call(READ, (void *)file, (long)text, 8) == 5 && text[4] == 'e');
    CHECK(call(CLOSE, (void *)file, 0, 0) == 0);
    CHECK((file = call(OPEN, path, READ_WRITE | TRUNCATE | APPEND, 0)) >= 3);
    CHECK(call(READ, (void *)file, (long)text, 8) == 0);
    CHECK(call(CLOSE, (void *)file, 0, 0) == 0);
    CHECK(call(UNLINK, path, 0, 0) == 0 && call(UNLINK, path, 0, 0) == -2);
    return 0;
}
