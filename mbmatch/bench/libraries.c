/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A library through its own calls: one process sends empty messages to itself. `libraries PATTERN DEPTH ROUNDS`:
 * prints the pairs of a round. With UCX defined for UCX's tag interface, else for an MPI library. libraries.py counts
 * the instructions of the functions that match.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *made, const char *what)
{
	if (made == NULL) {
		fprintf(stderr, "libraries: %s failed\n", what);
		exit(1);
	}
	return made;
}

#ifdef UCX
#include <ucp/api/ucp.h>
typedef void *request_t;
static ucp_worker_h worker;
static ucp_ep_h endpoint;

static void want(ucs_status_t status, const char *what)
{
	must(status == UCS_OK ? &worker : NULL, what);
}

static void start(void)
{
	const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
	const ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE, .thread_mode = UCS_THREAD_MODE_SINGLE};
	ucp_context_h context;
	ucp_address_t *address;
	size_t length;
	want(ucp_init(&params, NULL, &context), "ucp_init");
	want(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
	want(ucp_worker_get_address(worker, &address, &length), "ucp_worker_get_address");
	const ucp_ep_params_t to_self = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
	want(ucp_ep_create(worker, &to_self, &endpoint), "ucp_ep_create");
}

static void finish(void *request)
{
	while (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS) {
		ucp_worker_progress(worker);
	}
	if (UCS_PTR_IS_PTR(request)) {
		ucp_request_free(request);
	}
}

/* The source is in the high bits, as UCX's MPI users have it. */
static request_t receive(int tag, int any_source)
{
	static const ucp_request_param_t plain = {0};
	return ucp_tag_recv_nbx(worker, NULL, 0, (uint64_t) tag, any_source ? UINT32_MAX : UINT64_MAX, &plain);
}

static void send_tag(int tag)
{
	static const ucp_request_param_t plain = {0};
	finish(ucp_tag_send_nbx(endpoint, NULL, 0, (uint64_t) tag, &plain));
}
#else
#include <mpi.h>
typedef MPI_Request request_t;

static void start(void)
{
	MPI_Init(NULL, NULL);
}

static void finish(request_t request)
{
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static request_t receive(int tag, int any_source)
{
	request_t request;
	MPI_Irecv(NULL, 0, MPI_BYTE, any_source ? MPI_ANY_SOURCE : 0, tag, MPI_COMM_WORLD, &request);
	return request;
}

static void send_tag(int tag)
{
	MPI_Send(NULL, 0, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
}
#endif

int main(int argc, char **argv)
{
	const char *pattern = argc == 4 ? argv[1] : "";
	const int n = argc == 4 ? atoi(argv[2]) : 0, rounds = argc == 4 ? atoi(argv[3]) : 0;
	const int posted = strncmp(pattern, "posted", 6) == 0, behind = strcmp(pattern, "behind") == 0;
	if (n < 1 || rounds < 1 || (!posted && !behind && strncmp(pattern, "unexpected", 10) != 0)) {
		fprintf(stderr, "usage: libraries posted:order|posted:random|unexpected:random|behind DEPTH ROUNDS\n");
		return 2;
	}
	int *tag = must(malloc((size_t) n * sizeof(*tag)), "malloc");
	request_t *request = must(malloc((size_t) n * sizeof(*request)), "malloc");
	for (int k = 0; k < n; k++) {
		tag[k] = k;
	}
	for (int k = n; k > 1 && strstr(pattern, "random") != NULL; k--) {
		const int other = rand() % k, swap = tag[k - 1];
		tag[k - 1] = tag[other];
		tag[other] = swap;
	}
	start();
	for (int k = 0; k < n && behind; k++) {
		send_tag(k);
	}
	for (int round = 0; round <= rounds; round++) {
		for (int k = 0; k < n; k++) {
			if (behind) {
				send_tag(n);
				finish(receive(n, 1));
			} else if (posted) {
				request[k] = receive(k, 0);
			} else {
				send_tag(k);
			}
		}
		for (int k = 0; k < n && !behind; k++) {
			if (posted) {
				send_tag(tag[k]);
			} else {
				finish(receive(tag[k], 0));
			}
		}
		for (int k = 0; k < n && posted; k++) {
			finish(request[k]);
		}
	}
	printf("%d\n", n);
	/* The library is not shut down: what it does then is not counted. */
	fflush(stdout);
	_Exit(0);
}
