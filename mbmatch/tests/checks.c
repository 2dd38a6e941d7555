/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the checking build finds: `checks CASE` makes one mistake, which ends the program with a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mbmatch.h"

int main(int argc, char **argv)
{
	const char *name = argc == 2 ? argv[1] : "";
	mbmatch_t m;
	mbmatch_receive_t r, other;
	mbmatch_message_t e;
	mbmatch_init(&m, UINT32_MAX, MBMATCH_NO_ANY_SOURCE | MBMATCH_NO_ANY_TAG, NULL);
	mbmatch_post(&m, &r, 1, 0, 2);
	if (strcmp(name, "twice") == 0) {
		mbmatch_post(&m, &r, 3, 0, 2);
	} else if (strcmp(name, "both") == 0) {
		mbmatch_arrive(&m, (mbmatch_message_t *) (void *) &r, 9, 2);
	} else if (strcmp(name, "freed") == 0) {
		memset(&r, 0xdd, sizeof(r));
		mbmatch_post(&m, &other, 3, 0, 2);
	} else if (strcmp(name, "source") == 0) {
		mbmatch_post(&m, &other, 3, 0, MBMATCH_ANY_SOURCE);
	} else if (strcmp(name, "tag") == 0) {
		mbmatch_probe(&m, 3, UINT32_MAX, 2);
	} else if (strcmp(name, "foreign") == 0) {
		mbmatch_t n;
		mbmatch_init(&n, UINT32_MAX, 0, NULL);
		mbmatch_cancel(&n, &r);
	} else if (strcmp(name, "destroyed") == 0) {
		mbmatch_destroy(&m);
		mbmatch_arrive(&m, &e, 1, 2);
	} else if (strcmp(name, "none") == 0) {
		const mbmatch_receive_t *found = mbmatch_arrive(&m, &e, 1, 2);
		puts(found == &r && mbmatch_cancel(&m, &r) == 0 ? "no mistake" : "wrong");
		return 0;
	} else {
		fprintf(stderr, "usage: checks twice|both|freed|source|tag|foreign|destroyed|none\n");
		return 2;
	}
	puts("not found");
	return 0;
}
