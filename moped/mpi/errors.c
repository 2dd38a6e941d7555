// SPDX-License-Identifier: Apache-2.0 OR MIT
// Error classes, error handlers, and what ends a program.

#include <stdarg.h>

#include "ring.h"

static const char *const class_text[] = {
    [MPI_SUCCESS] = "no error",
    [MPI_ERR_BUFFER] = "invalid buffer",
    [MPI_ERR_COUNT] = "invalid count",
    [MPI_ERR_TYPE] = "invalid datatype",
    [MPI_ERR_TAG] = "invalid tag",
    [MPI_ERR_COMM] = "invalid communicator",
    [MPI_ERR_RANK] = "invalid rank",
    [MPI_ERR_REQUEST] = "invalid request",
    [MPI_ERR_ROOT] = "invalid root",
    [MPI_ERR_GROUP] = "invalid group",
    [MPI_ERR_OP] = "invalid operation",
    [MPI_ERR_TOPOLOGY] = "invalid topology",
    [MPI_ERR_DIMS] = "invalid dimensions",
    [MPI_ERR_ARG] = "invalid argument",
    [MPI_ERR_UNKNOWN] = "unknown error",
    [MPI_ERR_TRUNCATE] = "message longer than the receive buffer",
    [MPI_ERR_OTHER] = "other error",
    [MPI_ERR_INTERN] = "internal error",
    [MPI_ERR_IN_STATUS] = "the error is in the status",
    [MPI_ERR_PENDING] = "the request is pending",
    [MPI_ERR_KEYVAL] = "invalid key",
    [MPI_ERR_NO_MEM] = "out of memory",
    [MPI_ERR_INFO_KEY] = "info key too long",
    [MPI_ERR_INFO_VALUE] = "info value too long",
    [MPI_ERR_INFO_NOKEY] = "no such info key",
    [MPI_ERR_INFO] = "invalid info",
    [MPI_ERR_SERVICE] = "no such service",
    [MPI_ERR_NAME] = "no such name",
    [MPI_ERR_UNSUPPORTED_OPERATION] = "unsupported operation",
};

static struct mb_errhandler fatal = {.handle = MPI_ERRORS_ARE_FATAL, .refs = 1};
static struct mb_errhandler returning = {.handle = MPI_ERRORS_RETURN, .refs = 1};

void mb_errhandler_start(void)
{
    mb_reserve_handles(MB_ERRHANDLER, 3);
    mb_set_handle(MPI_ERRORS_ARE_FATAL, &fatal);
    mb_set_handle(MPI_ERRORS_RETURN, &returning);
}

void mb_panic(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    mb_platform_fail(mb.rank, text);
    if (mb_shared != NULL) atomic_store(&mb_shared->aborted.value, 1);
    mb_platform_abort(1);
}

int mb_raise(struct mb_comm *comm, const char *call, int error_class, const char *text)
{
    if (comm == NULL) comm = mb.world;
    const int handle = comm != NULL ? comm->errhandler : MPI_ERRORS_ARE_FATAL;
    const struct mb_errhandler *handler = mb_get(handle, MB_ERRHANDLER);
    if (handle == MPI_ERRORS_RETURN) return error_class;
    if (handler == NULL || handler->function == NULL) mb_panic("%s: %s: %s", call, class_text[error_class], text);
    handler->function(&comm->handle, &error_class);
    return error_class;
}

int mb_fail(struct mb_comm *comm, const char *call, int error_class, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return mb_raise(comm, call, error_class, text);
}

int MPI_Error_class(int code, int *error_class)
{
    *error_class = code >= 0 && code < MPI_ERR_LASTCODE ? code : MPI_ERR_UNKNOWN;
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *text, int *length)
{
    if (code < 0 || code >= MPI_ERR_LASTCODE) code = MPI_ERR_UNKNOWN;
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "%s", class_text[code]);
    return MPI_SUCCESS;
}

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler)
{
    struct mb_errhandler *made = mb_allocate_zeroed(sizeof *made);
    made->refs = 1;
    made->function = function;
    *handler = made->handle = mb_add_handle(MB_ERRHANDLER, made);
    return MPI_SUCCESS;
}

static void release(int handle)
{
    struct mb_errhandler *handler = mb_get(handle, MB_ERRHANDLER);
    if (handler == NULL || handler->function == NULL || --handler->refs > 0) return;
    mb_remove_handle(handle);
    free(handler);
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    MB_CHECK_COMM(c, comm);
    struct mb_errhandler *found = mb_get(handler, MB_ERRHANDLER);
    if (found == NULL) return mb_fail(c, __func__, MPI_ERR_ARG, "handle 0x%x; expected an error handler", handler);
    found->refs++;
    release(c->errhandler);
    c->errhandler = handler;
    return MPI_SUCCESS;
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler)
{
    MB_CHECK_COMM(c, comm);
    ((struct mb_errhandler *)mb_get(c->errhandler, MB_ERRHANDLER))->refs++;
    *handler = c->errhandler;
    return MPI_SUCCESS;
}

int MPI_Comm_call_errhandler(MPI_Comm comm, int code)
{
    MB_CHECK_COMM(c, comm);
    int error_class;
    MPI_Error_class(code, &error_class);
    mb_raise(c, __func__, error_class, "called by the program");
    return MPI_SUCCESS;
}

int MPI_Errhandler_free(MPI_Errhandler *handler)
{
    if (mb_get(*handler, MB_ERRHANDLER) == NULL)
        return mb_fail(NULL, __func__, MPI_ERR_ARG, "handle 0x%x; expected an error handler", *handler);
    release(*handler);
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *handler)
{
    return MPI_Comm_create_errhandler(function, handler);
}

int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler)
{
    return MPI_Comm_set_errhandler(comm, handler);
}

int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler)
{
    return MPI_Comm_get_errhandler(comm, handler);
}
