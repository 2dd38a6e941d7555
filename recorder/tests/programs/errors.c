/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Calls every function of a table with right, borderline and wrong arguments and prints what the program sees: return
 * code, statuses, output arguments. `errors BINDING RESULTS [SKIPPED]` on two ranks; BINDING is `c` or `fortran`, which
 * calls the symbols of the Fortran binding, with addresses and Fortran handles. RESULTS.RANK gets one line for each
 * case; it ends with the name of a case if this one ends the program. SKIPPED names cases that are not run, one in each
 * line, and, after `>`, the case behind which the run begins. test_errors.py makes the table, functions.inc, from
 * mpi.h.
 *
 * In each case one argument differs from those of a right call, or none; if there is a status, once with
 * MPI_STATUS_IGNORE.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

typedef uintptr_t word;

/* What an argument is. The values of a kind are in `alternatives`. */
enum kind {
    NO_ARGUMENT, SOURCE_BUFFER, TARGET_BUFFER, COUNT, TYPE, DEST, SOURCE, ROOT, TAG, COMM, CART, INTER, WORLD, NEW_COMM, OLD_COMM,
    NEW_REQUEST, REQUEST, REQUEST_VALUE, REQUESTS, STATUS, STATUSES, FLAG, INDEX, OUTCOUNT, INDICES, COUNTS, DISPLACEMENTS, TYPES, OP,
    INFO, NEW_MESSAGE, MESSAGE, GROUP, WINDOW, NEW_WINDOW, NO_WINDOW, FILE_HANDLE, NEW_FILE, NUMBER, NUMBERS, LONG, TEXT, POINTER,
    HANDLER, HOOK, OTHER_RANK, NO_COMM
};

enum family { SEND, RECV, SENDRECV, PROBE, MRECV, WAIT, CANCEL, REQUEST_FREE, START, COLLECTIVE, COMM_MAKE, COMM_FREE, REST, EPOCH };

static const struct function {
    const char *name, *fortran;
    void *address;
    enum family family;
    int wide, blocking, arity;
    unsigned char kinds[13];
} functions[] = {
#include "functions.inc"
};

enum { TAG_USED = 7, ROOM = 128, UNSET = 0x5a5a5a5a };

static int rank, in_fortran, begun, other_message, code, flag, number, outcount;
static int numbers[ROOM], indices[ROOM], source_ints[ROOM], target_ints[ROOM], narrow[ROOM], none[ROOM];
static long long broad[ROOM], no_broad[ROOM];
static MPI_Comm self, cart, inter, made, old_comm;
static MPI_Group group;
static MPI_Win window, new_window;
static MPI_File file, new_file;
static MPI_Datatype uncommitted, type_list[ROOM], no_types[ROOM];
static MPI_Message message, matched;
static MPI_Request fresh, requests[3], given[3];
static MPI_Status statuses[4];
static int f_values[13][ROOM];
static long long f_longs[13];
static MPI_Fint f_status[4 * 16];

static void fault(int signal) { _exit(signal); }

/* --- values --- */

static word bits(const void *handle, size_t bytes) {
    word value = 0;
    memcpy(&value, handle, bytes);
    return value;
}
#define BITS(type, value) bits(&(type){value}, sizeof(type))
#define HANDLE(type, binding, at, right, wrong)                                                               \
    {                                                                                                         \
        type values[] = {right, wrong, 0};                                                                    \
        if (at > 2)                                                                                           \
            return 0;                                                                                         \
        type chosen = values[at];                                                                             \
        if (in_fortran)                                                                                       \
            f_values[i][0] = at == 2 ? 0 : binding(chosen), *value = (word)f_values[i];                       \
        else                                                                                                  \
            *value = bits(&chosen, sizeof chosen);                                                            \
        return at < (in_fortran ? 2 : 3);                                                                     \
    }

static int plain(int i, word *value, int chosen) {
    f_values[i][0] = chosen;
    *value = in_fortran ? (word)f_values[i] : (word)chosen;
    return 1;
}
#define CHOOSE(...)                                                                                           \
    {                                                                                                         \
        const int values[] = {__VA_ARGS__};                                                                   \
        return at < (int)(sizeof values / sizeof *values) && plain(i, value, values[at]);                     \
    }
