// SPDX-License-Identifier: Apache-2.0 OR MIT
// The interface between the kernel and the machine that runs it: hand-over at the start, and calls
// to the host. Addresses are physical unless stated.
// `moped/src/kernel` has the same numbers for the host.
//
// At the start every hart is in supervisor mode at the kernel's entry, with satp 0, all interrupts
// disabled, its number in a0 and the address of the hand-over in a1.

#ifndef MB_KERNEL_HOST_H
#define MB_KERNEL_HOST_H

#include <stdint.h>

#define HANDOVER_MAGIC 0x4d424b45524e454cu

enum {
    HANDOVER_VERSION = 1,
    MOST_HARTS = 64,
    MOST_PROGRAMS = 16,
    PAGE_BYTES = 4096,
};

// A program and its processes.
struct handover_program {
    uint64_t image; // the ELF file, at a multiple of PAGE_BYTES
    uint64_t image_bytes;
    uint64_t ranks;           // number of processes
    uint64_t first_core;      // rank r starts on core (first_core + r) % harts
    uint64_t arguments;       // argc strings, each with its final zero, one after the other
    uint64_t arguments_bytes; // at most 1 MiB together with the environment
    uint64_t argc;
    uint64_t environment; // envc strings, as above
    uint64_t environment_bytes;
    uint64_t envc;
};

struct handover {
    uint64_t magic;
    uint64_t version;
    uint64_t harts;
    uint64_t memory; // first byte of memory
    uint64_t memory_bytes;
    uint64_t free; // first free byte, a multiple of PAGE_BYTES; everything from here on is free
    uint64_t frequency; // units of the time register in a second
    uint64_t slice; // time between timer interrupts while several processes share a core
    uint64_t programs;
    // Port pages of MOPED (moped/mpi/moped.h): that of program p is at ports + p * PAGE_BYTES. 0: no
    // device.
    uint64_t ports;
    // Its registers for the kernel, struct moped_control. 0: no device.
    uint64_t control;
    struct handover_program program[MOST_PROGRAMS];
};

// Calls of the host: `ecall` in supervisor mode, number in a7, arguments from a0 on, result in a0.
// Buffers are contiguous. Files are numbers; -4095 to -1 are error numbers of Linux. The host acts
// at the moment of the call: all earlier stores of the hart are performed.
enum {
    HOST_EXIT = 0,      // (status): ends the simulation
    HOST_CONSOLE = 1,   // (buffer, bytes): a message of the kernel
    HOST_OPEN = 2,      // (path, bytes of the path, flags, mode): a file; flags are those of Linux
    HOST_CLOSE = 3,     // (file)
    HOST_READ = 4,      // (file, buffer, bytes): number of bytes read
    HOST_WRITE = 5,     // (file, buffer, bytes): number of bytes written
    HOST_SEEK = 6,      // (file, offset, whence): the new position
    HOST_STAT = 7,      // (file, buffer): writes a struct stat of RV64 Linux, 128 bytes
    HOST_MARK = 8,      // (kind, program, rank): a mode marker, see calls.h
    HOST_INTERRUPT = 9, // (hart): makes the software interrupt of a hart pending
    HOST_ENDED = 10,    // (program, rank, status): a process ended
    HOST_UNLINK = 11,   // (path, bytes of the path)
    HOST_RANDOM = 12,   // (): 64 bits of the simulation's seeded generator
    HOST_TRUNCATE = 13, // (file, bytes)
    // (pc, stack pointer, root page table, return address): where the current process of the hart is, of which a
    // message follows; addresses but the root are those of the process
    HOST_PLACE = 14,
};

enum { HOST_STAT_BYTES = 128 };

enum { AGENTS_PER_PROGRAM = 512 }; // ranks that have a port in the page of their program

#endif
