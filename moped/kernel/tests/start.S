// SPDX-License-Identifier: Apache-2.0 OR MIT
// The entry of a user program without a C library.

    .file "start.S"
    .text
    .globl _start
    .type _start, %function
_start:
    ld a0, 0(sp)                // argc
    addi a1, sp, 8              // argv
    call main
    li a7, 93                   // exit
    ecall
    .size _start, . - _start
    .section .note.GNU-stack, "", %progbits
