/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Preloaded, it counts the calls of the system that concern a folder, and lets one of them fail or ends the process
 * there: cc -shared -fPIC -o inject.so inject.c -ldl. It does nothing until inject_begin, or where the environment
 * variable INJECT names the file of the state, which the processes of a command share.
 *
 * Calls that a folder concerns name a path in it, or a descriptor that such a call opened. With `object`, memory that
 * this loaded object asks for, mapped or from the heap, counts too. What a call returns then: for reads and syncs EIO, for memory ENOMEM, else
 * ENOSPC. Calls that release something never fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct state {
	_Atomic uint64_t count; /* of the calls so far */
	uint64_t at;            /* number of the call that fails, from 1; 0: none */
	uint64_t ends;          /* the process is ended there instead */
	char folder[1024], object[64];
	char hit[64]; /* name of the call that failed */
};

enum { DESCRIPTORS = 4096 };

static struct state *state;
static _Atomic unsigned char tracked[DESCRIPTORS];

int inject_begin(const char *path);

int inject_begin(const char *path)
{
	int (*real_open)(const char *, int, ...) = (int (*)(const char *, int, ...)) dlsym(RTLD_NEXT, "open64");
	const int file = real_open(path, O_RDWR | O_CLOEXEC);
	if (file < 0) {
		return -1;
	}
	void *(*map)(void *, size_t, int, int, int, off64_t) = (void *(*) (void *, size_t, int, int, int, off64_t)) dlsym(RTLD_NEXT, "mmap64");
	void *mapped = map(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	state = mapped == MAP_FAILED ? NULL : mapped;
	return state == NULL ? -1 : 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("INJECT");
	if (path != NULL) {
		inject_begin(path);
	}
}

static int concerns(int folder, const char *path)
{
	if (state == NULL || path == NULL) {
		return 0;
	}
	if (path[0] != '/') {
		return folder == AT_FDCWD || (folder >= 0 && folder < DESCRIPTORS && tracked[folder]);
	}
	return strncmp(path, state->folder, strlen(state->folder)) == 0;
}

static int concerns_descriptor(int descriptor)
{
	return state != NULL && descriptor >= 0 && descriptor < DESCRIPTORS && tracked[descriptor];
}

/* Counts a call; returns whether it fails. */
static int fails(const char *name, int error)
{
	if (atomic_fetch_add(&state->count, 1) + 1 != state->at) {
		return 0;
	}
	snprintf(state->hit, sizeof(state->hit), "%s", name);
	if (state->ends) {
		kill(getpid(), SIGKILL);
	}
	errno = error;
	return 1;
}

static int opened(int folder, const char *path, int descriptor)
{
	if (descriptor >= 0 && descriptor < DESCRIPTORS) {
		tracked[descriptor] = (unsigned char) concerns(folder, path);
	}
	return descriptor;
}

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define MODE_OF(flags, last) \
	mode_t mode = 0; \
	if ((flags) & (O_CREAT | O_TMPFILE)) { \
		va_list rest; \
		va_start(rest, last); \
		mode = (mode_t) va_arg(rest, int); \
		va_end(rest); \
	}

#define OPEN(name) \
	int name(const char *path, int flags, ...) \
	{ \
		MODE_OF(flags, flags) \
		if (concerns(AT_FDCWD, path) && fails(#name, flags & O_CREAT ? ENOSPC : EIO)) { \
			return -1; \
		} \
		return opened(AT_FDCWD, path, REAL(name)(path, flags, mode)); \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
	int name(int folder, const char *path, int flags, ...) \
	{ \
		MODE_OF(flags, flags) \
		if (concerns(folder, path) && fails(#name, flags & O_CREAT ? ENOSPC : EIO)) { \
			return -1; \
		} \
		return opened(folder, path, REAL(name)(folder, path, flags, mode)); \
	}
OPENAT(openat)
OPENAT(openat64)

int close(int descriptor)
{
	if (descriptor >= 0 && descriptor < DESCRIPTORS) {
		tracked[descriptor] = 0;
	}
	return REAL(close)(descriptor);
}

static int copied(int from, int to)
{
	if (to >= 0 && to < DESCRIPTORS) {
		tracked[to] = (unsigned char) concerns_descriptor(from);
	}
	return to;
}

int dup(int descriptor)
{
	return copied(descriptor, REAL(dup)(descriptor));
}

int dup2(int descriptor, int to)
{
	return copied(descriptor, REAL(dup2)(descriptor, to));
}

#define FCNTL(name) \
	int name(int descriptor, int what, ...) \
	{ \
		va_list rest; \
		va_start(rest, what); \
		void *argument = va_arg(rest, void *); \
		va_end(rest); \
		const int result = REAL(name)(descriptor, what, argument); \
		return what == F_DUPFD || what == F_DUPFD_CLOEXEC ? copied(descriptor, result) : result; \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

#define FOPEN(name) \
	FILE *name(const char *path, const char *mode) \
	{ \
		if (concerns(AT_FDCWD, path) && fails(#name, mode[0] == 'r' ? EIO : ENOSPC)) { \
			return NULL; \
		} \
		FILE *file = REAL(name)(path, mode); \
		opened(AT_FDCWD, path, file == NULL ? -1 : fileno(file)); \
		return file; \
	}
FOPEN(fopen)
FOPEN(fopen64)

size_t fread(void *data, size_t size, size_t count, FILE *file)
{
	return concerns_descriptor(fileno(file)) && fails("fread", EIO) ? 0 : REAL(fread)(data, size, count, file);
}

/* Calls whose first argument is a descriptor. */
#define ON_DESCRIPTOR(type, name, parameters, arguments, error) \
	type name parameters \
	{ \
		if (concerns_descriptor(descriptor) && fails(#name, error)) { \
			return -1; \
		} \
		return REAL(name) arguments; \
	}
ON_DESCRIPTOR(ssize_t, read, (int descriptor, void *data, size_t size), (descriptor, data, size), EIO)
ON_DESCRIPTOR(ssize_t, pread64, (int descriptor, void *data, size_t size, off64_t at), (descriptor, data, size, at), EIO)
ON_DESCRIPTOR(ssize_t, write, (int descriptor, const void *data, size_t size), (descriptor, data, size), ENOSPC)
ON_DESCRIPTOR(ssize_t, pread, (int descriptor, void *data, size_t size, off_t at), (descriptor, data, size, at), EIO)
ON_DESCRIPTOR(ssize_t, pwrite, (int descriptor, const void *data, size_t size, off_t at), (descriptor, data, size, at), ENOSPC)
ON_DESCRIPTOR(ssize_t, pwrite64, (int descriptor, const void *data, size_t size, off64_t at), (descriptor, data, size, at), ENOSPC)
ON_DESCRIPTOR(ssize_t, writev, (int descriptor, const struct iovec *data, int count), (descriptor, data, count), ENOSPC)
ON_DESCRIPTOR(int, fsync, (int descriptor), (descriptor), EIO)
ON_DESCRIPTOR(int, fdatasync, (int descriptor), (descriptor), EIO)
ON_DESCRIPTOR(int, ftruncate64, (int descriptor, off64_t size), (descriptor, size), ENOSPC)
ON_DESCRIPTOR(int, ftruncate, (int descriptor, off_t size), (descriptor, size), ENOSPC)
ON_DESCRIPTOR(int, fallocate, (int descriptor, int mode, off_t at, off_t size), (descriptor, mode, at, size), ENOSPC)
ON_DESCRIPTOR(int, fallocate64, (int descriptor, int mode, off64_t at, off64_t size), (descriptor, mode, at, size), ENOSPC)

/* These return the error. */
#define POSIX_FALLOCATE(name, offset) \
	int name(int descriptor, offset at, offset size) \
	{ \
		return concerns_descriptor(descriptor) && fails(#name, ENOSPC) ? ENOSPC : REAL(name)(descriptor, at, size); \
	}
POSIX_FALLOCATE(posix_fallocate, off_t)
POSIX_FALLOCATE(posix_fallocate64, off64_t)

/* Calls that name a path. */
#define ON_PATH(name, parameters, arguments, folder, path) \
	int name parameters \
	{ \
		if (concerns(folder, path) && fails(#name, ENOSPC)) { \
			return -1; \
		} \
		return REAL(name) arguments; \
	}
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
ON_PATH(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), folder, path)
ON_PATH(rename, (const char *from, const char *to), (from, to), AT_FDCWD, to)
ON_PATH(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), b, to)
ON_PATH(renameat2, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags), b, to)
ON_PATH(link, (const char *from, const char *to), (from, to), AT_FDCWD, to)
ON_PATH(symlink, (const char *from, const char *to), (from, to), AT_FDCWD, to)

static int is_from_object(void *caller)
{
	Dl_info information;
	return state != NULL && state->object[0] != '\0' && dladdr(caller, &information) != 0 && information.dli_fname != NULL &&
	       strstr(information.dli_fname, state->object) != NULL;
}

#define MMAP(name, offset) \
	void *name(void *address, size_t size, int protection, int flags, int descriptor, offset at) \
	{ \
		if ((concerns_descriptor(descriptor) || is_from_object(__builtin_return_address(0))) && fails(#name, ENOMEM)) { \
			return MAP_FAILED; \
		} \
		return REAL(name)(address, size, protection, flags, descriptor, at); \
	}
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

/* Memory from the heap, for the object alone. The names of glibc, since dlsym itself asks for memory. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define FROM_HEAP(type, name, parameters, real, none) \
	type name parameters \
	{ \
		return is_from_object(__builtin_return_address(0)) && fails(#name, ENOMEM) ? none : real; \
	}
FROM_HEAP(void *, malloc, (size_t size), __libc_malloc(size), NULL)
FROM_HEAP(void *, calloc, (size_t number, size_t size), __libc_calloc(number, size), NULL)
FROM_HEAP(void *, realloc, (void *memory, size_t size), __libc_realloc(memory, size), NULL)
FROM_HEAP(void *, aligned_alloc, (size_t alignment, size_t size), __libc_memalign(alignment, size), NULL)
FROM_HEAP(int, posix_memalign, (void **memory, size_t alignment, size_t size),
          (*memory = __libc_memalign(alignment, size)) == NULL ? ENOMEM : 0, ENOMEM)
