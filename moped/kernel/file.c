// SPDX-License-Identifier: Apache-2.0 OR MIT
// Files are those of the host. A process has its own table of open files; 0, 1 and 2 are the host's.

#include "kernel.h"

enum {
    CALL_FCNTL = 25,
    CALL_IOCTL = 29,
    CALL_UNLINKAT = 35,
    CALL_FTRUNCATE = 46,
    CALL_FACCESSAT = 48,
    CALL_OPENAT = 56,
    CALL_CLOSE = 57,
    CALL_LSEEK = 62,
    CALL_READ = 63,
    CALL_WRITE = 64,
    CALL_READV = 65,
    CALL_WRITEV = 66,
    CALL_PREAD = 67,
    CALL_PWRITE = 68,
    CALL_READLINKAT = 78,
    CALL_FSTATAT = 79,
    CALL_FSTAT = 80,
    CALL_GETCWD = 17,
    // newlib's, on RISC-V.
    CALL_OPEN = 1024,
    CALL_UNLINK = 1026,
    CALL_ACCESS = 1033,
    CALL_STAT = 1038,

    STANDARD_FILES = 3,
    EMPTY_PATH = 0x1000,
    SEEK_SET = 0,
    SEEK_CURRENT = 1,
    MOST_VECTORS = 1024,
};

void files_start(struct process *process)
{
    for (int i = 0; i < MOST_FILES; i++)
        process->file[i] = i < STANDARD_FILES ? i : -1;
}

void files_close(struct process *process)
{
    for (int i = STANDARD_FILES; i < MOST_FILES; i++)
        if (process->file[i] >= 0)
            host_call(HOST_CLOSE, (uint64_t)process->file[i], 0, 0, 0);
}

static int host_file(const struct process *process, uint64_t file)
{
    return file < MOST_FILES && process->file[file] >= 0 ? process->file[file] : -EBADF;
}

// Reads or writes page by page, so that the host sees contiguous memory.
static long transfer(struct hart *hart, struct process *process, int file, uint64_t address, uint64_t bytes, int reads)
{
    uint64_t done = 0;
    while (done < bytes) {
        uint64_t physical, part = PAGE_BYTES - (address + done) % PAGE_BYTES;
        if (part > bytes - done)
            part = bytes - done;
        long result = page_in(hart, process, address + done, reads ? PTE_WRITE : PTE_READ, &physical);
        if (!result)
            result = host_call(reads ? HOST_READ : HOST_WRITE, (uint64_t)file, physical, part, 0);
        if (result < 0)
            return done ? (long)done : result;
        done += (uint64_t)result;
        if ((uint64_t)result < part)
            break;
    }
    return (long)done;
}

static long transfer_vectors(struct hart *hart, struct process *process, int file, uint64_t vectors, uint64_t count,
                             int reads)
{
    long done = 0;
    if (count > MOST_VECTORS)
        return -EINVAL;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t vector[2];
        int error = copy_in(hart, process, vector, vectors + i * sizeof vector, sizeof vector);
        long result = error ? error : transfer(hart, process, file, vector[0], vector[1], reads);
        if (result < 0)
            return done ? done : result;
        done += result;
        if ((uint64_t)result < vector[1])
            break;
    }
    return done;
}

// A transfer at a position, which leaves the file's own position as it was.
static long transfer_at(struct hart *hart, struct process *process, int file, const uint64_t *a, int reads)
{
    long before = host_call(HOST_SEEK, (uint64_t)file, 0, SEEK_CURRENT, 0);
    if (before < 0)
        return before;
    long result = host_call(HOST_SEEK, (uint64_t)file, a[3], SEEK_SET, 0);
    if (result >= 0)
        result = transfer(hart, process, file, a[1], a[2], reads);
    host_call(HOST_SEEK, (uint64_t)file, (uint64_t)before, SEEK_SET, 0);
    return result;
}

static long open(struct hart *hart, struct process *process, uint64_t path, uint64_t flags, uint64_t mode)
{
    long length = copy_in_string(hart, process, (char *)hart->buffer, path);
    if (length < 0)
        return length;
    return host_call(HOST_OPEN, physical_of(hart->buffer), (uint64_t)length, flags, mode);
}

static long open_file(struct hart *hart, struct process *process, uint64_t path, uint64_t flags, uint64_t mode)
{
    for (int i = 0; i < MOST_FILES; i++) {
        if (process->file[i] >= 0)
            continue;
        long file = open(hart, process, path, flags, mode);
        if (file < 0)
            return file;
        process->file[i] = (int)file;
        return i;
    }
    return -EMFILE;
}