/* The address of a variable, then a null pointer, which Fortran cannot pass. */
static int address(word *value, int at, void *variable) {
    *value = at ? 0 : (word)variable;
    return at < 2 - in_fortran;
}

static void requests_set(int which);

/* The functions of a generalized request. */
static int hook(void) { return MPI_SUCCESS; }

/* The argument number `i` of a call, alternative `at` (0 is right); false if there are no more. */
static int alternative(const struct function *f, int i, int at, word *value) {
    switch ((enum kind)f->kinds[i]) {
    case SOURCE_BUFFER:
    case TARGET_BUFFER:
        *value = (word)(f->kinds[i] == SOURCE_BUFFER ? source_ints : target_ints);
        if (at == 1)
            *value = 0;
        if (at == 2)
            *value = (word)MPI_IN_PLACE;
        return at < (in_fortran || f->family >= REST ? 1 : f->family == COLLECTIVE ? 3 : 2);
    case COUNT:
        if (f->wide) {
            *value = (word)(at == 0 ? 1 : at == 1 ? 0 : -1);
            return at < 3;
        }
        CHOOSE(1, 0, -1)
    case TYPE:
        if (at == 3 && sizeof(MPI_Datatype) == 4) {
            *value = BITS(MPI_Comm, MPI_COMM_WORLD);
            return !in_fortran;
        }
        if (at == 4 - 2 * in_fortran - (sizeof(MPI_Datatype) != 4 && !in_fortran)) {
            f_values[i][0] = MPI_Type_c2f(uncommitted);
            *value = in_fortran ? (word)f_values[i] : BITS(MPI_Datatype, uncommitted);
            return 1;
        }
        if (at > 2)
            return 0;
        HANDLE(MPI_Datatype, MPI_Type_c2f, at, MPI_INT, MPI_DATATYPE_NULL)
    case DEST:
    case SOURCE:
        if (f->family == SENDRECV) /* one half alone may wait for ever */
            CHOOSE(0, MPI_ANY_SOURCE, 99, -77)
        CHOOSE(0, MPI_PROC_NULL, MPI_ANY_SOURCE, 99, -77)
    case ROOT:
        CHOOSE(0, MPI_PROC_NULL, MPI_ROOT, 99, -77)
    case TAG:
        CHOOSE(TAG_USED, MPI_ANY_TAG, -77)
    case COMM:
        HANDLE(MPI_Comm, MPI_Comm_c2f, at, self, MPI_COMM_NULL)
    case CART:
        HANDLE(MPI_Comm, MPI_Comm_c2f, at, cart, MPI_COMM_NULL)
    case INTER:
        HANDLE(MPI_Comm, MPI_Comm_c2f, at, inter, MPI_COMM_NULL)
    case WORLD:
        HANDLE(MPI_Comm, MPI_Comm_c2f, at, MPI_COMM_WORLD, MPI_COMM_NULL)
    case GROUP:
        HANDLE(MPI_Group, MPI_Group_c2f, at, group, MPI_GROUP_NULL)
    case OP:
        HANDLE(MPI_Op, MPI_Op_c2f, at, MPI_SUM, MPI_OP_NULL)
    case INFO:
        HANDLE(MPI_Info, MPI_Info_c2f, at, MPI_INFO_NULL, MPI_INFO_NULL)
    case WINDOW:
        HANDLE(MPI_Win, MPI_Win_c2f, at, window, MPI_WIN_NULL)
    case FILE_HANDLE:
        HANDLE(MPI_File, MPI_File_c2f, at, file, MPI_FILE_NULL)
    case HANDLER:
        HANDLE(MPI_Errhandler, MPI_Errhandler_c2f, at, MPI_ERRORS_RETURN, MPI_ERRHANDLER_NULL)
    case NEW_COMM:
        f_values[i][0] = MPI_Comm_c2f(MPI_COMM_NULL);
        return address(value, at, in_fortran ? (void *)f_values[i] : &made);
    case OLD_COMM:
        if (at == 1)
            old_comm = MPI_COMM_NULL;
        f_values[i][0] = MPI_Comm_c2f(old_comm);
        *value = in_fortran ? (word)f_values[i] : at < 2 ? (word)&old_comm : 0;
        return at < 3 - in_fortran;
    case NEW_REQUEST:
        f_values[i][0] = MPI_Request_c2f(MPI_REQUEST_NULL);
        if (at && f->family >= REST) /* files and windows use buffers and requests later */
            return 0;
        return address(value, at, in_fortran ? (void *)f_values[i] : &fresh);
    case REQUEST:
    case REQUEST_VALUE:
    case REQUESTS:
        if (at == 1 && in_fortran)
            return alternative(f, i, 7, value);
        if (at == 6 && f->blocking)
            return alternative(f, i, 7, value);
        /* The right one is persistent for START. MPICH 4.0 does not survive MPI_Start of another one, nor to free an
         * active persistent one. */
        requests_set(f->family == START && at == 0 ? 3 : (f->family == REQUEST_FREE || f->family == START) && at == 7 ? 8 : at);
        for (int k = 0; k < 2; k++)
            f_values[i][k] = at == 5 ? 0 : MPI_Request_c2f(requests[k]);
        const word right = f->kinds[i] == REQUEST_VALUE ? bits(requests, sizeof *requests) : (word)requests;
        *value = in_fortran ? (word)f_values[i] : right;
        if (at == 1 && f->kinds[i] != REQUEST_VALUE)
            *value = 0;
        if (at == 5 && in_fortran)
            return alternative(f, i, 7, value);
        return at < 8 - (f->family == REQUEST_FREE || f->family == START);
    case STATUS:
    case STATUSES:
        *value = in_fortran ? (word)f_status : (word)statuses;
        if (at == 1)
            *value = in_fortran ? (word)MPI_F_STATUS_IGNORE : (word)MPI_STATUS_IGNORE;
        if (at == 2)
            *value = 0;
        return at < 3 - in_fortran;
    case FLAG:
        return address(value, at, &flag);
    case INDEX:
        return address(value, at, &number);
    case OUTCOUNT:
        return address(value, at, &outcount);
    case INDICES:
        return address(value, at, indices);
    case NUMBERS:
        return address(value, at, numbers);
    case COUNTS:
        *value = f->wide ? (word)(at == 2 ? no_broad : broad) : (word)(at == 2 ? none : narrow);
        if (at == 1)
            *value = 0;
        return at < 3 && !(at == 1 && in_fortran);
    case DISPLACEMENTS:
        *value = at ? 0 : (word)no_broad; /* zeros: of any width */
        return at < 2 - in_fortran;
    case TYPES:
        for (int k = 0; k < 4; k++)
            f_values[i][k] = MPI_Type_c2f(at == 2 ? MPI_DATATYPE_NULL : MPI_INT);
        *value = in_fortran ? (word)f_values[i] : (word)(at == 2 ? no_types : type_list);
        if (at == 1)
            *value = 0;
        return at < 3 && !(at == 1 && in_fortran);
    case NEW_MESSAGE:
        f_values[i][0] = MPI_Message_c2f(MPI_MESSAGE_NULL);
        return address(value, at, in_fortran ? (void *)f_values[i] : &message);
    case MESSAGE:
        message = matched;
        other_message = at > 1;
        if (at == 2)
            message = MPI_MESSAGE_NULL;
        if (at == 3)
            message = MPI_MESSAGE_NO_PROC;
        f_values[i][0] = MPI_Message_c2f(message);
        *value = in_fortran ? (word)f_values[i] : at == 1 ? 0 : (word)&message;
        return at < 4 && !(at == 1 && in_fortran);
    case NEW_WINDOW:
        f_values[i][0] = MPI_Win_c2f(MPI_WIN_NULL);
        return address(value, at, in_fortran ? (void *)f_values[i] : &new_window);
    case NEW_FILE:
        f_values[i][0] = MPI_File_c2f(MPI_FILE_NULL);
        return address(value, at, in_fortran ? (void *)f_values[i] : &new_file);
    case NO_WINDOW:
        HANDLE(MPI_Win, MPI_Win_c2f, at, MPI_WIN_NULL, MPI_WIN_NULL)
    case NO_COMM:
        HANDLE(MPI_Comm, MPI_Comm_c2f, at, MPI_COMM_NULL, MPI_COMM_NULL)
    case OTHER_RANK:
        CHOOSE(1 - rank, 99, -77)
    case NUMBER:
        CHOOSE(0, -1, 99, MPI_UNDEFINED)
    case LONG:
        f_longs[i] = at ? -1 : 0;
        *value = in_fortran ? (word)&f_longs[i] : (word)f_longs[i];
        return at < 2;
    case TEXT:
        *value = at ? 0 : (word) "native";
        return at < 2;
    case POINTER:
        *value = at ? 0 : (word)target_ints;
        return at < 2;
    case HOOK:
        *value = at ? 0 : (word)(uintptr_t)hook;
        return at < 2;
    default:
        return 0;
    }
}

