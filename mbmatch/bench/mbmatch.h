/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* mbmatch itself. */
#include "../mbmatch.c"

typedef mbmatch_t matcher_t;
typedef mbmatch_receive_t receive_t;
typedef mbmatch_message_t message_t;

static void matcher_init(matcher_t *m)
{
	mbmatch_init(m, UINT32_MAX, 0, NULL);
}

static void matcher_destroy(matcher_t *m)
{
	mbmatch_destroy(m);
}

static inline message_t *matcher_post(matcher_t *m, receive_t *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	return mbmatch_post(m, r, bits, ignore, source);
}

static inline receive_t *matcher_arrive(matcher_t *m, message_t *e, uint64_t bits, uint32_t source)
{
	return mbmatch_arrive(m, e, bits, source);
}
