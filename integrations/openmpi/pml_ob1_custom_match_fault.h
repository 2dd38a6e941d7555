/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Planted faults, in builds with PML_OB1_MBMATCH_FAULT alone. A check that passes such a library is no check.
 *
 * - A message takes the newest receive that accepts it: the check of the order of matching must find it.
 * - A revocation visits no message: senders that wait for a receive are not told, and the check of revocation must
 *   find it.
 */
#ifndef PML_OB1_CUSTOM_MATCH_FAULT_H
#define PML_OB1_CUSTOM_MATCH_FAULT_H

static inline mbmatch_receive_t *custom_match_take(mbmatch_t *matcher, uint64_t bits, uint32_t source)
{
	mbmatch_receive_t *newest = NULL;
	for (mbmatch_receive_t *at = mbmatch_first_receive(matcher); NULL != at; at = mbmatch_next_receive(matcher, at)) {
		if (0 == ((at->entry.bits ^ bits) & at->compare) &&
		    (at->entry.source == source || MBMATCH_ANY_SOURCE == at->entry.source)) {
			newest = at;
		}
	}
	if (NULL != newest) {
		(void) mbmatch_cancel(matcher, newest);
	}
	return newest;
}

static inline mbmatch_message_t *custom_match_first_fragment(mbmatch_t *matcher)
{
	(void) matcher;
	return NULL;
}

#endif