/* --- before and after a case --- */

static void arrived(void) {
    for (int found = 0, tries = 0; !found && tries < 100000; tries++)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, self, &found, MPI_STATUS_IGNORE);
}

static void send_one(int count, MPI_Request *request) {
    MPI_Isend(source_ints, count, MPI_INT, 0, TAG_USED, self, request);
    arrived();
}

static void finish(MPI_Request *request, int may_cancel) {
    int done = 0;
    if (*request == MPI_REQUEST_NULL)
        return;
    for (int tries = 0; !done && tries < (may_cancel ? 20 : 2000); tries++)
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (!done && !may_cancel) { /* some requests of files and collectives never complete */
        *request = MPI_REQUEST_NULL;
    } else if (!done) {
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (*request != MPI_REQUEST_NULL) /* persistent */
        MPI_Request_free(request);
}

/* Two requests: 0 a receive and a send that have completed; 1 the same (the array will be null); 2 both null; 3 a
 * persistent one that is not active; 4 a receive that a longer message completed; 5 handles of zeros; 6 a receive that
 * nothing completes, and 7 a persistent receive that is active, with a message. */
static void requests_set(int which) {
    for (int k = 0; k < 3; k++)
        finish(&given[k], 1);
    for (int k = 0; k < 3; k++)
        given[k] = MPI_REQUEST_NULL;
    if (which == 0 || which == 1 || which == 4) {
        send_one(which == 4 ? 4 : 1, &given[1]);
        MPI_Irecv(target_ints, 1, MPI_INT, 0, MPI_ANY_TAG, self, &given[0]);
    } else if (which == 3 || which == 7) {
        if (which == 7)
            send_one(1, &given[1]);
        MPI_Recv_init(target_ints, 1, MPI_INT, MPI_ANY_SOURCE, TAG_USED, self, &given[0]);
        if (which == 7)
            MPI_Start(&given[0]);
    } else if (which == 6) {
        MPI_Irecv(target_ints, 1, MPI_INT, 0, 99, self, &given[0]);
    }
    memcpy(requests, given, sizeof requests);
    if (which == 5)
        memset(requests, 0, sizeof requests);
}

static void prepare(const struct function *f) {
    memset(statuses, 0x5a, sizeof statuses);
    memset(f_status, 0x5a, sizeof f_status);
    flag = number = outcount = -5;
    for (int i = 0; i < ROOM; i++) {
        indices[i] = -5, source_ints[i] = 100 + i, target_ints[i] = 0, numbers[i] = 0;
        narrow[i] = 1, broad[i] = 1, none[i] = -1, no_broad[i] = -1;
        type_list[i] = MPI_INT, no_types[i] = MPI_DATATYPE_NULL;
    }
    memset(no_broad, 0, sizeof no_broad);
    made = old_comm = MPI_COMM_NULL;
    new_window = MPI_WIN_NULL;
    new_file = MPI_FILE_NULL;
    message = matched = MPI_MESSAGE_NULL;
    other_message = 0;
    fresh = MPI_REQUEST_NULL;
    for (int k = 0; k < 3; k++)
        requests[k] = given[k] = MPI_REQUEST_NULL;
    switch (f->family) {
    case SEND:
        MPI_Irecv(target_ints, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, self, &given[2]);
        break;
    case RECV:
    case PROBE:
        send_one(1, &given[2]);
        break;
    case MRECV:
        send_one(1, &given[2]);
        MPI_Mprobe(0, TAG_USED, self, &message, MPI_STATUS_IGNORE);
        matched = message;
        break;
    case COMM_FREE:
        MPI_Comm_dup(self, &old_comm);
        break;
    case EPOCH:
        MPI_Win_lock_all(0, window);
        break;
    default:
        break;
    }
}

static void clean(const struct function *f) {
    if (!strcmp(f->name, "Grequest_start") && fresh != MPI_REQUEST_NULL)
        MPI_Grequest_complete(fresh);
    if (strstr(f->name, "_init") && fresh != MPI_REQUEST_NULL) /* never started: nothing to wait for */
        MPI_Request_free(&fresh);
    if (f->family == EPOCH)
        MPI_Win_unlock_all(window);
    if (new_window != MPI_WIN_NULL)
        MPI_Win_free(&new_window);
    if (new_file != MPI_FILE_NULL)
        MPI_File_close(&new_file);
    if (matched != MPI_MESSAGE_NULL && other_message)
        message = matched;
    if (message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC)
        MPI_Mrecv(target_ints, ROOM, MPI_INT, &message, MPI_STATUS_IGNORE);
    for (int k = 0; k < 3; k++) {
        if (k < 2 && requests[k] == MPI_REQUEST_NULL && f->family >= WAIT && f->family <= START)
            given[k] = MPI_REQUEST_NULL;
        finish(&given[k], 1);
    }
    finish(&fresh, f->family < COLLECTIVE);
    for (int found = 1; found;) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, self, &found, MPI_STATUS_IGNORE);
        if (found)
            MPI_Recv(target_ints, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, self, MPI_STATUS_IGNORE);
    }
    if (made != MPI_COMM_NULL && made != self)
        MPI_Comm_free(&made);
    if (old_comm != MPI_COMM_NULL)
        MPI_Comm_free(&old_comm);
}

