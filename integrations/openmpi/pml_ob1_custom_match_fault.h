/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A planted fault, in builds with PML_OB1_MBMATCH_FAULT alone: a message takes the newest receive that accepts it. A
 * check of the order of matching that passes such a library is no check. */
#ifndef PML_OB1_CUSTOM_MATCH_FAULT_H
#define PML_OB1_CUSTOM_MATCH_FAULT_H

struct custom_match_newest {
	const mbmatch_envelope_t *envelope;
	mbmatch_handle_t handle;
};

static inline int custom_match_note_newest(void *context, const mbmatch_queued_receive_t *receive)
{
	struct custom_match_newest *newest = (struct custom_match_newest *) context;
	const mbmatch_pattern_t *pattern = &receive->pattern;
	if (0 == ((pattern->bits ^ newest->envelope->bits) & ~pattern->ignore) &&
	    (pattern->any_source || pattern->source == newest->envelope->source)) {
		newest->handle = receive->handle;
	}
	return MBMATCH_VISIT_KEEP;
}

static inline mbmatch_status_t custom_match_take(mbmatch_t *matcher, const mbmatch_envelope_t *envelope, void **request)
{
	struct custom_match_newest newest = {.envelope = envelope, .handle = 0};
	mbmatch_status_t status = mbmatch_visit_receives(matcher, custom_match_note_newest, &newest, NULL);
	if (MBMATCH_OK != status) {
		return status;
	}
	if (0 == newest.handle) {
		return MBMATCH_NO_MATCH;
	}
	status = mbmatch_cancel(matcher, newest.handle, request);
	return MBMATCH_OK == status ? MBMATCH_MATCHED : status;
}

#endif
