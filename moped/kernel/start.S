// SPDX-License-Identifier: Apache-2.0 OR MIT
// Entry of every hart, entry and exit of traps, and the floating-point registers of a process.

    .file "start.S"
    .equ DIRECT, 0xffffffc000000000
    .equ STACK_BYTES, 16384
    // struct hart
    .equ HART_FRAME, 0
    .equ HART_STACK, 8
    .equ HART_SAVED, 16
    // struct frame
    .equ FRAME_PC, 256
    .equ FRAME_STATUS, 264
    .equ FRAME_F, 272
    .equ FRAME_FCSR, 528

    // The kernel's half of every address space: pages of 1 GiB at DIRECT, not executable, with the
    // bits D, A, G, W, R, V. The entry of the kernel's own GiB points to kernel_pages.
    .section .data
    .balign 4096
    .globl kernel_root
    .type kernel_root, %object
kernel_root:
    .skip 256 * 8
    .set page, 0
    .rept 256
    .dword page << 28 | 0xe7
    .set page, page + 1
    .endr
    .size kernel_root, . - kernel_root
    // Pages of 2 MiB: the first holds the code (D, A, G, X, R, V), the others data.
    .type kernel_pages, %object
kernel_pages:
    .dword 0x80000000 >> 2 | 0xeb
    .set page, 1
    .rept 511
    .dword (0x80000000 + page * 0x200000) >> 2 | 0xe7
    .set page, page + 1
    .endr
    .size kernel_pages, . - kernel_pages

    .section .bss
    .balign 64
stacks:
    .skip STACK_BYTES * 64
    .size stacks, . - stacks

    .text
    // a0: number of the hart, a1: physical address of the hand-over. No translation yet: `la` gives
    // physical addresses.
    .globl _start
    .type _start, %function
_start:
    // All harts write the same value.
    la t0, kernel_pages
    srli t0, t0, 12
    slli t0, t0, 10
    ori t0, t0, 1
    la t1, kernel_root
    li t2, (256 + 2) * 8
    add t2, t1, t2
    sd t0, 0(t2)
    srli t1, t1, 12
    li t2, 8 << 60                  // Sv39
    or t1, t1, t2
    // After the write of satp the physical pc is not mapped: the fetch faults, and the handler is
    // the next instruction at its virtual address.
    la t0, 1f
    li t2, DIRECT
    add t0, t0, t2
    csrw stvec, t0
    sfence.vma
    csrw satp, t1
    .balign 4
1:  la t0, trap_entry
    csrw stvec, t0
    csrw sscratch, zero
    la sp, stacks
    addi t0, a0, 1
    li t1, STACK_BYTES
    mul t0, t0, t1
    add sp, sp, t0
    mv a2, sp
    call kernel_main                // (hart, hand-over, stack)
    .size _start, . - _start

    // In user mode, sscratch is the hart's structure; in supervisor mode, it is 0.
    .balign 4
    .globl trap_entry
    .type trap_entry, %function
trap_entry:
    csrrw tp, sscratch, tp
    beqz tp, 2f
    sd t0, HART_SAVED(tp)
    ld t0, HART_FRAME(tp)
    .irp n, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    sd x\n, 8 * \n(t0)
    .endr
    csrrw t1, sscratch, zero
    sd t1, 8 * 4(t0)
    ld t1, HART_SAVED(tp)
    sd t1, 8 * 5(t0)
    csrr t1, sepc
    sd t1, FRAME_PC(t0)
    csrr t1, sstatus
    sd t1, FRAME_STATUS(t0)
    ld sp, HART_STACK(tp)
    mv a0, tp
    call trap_handle
    .globl resume
    .type resume, %function
resume:                             // a0: the frame to continue; tp: the hart
    ld t1, FRAME_PC(a0)
    csrw sepc, t1
    ld t1, FRAME_STATUS(a0)
    csrw sstatus, t1
    csrw sscratch, tp
    .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    ld x\n, 8 * \n(a0)
    .endr
    ld a0, 8 * 10(a0)
    sret
2:  // A trap in the kernel. The stack is still valid, unless it is the cause.
    csrrw tp, sscratch, tp
    call trap_in_kernel
    .size trap_entry, . - trap_entry

    .option push
    .option arch, +d
    .globl float_save
    .type float_save, %function
float_save:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    fsd f\n, FRAME_F + 8 * \n(a0)
    .endr
    frcsr t0
    sd t0, FRAME_FCSR(a0)
    ret
    .size float_save, . - float_save

    .globl float_restore
    .type float_restore, %function
float_restore:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    fld f\n, FRAME_F + 8 * \n(a0)
    .endr
    ld t0, FRAME_FCSR(a0)
    fscsr t0
    ret
    .size float_restore, . - float_restore
    .option pop
    .section .note.GNU-stack, "", %progbits
