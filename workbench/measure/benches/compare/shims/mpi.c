// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// An MPI library through its own calls: nonblocking on both sides of MPI_COMM_SELF, then two waits.
// The times contain what an MPI does besides matching: argument checks, request objects, the copy of 8 bytes.
#include <mpi.h>
#include <string.h>

#include "shim.h"

struct request {
  MPI_Request receive, send;
  uint64_t buffer;
};

static struct request *requests;
static uint64_t sent;

const char *shim_open(uint32_t count) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  need(MPI_Init(NULL, NULL) == MPI_SUCCESS, "MPI_Init failed");
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n")] = 0;
  for (char *at = version; *at; at++) *at = *at == '\t' ? ' ' : *at;
  requests = calloc(count, sizeof *requests);
  need(requests != NULL, "no memory");
  for (uint32_t i = 0; i < count; i++) requests[i].receive = requests[i].send = MPI_REQUEST_NULL;
  return version;
}

static int tag(uint64_t bits, uint64_t ignore) {
  return ignore & TAG_BITS ? MPI_ANY_TAG : (int)(bits & TAG_BITS);
}

static int source(uint64_t ignore) {
  return ignore & SOURCE_BITS ? MPI_ANY_SOURCE : 0;
}

void shim_post(uint64_t bits, uint64_t ignore, uint32_t request) {
  struct request *of = &requests[request];
  MPI_Irecv(&of->buffer, sizeof of->buffer, MPI_BYTE, source(ignore), tag(bits, ignore), MPI_COMM_SELF, &of->receive);
}

void shim_arrive(uint64_t bits, uint32_t message) {
  MPI_Isend(&sent, sizeof sent, MPI_BYTE, 0, tag(bits, 0), MPI_COMM_SELF, &requests[message].send);
}

void shim_wait(uint32_t request) {
  struct request *of = &requests[request];
  need(of->receive != MPI_REQUEST_NULL && of->send != MPI_REQUEST_NULL, "no such receive and message");
  MPI_Wait(&of->receive, MPI_STATUS_IGNORE);
  MPI_Wait(&of->send, MPI_STATUS_IGNORE);
}

int shim_probe(uint64_t bits, uint64_t ignore) {
  int found;
  MPI_Iprobe(source(ignore), tag(bits, ignore), MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
  return found;
}

void shim_cancel(uint32_t request) {
  struct request *of = &requests[request];
  MPI_Cancel(&of->receive);
  MPI_Wait(&of->receive, MPI_STATUS_IGNORE);
}

void shim_close(void) {
  free(requests);
  MPI_Finalize();
}
