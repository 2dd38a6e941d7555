/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* See endpoints.h. */
#include "endpoints.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

const char *provider = "shm";
bool directed = true;

time_t processor_seconds(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec;
}

void call(const char *name, long status) {
  if (status >= 0) return;
  fprintf(stderr, "%s with the provider %s: %s\n", name, provider, fi_strerror((int)-status));
  _exit(UNUSABLE);
}

void remove_stale_files(pid_t process) {
  for (int i = 0; i < 16; i++) {
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/%d:%d:%d", (int)process, (int)getuid(), i);
    unlink(path);
  }
}

void open_fabric(Fabric *fabric) {
  remove_stale_files(getpid());
  struct fi_info *hints = fabric->hints = fi_allocinfo();
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_MULTI_RECV | (directed ? FI_DIRECTED_RECV : 0);
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->fabric_attr->prov_name = strdup(provider);
  call("fi_getinfo", fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, hints, &fabric->info));
  call("fi_fabric", fi_fabric(fabric->info->fabric_attr, &fabric->fabric, NULL));
  call("fi_domain", fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL));
}

void close_fabric(Fabric *fabric) {
  fi_close(&fabric->domain->fid);
  fi_close(&fabric->fabric->fid);
  fi_freeinfo(fabric->info);
  fi_freeinfo(fabric->hints);
}

void open_endpoint(const Fabric *fabric, size_t min_multi, Endpoint *endpoint) {
  struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .size = 8192};
  struct fi_av_attr av = {.type = FI_AV_UNSPEC};
  call("fi_endpoint", fi_endpoint(fabric->domain, fabric->info, &endpoint->ep, NULL));
  call("fi_cq_open", fi_cq_open(fabric->domain, &cq, &endpoint->cq, NULL));
  call("fi_av_open", fi_av_open(fabric->domain, &av, &endpoint->av, NULL));
  call("fi_ep_bind", fi_ep_bind(endpoint->ep, &endpoint->cq->fid, FI_TRANSMIT | FI_RECV));
  call("fi_ep_bind", fi_ep_bind(endpoint->ep, &endpoint->av->fid, 0));
  call("fi_setopt",
       fi_setopt(&endpoint->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min_multi, sizeof min_multi));
  call("fi_enable", fi_enable(endpoint->ep));
}

void close_queues(Endpoint *endpoint) {
  fi_close(&endpoint->cq->fid);
  fi_close(&endpoint->av->fid);
}

fi_addr_t insert(const Endpoint *endpoint, Endpoint *into) {
  char name[512];
  size_t length = sizeof name;
  fi_addr_t address = FI_ADDR_UNSPEC;
  call("fi_getname", fi_getname(&endpoint->ep->fid, name, &length));
  call("fi_av_insert", fi_av_insert(into->av, name, 1, &address, 0, NULL) == 1 ? 0 : -FI_EOTHER);
  return address;
}