/* --- a case --- */

static int call(const struct function *f, void *address, word *a) {
    typedef int target(word, word, word, word, word, word, word, word, word, word, word, word, word);
    typedef void binding(word, word, word, word, word, word, word, word, word, word, word, word, word, word);
    MPI_Fint error = -1;
    if (!in_fortran)
        return ((target *)address)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
    word b[14];
    memcpy(b, a, sizeof(word) * 13);
    b[f->arity] = (word)&error;
    ((binding *)address)(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13]);
    for (int i = 0; i < f->arity; i++) {
        const enum kind kind = f->kinds[i];
        if (kind == NEW_REQUEST)
            fresh = MPI_Request_f2c(f_values[i][0]);
        if (kind == NEW_WINDOW)
            new_window = MPI_Win_f2c(f_values[i][0]);
        if (kind == NEW_FILE)
            new_file = MPI_File_f2c(f_values[i][0]);
        if (kind == NEW_COMM)
            made = MPI_Comm_f2c(f_values[i][0]);
        if (kind == OLD_COMM)
            old_comm = MPI_Comm_f2c(f_values[i][0]);
        if (kind == MESSAGE || kind == NEW_MESSAGE)
            message = MPI_Message_f2c(f_values[i][0]);
        if (kind == REQUEST || kind == REQUESTS)
            for (int k = 0; k < 2; k++)
                requests[k] = MPI_Request_f2c(f_values[i][k]);
    }
    return error;
}

