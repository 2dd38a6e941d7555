// SPDX-License-Identifier: Apache-2.0 OR MIT
// Writes RV64I instructions to memory. Formats and numbers: The RISC-V Instruction Set Manual,
// Volume I, chapter "RV32/64G Instruction Set Listings".

#ifndef MB_NETPROC_EMIT_H
#define MB_NETPROC_EMIT_H

#include "spine.h"

enum { R_ZERO = 0, R_RA = 1, R_SP = 2, R_T0 = 5, R_T1 = 6, R_T2 = 7, R_A0 = 10, R_A1 = 11, R_A3 = 13, R_A4 = 14 };

enum { LB_UNSIGNED = 4, LH_UNSIGNED = 5, LW_UNSIGNED = 6, LD = 3 };
enum { BRANCH_EQUAL = 0, BRANCH_NOT_EQUAL = 1, BRANCH_LESS = 6, BRANCH_NOT_LESS = 7 }; // unsigned

static uint32_t *emit_at, *emit_end;

static void emit(uint32_t word)
{
    if (emit_at == emit_end)
        np_fail(NP_ERROR_CODE, (const void *)np_dpf_compile, NP_CODE_BYTES);
    *emit_at++ = word;
}

static void emit_immediate(uint32_t opcode, uint32_t function, uint32_t d, uint32_t a, int32_t immediate)
{
    emit((uint32_t)immediate << 20 | a << 15 | function << 12 | d << 7 | opcode);
}

static void emit_load(uint32_t function, uint32_t d, uint32_t a, int32_t offset)
{
    emit_immediate(0x03, function, d, a, offset);
}

static void emit_add_immediate(uint32_t d, uint32_t a, int32_t immediate)
{
    emit_immediate(0x13, 0, d, a, immediate);
}

static void emit_and_immediate(uint32_t d, uint32_t a, int32_t immediate)
{
    emit_immediate(0x13, 7, d, a, immediate);
}

static void emit_shift_left(uint32_t d, uint32_t a, int32_t by)
{
    emit_immediate(0x13, 1, d, a, by);
}

static void emit_shift_right(uint32_t d, uint32_t a, int32_t by)
{
    emit_immediate(0x13, 5, d, a, by);
}

// Whether the program may use rev8 (Zbb).
#ifdef __riscv_zbb
enum { HAS_REVERSE = 1 };
#else
enum { HAS_REVERSE = 0 };
#endif

static void emit_reverse(uint32_t d, uint32_t a)
{
    emit_immediate(0x13, 5, d, a, 0x6b8);
}

static void emit_register(uint32_t function, uint32_t upper, uint32_t d, uint32_t a, uint32_t b)
{
    emit(upper << 25 | b << 20 | a << 15 | function << 12 | d << 7 | 0x33);
}

static void emit_add(uint32_t d, uint32_t a, uint32_t b)
{
    emit_register(0, 0, d, a, b);
}

static void emit_sub(uint32_t d, uint32_t a, uint32_t b)
{
    emit_register(0, 0x20, d, a, b);
}

static void emit_or(uint32_t d, uint32_t a, uint32_t b)
{
    emit_register(6, 0, d, a, b);
}

static void emit_and(uint32_t d, uint32_t a, uint32_t b)
{
    emit_register(7, 0, d, a, b);
}

static void emit_store_double(uint32_t value, uint32_t a, int32_t offset)
{
    uint32_t imm = (uint32_t)offset;
    emit((imm >> 5 & 0x7f) << 25 | value << 20 | a << 15 | 3 << 12 | (imm & 0x1f) << 7 | 0x23);
}

// A constant: up to 8 instructions.
static void emit_constant(uint32_t d, int64_t value)
{
    int64_t low = (int64_t)((uint64_t)value << 52) >> 52;
    if (value == low) {
        emit_add_immediate(d, R_ZERO, (int32_t)low);
    } else if (value == (int32_t)value) {
        emit((((uint32_t)value + 0x800) & 0xfffff000) | d << 7 | 0x37);
        if (low)
            emit_immediate(0x1b, 0, d, d, (int32_t)low);
    } else {
        int64_t high = (int64_t)((uint64_t)value - (uint64_t)low) >> 12;
        int32_t shift = 12;
        for (; !(high & 1); high >>= 1)
            shift++;
        emit_constant(d, high);
        emit_shift_left(d, d, shift);
        if (low)
            emit_add_immediate(d, d, (int32_t)low);
    }
}

// Lets the branch at `from` go to `to`, which is at most 4 KiB away.
static void patch_branch(uint32_t *from, const uint32_t *to)
{
    uint32_t by = (uint32_t)((to - from) * 4);
    *from |= (by >> 12 & 1) << 31 | (by >> 5 & 0x3f) << 25 | (by >> 1 & 0xf) << 8 | (by >> 11 & 1) << 7;
}

// A branch whose target is set by patch_branch.
static uint32_t *emit_branch(uint32_t function, uint32_t a, uint32_t b)
{
    emit(b << 20 | a << 15 | function << 12 | 0x63);
    return emit_at - 1;
}

// Lets the jump at `from` go to `to`, which is at most 1 MiB away.
static void patch_jump(uint32_t *from, const uint32_t *to)
{
    uint32_t by = (uint32_t)((to - from) * 4);
    *from |= (by >> 20 & 1) << 31 | (by >> 1 & 0x3ff) << 21 | (by >> 11 & 1) << 20 | (by >> 12 & 0xff) << 12;
}

// A jump whose target is set by patch_jump.
static uint32_t *emit_jump(void)
{
    emit(0x6f);
    return emit_at - 1;
}

static void emit_call(uint32_t a)
{
    emit_immediate(0x67, 0, R_RA, a, 0);
}

static void emit_return(void)
{
    emit_immediate(0x67, 0, R_ZERO, R_RA, 0);
}

#endif
