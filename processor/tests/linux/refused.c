/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs that end with an instruction or a system call that the simulator does not have. */

#include <string.h>

void unknown_call(void);
void unknown_number(void);
void unknown_instruction(void);
void unknown_register(void);
void bad_load(void);

__asm__(".option norvc\n"
        ".macro function name\n"
        ".global \\name\n"
        ".type \\name, @function\n"
        "\\name:\n"
        ".endm\n"
        "function unknown_call\n"
        "li a7, 198\n"
        "ecall\n"
        ".size unknown_call, .-unknown_call\n"
        "function unknown_number\n"
        "li a7, 999\n"
        "ecall\n"
        ".size unknown_number, .-unknown_number\n"
        "function unknown_instruction\n"
        ".word 0\n"
        ".size unknown_instruction, .-unknown_instruction\n"
        "function unknown_register\n"
        "csrr a0, mstatus\n"
        ".size unknown_register, .-unknown_register\n"
        "function bad_load\n"
        "ld a0, 0(zero)\n"
        ".size bad_load, .-bad_load\n");

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "call") == 0)
        unknown_call();
    if (strcmp(what, "number") == 0)
        unknown_number();
    if (strcmp(what, "instruction") == 0)
        unknown_instruction();
    if (strcmp(what, "register") == 0)
        unknown_register();
    if (strcmp(what, "load") == 0)
        bad_load();
    return 0;
}
