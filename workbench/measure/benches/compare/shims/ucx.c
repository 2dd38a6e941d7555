// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// UCX's tag matching through its own calls: a worker with an endpoint to itself over the transport
// `self`, which delivers a message before the send returns. The times contain request objects and the copy of 8 bytes.
#include <ucp/api/ucp.h>

#include "shim.h"

struct request {
  ucs_status_ptr_t receive, send;
  uint64_t buffer;
};

static struct request *requests;
static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h self;
static uint64_t sent;
static const ucp_request_param_t plain; // contiguous bytes, no callback

// Waits for a request and frees it; returns its status.
static ucs_status_t finish(ucs_status_ptr_t of) {
  if (!UCS_PTR_IS_PTR(of)) return UCS_PTR_STATUS(of);
  ucs_status_t status;
  while ((status = ucp_request_check_status(of)) == UCS_INPROGRESS) ucp_worker_progress(worker);
  ucp_request_free(of);
  return status;
}

const char *shim_open(uint32_t count) {
  static char version[64];
  unsigned major, minor, release;
  ucp_get_version(&major, &minor, &release);
  snprintf(version, sizeof version, "UCX %u.%u.%u", major, minor, release);
  requests = calloc(count, sizeof *requests);
  need(requests != NULL, "no memory");

  ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
  ucp_config_t *config;
  need(ucp_config_read(NULL, NULL, &config) == UCS_OK, "UCX's configuration cannot be read");
  need(ucp_config_modify(config, "TLS", "self") == UCS_OK, "UCX has no transport `self`");
  need(ucp_init(&params, config, &context) == UCS_OK, "UCX cannot be initialized");
  ucp_config_release(config);
  ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                       .thread_mode = UCS_THREAD_MODE_SINGLE};
  need(ucp_worker_create(context, &worker_params, &worker) == UCS_OK, "UCX has no worker");
  ucp_address_t *address;
  size_t bytes;
  need(ucp_worker_get_address(worker, &address, &bytes) == UCS_OK, "the worker has no address");
  ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
  need(ucp_ep_create(worker, &ep_params, &self) == UCS_OK, "the worker does not reach itself");
  ucp_worker_release_address(worker, address);
  // The first message establishes the connection.
  shim_post(0, 0, 0);
  shim_arrive(0, 0);
  shim_wait(0);
  return version;
}

void shim_post(uint64_t bits, uint64_t ignore, uint32_t request) {
  struct request *of = &requests[request];
  of->receive = ucp_tag_recv_nbx(worker, &of->buffer, sizeof of->buffer, bits, ~ignore, &plain);
}

void shim_arrive(uint64_t bits, uint32_t message) {
  requests[message].send = ucp_tag_send_nbx(self, &sent, sizeof sent, bits, &plain);
}

void shim_wait(uint32_t request) {
  need(finish(requests[request].receive) == UCS_OK, "a receive failed");
  need(finish(requests[request].send) == UCS_OK, "a send failed");
}

int shim_probe(uint64_t bits, uint64_t ignore) {
  ucp_tag_recv_info_t info;
  return ucp_tag_probe_nb(worker, bits, ~ignore, 0, &info) != NULL;
}

void shim_cancel(uint32_t request) {
  ucp_request_cancel(worker, requests[request].receive);
  need(finish(requests[request].receive) == UCS_ERR_CANCELED, "a receive was not cancelled");
}

void shim_close(void) {
  ucs_status_ptr_t closing = ucp_ep_close_nb(self, UCP_EP_CLOSE_MODE_FLUSH);
  finish(closing);
  ucp_worker_destroy(worker);
  ucp_cleanup(context);
  free(requests);
}
