/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How a message-queue library (MSGQ) of a debugger shows the queues of a stopped process: it copies the matcher, checks
 * `magic` and `layout`, and follows `next` from node to node by reads of the other process, until it is back at the
 * queue. Here the other process is a child that stops itself, and the reads are process_vm_readv(2). Prints a line for
 * each entry.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mbmatch.h"

static void read_from(pid_t process, const void *address, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *) (uintptr_t) address, bytes};
	if (process_vm_readv(process, &here, 1, &there, 1, 0) != (ssize_t) bytes) {
		perror("stopped: process_vm_readv");
		exit(1);
	}
}

/* Shows the queue of which the copy is `queue`, and which is at `address` there. Ends after `length` entries: the links
 * of a process that a signal has stopped inside of a call may be in disorder. */
static void show(pid_t process, const char *name, const mbmatch_queue_t *queue, const void *address, uint32_t length)
{
	const void *at = queue->next;
	for (uint32_t k = 0; at != address && k < length; k++) {
		mbmatch_entry_t entry;
		read_from(process, at, &entry, sizeof(entry));
		printf("%s %" PRIu32 ": tag %" PRIu32 ", source %" PRId32 "\n", name, k, (uint32_t) entry.bits, (int32_t) entry.source);
		at = entry.next;
	}
}

int main(void)
{
	static mbmatch_t matcher;
	static mbmatch_receive_t receives[20];
	static mbmatch_message_t messages[2];
	const pid_t child = fork();
	if (child == 0) {
		mbmatch_init(&matcher, UINT32_MAX, 0, NULL);
		for (uint32_t k = 0; k < 20; k++) {
			mbmatch_post(&matcher, &receives[k], k, 0, k == 3 ? MBMATCH_ANY_SOURCE : k);
		}
		mbmatch_cancel(&matcher, &receives[7]);
		mbmatch_arrive(&matcher, &messages[0], 100, 5);
		mbmatch_arrive(&matcher, &messages[1], 101, 6);
		raise(SIGSTOP);
		_exit(0);
	}
	int status;
	if (child < 0 || waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) {
		perror("stopped: the child did not stop");
		return 1;
	}
	/* After a fork both have the matcher at one address; a debugger looks a symbol up. */
	mbmatch_t copy;
	read_from(child, &matcher, &copy, sizeof(copy));
	if (copy.magic != MBMATCH_MAGIC || copy.layout != MBMATCH_LAYOUT) {
		fprintf(stderr, "stopped: no matcher of layout %d\n", MBMATCH_LAYOUT);
		return 1;
	}
	show(child, "receive", &copy.posted, &matcher.posted, copy.posted_length);
	show(child, "message", &copy.unexpected, &matcher.unexpected, copy.unexpected_length);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return 0;
}