// The flags of open as Linux has them, from those of newlib (sys/_default_fcntl.h). Flags that change nothing for a
// file are left out.
static uint64_t flags_of_newlib(uint64_t flags)
{
    enum { APPEND = 0x8, CREATE = 0x200, TRUNCATE = 0x400, EXCLUSIVE = 0x800 };
    return (flags & 3) | (flags & APPEND ? 02000 : 0) | (flags & CREATE ? 0100 : 0) | (flags & TRUNCATE ? 01000 : 0) |
           (flags & EXCLUSIVE ? 0200 : 0);
}

static long status(struct hart *hart, struct process *process, int file, uint64_t address)
{
    if (file < 0)
        return file;
    long result = host_call(HOST_STAT, (uint64_t)file, physical_of(hart->buffer), 0, 0);
    return result < 0 ? result : copy_out(hart, process, address, hart->buffer, HOST_STAT_BYTES);
}

// With `address` 0 only whether the file can be opened.
static long path_status(struct hart *hart, struct process *process, uint64_t path, uint64_t address)
{
    long file = open(hart, process, path, 0, 0);
    if (file < 0)
        return file;
    long result = address ? status(hart, process, (int)file, address) : 0;
    host_call(HOST_CLOSE, (uint64_t)file, 0, 0, 0);
    return result;
}

static long unlink(struct hart *hart, struct process *process, uint64_t path)
{
    long length = copy_in_string(hart, process, (char *)hart->buffer, path);
    return length < 0 ? length : host_call(HOST_UNLINK, physical_of(hart->buffer), (uint64_t)length, 0, 0);
}

static long fstatat(struct hart *hart, struct process *process, const uint64_t *a)
{
    if (a[3] & EMPTY_PATH) {
        char first;
        int error = copy_in(hart, process, &first, a[1], 1);
        if (error)
            return error;
        if (!first)
            return status(hart, process, host_file(process, a[0]), a[2]);
    }
    return path_status(hart, process, a[1], a[2]);
}

long file_call(struct hart *hart, struct process *process, const uint64_t *a, uint64_t number)
{
    // Calls without an open file.
    switch (number) {
    case CALL_OPENAT:
        return open_file(hart, process, a[1], a[2], a[3]);
    case CALL_OPEN:
        return open_file(hart, process, a[0], flags_of_newlib(a[1]), a[2]);
    case CALL_FSTATAT:
        return fstatat(hart, process, a);
    case CALL_STAT:
        return path_status(hart, process, a[0], a[1]);
    case CALL_FACCESSAT:
        return path_status(hart, process, a[1], 0);
    case CALL_ACCESS:
        return path_status(hart, process, a[0], 0);
    case CALL_UNLINKAT:
        return unlink(hart, process, a[1]);
    case CALL_UNLINK:
        return unlink(hart, process, a[0]);
    case CALL_READLINKAT:
        return -EINVAL; // not a symbolic link
    case CALL_GETCWD:
        return a[1] < 2 ? -ERANGE : copy_out(hart, process, a[0], "/", 2) ? -EFAULT : 2;
    default:
        break;
    }
    int file = host_file(process, a[0]);
    switch (number) {
    case CALL_CLOSE:
        if (file < 0)
            return file;
        process->file[a[0]] = -1;
        return a[0] < STANDARD_FILES ? 0 : host_call(HOST_CLOSE, (uint64_t)file, 0, 0, 0);
    case CALL_READ:
    case CALL_WRITE:
        return file < 0 ? file : transfer(hart, process, file, a[1], a[2], number == CALL_READ);
    case CALL_READV:
    case CALL_WRITEV:
        return file < 0 ? file : transfer_vectors(hart, process, file, a[1], a[2], number == CALL_READV);
    case CALL_PREAD:
    case CALL_PWRITE:
        return file < 0 ? file : transfer_at(hart, process, file, a, number == CALL_PREAD);
    case CALL_LSEEK:
        return file < 0 ? file : host_call(HOST_SEEK, (uint64_t)file, a[1], a[2], 0);
    case CALL_FSTAT:
        return status(hart, process, file, a[1]);
    case CALL_FTRUNCATE:
        return file < 0 ? file : host_call(HOST_TRUNCATE, (uint64_t)file, a[1], 0, 0);
    case CALL_FCNTL:
        return file < 0 ? file : 0;
    case CALL_IOCTL:
        return file < 0 ? file : -ENOTTY;
    default:
        break;
    }
    // Once for a program: all ranks make the same calls.
    uint64_t *word = &process->program->unknown[number / 64 % 8], bit = 1ul << (number & 63);
    if (number >= 512 || !(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit))
        complain(hart, process->frame.pc - 4, "unknown system call %u", number);
    return -ENOSYS;
}
