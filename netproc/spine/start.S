// SPDX-License-Identifier: Apache-2.0 OR MIT
// The entry of every hart: a0 is its number, a1 the number of harts. Sets stack and tp, calls main.

    .file "start.S"
    // Stacks are 9 KiB apart, so that equal positions in the stacks of harts that share a cache are
    // in different sets.
    .equ PITCH, 9216
    .equ HARTS, 64
    .section .bss
    .globl np_stacks
    .type np_stacks, %object
    .balign 64
np_stacks:
    .skip PITCH * HARTS
    .size np_stacks, . - np_stacks

    .text
    .globl _start
    .type _start, %function
_start:
    slli t0, a0, 6              // sizeof(struct np_status)
    la tp, np_status
    add tp, tp, t0
    addi t0, a0, 1
    li t1, PITCH
    mul t0, t0, t1
    la sp, np_stacks
    add sp, sp, t0
    call np_main
1:  ebreak                      // np_main does not return
    j 1b
    .size _start, . - _start
    .section .note.GNU-stack, "", %progbits
