/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reliable endpoints of one process, each with a completion queue and an address vector of its own. */
#ifndef ENDPOINTS_H
#define ENDPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

/* The exit status when libfabric or the provider cannot be used. */
enum { UNUSABLE = 2 };

typedef struct {
  struct fi_info *hints;
  struct fi_info *info;
  struct fid_fabric *fabric;
  struct fid_domain *domain;
} Fabric;

typedef struct {
  struct fid_ep *ep;
  struct fid_cq *cq;
  struct fid_av *av;
  fi_addr_t peer; /* the receiver, in the address vector of a sender */
} Endpoint;

/* Set before open_fabric: the provider of all endpoints, "shm" unless it is set, and whether receives may name a source
 * (FI_DIRECTED_RECV), as they may unless it is set. */
extern const char *provider;
extern bool directed;

/* The provider shm names its files by process, and refuses a name that a killed process of the same number left. */
void remove_stale_files(pid_t process);

/* The functions below end the program with the status UNUSABLE when libfabric refuses. */
void open_fabric(Fabric *fabric);
void close_fabric(Fabric *fabric);

/* `min_multi` is FI_OPT_MIN_MULTI_RECV. */
void open_endpoint(const Fabric *fabric, size_t min_multi, Endpoint *endpoint);

/* Closes the queue and the address vector; the endpoint itself is closed before. */
void close_queues(Endpoint *endpoint);

/* Inserts the address of `endpoint` into the address vector of `into`, and returns what it has there. */
fi_addr_t insert(const Endpoint *endpoint, Endpoint *into);

/* Processor time of this process, in whole seconds. A process that waits for a completion polls, so that a limit in
 * this time does not depend on other work of the machine. */
time_t processor_seconds(void);

/* Ends the program if `status` is negative. */
void call(const char *name, long status);

#endif
