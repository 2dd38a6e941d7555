// SPDX-License-Identifier: Apache-2.0 OR MIT
// The entry of a program: sets the stack, calls main with the arguments set by the host, and exits with its result.

    .file "start.S"             // otherwise the linker records a temporary file name
    .section .bss
    .balign 16
stack:
    .skip 4096
stack_end:

    .text
    .globl _start
    .type _start, %function
_start:
#if defined(__powerpc__)
    lis 1, stack_end@ha
    la 1, stack_end@l(1)
    li 0, 0
    stwu 0, -16(1)              // back chain 0, and space for the return address
    bl main
    li 0, 1                     // exit
    sc
#else
    la sp, stack_end
    call main
    li a7, 93                   // exit
    ecall
#endif
    .size _start, . - _start
    .section .note.GNU-stack, "", %progbits
