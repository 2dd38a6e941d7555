/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * One family of MPI calls per scenario: `calls SCENARIO DIRECTORY` on four ranks. Next to each call
 * stands what the trace must say about it; each rank writes these lines to
 * DIRECTORY/expected-RANK.txt, and the test compares them with its trace. A line is a record: kind,
 * names and values of fields (those not named are zero), flags, words in brackets.
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANY_SOURCE = -1, ANY_TAG = -2, NO_PEER = -3 };

static FILE *expected;
static int rank, size, next_request = 1, next_comm = 2;
static int room[4096];

static void expect(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(expected, format, arguments);
    va_end(arguments);
    fputc('\n', expected);
}

/* Lets what the others sent arrive before anything is looked at. */
static void settle(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    expect("Collective comm 0 peer -1 tag barrier BLOCKING");
    for (int i = 0, flag; i < 3; i++) {
        MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        expect("Probe comm 0 peer -3 request %d", next_request);
        expect("Done peer -3 tag -2 request %d", next_request++);
    }
}

static void blocking(void) {
    int to = 1 - rank;
    static char attached[65536];
    if (rank > 1)
        return;
    MPI_Buffer_attach(attached, sizeof attached);
    if (rank == 0) {
        MPI_Send(room, 10, MPI_INT, to, 1, MPI_COMM_WORLD);
        expect("Send comm 0 peer 1 tag 1 bytes 40 BLOCKING");
        MPI_Bsend(room, 3, MPI_DOUBLE, to, 2, MPI_COMM_WORLD);
        expect("Send comm 0 peer 1 tag 2 bytes 24 aux 1 BLOCKING BUFFERED");
        MPI_Ssend(room, 0, MPI_INT, to, 3, MPI_COMM_WORLD);
        expect("Send comm 0 peer 1 tag 3 aux 2 BLOCKING SYNCHRONOUS");
        MPI_Recv(room, 0, MPI_INT, to, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect("Recv comm 0 peer 1 tag 9 request 1 BLOCKING");
        expect("Done peer 1 tag 9 request 1");
        MPI_Rsend(room, 5, MPI_CHAR, to, 4, MPI_COMM_WORLD);
        expect("Send comm 0 peer 1 tag 4 bytes 5 aux 3 BLOCKING READY");
        MPI_Send(room, 7, MPI_CHAR, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
        expect("Send comm 0 peer -3 tag 4 bytes 7 BLOCKING");
    } else {
        MPI_Status status;
        MPI_Recv(room, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect("Recv comm 0 peer -1 tag -2 bytes 400 request 1 BLOCKING");
        expect("Done tag 1 bytes 40 request 1");
        MPI_Recv(room, 100, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        expect("Recv comm 0 peer -1 tag 2 bytes 800 request 2 BLOCKING");
        expect("Done tag 2 bytes 24 request 2");
        if (status.MPI_SOURCE != 0 || status.MPI_TAG != 2)
            expect("the status of MPI_Recv is wrong");
        MPI_Recv(room, 100, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect("Recv comm 0 tag -2 bytes 400 request 3 BLOCKING");
        expect("Done tag 3 request 3");
        MPI_Request ready;
        MPI_Irecv(room, 100, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &ready);
        expect("Recv comm 0 tag 4 bytes 100 request 4");
        MPI_Send(room, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
        expect("Send comm 0 tag 9 BLOCKING");
        MPI_Wait(&ready, MPI_STATUS_IGNORE);
        expect("Wait aux 1 BLOCKING");
        expect("Done tag 4 bytes 5 request 4");
        MPI_Recv(room, 7, MPI_CHAR, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status);
        expect("Recv comm 0 peer -3 tag 4 bytes 7 request 5 BLOCKING");
        expect("Done peer -3 tag -2 request 5");
    }
}

/* Eager sends may share one request handle; whatever it is, each request is done once and in order.
 */
static void nonblocking(void) {
    MPI_Request requests[8];
    if (rank == 0) {
        for (int i = 0; i < 4; i++) {
            MPI_Isend(room, i, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
            expect("Send comm 0 peer 1 tag %d bytes %d request %d aux %d", i, 4 * i, i + 1, i);
        }
        MPI_Isend(room, 2, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[4]);
        expect("Send comm 0 peer -3 tag 7 bytes 8 request 5");
        MPI_Irecv(room, 2, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[5]);
        expect("Recv comm 0 peer -3 tag 7 bytes 8 request 6");
        requests[6] = MPI_REQUEST_NULL;
        MPI_Waitall(7, requests, MPI_STATUSES_IGNORE);
        expect("Wait aux 6 BLOCKING");
        for (int i = 1; i <= 5; i++)
            expect("Done request %d", i);
        expect("Done peer -3 tag -2 request 6");
        MPI_Issend(room, 1, MPI_INT, 1, 10, MPI_COMM_WORLD, &requests[0]);
        expect("Send comm 0 peer 1 tag 10 bytes 4 request 7 aux 4 SYNCHRONOUS");
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        expect("Wait aux 1 BLOCKING");
        expect("Done request 7");
    } else if (rank == 1) {
        MPI_Status statuses[4];
        for (int i = 0; i < 4; i++) {
            MPI_Irecv(room, 100, MPI_INT, MPI_ANY_SOURCE, 3 - i, MPI_COMM_WORLD, &requests[i]);
            expect("Recv comm 0 peer -1 tag %d bytes 400 request %d", 3 - i, i + 1);
        }
        MPI_Waitall(4, requests, statuses);
        expect("Wait aux 4 BLOCKING");
        for (int i = 0; i < 4; i++)
            expect("Done tag %d bytes %d request %d", 3 - i, 4 * (3 - i), i + 1);
        if (statuses[0].MPI_TAG != 3 || statuses[3].MPI_TAG != 0)
            expect("the statuses of MPI_Waitall are wrong");
        MPI_Recv(room, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect("Recv comm 0 tag -2 bytes 4 request 5 BLOCKING");
        expect("Done tag 10 bytes 4 request 5");
    }
}

/* Calls one right after the other, without anything between them that takes time, and among them
 * some that MPI refuses, of which the trace says nothing: what is expected is written afterwards.
 */
static void in_a_row(void) {
    enum { ROWS = 50 };
    int accepted = 0;
    MPI_Request requests[3];
    MPI_Status status;
    int *out = room + 2048; /* MPI may refuse to copy a buffer to itself */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < ROWS; i++) {
        MPI_Irecv(room, 800, MPI_CHAR, 0, i, MPI_COMM_SELF, &requests[0]);
        accepted += MPI_Isend(out, 3, MPI_CHAR, 7, 6, MPI_COMM_SELF, &requests[2]) == MPI_SUCCESS;
        MPI_Send(out, 2 + i, MPI_INT, 0, i, MPI_COMM_SELF);
        accepted += MPI_Irecv(room, 5, MPI_CHAR, 7, 4, MPI_COMM_SELF, &requests[2]) == MPI_SUCCESS;
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Irecv(room, 9, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &requests[0]);
        accepted += MPI_Isend(out, 3, MPI_CHAR, 7, 6, MPI_COMM_SELF, &requests[2]) == MPI_SUCCESS;
        MPI_Isend(out, 9, MPI_CHAR, 0, i, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        accepted += MPI_Isend(out, 3, MPI_CHAR, 7, 6, MPI_COMM_SELF, &requests[2]) == MPI_SUCCESS;
        MPI_Recv(room, i, MPI_CHAR, MPI_PROC_NULL, 8, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Isend(out, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[0]);
        MPI_Recv(room, 1 + i, MPI_CHAR, 0, 1, MPI_COMM_SELF, &status);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    for (int i = 0, n = 1; i < ROWS; i++, n += 6) {
        expect("Recv comm 1 tag %d bytes 800 request %d", i, n);
        expect("Send comm 1 tag %d bytes %d aux %d BLOCKING", i, 8 + 4 * i, 3 * i);
        expect("Wait aux 1 BLOCKING\nDone tag %d bytes %d request %d", i, 8 + 4 * i, n);
        expect("Recv comm 1 peer -1 tag -2 bytes 9 request %d", n + 1);
        expect("Send comm 1 tag %d bytes 9 request %d aux %d", i, n + 2, 3 * i + 1);
        expect("Wait aux 2 BLOCKING\nDone tag %d bytes 9 request %d\nDone request %d", i, n + 1, n + 2);
        expect("Recv comm 1 peer -3 tag 8 bytes %d request %d BLOCKING\nDone peer -3 tag -2 request %d", i, n + 3, n + 3);
        expect("Send comm 1 tag 1 bytes 1 request %d aux %d", n + 4, 3 * i + 2);
        expect("Recv comm 1 tag 1 bytes %d request %d BLOCKING\nDone tag 1 bytes 1 request %d", 1 + i, n + 5, n + 5);
        expect("Wait aux 1 BLOCKING\nDone request %d", n + 4);
    }
    if (accepted)
        expect("the program sees refusals");
}

/* What MPI refuses leaves no trace unless it blocks, and the recorder asks MPI nothing that could
 * end the program. */
static void refused(void) {
    int accepted = 0, value = rank;
    MPI_Comm freed, quiet;
    MPI_Request request;
    MPI_Message message;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_SELF, &quiet); /* the world's handler still ends the program */
    accepted += MPI_Isend(&value, 1, MPI_DATATYPE_NULL, 0, 1, quiet, &request) == MPI_SUCCESS;
    accepted += MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 1, quiet) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH asks it about messages, too */
    MPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
    accepted += MPI_Send(&value, 1, MPI_INT, 99, 1, quiet) == MPI_SUCCESS;
    accepted += MPI_Send(&value, 1, MPI_INT, -77, 1, quiet) == MPI_SUCCESS;
    accepted += MPI_Send(&value, 1, MPI_INT, 0, -77, quiet) == MPI_SUCCESS;
    accepted += MPI_Send(&value, -1, MPI_INT, 0, 1, quiet) == MPI_SUCCESS;
    accepted += MPI_Ssend(&value, 1, MPI_INT, 99, 1, quiet) == MPI_SUCCESS;
    accepted += MPI_Recv(&value, 1, MPI_INT, 99, 1, quiet, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    accepted += MPI_Recv(&value, 1, MPI_DATATYPE_NULL, 0, 1, quiet, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    accepted += MPI_Probe(99, 1, quiet, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    accepted += MPI_Mprobe(0, -77, quiet, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    accepted += MPI_Sendrecv(&value, 1, MPI_INT, 99, 1, room, 1, MPI_INT, 0, 1, quiet, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    accepted += MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, room, 1, MPI_DATATYPE_NULL, 0, 1, quiet, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    accepted += MPI_Bcast(&value, 1, MPI_INT, 99, quiet) == MPI_SUCCESS;
    accepted += MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, quiet) == MPI_SUCCESS;
    /* The first message that is sent: none before it counts. */
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, room, 1, MPI_INT, 0, 1, quiet, MPI_STATUS_IGNORE);
    accepted += MPI_Ibcast(&value, 1, MPI_INT, 99, MPI_COMM_SELF, &request) == MPI_SUCCESS;
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(&value, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    MPI_Mprobe(0, 3, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Request received;
    MPI_Message same = message;
    accepted += MPI_Imrecv(room, -1, MPI_INT, &same, &received) == MPI_SUCCESS;
    MPI_Imrecv(room, 1, MPI_INT, &message, &received);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_SELF, &freed);
    MPI_Comm_free(&freed); /* a thread remembers none now */
#ifndef OPEN_MPI
    /* All ones are not what stands for none; with handles that are pointers MPI itself would look
     * there. */
    accepted += MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, room, 1, MPI_INT, 0, 1, (MPI_Comm)-1, MPI_STATUS_IGNORE) == MPI_SUCCESS;
#endif
    expect("Comm comm 2 peer -1 tag 1 ranks [%d]", rank);
    for (int i = 0; i < 6; i++)
        expect("Other send that MPI refused");
    expect("Other receive that MPI refused\nOther receive that MPI refused");
    expect("Other probe that MPI refused\nOther probe that MPI refused");
    expect("Other send that MPI refused\nOther receive that MPI refused");
    expect("Other send that MPI refused\nOther receive that MPI refused\nWait BLOCKING");
    expect("Other collective that MPI refused\nOther collective that MPI refused");
    expect("Send comm 2 tag 1 bytes 4 request 4 SENDRECV\nRecv comm 2 tag 1 bytes 4 request 5 SENDRECV");
    expect("Wait aux 2 BLOCKING\nDone request 4\nDone tag 1 bytes 4 request 5");
    expect("Collective comm 1 tag bcast bytes 4 request 6\nWait aux 1 BLOCKING\nDone request 6");
    expect("Send comm 1 tag 3 bytes 4 request 7\nProbe comm 1 tag 3 request 8 BLOCKING MATCHED\nDone tag 3 bytes 4 request 8");
    expect("Recv comm 1 peer -1 tag -2 bytes 4 request 9 aux 8 MATCHED");
    expect("Wait aux 1 BLOCKING\nDone tag 3 bytes 4 request 9\nWait aux 1 BLOCKING\nDone request 7");
    expect("Comm comm 3 peer -1 tag 1 ranks [%d]\nCommFree comm 3", rank);
#ifndef OPEN_MPI
    expect("Other send on a communicator that is not recorded");
    expect("Other receive on a communicator that is not recorded");
#endif
    if (accepted)
        expect("the program sees refusals");
}

/* Requests that are waited for in order, out of order, with gaps, next to older ones that stay, and
 * more at a time than most programs have. Sends may share a handle, so they are waited for as they
 * began. */
static void orders(void) {
    enum { ROUNDS = 300, LONG_ROUND = 100, LONG = 1500, MOST = 4096 };
    static MPI_Request receives[MOST], sends[MOST], chosen[2 * MOST];
    static int receive_numbers[MOST], send_numbers[MOST], chosen_numbers[2 * MOST];
    int receiving = 0, sending = 0, sent = 0;
    unsigned random = 12345 + (unsigned)rank;
    for (int round = 0; round <= ROUNDS; round++) {
        int more = round == LONG_ROUND ? LONG : round == ROUNDS ? 0 : (int)(random >> 16) % 6, chosen_count = 0;
        for (int i = 0; i < more; i++) {
            MPI_Irecv(room, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &receives[receiving]);
            expect("Recv comm 1 tag 3 bytes 4 request %d", next_request);
            receive_numbers[receiving++] = next_request++;
        }
        for (int i = 0; i < more; i++) {
            MPI_Isend(&room[1], 1, MPI_INT, 0, 3, MPI_COMM_SELF, &sends[sending]);
            expect("Send comm 1 tag 3 bytes 4 request %d aux %d", next_request, sent++);
            send_numbers[sending++] = next_request++;
        }
        random = random * 1664525 + 1013904223;
        unsigned way = round == ROUNDS ? 0 : random >> 30;
        if (way == 0) { /* all receives, as they began if none was waited for before */
            for (int i = 0; i < receiving; i++)
                chosen[i] = receives[i], chosen_numbers[i] = receive_numbers[i];
            chosen_count = receiving;
            receiving = 0;
        } else if (way < 3) { /* some receives, with gaps */
            for (int left = 5; receiving > 0 && left > 0; left--) {
                random = random * 1664525 + 1013904223;
                int i = (int)((random >> 8) % (unsigned)receiving);
                chosen[chosen_count] = receives[i], chosen_numbers[chosen_count++] = receive_numbers[i];
                chosen[chosen_count] = MPI_REQUEST_NULL, chosen_numbers[chosen_count++] = 0;
                receives[i] = receives[--receiving], receive_numbers[i] = receive_numbers[receiving];
            }
        }
        if (way % 2 == 0) { /* all sends */
            for (int i = 0; i < sending; i++)
                chosen[chosen_count] = sends[i], chosen_numbers[chosen_count++] = -send_numbers[i];
            sending = 0;
        }
        MPI_Waitall(chosen_count, chosen, MPI_STATUSES_IGNORE);
        int dones = 0;
        for (int i = 0; i < chosen_count; i++)
            dones += chosen_numbers[i] != 0;
        expect("Wait aux %d BLOCKING", dones);
        for (int i = 0; i < chosen_count; i++)
            if (chosen_numbers[i] < 0)
                expect("Done request %d", -chosen_numbers[i]);
            else if (chosen_numbers[i] > 0)
                expect("Done tag 3 bytes 4 request %d", chosen_numbers[i]);
    }
}

/* Every form of completion, with what is complete known beforehand: all messages are there. */
static void completion(void) {
    MPI_Request requests[3];
    MPI_Status status, statuses[3];
    int flag = 0, index, count, indices[3];
    if (rank == 0)
        for (int i = 0; i < 24; i++) {
            MPI_Send(room, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
            expect("Send comm 0 peer 1 tag %d bytes 4 aux %d BLOCKING", i, i);
        }
    settle();
    if (rank != 1)
        return;
    for (int form = 0; form < 8; form++) {
        int first = next_request;
        for (int i = 0; i < 3; i++) {
            int tag = 3 * form + i;
            MPI_Irecv(room, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &requests[i]);
            expect("Recv comm 0 tag %d bytes 4 request %d", tag, next_request++);
        }
        int blocking = form == 1 || form == 3 || form == 5;
        const char *how = blocking ? " BLOCKING" : "";
        for (int left = 3; left > 0;) {
            int done[3], dones = 0;
            switch (form) {
            case 0:
                for (flag = 0; !flag;)
                    MPI_Test(&requests[3 - left], &flag, MPI_STATUS_IGNORE);
                done[dones++] = 3 - left;
                break;
            case 1:
                MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
                done[dones++] = index;
                break;
            case 2:
                for (flag = 0; !flag;)
                    MPI_Testany(3, requests, &index, &flag, &status);
                done[dones++] = index;
                break;
            case 3:
            case 4:
                for (count = 0; !count;)
                    form == 3 ? MPI_Waitsome(3, requests, &count, indices, MPI_STATUSES_IGNORE)
                              : MPI_Testsome(3, requests, &count, indices, statuses);
                for (int i = 0; i < count; i++)
                    done[dones++] = indices[i];
                break;
            case 5:
                MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
                for (int i = 0; i < 3; i++)
                    done[dones++] = i;
                break;
            case 6:
                for (flag = 0; !flag;)
                    MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
                for (int i = 0; i < 3; i++)
                    done[dones++] = i;
                break;
            default:
                for (flag = 0; !flag;)
                    MPI_Request_get_status(requests[3 - left], &flag, MPI_STATUS_IGNORE);
                done[dones++] = 3 - left;
            }
            expect("Wait aux %d%s", dones, how);
            for (int i = 0; i < dones; i++) {
                int tag = 3 * form + done[i];
                expect("Done tag %d bytes 4 request %d", tag, first + done[i]);
            }
            if (form == 7) { /* it was reported; waiting for it tells nothing new */
                MPI_Wait(&requests[3 - left], &status);
                expect("Wait BLOCKING");
            }
            left -= dones;
        }
    }
    MPI_Waitany(3, requests, &index, &status);
    expect("Wait BLOCKING");
}

static void persistent(void) {
    MPI_Request requests[3];
    int other = 1 - rank;
    if (rank > 1)
        return;
    MPI_Recv_init(room, 10, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(room + 10, 5, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Ssend_init(room + 20, 5, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]);
    for (int round = 0; round < 3; round++) {
        if (round == 1) {
            MPI_Startall(3, requests);
        } else {
            for (int i = 0; i < 3; i++)
                MPI_Start(&requests[i]);
        }
        int first = 1 + 3 * round;
        expect("Recv comm 0 peer -1 tag 1 bytes 40 request %d PERSISTENT", first);
        expect("Send comm 0 peer %d tag 1 bytes 20 request %d aux %d PERSISTENT", other, first + 1, round);
        expect("Send comm 0 peer -3 tag 1 bytes 20 request %d PERSISTENT SYNCHRONOUS", first + 2);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        expect("Wait aux 3 BLOCKING");
        expect("Done peer %d tag 1 bytes 20 request %d", other, first);
        expect("Done request %d", first + 1);
        expect("Done request %d", first + 2);
    }
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE); /* inactive: nothing is done */
    expect("Wait BLOCKING");
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
}

static void sendrecv(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Status status;
    MPI_Sendrecv(room, 10, MPI_INT, right, 5, room + 100, 20, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("Send comm 0 peer %d tag 5 bytes 40 request 1 SENDRECV", right);
    expect("Recv comm 0 peer -1 tag 5 bytes 80 request 2 SENDRECV");
    expect("Wait aux 2 BLOCKING");
    expect("Done request 1");
    expect("Done peer %d tag 5 bytes 40 request 2", left);
    MPI_Sendrecv_replace(room, 3, MPI_DOUBLE, right, 6, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    expect("Send comm 0 peer %d tag 6 bytes 24 request 3 aux 1 SENDRECV", right);
    expect("Recv comm 0 peer %d tag -2 bytes 24 request 4 SENDRECV", left);
    expect("Wait aux 2 BLOCKING");
    expect("Done request 3");
    expect("Done peer %d tag 6 bytes 24 request 4", left);
    MPI_Sendrecv(room, 10, MPI_INT, rank ? MPI_PROC_NULL : 1, 7, room, 10, MPI_INT, rank == 1 ? 0 : MPI_PROC_NULL, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect("Send comm 0 peer %d tag 7 bytes 40 request 5 aux %d SENDRECV", rank ? NO_PEER : 1, rank ? 0 : 2);
    expect("Recv comm 0 peer %d tag 7 bytes 40 request 6 SENDRECV", rank == 1 ? 0 : NO_PEER);
    expect("Wait aux 2 BLOCKING");
    expect("Done request 5");
    expect(rank == 1 ? "Done tag 7 bytes 40 request 6" : "Done peer -3 tag -2 request 6");
}

static void probes(void) {
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int flag;
    if (rank == 0) {
        for (int i = 1; i <= 4; i++) {
            MPI_Send(room, i, MPI_INT, 1, i, MPI_COMM_WORLD);
            expect("Send comm 0 peer 1 tag %d bytes %d aux %d BLOCKING", i, 4 * i, i - 1);
        }
    }
    settle();
    if (rank != 1)
        return;
    for (int i = 0; i < 5; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (i < 2)
            MPI_Improbe(0, 78, MPI_COMM_WORLD, &flag, &message, &status);
    }
    expect("Miss comm 0 peer -1 tag 77 aux 5 PROBE");
    expect("Miss comm 0 tag 78 aux 2 PROBE MATCHED");

    int n = next_request;
    MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("Probe comm 0 peer -1 tag 1 request %d BLOCKING", n);
    expect("Done tag 1 bytes 4 request %d", n);
    MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    expect("Probe comm 0 tag -2 request %d", n + 1);
    expect("Done tag 1 bytes 4 request %d", n + 1);
    MPI_Recv(room, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("Recv comm 0 tag 1 bytes 4 request %d BLOCKING", n + 2);
    expect("Done tag 1 bytes 4 request %d", n + 2);

    MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    expect("Probe comm 0 peer -1 tag 2 request %d BLOCKING MATCHED", n + 3);
    expect("Done tag 2 bytes 8 request %d", n + 3);
    MPI_Mrecv(room, 10, MPI_INT, &message, MPI_STATUS_IGNORE);
    expect("Recv comm 0 peer -1 tag -2 bytes 40 request %d aux %d BLOCKING MATCHED", n + 4, n + 3);
    expect("Done tag 2 bytes 8 request %d", n + 4);

    MPI_Improbe(0, 3, MPI_COMM_WORLD, &flag, &message, &status);
    expect("Probe comm 0 tag 3 request %d MATCHED", n + 5);
    expect("Done tag 3 bytes 12 request %d", n + 5);
    MPI_Imrecv(room, 10, MPI_INT, &message, &request);
    expect("Recv comm 0 peer -1 tag -2 bytes 40 request %d aux %d MATCHED", n + 6, n + 5);
    MPI_Wait(&request, &status);
    expect("Wait aux 1 BLOCKING");
    expect("Done tag 3 bytes 12 request %d", n + 6);

    MPI_Mprobe(MPI_PROC_NULL, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    expect("Probe comm 0 peer -3 tag 2 request %d BLOCKING MATCHED", n + 7);
    expect("Done peer -3 tag -2 request %d", n + 7);
    MPI_Mrecv(room, 10, MPI_INT, &message, &status);
    expect("Recv comm 0 peer -3 tag -2 bytes 40 request %d BLOCKING", n + 8);
    expect("Done peer -3 tag -2 request %d", n + 8);

    MPI_Recv(room, 4, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("Recv comm 0 tag 4 bytes 16 request %d BLOCKING", n + 9);
    expect("Done tag 4 bytes 16 request %d", n + 9);
}

static void cancel(void) {
    MPI_Request request, requests[2];
    MPI_Status status;
    int cancelled;
    if (rank != 0)
        return;
    MPI_Irecv(room, 10, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    expect("Recv comm 0 peer 1 tag 1 bytes 40 request 1");
    MPI_Cancel(&request);
    expect("Cancel request 1");
    MPI_Wait(&request, &status);
    expect("Wait aux 1 BLOCKING");
    expect("Done request 1 CANCELLED");
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled)
        expect("the program sees no cancellation");
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(room, 10, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
        expect("Recv comm 0 peer -1 tag 1 bytes 40 request %d", 2 + i);
    }
    MPI_Cancel(&requests[1]);
    expect("Cancel request 3");
    MPI_Isend(room, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    expect("Send comm 0 tag 1 bytes 4 request 4");
    MPI_Request_free(&request);
    expect("Free request 4");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect("Wait aux 2 BLOCKING");
    expect("Done tag 1 bytes 4 request 2");
    expect("Done request 3 CANCELLED");
}

static void truncation(void) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        for (int i = 0; i < 3; i++) {
            MPI_Send(room, 10, MPI_INT, 1, 1 + i, MPI_COMM_WORLD);
            expect("Send comm 0 peer 1 tag %d bytes 40 aux %d BLOCKING", 1 + i, i);
        }
    }
    settle();
    if (rank != 1)
        return;
    MPI_Request requests[2];
    int n = next_request;
    if (MPI_Recv(room, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        expect("the program sees no truncation");
    expect("Recv comm 0 tag 1 bytes 8 request %d BLOCKING", n);
    expect("Done FAILED request %d", n);
    MPI_Irecv(room, 2, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[0]);
    expect("Recv comm 0 peer -1 tag 2 bytes 8 request %d", n + 1);
    MPI_Irecv(room, 20, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[1]);
    expect("Recv comm 0 tag 3 bytes 80 request %d", n + 2);
    MPI_Status statuses[2];
    /* MPICH 5 returns success here; the sizes tell. Others may leave the second request for later,
     * or not. */
    int pending = MPI_Waitall(2, requests, statuses) != MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_ERR_PENDING;
    expect("Wait aux %d BLOCKING", pending ? 1 : 2);
    expect("Done FAILED request %d", n + 1);
    if (pending) {
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        expect("Wait aux 1 BLOCKING");
    }
    expect("Done tag 3 bytes 40 request %d", n + 2);
}

/* Fields of a collective: operation, root, contributed, received. */
static void collective(const char *operation, int root, long bytes, long aux, const char *rest) {
    expect("Collective comm 0 peer %d tag %s bytes %ld aux %ld%s", root, operation, bytes, aux, rest);
}

static void collectives(void) {
    static int in[4096], out[4096];
    MPI_Comm world = MPI_COMM_WORLD;
    int counts[4] = {1, 2, 3, 4}, offsets[4] = {0, 10, 20, 30}, mine = rank + 1;
    int *same_counts = (int[]){2, 2, 2, 2};
    MPI_Barrier(world), collective("barrier", -1, 0, 0, " BLOCKING");
    MPI_Bcast(in, 5, MPI_INT, 2, world), collective("bcast", 2, rank == 2 ? 20 : 0, rank == 2 ? 0 : 20, " BLOCKING");
    MPI_Reduce(in, out, 5, MPI_INT, MPI_SUM, 1, world), collective("reduce", 1, 20, rank == 1 ? 20 : 0, " BLOCKING");
    MPI_Allreduce(in, out, 5, MPI_INT, MPI_SUM, world), collective("allreduce", -1, 20, 20, " BLOCKING");
    MPI_Allreduce(MPI_IN_PLACE, out, 5, MPI_INT, MPI_SUM, world), collective("allreduce", -1, 20, 20, " BLOCKING");
    MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, world), collective("scan", -1, 8, 8, " BLOCKING");
    MPI_Exscan(in, out, 1, MPI_DOUBLE, MPI_SUM, world), collective("exscan", -1, 8, 8, " BLOCKING");
    MPI_Gather(in, 3, MPI_INT, out, 3, MPI_INT, 0, world), collective("gather", 0, 12, rank ? 0 : 12, " BLOCKING");
    MPI_Gather(rank ? in : MPI_IN_PLACE, 3, MPI_INT, out, rank ? 0 : 3, rank ? MPI_DATATYPE_NULL : MPI_INT, 0, world),
        collective("gather", 0, 12, rank ? 0 : 12, " BLOCKING");
    MPI_Gatherv(in, mine, MPI_INT, out, counts, offsets, MPI_INT, 0, world);
    collective("gather", 0, 4 * mine, rank ? 0 : 40, rank ? " BLOCKING" : " BLOCKING VECTOR [4, 8, 12, 16]");
    MPI_Scatter(in, 2, MPI_INT, out, 2, MPI_INT, 3, world), collective("scatter", 3, rank == 3 ? 8 : 0, 8, " BLOCKING");
    MPI_Scatterv(in, counts, offsets, MPI_INT, rank == 3 ? MPI_IN_PLACE : out, mine, MPI_INT, 3, world);
    collective("scatter", 3, rank == 3 ? 40 : 0, 4 * mine, rank == 3 ? " BLOCKING VECTOR [4, 8, 12, 16]" : " BLOCKING");
    MPI_Allgather(in, 2, MPI_INT, out, 2, MPI_INT, world), collective("allgather", -1, 8, 8, " BLOCKING");
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, MPI_INT, world), collective("allgather", -1, 8, 8, " BLOCKING");
    MPI_Allgatherv(in, mine, MPI_INT, out, counts, offsets, MPI_INT, world);
    collective("allgather", -1, 4 * mine, 40, " BLOCKING VECTOR [4, 8, 12, 16]");
    MPI_Alltoall(in, 2, MPI_INT, out, 2, MPI_INT, world), collective("alltoall", -1, 8, 8, " BLOCKING");
    MPI_Alltoallv(in, same_counts, offsets, MPI_INT, out, same_counts, offsets, MPI_INT, world);
    collective("alltoall", -1, 32, 32, " BLOCKING VECTOR [8, 8, 8, 8, 8, 8, 8, 8]");
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, same_counts, offsets, MPI_INT, world);
    collective("alltoall", -1, 32, 32, " BLOCKING VECTOR [8, 8, 8, 8, 8, 8, 8, 8]");
    MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    int byte_offsets[4] = {0, 40, 80, 120};
    MPI_Alltoallw(in, same_counts, byte_offsets, types, out, same_counts, byte_offsets, types, world);
    collective("alltoall", -1, 32, 32, " BLOCKING VECTOR [8, 8, 8, 8, 8, 8, 8, 8]");
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, world);
    collective("reduce_scatter", -1, 40, 4 * mine, " BLOCKING VECTOR [4, 8, 12, 16]");
    MPI_Reduce_scatter_block(in, out, 2, MPI_INT, MPI_SUM, world);
    collective("reduce_scatter", -1, 32, 8, " BLOCKING");

    MPI_Request requests[3];
    MPI_Ibarrier(world, &requests[0]), expect("Collective comm 0 peer -1 tag barrier request 1");
    MPI_Iallreduce(in, out, 5, MPI_INT, MPI_SUM, world, &requests[1]);
    expect("Collective comm 0 peer -1 tag allreduce bytes 20 request 2 aux 20");
    MPI_Igatherv(in, mine, MPI_INT, out + 1000, counts, offsets, MPI_INT, 0, world, &requests[2]);
    expect(rank ? "Collective comm 0 tag gather bytes %d request 3" : "Collective comm 0 tag gather bytes 4 request 3 aux 40 VECTOR [4, 8, 12, 16]",
           4 * mine);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    expect("Wait aux 3 BLOCKING\nDone request 1\nDone request 2\nDone request 3");
}

/* The newest communicator: sizes and world ranks of its groups. */
static void communicator(const char *groups) { expect("Comm comm %d %s", next_comm++, groups); }

static void send_to_self(MPI_Comm comm, int number) {
    MPI_Request request;
    int me;
    MPI_Comm_rank(comm, &me);
    MPI_Isend(room, 1, MPI_INT, me, 1, comm, &request);
    expect("Send comm %d peer %d tag 1 bytes 4 request %d", number, me, next_request);
    MPI_Recv(room + 1, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
    expect("Recv comm %d peer -1 tag 1 bytes 4 request %d BLOCKING", number, next_request + 1);
    expect("Done peer %d tag 1 bytes 4 request %d", me, next_request + 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("Wait aux 1 BLOCKING\nDone request %d", next_request);
    next_request += 2;
}

static void communicators(void) {
    MPI_Comm world = MPI_COMM_WORLD, made, halves, cart, inter, merged;
    MPI_Group all, odd;
    MPI_Request request;
    int odds[2] = {3, 1}, dims[2] = {2, 2}, periods[2] = {0, 0}, keep[2] = {0, 1};
    const char *everyone = "peer -1 tag 4 ranks [0, 1, 2, 3]";
    send_to_self(MPI_COMM_SELF, 1);

    MPI_Comm_dup(world, &made);
    communicator(everyone);
    send_to_self(made, 2);
    MPI_Comm_free(&made);
    expect("CommFree comm 2");
    MPI_Comm_idup(world, &made, &request);
    communicator(everyone);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("Wait BLOCKING");
    send_to_self(made, 3);

    MPI_Comm_split(made, rank % 2, -rank, &halves);
    communicator(rank % 2 ? "peer -1 tag 2 ranks [3, 1]" : "peer -1 tag 2 ranks [2, 0]");
    send_to_self(halves, 4);
    MPI_Comm_split(made, rank ? MPI_UNDEFINED : 0, 0, &merged);
    if (!rank) {
        communicator("peer -1 tag 1 ranks [0]");
        MPI_Comm_free(&merged);
        expect("CommFree comm 5");
    } else {
        expect("Other MPI_Comm_split"); /* it made none for this rank */
    }
    MPI_Comm_split_type(world, rank == 3 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &merged);
    if (rank == 3)
        expect("Other MPI_Comm_split_type");
    else
        communicator("peer -1 tag 3 ranks [0, 1, 2]");
    int number = next_comm;
    MPI_Cart_create(world, 2, dims, periods, 0, &cart);
    communicator(everyone);
    const char *beside[4] = {"4294967293, 2, 4294967293, 1", "4294967293, 3, 0, 4294967293", "0, 4294967293, 4294967293, 3",
                             "1, 4294967293, 2, 4294967293"};
    expect("Topology comm %d peer 4 tag 4 bytes 8 aux 1 [%s, %s]", number, beside[rank], beside[rank]);
    send_to_self(cart, number);
    MPI_Comm column;
    MPI_Cart_sub(cart, keep, &column);
    communicator(rank / 2 ? "peer -1 tag 2 ranks [2, 3]" : "peer -1 tag 2 ranks [0, 1]");
    const char *line = rank % 2 ? "0, 4294967293" : "4294967293, 1";
    expect("Topology comm %d peer 2 tag 2 bytes 4 aux 1 [%s, %s]", number + 1, line, line);

    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 2, odds, &odd);
    MPI_Comm_create(world, odd, &merged);
    if (rank % 2) {
        communicator("peer -1 tag 2 ranks [3, 1]");
        for (int i = 0; i < 2; i++) {
            MPI_Comm_create_group(world, odd, 5, &merged);
            communicator("peer -1 tag 2 ranks [3, 1]");
        }
        send_to_self(merged, next_comm - 1);
    } else {
        expect("Other MPI_Comm_create");
    }

    MPI_Intercomm_create(halves, 0, world, rank % 2 ? 2 : 3, 99, &inter);
    number = next_comm;
    communicator(rank % 2 ? "peer 2 tag 2 ranks [3, 1, 2, 0]" : "peer 2 tag 2 ranks [2, 0, 3, 1]");
    int remote = rank % 2 ? 0 : 1; /* world ranks 2 and 1 */
    if (rank == 1) {
        MPI_Send(room, 3, MPI_INT, 0, 8, inter);
        expect("Send comm %d peer 0 tag 8 bytes 12 BLOCKING", number);
    } else if (rank == 2) {
        MPI_Recv(room, 3, MPI_INT, MPI_ANY_SOURCE, 8, inter, MPI_STATUS_IGNORE);
        expect("Recv comm %d peer -1 tag 8 bytes 12 request %d BLOCKING", number, next_request);
        expect("Done peer %d tag 8 bytes 12 request %d", remote, next_request++);
    }
    int root = rank % 2 ? (rank == 1 ? MPI_ROOT : MPI_PROC_NULL) : 1;
    MPI_Bcast(room, 2, MPI_INT, root, inter);
    expect("Collective comm %d tag bcast peer %d bytes %d aux %d BLOCKING", number, rank % 2 ? (rank == 1 ? -4 : -3) : 1,
           rank == 1 ? 8 : 0, rank % 2 ? 0 : 8);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    communicator("peer -1 tag 4 ranks [2, 0, 3, 1]");
    send_to_self(merged, next_comm - 1);
    MPI_Comm_disconnect(&inter);
    expect("CommFree comm %d", number);
}

static const char *everyone = "peer -1 tag 4 ranks [0, 1, 2, 3]";

/* The topology of the newest communicator: form, numbers of sources and destinations, and their ranks. */
static void topology(int form, int sources, int destinations, const char *ranks) {
    const int words = sources + destinations;
    expect("Topology comm %d peer %d tag %d bytes %d aux %d%s%s%s", next_comm - 1, sources, destinations, words, form, words ? " [" : "",
           ranks, words ? "]" : "");
}

static void neighbors(void) {
    enum { NOBODY = -3 };
    MPI_Comm ring, grid, again, column;
    int periods[1] = {1}, counts[2] = {1, 2}, back[2] = {2, 1}, offsets[2] = {0, 4}, left = (rank + 3) % 4, right = (rank + 1) % 4;
    static int in[64], out[64];
    char ranks[100];
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &ring);
    communicator(everyone);
    sprintf(ranks, "%d, %d, %d, %d", left, right, left, right);
    topology(1, 2, 2, ranks);
    MPI_Neighbor_alltoall(in, 3, MPI_INT, out, 3, MPI_INT, ring);
    expect("Collective comm 2 peer -1 tag neighbor_alltoall bytes 12 aux 12 BLOCKING");
    MPI_Neighbor_alltoallv(in, counts, offsets, MPI_INT, out, back, offsets, MPI_INT, ring);
    expect("Collective comm 2 peer -1 tag neighbor_alltoall bytes 12 aux 12 BLOCKING VECTOR [4, 8, 8, 4]");
    MPI_Neighbor_allgather(in, 3, MPI_INT, out, 3, MPI_INT, ring);
    expect("Collective comm 2 peer -1 tag neighbor_allgather bytes 12 aux 12 BLOCKING");
    int theirs[2] = {left + 1, right + 1};
    MPI_Neighbor_allgatherv(in, rank + 1, MPI_INT, out, theirs, offsets, MPI_INT, ring);
    expect("Collective comm 2 peer -1 tag neighbor_allgather bytes %d aux %d BLOCKING VECTOR [%d, %d]", 4 * rank + 4,
           4 * (left + right + 2), 4 * left + 4, 4 * right + 4);
    MPI_Aint bytes_apart[2] = {0, 16};
    MPI_Datatype types[2] = {MPI_INT, MPI_SHORT}, types_back[2] = {MPI_SHORT, MPI_INT};
    MPI_Neighbor_alltoallw(in, counts, bytes_apart, types, out, back, bytes_apart, types_back, ring);
    expect("Collective comm 2 peer -1 tag neighbor_alltoall bytes 8 aux 8 BLOCKING VECTOR [4, 4, 4, 4]");
    MPI_Request requests[2];
    MPI_Ineighbor_alltoall(in, 3, MPI_INT, out, 3, MPI_INT, ring, &requests[0]);
    MPI_Ineighbor_alltoallv(in, counts, offsets, MPI_INT, out + 32, back, offsets, MPI_INT, ring, &requests[1]);
    expect("Collective comm 2 peer -1 tag neighbor_alltoall bytes 12 request 1 aux 12");
    expect("Collective comm 2 peer -1 tag neighbor_alltoall bytes 12 request 2 aux 12 VECTOR [4, 8, 8, 4]");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect("Wait aux 2 BLOCKING\nDone request 1\nDone request 2");

    /* A copy has the topology too; in the second dimension, which has one rank, everybody is his own neighbour. */
    int shape[2] = {4, 1}, wraps[2] = {0, 1}, keep[2] = {1, 0};
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, wraps, 0, &grid);
    communicator(everyone);
    int below = rank ? rank - 1 : NOBODY, above = rank < 3 ? rank + 1 : NOBODY;
    sprintf(ranks, "%u, %u, %d, %d, %u, %u, %d, %d", below, above, rank, rank, below, above, rank, rank);
    topology(1, 4, 4, ranks);
    MPI_Comm_dup(grid, &again);
    communicator(everyone);
    topology(1, 4, 4, ranks);
    MPI_Cart_sub(grid, keep, &column);
    communicator(everyone);
    sprintf(ranks, "%u, %u, %u, %u", below, above, below, above);
    topology(1, 2, 2, ranks);
    MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, column);
    expect("Collective comm %d peer -1 tag neighbor_allgather bytes 4 aux 4 BLOCKING", next_comm - 1);
}

/* Graphs: all send to rank 0, which sends to 1; and with edges that the processes of the sources or the neighbours
 * give. */
static void graphs(void) {
    MPI_Comm graph, adjacent, made;
    static int in[64], out[64];
    int index[4] = {2, 3, 5, 5}, edges[5] = {1, 2, 0, 0, 3};
    MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &graph);
    communicator(everyone);
    const char *neighbours[4] = {"1, 2, 1, 2", "0, 0", "0, 3, 0, 3", ""};
    const int degrees[4] = {2, 1, 2, 0};
    topology(2, degrees[rank], degrees[rank], neighbours[rank]);

    int others[3] = {1, 2, 3}, zero = 0, one = 1;
    const int sources[4] = {3, 1, 0, 0};
    const char *sides[4] = {"1, 2, 3, 1", "0, 0", "0", "0"};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources[rank], rank ? &zero : others, MPI_UNWEIGHTED, 1, rank ? &zero : &one,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &adjacent);
    communicator(everyone);
    topology(3, sources[rank], 1, sides[rank]);
    MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, adjacent);
    expect("Collective comm %d peer -1 tag neighbor_alltoall bytes 4 aux 4 BLOCKING", next_comm - 1);

    int source = rank, degree = 2, to[2] = {(rank + 1) % 4, (rank + 2) % 4}, weights[2] = {5, 7};
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, to, weights, MPI_INFO_NULL, 0, &made);
    communicator(everyone);
    int count_in, count_out, weighted, from[2], onto[2], unused[4];
    MPI_Dist_graph_neighbors_count(made, &count_in, &count_out, &weighted);
    MPI_Dist_graph_neighbors(made, 2, from, unused, 2, onto, unused + 2);
    char ranks[100];
    sprintf(ranks, "%d, %d, %d, %d", from[0], from[1], onto[0], onto[1]);
    topology(3, count_in, count_out, ranks);
    MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, made);
    expect("Collective comm %d peer -1 tag neighbor_allgather bytes 4 aux 4 BLOCKING", next_comm - 1);
}

static void sizes(void) {
    MPI_Datatype pairs, gigabyte;
    MPI_Request request;
    if (rank)
        return;
    MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Type_contiguous(1 << 30, MPI_CHAR, &gigabyte);
    MPI_Type_commit(&gigabyte);
    MPI_Send(room, 2, pairs, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    expect("Send comm 0 peer -3 tag 1 bytes 96 BLOCKING");
    MPI_Send(room, 1 << 30, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    expect("Send comm 0 peer -3 tag 1 bytes 8589934592 BLOCKING");
    MPI_Irecv(room, 5, gigabyte, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    expect("Recv comm 0 peer -3 tag 1 bytes 5368709120 request 1");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("Wait aux 1 BLOCKING\nDone peer -3 tag -2 request 1");
    MPI_Send(room, 1 << 30, gigabyte, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    expect("Send comm 0 peer -3 tag 1 bytes 281474976710656 BLOCKING");
    MPI_Type_free(&pairs);
    MPI_Type_free(&gigabyte);
    for (int i = 1; i <= 8; i++) { /* types that mostly get the handle of the one before */
        MPI_Datatype some;
        MPI_Type_contiguous(i, MPI_INT, &some);
        MPI_Type_commit(&some);
        MPI_Send(room, 3, some, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
        expect("Send comm 0 peer -3 tag 1 bytes %d BLOCKING", 12 * i);
        MPI_Type_free(&some);
    }
#if MPI_VERSION >= 4
    MPI_Send_c(room, (MPI_Count)1 << 33, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    expect("Send comm 0 peer -3 tag 1 bytes 34359738368 BLOCKING");
    MPI_Recv_c(room, (MPI_Count)1 << 33, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("Recv comm 0 peer -3 tag 1 bytes 8589934592 request 2 BLOCKING\nDone peer -3 tag -2 request 2");
#endif
}

/* MPICH 4.0 to 5.0 do not report what a wildcard of MPI_Isendrecv took. */
static void unreported(void) {
#if MPI_VERSION >= 4
    int right = (rank + 1) % size;
    MPI_Request request;
    for (int i = 0; i < 4; i++) {
        const int room_for = i % 2 ? 10 : 20;
        if (i % 2)
            MPI_Isendrecv_replace(room, 10, MPI_INT, right, 5, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        else
            MPI_Isendrecv(room, 10, MPI_INT, right, 5, room + 100, 20, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        expect("Send comm 0 peer %d tag 5 bytes 40 request %d aux %d SENDRECV", right, 2 * i + 1, i);
        expect("Recv comm 0 peer -1 tag -2 bytes %d request %d SENDRECV", 4 * room_for, 2 * i + 2);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifdef OPEN_MPI
        expect("Wait aux 2 BLOCKING\nDone request %d\nDone peer %d tag 5 bytes 40 request %d", 2 * i + 1, (rank + size - 1) % size, 2 * i + 2);
#else
        expect("Wait aux 2 BLOCKING\nDone request %d\nDone bytes %d request %d UNKNOWN", 2 * i + 1, 4 * room_for, 2 * i + 2);
#endif
    }
#endif
}

/* What came with MPI 4. */
static void mpi4(void) {
#if MPI_VERSION >= 4
    int right = (rank + 1) % size, left = (rank + size - 1) % size, counts[4] = {1, 2, 3, 4}, offsets[4] = {0, 1, 3, 6};
    static int in[64], out[64];
    MPI_Request request, pair[2];
    MPI_Isendrecv(room, 10, MPI_INT, right, 5, room + 100, 10, MPI_INT, left, 5, MPI_COMM_WORLD, &request);
    expect("Send comm 0 peer %d tag 5 bytes 40 request 1 SENDRECV", right);
    expect("Recv comm 0 peer %d tag 5 bytes 40 request 2 SENDRECV", left);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("Wait aux 2 BLOCKING\nDone request 1\nDone peer %d tag 5 bytes 40 request 2", left);
    MPI_Isendrecv_replace(room, 10, MPI_INT, right, 6, left, 6, MPI_COMM_WORLD, &request);
    expect("Send comm 0 peer %d tag 6 bytes 40 request 3 aux 1 SENDRECV", right);
    expect("Recv comm 0 peer %d tag 6 bytes 40 request 4 SENDRECV", left);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("Wait aux 2 BLOCKING\nDone request 3\nDone peer %d tag 6 bytes 40 request 4", left);

    MPI_Bcast_init(in, 6, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[0]);
    MPI_Allgatherv_init(in, rank + 1, MPI_INT, out, counts, offsets, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, pair);
        expect("Collective comm 0 peer 0 tag bcast bytes %d aux %d request %d PERSISTENT", rank ? 0 : 24, rank ? 24 : 0, 5 + 2 * round);
        expect("Collective comm 0 peer -1 tag allgather bytes %d aux 40 request %d PERSISTENT VECTOR [4, 8, 12, 16]", 4 * rank + 4,
               6 + 2 * round);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        expect("Wait aux 2 BLOCKING\nDone request %d\nDone request %d", 5 + 2 * round, 6 + 2 * round);
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    MPI_Allreduce_c(in, out, 7, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("Collective comm 0 peer -1 tag allreduce bytes 28 aux 28 BLOCKING");

    MPI_Comm ring;
    int periods[1] = {1}, there[2] = {1, 2}, back[2] = {2, 1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &ring);
    expect("Comm comm 2 peer -1 tag 4 ranks [0, 1, 2, 3]");
    expect("Topology comm 2 peer 2 tag 2 bytes 4 aux 1 [%d, %d, %d, %d]", left, right, left, right);
    MPI_Neighbor_alltoallv_init(in, there, offsets, MPI_INT, out, back, offsets, MPI_INT, ring, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    expect("Collective comm 2 peer -1 tag neighbor_alltoall bytes 12 request 9 aux 12 PERSISTENT VECTOR [4, 8, 8, 4]");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("Wait aux 1 BLOCKING\nDone request 9");
    MPI_Request_free(&request);
    MPI_Count many_there[2] = {1, 2}, many_back[2] = {2, 1};
    MPI_Aint far_offsets[2] = {0, 4};
    MPI_Neighbor_alltoallv_c(in, many_there, far_offsets, MPI_INT, out, many_back, far_offsets, MPI_INT, ring);
    expect("Collective comm 2 peer -1 tag neighbor_alltoall bytes 12 aux 12 BLOCKING VECTOR [4, 8, 8, 4]");
#endif
}

/* The index of a partitioned request, and its partitions, as one number. */
static long long of_partitions(long long low, long long high) { return low | high << 32; }

static void partitioned(void) {
#if MPI_VERSION >= 4
    int right = (rank + 1) % size, left = (rank + size - 1) % size, listed[3] = {5, 6, 1}, flag;
    MPI_Request pair[2], more[2];
    MPI_Psend_init(room, 8, 10, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[0]);
    MPI_Precv_init(room + 100, 4, 20, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[1]);
    MPI_Psend_init(room + 200, 1, 10, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &more[0]);
    MPI_Precv_init(room + 300, 1, 10, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &more[1]);
    int send = 1, next = 1;
    for (int round = 0; round < 2; round++, send = next) {
        MPI_Startall(2, pair);
        expect("Send comm 0 peer %d tag 3 bytes 320 request %d aux %lld PERSISTENT VECTOR", right, next++, of_partitions(0, 8));
        expect("Recv comm 0 peer %d tag 3 bytes 320 request %d aux %lld PERSISTENT VECTOR", left, next++, of_partitions(0, 4));
        MPI_Pready(0, pair[0]);
        expect("Partition request %d aux %lld", send, of_partitions(0, 1));
        MPI_Pready_range(2, 4, pair[0]);
        expect("Partition request %d aux %lld", send, of_partitions(2, 3));
        MPI_Pready_list(3, listed, pair[0]);
        expect("Partition request %d aux %lld", send, of_partitions(5, 2));
        expect("Partition request %d aux %lld", send, of_partitions(1, 1));
        MPI_Pready(7, pair[0]);
        expect("Partition request %d aux %lld", send, of_partitions(7, 1));
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        expect("Wait aux 2 BLOCKING\nDone request %d\nDone peer %d tag 3 bytes 320 request %d", send, left, send + 1);
    }

    /* The second ones with this peer and tag, however late they start. */
    MPI_Startall(2, more);
    expect("Send comm 0 peer %d tag 3 bytes 40 request %d aux %lld PERSISTENT VECTOR", right, next++, of_partitions(1, 1));
    expect("Recv comm 0 peer %d tag 3 bytes 40 request %d aux %lld PERSISTENT VECTOR", left, next++, of_partitions(1, 1));
    MPI_Parrived(more[1], 0, &flag); /* before the barrier none is ready */
    expect("Miss peer 1 request %d aux 1", send + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    expect("Collective comm 0 peer -1 tag barrier BLOCKING");
    MPI_Pready(0, more[0]);
    expect("Partition request %d aux %lld", send, of_partitions(0, 1));
    MPI_Waitall(2, more, MPI_STATUSES_IGNORE);
    expect("Wait aux 2 BLOCKING\nDone request %d\nDone peer %d tag 3 bytes 40 request %d", send, left, send + 1);

    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&pair[i]);
        MPI_Request_free(&more[i]);
    }
#endif
}

static void others(void) {
    MPI_Win window;
    static int memory[16];
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    expect("Other MPI_Win_create");
    MPI_Win_fence(0, window);
    expect("Other MPI_Win_fence");
    MPI_Put(room, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    expect("Other MPI_Put");
    MPI_Win_fence(0, window);
    expect("Other MPI_Win_fence");
    MPI_Win_free(&window);
    expect("Other MPI_Win_free");
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"blocking", blocking}, {"nonblocking", nonblocking}, {"in_a_row", in_a_row}, {"refused", refused}, {"orders", orders}, {"completion", completion}, {"persistent", persistent},
        {"sendrecv", sendrecv}, {"probes", probes}, {"cancel", cancel}, {"truncation", truncation},
        {"collectives", collectives}, {"communicators", communicators}, {"neighbors", neighbors}, {"graphs", graphs}, {"sizes", sizes},
        {"mpi4", mpi4}, {"unreported", unreported}, {"partitioned", partitioned}, {"others", others},
    };
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3 || size != 4) {
        fprintf(stderr, "usage: calls SCENARIO DIRECTORY, on 4 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    snprintf(path, sizeof path, "%s/expected-%d.txt", argv[2], rank);
    expected = fopen(path, "w");
    if (!expected)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (!strcmp(scenarios[i].name, argv[1]))
            scenarios[i].run();
    fclose(expected);
    return MPI_Finalize();
}
