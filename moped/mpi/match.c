// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "match.h"

static struct mb_request *posted, **posted_last = &posted;
static struct mb_unexpected *unexpected, **unexpected_last = &unexpected;

static int accepts(int context, int source, int tag, int message_context, int message_source, int message_tag)
{
    return context == message_context && (source == message_source || source == MPI_ANY_SOURCE) &&
           (tag == message_tag || tag == MPI_ANY_TAG);
}

void mb_post(struct mb_request *receive)
{
    receive->next = NULL;
    *posted_last = receive;
    posted_last = &receive->next;
}

static struct mb_request *unlink_posted(struct mb_request **link)
{
    struct mb_request *receive = *link;
    *link = receive->next;
    if (posted_last == &receive->next) posted_last = link;
    return receive;
}

struct mb_request *mb_take_posted(int context, int source, int tag)
{
    for (struct mb_request **link = &posted; *link != NULL; link = &(*link)->next) {
        if (accepts((*link)->context, (*link)->peer, (*link)->tag, context, source, tag)) return unlink_posted(link);
    }
    return NULL;
}

struct mb_request *mb_take_oldest_posted(void)
{
    return posted != NULL ? unlink_posted(&posted) : NULL;
}

int mb_withdraw_posted(struct mb_request *receive)
{
    for (struct mb_request **link = &posted; *link != NULL; link = &(*link)->next) {
        if (*link != receive) continue;
        unlink_posted(link);
        return 1;
    }
    return 0;
}

void mb_add_unexpected(struct mb_unexpected *message)
{
    message->next = NULL;
    *unexpected_last = message;
    unexpected_last = &message->next;
}

static struct mb_unexpected **find(int context, int source, int tag)
{
    struct mb_unexpected **link = &unexpected;
    while (*link != NULL && !accepts(context, source, tag, (*link)->context, (*link)->source, (*link)->tag))
        link = &(*link)->next;
    return link;
}

static struct mb_unexpected *unlink_unexpected(struct mb_unexpected **link)
{
    struct mb_unexpected *message = *link;
    if (message == NULL) return NULL;
    *link = message->next;
    if (unexpected_last == &message->next) unexpected_last = link;
    return message;
}

struct mb_unexpected *mb_find_unexpected(int context, int source, int tag)
{
    return *find(context, source, tag);
}

struct mb_unexpected *mb_take_unexpected(int context, int source, int tag)
{
    return unlink_unexpected(find(context, source, tag));
}

int mb_withdraw_unexpected(int world, uint64_t sender)
{
    struct mb_unexpected **link = &unexpected;
    while (*link != NULL && ((*link)->world != world || (*link)->sender != sender))
        link = &(*link)->next;
    if (*link == NULL) return 0;
    free(unlink_unexpected(link));
    return 1;
}
