/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The marker on the simulated chip: a system call that the chip's kernel passes to the host. Linux has no
 * call of this number and returns an error, so that the programs run under qemu-user too.
 */

void mb_mark(int kind);

void mb_mark(int kind)
{
    register long a0 __asm__("a0") = kind;
    register long a7 __asm__("a7") = 0x4d420104;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
}