static int is_listed(const char *list, const char *name, char before) {
    char line[128];
    snprintf(line, sizeof line, "%c%s\n", before, name);
    return list && strstr(list, line) != NULL;
}

/* The status number `k`. Its error is defined in an array only, after MPI_ERR_IN_STATUS; the codes of MPICH hold a
 * random number. */
static void print_status(FILE *out, int k, int with_error) {
    MPI_Status read;
    int bytes = -1, class = -1, is_cancelled = -1;
    if (in_fortran)
        MPI_Status_f2c(&f_status[k * (int)(sizeof(MPI_Status) / sizeof *f_status)], &read);
    else
        read = statuses[k];
    const int is_set = read.MPI_SOURCE != UNSET;
    if (is_set)
        MPI_Get_elements(&read, MPI_BYTE, &bytes), MPI_Test_cancelled(&read, &is_cancelled);
    if (is_set && with_error)
        MPI_Error_class(read.MPI_ERROR, &class);
    fprintf(out, " %x %x %d %d %d", (unsigned)read.MPI_SOURCE, (unsigned)read.MPI_TAG, bytes, is_cancelled, class);
}

/* Runs the case in which argument `i` has alternative `at`; false if there is none. */
static int run(FILE *out, const char *skip, const struct function *f, void *address, int i, int at, int ignore) {
    char name[96];
    word a[13] = {0};
    int class = -1;
    snprintf(name, sizeof name, "%s.%s.%d.%d.%d", in_fortran ? "fortran" : "c", f->name, i, at, ignore);
    if (is_listed(skip, name, '>'))
        begun = 1;
    prepare(f);
    for (int k = 0; k < f->arity; k++)
        if (!alternative(f, k, k == i ? at : 0, &a[k]) && k == i) {
            clean(f);
            return 0;
        }
    if (ignore)
        for (int k = 0; k < f->arity; k++)
            if (f->kinds[k] == STATUS || f->kinds[k] == STATUSES)
                alternative(f, k, 1, &a[k]);
    if (!begun || is_listed(skip, name, '>') || is_listed(skip, name, '\n')) {
        clean(f);
        return 1;
    }
    const struct itimerval limit = {.it_value = {.tv_sec = 20}}, off = {0};
    setitimer(ITIMER_REAL, &limit, NULL);
    fprintf(out, "%s ", name); /* the last line names a case that ends the program */
    fflush(out);
    code = call(f, address, a);
    setitimer(ITIMER_REAL, &off, NULL);
    MPI_Error_class(code, &class);
    fprintf(out, "class %d flag %d index %d outcount %d indices %d %d", class, flag, number, outcount, indices[0], indices[1]);
    fprintf(out, " requests %d%d%d comm %d%d message %d target %d %d statuses", fresh == MPI_REQUEST_NULL, requests[0] == MPI_REQUEST_NULL,
            requests[1] == MPI_REQUEST_NULL, made == MPI_COMM_NULL, old_comm == MPI_COMM_NULL, message == MPI_MESSAGE_NULL,
            f->family < REST ? target_ints[0] : 0, f->family < REST ? target_ints[1] : 0);
    for (int k = 0; k < 2 && flag != 0; k++) /* without a result the statuses are undefined */
        print_status(out, k, class == MPI_ERR_IN_STATUS);
    fputc('\n', out);
    fflush(out);
    if (code) /* nothing was made, whatever the variables hold */
        made = MPI_COMM_NULL, fresh = MPI_REQUEST_NULL, new_window = MPI_WIN_NULL, new_file = MPI_FILE_NULL;
    clean(f);
    return 1;
}

