// SPDX-License-Identifier: Apache-2.0 OR MIT
// Programs: ELF files that the host placed in memory, and the processes made from them.

#include "kernel.h"

struct program programs[MOST_PROGRAMS];

struct elf_header {
    uint8_t identification[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, segments, sections;
    uint32_t flags;
    uint16_t header_bytes, segment_bytes, segment_count, section_bytes, section_count, names;
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_bytes, memory_bytes, alignment;
};

enum {
    TYPE_EXECUTABLE = 2,
    MACHINE_RISCV = 243,
    SEGMENT_LOAD = 1,
    SEGMENT_INTERPRETER = 3,
    MOST_SEGMENTS = 16,
    // Entries of the auxiliary vector, with their numbers of Linux.
    AT_NULL = 0,
    AT_PHDR = 3,
    AT_PHENT = 4,
    AT_PHNUM = 5,
    AT_PAGESZ = 6,
    AT_ENTRY = 9,
    AT_UID = 11,
    AT_EUID = 12,
    AT_GID = 13,
    AT_EGID = 14,
    AT_HWCAP = 16,
    AT_CLKTCK = 17,
    AT_SECURE = 23,
    AT_RANDOM = 25,
    AT_EXECFN = 31,
    // Letters of the instruction set: A, C, D, F, I, M.
    HWCAP = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 8 | 1 << 12,
    STATUS_PREVIOUS_ENABLE = 1 << 5, // interrupts are enabled after sret
    STATUS_FLOAT_INITIAL = 1 << 13,
};

// Checks the ELF file; returns a message or null.
static const char *check(const struct handover_program *program)
{
    const struct elf_header *elf = at(program->image);
    static const uint8_t expected[7] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    if (program->image_bytes < sizeof *elf)
        return "shorter than an ELF header";
    for (unsigned i = 0; i < sizeof expected; i++)
        if (elf->identification[i] != expected[i])
            return "not an ELF file with 64 bits, little-endian";
    if (elf->machine != MACHINE_RISCV)
        return "not for RISC-V";
    if (elf->type != TYPE_EXECUTABLE)
        return "not an executable at fixed addresses; link with -static -no-pie";
    if (elf->segment_bytes != sizeof(struct elf_segment) || elf->segment_count > MOST_SEGMENTS ||
        elf->segments % 8 != 0 || elf->segments > program->image_bytes ||
        program->image_bytes - elf->segments < elf->segment_count * sizeof(struct elf_segment))
        return "the program headers are outside of the file";
    return NULL;
}

// Makes the areas of the segments; returns a message or null.
static const char *load(struct process *process, uint64_t *headers)
{
    const struct handover_program *program = process->program->handover;
    const struct elf_header *elf = at(program->image);
    const struct elf_segment *segments = at(program->image + elf->segments);
    *headers = 0;
    for (unsigned i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *segment = &segments[i];
        if (segment->type == SEGMENT_INTERPRETER)
            return "dynamically linked; link with -static";
        if (segment->type != SEGMENT_LOAD || segment->memory_bytes == 0)
            continue;
        if (segment->offset > program->image_bytes || program->image_bytes - segment->offset < segment->file_bytes ||
            segment->file_bytes > segment->memory_bytes)
            return "a segment is outside of the file";
        if (segment->address >= MAP_TOP / 2 || segment->memory_bytes >= MAP_TOP / 2)
            return "a segment is outside of the address space";
        if (segment->address % PAGE_BYTES != segment->offset % PAGE_BYTES)
            return "a segment's address and offset differ in a page";
        uint64_t before = segment->address % PAGE_BYTES;
        struct area area = {
            .start = segment->address - before,
            .end = page_up(segment->address + segment->memory_bytes),
            .kind = AREA_IMAGE,
            .rights = (segment->flags & 1 ? PTE_EXECUTE : 0u) | (segment->flags & 2 ? PTE_WRITE | PTE_READ : 0u) |
                      (segment->flags & 4 ? PTE_READ : 0u),
            .file = program->image + segment->offset - before,
            .file_bytes = before + segment->file_bytes,
        };
        if (area_add(process, area))
            return "two segments share a page";
        if (elf->segments >= segment->offset && elf->segments - segment->offset < segment->file_bytes)
            *headers = segment->address + (elf->segments - segment->offset);
        if (area.end > process->break_start)
            process->break_start = process->break_end = area.end;
    }
    return NULL;
}

// Copies strings to the stack; writes their addresses to `vector`, which grows.
static int put_strings(struct hart *hart, struct process *process, uint64_t *stack, uint64_t strings, uint64_t bytes,
                       uint64_t count, uint64_t vector)
{
    *stack -= bytes;
    const char *text = at(strings);
    int error = copy_out(hart, process, *stack, text, bytes);
    uint64_t offset = 0;
    for (uint64_t i = 0; i < count && !error; i++) {
        uint64_t address = *stack + offset;
        error = copy_out(hart, process, vector + 8 * i, &address, 8);
        while (offset < bytes && text[offset])
            offset++;
        offset++;
    }
    return error;
}

// The initial stack, as Linux leaves it: argc, argv, envp, the auxiliary vector, then strings.
static int make_stack(struct hart *hart, struct process *process, uint64_t headers)
{
    const struct handover_program *program = process->program->handover;
    const struct elf_header *elf = at(program->image);
    if (area_add(process, (struct area){.start = STACK_TOP - STACK_BYTES, .end = STACK_TOP, .rights = PTE_READ | PTE_WRITE}))
        return -ENOEXEC;
    uint64_t stack = STACK_TOP - 16, random[2];
    random[0] = (uint64_t)host_call(HOST_RANDOM, 0, 0, 0, 0);
    random[1] = (uint64_t)host_call(HOST_RANDOM, 0, 0, 0, 0);
    int error = copy_out(hart, process, stack, random, sizeof random);
    uint64_t random_address = stack;
    uint64_t strings = program->arguments_bytes + program->environment_bytes;
    if (strings > STACK_BYTES / 8)
        return -ENOEXEC;
    const uint64_t arguments = stack - program->arguments_bytes;
    const uint64_t auxiliary[] = {
        AT_PHDR, headers, AT_PHENT, sizeof(struct elf_segment), AT_PHNUM, elf->segment_count,
        AT_PAGESZ, PAGE_BYTES, AT_ENTRY, elf->entry, AT_UID, 0, AT_EUID, 0, AT_GID, 0, AT_EGID, 0,
        AT_HWCAP, HWCAP, AT_CLKTCK, 100, AT_SECURE, 0, AT_RANDOM, random_address, AT_EXECFN, arguments,
        AT_NULL, 0,
    };
    uint64_t words = 1 + program->argc + 1 + program->envc + 1;
    uint64_t pointer = (stack - strings - words * 8 - sizeof auxiliary) & ~15ul;
    uint64_t vector = pointer + 8, environment = vector + 8 * (program->argc + 1);
    if (!error)
        error = copy_out(hart, process, pointer, &program->argc, 8);
    if (!error)
        error = put_strings(hart, process, &stack, program->arguments, program->arguments_bytes, program->argc, vector);
    if (!error)
        error = put_strings(hart, process, &stack, program->environment, program->environment_bytes, program->envc,
                            environment);
    if (!error)
        error = copy_out(hart, process, environment + 8 * (program->envc + 1), auxiliary, sizeof auxiliary);
    process->frame.x[SP] = pointer;
    return error;
}

static void start_process(struct hart *hart, struct program *program, uint32_t rank, uint32_t pid)
{
    const struct handover_program *handed = program->handover;
    _Static_assert(sizeof(struct process) <= PAGE_BYTES, "a process has one page");
    uint64_t page = page_take(hart), headers;
    if (!page)
        panic(hart, "no memory for processes");
    struct process *process = at(page);
    program->process[rank] = process;
    process->program = program;
    process->rank = rank;
    process->pid = pid;
    process->map_bottom = MAP_TOP;
    if (space_create(hart, process))
        panic(hart, "no memory for page tables");
    const char *wrong = load(process, &headers);
    if (!wrong && make_stack(hart, process, headers))
        wrong = "no memory for the stack, or arguments longer than 1 MiB";
    if (wrong) {
        print(hart, "kernel: program %u: %s\n", (unsigned long)program->number, wrong);
        panic(hart, "cannot load a program");
    }
    const struct elf_header *elf = at(handed->image);
    process->frame.pc = elf->entry;
    process->frame.status = STATUS_PREVIOUS_ENABLE | STATUS_FLOAT_INITIAL;
    files_start(process);
    struct hart *home = &harts[(handed->first_core + rank) % handover->harts];
    queue_add(home, process);
}

void programs_start(struct hart *hart)
{
    uint32_t pid = 1;
    for (uint32_t i = 0; i < handover->programs; i++) {
        struct program *program = &programs[i];
        program->number = i;
        program->handover = &handover->program[i];
        program->ranks = program->running = (uint32_t)program->handover->ranks;
        const char *wrong = check(program->handover);
        if (program->handover->ranks == 0 || program->handover->ranks > AGENTS_PER_PROGRAM)
            wrong = "the number of ranks is not in 1 to 512";
        if (wrong) {
            print(hart, "kernel: program %u: %s\n", (unsigned long)i, wrong);
            panic(hart, "cannot load a program");
        }
        for (uint32_t rank = 0; rank < program->ranks; rank++)
            start_process(hart, program, rank, pid++);
    }
}