static void run_all(FILE *out, const char *skip, const struct function *f) {
    void *target = in_fortran ? dlsym(RTLD_DEFAULT, f->fortran) : f->address;
    int has_status = 0;
    if (!target || (in_fortran && f->wide))
        return;
    for (int k = 0; k < f->arity; k++) {
        has_status |= f->kinds[k] == STATUS || f->kinds[k] == STATUSES;
        if (in_fortran && (f->kinds[k] == TEXT || f->kinds[k] == HOOK || f->kinds[k] == POINTER || f->kinds[k] == REQUEST_VALUE))
            return;
    }
    for (int ignore = 0; ignore <= has_status; ignore++)
        for (int i = -1; i < f->arity; i++)
            for (int at = i < 0 ? 0 : 1; run(out, skip, f, target, i, at, ignore) && i >= 0; at++)
                ;
}

int main(int argc, char **argv) {
    char path[4096];
    const int dims[1] = {1}, periods[1] = {1};
    static char attached[1 << 20];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    in_fortran = !strcmp(argv[1], "fortran");
    snprintf(path, sizeof path, "%s.%d", argv[2], rank);
    FILE *out = fopen(path, "w");
    char *skip = NULL;
    if (argc > 3) {
        FILE *in = fopen(argv[3], "r");
        skip = calloc(1, 1 << 20);
        if (!in || fread(skip, 1, (1 << 20) - 1, in) == 0)
            return 1;
        fclose(in);
    }
    *strrchr(path, '/') = 0;
    if (chdir(path))
        return 1;
    begun = !skip || !strchr(skip, '>');
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_group(self, &group);
    MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &cart);
    MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 5, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    MPI_Win_create(target_ints, sizeof target_ints, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    snprintf(path, sizeof path, "%s.file.%d", argv[2], rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_Buffer_attach(attached, sizeof attached);
    struct sigaction action = {.sa_handler = fault};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        run_all(out, skip, &functions[i]);
    fprintf(out, "end\n");
    fclose(out);
    MPI_File_close(&file);
    MPI_Win_free(&window);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
