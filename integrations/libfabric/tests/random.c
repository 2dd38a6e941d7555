/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Random operations on the receive queues of a libfabric endpoint, judged by a reference (reference.h).
 *
 *   random [--provider NAME] [--programs N] [--seed S] [--first N] [--operations N] [--arrival-order] [--truncate]
 *          [--undirected] [--without FEATURE]...
 *
 * A program has one receiving endpoint and three senders in one process. Each message carries its number as completion
 * data. After a burst of messages of one sender a marker is sent; when it is received, all of them have arrived, so
 * that the reference knows the state of both queues at every call. Each program runs in a process of its own; one that
 * fails is shortened while it fails, and printed in libfabric's calls.
 * Exit status: 0 all programs agree, 1 a program does not, 2 bad arguments or no such provider.
 */
#include <errno.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "endpoints.h"
#include "reference.h"

enum { MAX_OPERATIONS = 400, GUARD = 64, PATIENCE_S = 10, UNTOUCHED = 0xEE, MIN_MULTI = 64, FAILED = 1 };
/* Limits of a program. */
enum { PROCESSOR_SECONDS = 60, WALL_SECONDS = 600 };
/* No ignored bits cover this one, so that no other receive accepts a marker. */
static const uint64_t MARK = UINT64_C(1) << 63;

static bool arrival_order, truncate_some, quiet;

/* What `--without` leaves out, so that a fault hides no other. */
typedef enum { DIRECTED_UNTAGGED, CANCEL_UNTAGGED, MULTI_RECEIVE, SOURCE_OF_PEEK, UNKNOWN_SENDERS, FEATURES } Feature;
static const char *const feature_names[FEATURES] = {"directed-untagged", "cancel-untagged", "multi-receive",
                                                    "source-of-peek", "unknown-senders"};
static bool without[FEATURES];

/* Operations */

typedef enum { SEND, RECEIVE, MULTI, PEEK, USE_CLAIMED, CANCEL, INSERT } Kind;

typedef struct {
  Kind kind;
  int sender; /* of SEND and INSERT; source of others, or ANY */
  int count;  /* of messages */
  bool tagged;
  uint64_t tag;
  uint64_t ignore;
  size_t size;
  uint64_t flags; /* FI_CLAIM, FI_DISCARD */
  unsigned pick;  /* which of the claimed messages or of the receives */
  bool two_parts; /* two entries in the I/O vector */
} Operation;

static uint64_t random_state;

static unsigned below(unsigned bound) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)((random_state * UINT64_C(0x2545F4914F6CDD1D)) >> 33) % bound;
}

static bool one_in(unsigned n) {
  return below(n) == 0;
}

/* Lengths around the limits of the protocols of the provider shm: inline, injected, copied by segments. */
static size_t some_size(void) {
  static const size_t sizes[] = {0, 1, 8, 8, 8, 8, 64, 150, 1000, 4000, 20000};
  /* Longer messages that do not fit end shm and RxM of libfabric 2.1 in crashes of their own (known.c). */
  const unsigned inline_sizes = 8;
  return sizes[below(truncate_some ? inline_sizes : sizeof sizes / sizeof *sizes)];
}

static int generate(uint64_t seed, Operation *operations, int count) {
  random_state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
  for (int i = 0; i < 8; i++) below(2);
  const unsigned tags = 1 + below(6), any = 1 + below(4), burst = one_in(5) ? 60 : 3, tagged = one_in(4) ? 2 : 12;
  const unsigned sends = 2 + below(4), receives = 2 + below(4);
  const bool multi = one_in(2) && !without[MULTI_RECEIVE];
  static const uint64_t ignored[] = {0, 0, 0, 1, 3, UINT64_C(0xffffffff), UINT64_C(0x7fffffffffffffff)};
  for (int i = 0; i < count; i++) {
    Operation *operation = &operations[i];
    const unsigned kind = below(sends + receives + 4);
    *operation = (Operation){
        .kind = kind < sends              ? SEND
                : kind < sends + receives ? RECEIVE
                                          : (Kind)(MULTI + (int)(kind - sends - receives) % 5),
        .sender = (int)below(SENDERS),
        .count = 1 + (int)below(burst),
        .tagged = !one_in(tagged),
        .tag = below(tags) | (one_in(3) ? UINT64_C(1) << 40 : 0),
        .ignore = ignored[below(sizeof ignored / sizeof *ignored)],
        .size = some_size(),
        .flags = one_in(2) ? 0 : one_in(2) ? FI_CLAIM : FI_DISCARD,
        .pick = below(1000),
        .two_parts = one_in(4),
    };
    if (operation->kind == USE_CLAIMED && one_in(3)) operation->kind = INSERT;
    if (operation->kind != SEND && operation->kind != INSERT && one_in(any)) operation->sender = ANY;
    if (operation->kind == MULTI) operation->size = 64 + below(600);
    /* A message always fits into a multi-receive buffer that is still posted. */
    if (operation->kind == MULTI && !multi) operation->kind = RECEIVE;
    if (operation->kind == SEND && !operation->tagged && multi && !truncate_some) operation->size %= MIN_MULTI + 1;
  }
  return count;
}

static const char *source_name(int source) {
  static const char *const names[] = {"any source", "sender 0", "sender 1", "sender 2"};
  return names[source + 1];
}

static void print_operation(const Operation *operation) {
  const char *from = source_name(operation->sender);
  const unsigned long long tag = operation->tag, ignore = operation->ignore;
  switch (operation->kind) {
    case SEND:
      printf("%s: %d times ", from, operation->count);
      if (operation->tagged) printf("fi_tsenddata of %zu bytes, tag %#llx\n", operation->size, tag);
      else printf("fi_senddata of %zu bytes\n", operation->size);
      break;
    case RECEIVE:
      if (operation->tagged) printf("fi_trecvmsg from %s, tag %#llx, ignore %#llx\n", from, tag, ignore);
      else printf("fi_recvmsg from %s\n", from);
      break;
    case MULTI:
      printf("fi_recvmsg of %zu bytes from %s, FI_MULTI_RECV\n", operation->size, from);
      break;
    case PEEK:
      printf("fi_trecvmsg from %s, tag %#llx, ignore %#llx, FI_PEEK%s\n", from, tag, ignore,
             operation->flags == FI_CLAIM     ? " | FI_CLAIM"
             : operation->flags == FI_DISCARD ? " | FI_DISCARD"
                                              : "");
      break;
    case USE_CLAIMED:
      printf("fi_trecvmsg, FI_CLAIM%s, of claimed message %u\n", operation->flags == FI_DISCARD ? " | FI_DISCARD" : "",
             operation->pick);
      break;
    case CANCEL:
      printf("fi_cancel of receive %u\n", operation->pick);
      break;
    case INSERT:
      printf("fi_av_insert of %s\n", from);
      break;
  }
}

/* One program */

typedef struct {
  struct fi_context2 context; /* first: completions name it */
  int receive;                /* index in the reference, -1: a peek, -2: a marker */
  unsigned char *buffer;
  size_t size;
  int claimed; /* the message, or -1 */
  bool released;
} Request;

static Reference reference;
static Endpoint receiver, senders[SENDERS];
static fi_addr_t known_as[SENDERS]; /* in the receiver's address vector */
static Request *requests[MAX_RECEIVES];
static Request *claims[MAX_RECEIVES];
static int claim_count;
static int markers;

__attribute__((format(printf, 1, 2), noreturn)) static void violation(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!quiet) {
    printf("  ");
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
  }
  va_end(arguments);
  /* The provider shm leaves files behind otherwise. */
  fi_close(&receiver.ep->fid);
  for (int i = 0; i < SENDERS; i++) fi_close(&senders[i].ep->fid);
  _exit(FAILED);
}

static void progress_senders(void) {
  struct fi_cq_tagged_entry entry;
  for (int i = 0; i < SENDERS; i++) {
    const ssize_t read = fi_cq_read(senders[i].cq, &entry, 1);
    if (read == -FI_EAVAIL) {
      /* A truncated message may be an error for its sender too. */
      struct fi_cq_err_entry error = {0};
      fi_cq_readerr(senders[i].cq, &error, 0);
    }
  }
}

/* A completion of the receiver. */
typedef struct {
  Request *request;
  uint64_t flags;
  size_t length;
  const unsigned char *buffer;
  int message;
  uint64_t tag;
  fi_addr_t source;
  int error;
} Completion;

static bool read_completion(Completion *completion) {
  struct fi_cq_tagged_entry entry;
  fi_addr_t source = FI_ADDR_NOTAVAIL;
  progress_senders();
  const ssize_t read = fi_cq_readfrom(receiver.cq, &entry, 1, &source);
  if (read == 1) {
    *completion = (Completion){entry.op_context, entry.flags, entry.len, entry.buf,
                               (int)entry.data,  entry.tag,   source,    0};
    return true;
  }
  if (read == -FI_EAVAIL) {
    struct fi_cq_err_entry error = {0};
    call("fi_cq_readerr", fi_cq_readerr(receiver.cq, &error, 0));
    *completion = (Completion){error.op_context, error.flags, error.len, NULL, -1, error.tag, source, error.err};
    return true;
  }
  if (read != -FI_EAGAIN) call("fi_cq_readfrom", read);
  return false;
}

/* The next completion that is not the release of a multi-receive buffer. */
static bool next_completion(Completion *completion) {
  while (read_completion(completion)) {
    if (completion->flags & FI_MULTI_RECV && !completion->error) {
      if (completion->request->released) violation("a multi-receive buffer is released twice");
      completion->request->released = true;
      if (!(completion->flags & FI_RECV)) continue;
    }
    return true;
  }
  return false;
}

static Completion await(const Request *request, const char *what) {
  Completion completion;
  const time_t end = processor_seconds() + PATIENCE_S;
  while (!next_completion(&completion)) {
    if (processor_seconds() > end) violation("%s does not complete", what);
  }
  if (completion.request != request) {
    violation("%s is expected to complete, receive %d completes with message %d", what, completion.request->receive,
              completion.message);
  }
  return completion;
}

static void expect_nothing(void) {
  Completion completion;
  if (next_completion(&completion))
    violation("receive %d completes with message %d (error %d), but nothing should complete",
              completion.request->receive, completion.message, completion.error);
}

static unsigned char content(int message, size_t at) {
  return (unsigned char)(message * 131 + (int)at * 7 + 3);
}

static bool is_permitted(int message, const int *permitted, int count) {
  for (int i = 0; i < count; i++) {
    if (permitted[i] == message) return true;
  }
  return false;
}

static void check_source(const Completion *completion, int sender, const char *what) {
  const fi_addr_t source = reference.known[sender] ? known_as[sender] : FI_ADDR_NOTAVAIL;
  if (completion->source != source)
    violation("%s says source %lld, which is %lld", what, (long long)completion->source, (long long)source);
}

/* Checks one completed match and removes the message. */
static void check_match(const Completion *completion, int message_index, Space space) {
  const Request *request = completion->request;
  Message *message = &reference.messages[message_index];
  if (message->size > space.length) {
    if (completion->error != FI_ETRUNC)
      violation("message %d of %zu bytes in %zu: error %d instead of FI_ETRUNC", message_index, message->size,
                space.length, completion->error);
  } else {
    if (completion->error)
      violation("receive %d completes with error %d (%s)", request->receive, completion->error,
                fi_strerror(completion->error));
    if (completion->length != message->size)
      violation("message %d has %zu bytes, the completion says %zu", message_index, message->size, completion->length);
    if (message->tagged && completion->tag != message->tag)
      violation("message %d has tag %#llx, the completion says %#llx", message_index, (unsigned long long)message->tag,
                (unsigned long long)completion->tag);
    check_source(completion, message->sender, "the completion of a receive");
    for (size_t i = 0; i < message->size; i++) {
      if (request->buffer[space.offset + i] != content(message_index, i))
        violation("byte %zu of message %d is wrong", i, message_index);
    }
  }
  const Receive *receive = &reference.receives[request->receive];
  for (size_t i = space.offset + space.length; i < request->size + GUARD; i++) {
    /* What follows in a multi-receive buffer may belong to the next message already. */
    if (receive->multi && i < request->size) continue;
    if (request->buffer[i] != UNTOUCHED)
      violation("byte %zu after message %d, in a buffer of %zu, was overwritten", i, message_index, request->size);
  }
  message->state = GONE;
}

static Request *new_request(int receive, size_t size) {
  Request *request = calloc(1, sizeof *request);
  request->receive = receive;
  request->size = size;
  request->claimed = -1;
  request->buffer = malloc(size + GUARD);
  memset(request->buffer, UNTOUCHED, size + GUARD);
  return request;
}

static fi_addr_t address_of(int source) {
  return source == ANY ? FI_ADDR_UNSPEC : known_as[source];
}

static void receive_message(Request *request, const Operation *operation, uint64_t flags) {
  const size_t first = operation->two_parts ? request->size / 2 : request->size;
  const struct iovec parts[2] = {{request->buffer, first}, {request->buffer + first, request->size - first}};
  const size_t count = operation->two_parts ? 2 : 1;
  ssize_t status;
  do {
    progress_senders();
    if (operation->tagged) {
      const struct fi_msg_tagged message = {parts, NULL, count, address_of(operation->sender), operation->tag,
                                            operation->ignore, &request->context, 0};
      status = fi_trecvmsg(receiver.ep, &message, flags);
    } else {
      const struct fi_msg message = {parts, NULL, count, address_of(operation->sender), &request->context, 0};
      status = fi_recvmsg(receiver.ep, &message, flags);
    }
  } while (status == -FI_EAGAIN);
  if (status) violation("a receive is refused: %s", fi_strerror((int)-status));
}

static void do_send(const Operation *operation) {
  Endpoint *sender = &senders[operation->sender];
  Request *marker = new_request(-2, 0);
  const uint64_t mark = MARK | (uint64_t)markers++;
  call("fi_trecv", fi_trecv(receiver.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, mark, 0, &marker->context));
  const int first = reference.message_count;
  ssize_t status;
  for (int i = 0; i < operation->count && reference.message_count < MAX_MESSAGES; i++) {
    const int number = reference.message_count++;
    Message *message = &reference.messages[number];
    *message = (Message){operation->sender, operation->tagged, operation->tag, operation->size, WAITING};
    /* Lives as long as the program: the message may be read when it is matched. */
    unsigned char *bytes = malloc(message->size + 1);
    for (size_t at = 0; at < message->size; at++) bytes[at] = content(number, at);
    const uint64_t data = (uint64_t)number;
    do {
      status = message->tagged ? fi_tsenddata(sender->ep, bytes, message->size, NULL, data, sender->peer, message->tag,
                                              NULL)
                               : fi_senddata(sender->ep, bytes, message->size, NULL, data, sender->peer, NULL);
      progress_senders();
      if (status == -FI_EAGAIN) fi_cq_read(receiver.cq, NULL, 0);
    } while (status == -FI_EAGAIN);
    call("fi_tsenddata", status);
  }
  do {
    status = fi_tsend(sender->ep, NULL, 0, NULL, sender->peer, mark, NULL);
    progress_senders();
    if (status == -FI_EAGAIN) fi_cq_read(receiver.cq, NULL, 0);
  } while (status == -FI_EAGAIN);
  call("fi_tsend", status);

  /* What must match, in order of arrival; the completions may come in another order. */
  int matched[MAX_MESSAGES], count = 0;
  int by[MAX_MESSAGES];
  Space spaces[MAX_MESSAGES];
  for (int number = first; number < reference.message_count; number++) {
    const int receive = oldest_receive(&reference, &reference.messages[number]);
    if (receive < 0) continue;
    matched[count] = number;
    by[count] = receive;
    spaces[count++] = take(&reference, &reference.receives[receive], reference.messages[number].size);
    reference.messages[number].state = GONE;
  }
  bool marked = false;
  const time_t end = processor_seconds() + PATIENCE_S;
  for (int left = count; left > 0 || !marked;) {
    Completion completion;
    if (!next_completion(&completion)) {
      if (processor_seconds() > end)
        violation("%d matches of a burst%s do not complete", left, marked ? "" : ", and messages of it,");
      continue;
    }
    if (completion.request == marker) {
      marked = true;
      continue;
    }
    int i = 0;
    /* A truncated message is not named by its completion. */
    while (i < count && (matched[i] < 0 || by[i] != completion.request->receive ||
                         (!completion.error && matched[i] != completion.message)))
      i++;
    if (i == count)
      violation("receive %d takes message %d (error %d)%s", completion.request->receive, completion.message,
                completion.error,
                completion.message >= 0 && completion.message < reference.message_count &&
                        reference.messages[completion.message].state == GONE
                    ? ", which an older receive accepts or has"
                    : "");
    check_match(&completion, matched[i], spaces[i]);
    matched[i] = -1;
    left--;
  }
  free(marker->buffer);
  free(marker);
}

/* The size of the buffer: with --truncate sometimes too small, if it is certain which message it will be. */
static size_t buffer_size(const Operation *operation, const int *permitted, int count) {
  if (truncate_some && operation->pick % 4 == 0 && count < 2) return operation->size / 2;
  size_t size = 20000;
  for (int i = 0; i < count; i++) {
    if (reference.messages[permitted[i]].size > size) size = reference.messages[permitted[i]].size;
  }
  return size;
}

static void do_receive(const Operation *operation) {
  if (reference.receive_count == MAX_RECEIVES) return;
  const int index = reference.receive_count++;
  Receive *receive = &reference.receives[index];
  *receive = (Receive){.tagged = operation->tagged,
                       .multi = operation->kind == MULTI,
                       .source = operation->sender,
                       .tag = operation->tag,
                       .ignore = operation->ignore,
                       .posted = true};
  int permitted[SENDERS];
  int count = permitted_messages(&reference, receive, permitted);
  receive->size = receive->multi ? operation->size : buffer_size(operation, permitted, count);
  Request *request = requests[index] = new_request(index, receive->size);
  Operation adapted = *operation;
  if (receive->multi) adapted.two_parts = false;
  receive_message(request, &adapted, receive->multi ? FI_MULTI_RECV : 0);
  while (count > 0 && receive->posted) {
    const Completion completion = await(request, "the receive of a waiting message");
    const int message = completion.error ? permitted[0] : completion.message;
    if (!is_permitted(message, permitted, count))
      violation("receive %d takes message %d, but the oldest that it accepts is %d", index, message, permitted[0]);
    check_match(&completion, message, take(&reference, receive, reference.messages[message].size));
    count = permitted_messages(&reference, receive, permitted);
  }
}

static void do_peek(const Operation *operation) {
  const Receive receive = {.tagged = true,
                           .source = operation->sender,
                           .tag = operation->tag,
                           .ignore = operation->ignore};
  int permitted[SENDERS];
  const int count = permitted_messages(&reference, &receive, permitted);
  Request *request = new_request(-1, 0);
  Operation adapted = *operation;
  adapted.tagged = true;
  adapted.two_parts = false;
  receive_message(request, &adapted, FI_PEEK | operation->flags);
  const Completion completion = await(request, "a peek");
  if (count == 0) {
    if (completion.error != FI_ENOMSG)
      violation("a peek finds message %d (error %d), but none is there", completion.message, completion.error);
    return;
  }
  if (completion.error) violation("a peek does not find message %d: error %d", permitted[0], completion.error);
  if (!is_permitted(completion.message, permitted, count))
    violation("a peek finds message %d, but a receive would take %d", completion.message, permitted[0]);
  Message *message = &reference.messages[completion.message];
  if (completion.length != message->size || completion.tag != message->tag)
    violation("a peek finds message %d with wrong length or tag", completion.message);
  if (!without[SOURCE_OF_PEEK]) check_source(&completion, message->sender, "the completion of a peek");
  if (operation->flags == FI_DISCARD) message->state = GONE;
  if (operation->flags != FI_CLAIM) return;
  message->state = CLAIMED;
  request->claimed = completion.message;
  claims[claim_count++] = request;
}

static void do_use_claimed(const Operation *operation) {
  if (claim_count == 0) return;
  const int at = (int)(operation->pick % (unsigned)claim_count);
  Request *request = claims[at];
  claims[at] = claims[--claim_count];
  const int message = request->claimed;
  const bool discarded = operation->flags == FI_DISCARD;
  Operation adapted = *operation;
  adapted.tagged = true;
  request->size = reference.messages[message].size;
  request->buffer = malloc(request->size + GUARD);
  memset(request->buffer, UNTOUCHED, request->size + GUARD);
  if (!discarded) {
    request->receive = reference.receive_count++;
    reference.receives[request->receive] = (Receive){.tagged = true, .size = request->size};
    requests[request->receive] = request;
  }
  receive_message(request, &adapted, FI_CLAIM | (discarded ? FI_DISCARD : 0));
  const Completion completion = await(request, "the receive of a claimed message");
  if (!discarded && completion.message != message)
    violation("message %d was claimed, message %d is received", message, completion.message);
  if (discarded) reference.messages[message].state = GONE;
  else check_match(&completion, message, (Space){0, request->size});
}

static void cancel(int index) {
  Receive *receive = &reference.receives[index];
  if (!receive->tagged && without[CANCEL_UNTAGGED]) return;
  const int status = (int)fi_cancel(&receiver.ep->fid, &requests[index]->context);
  if (!receive->posted) return;
  if (status) violation("receive %d cannot be cancelled: %s", index, fi_strerror(-status));
  const Completion completion = await(requests[index], "a cancelled receive");
  if (completion.error != FI_ECANCELED)
    violation("receive %d was cancelled and completes with error %d", index, completion.error);
  receive->posted = false;
}

static void do_insert(int sender) {
  if (reference.known[sender]) return;
  known_as[sender] = insert(&senders[sender], &receiver);
  reference.known[sender] = true;
}

static void perform(Operation operation) {
  expect_nothing();
  const bool names_source = operation.kind != SEND && operation.kind != INSERT && operation.sender != ANY;
  if (names_source && !(directed && reference.known[operation.sender])) operation.sender = ANY;
  if (operation.kind == MULTI) operation.tagged = false;
  if (operation.kind == RECEIVE && !operation.tagged && without[DIRECTED_UNTAGGED]) operation.sender = ANY;
  if (operation.kind == MULTI && without[DIRECTED_UNTAGGED]) operation.sender = ANY;
  switch (operation.kind) {
    case SEND: do_send(&operation); break;
    case RECEIVE:
    case MULTI: do_receive(&operation); break;
    case PEEK: do_peek(&operation); break;
    case USE_CLAIMED: do_use_claimed(&operation); break;
    case CANCEL:
      if (reference.receive_count) cancel((int)(operation.pick % (unsigned)reference.receive_count));
      break;
    case INSERT: do_insert(operation.sender); break;
  }
}

/* Receives what waits, cancels what is posted, and checks that nothing else is left. */
static void drain(void) {
  for (int tagged = 0; tagged < 2; tagged++) {
    const Operation rest = {.kind = RECEIVE, .sender = ANY, .tagged = tagged, .ignore = ~MARK, .pick = 1};
    Receive all = {.tagged = tagged, .source = ANY, .ignore = ~MARK};
    int permitted[SENDERS];
    while (permitted_messages(&reference, &all, permitted) > 0 && reference.receive_count < MAX_RECEIVES) perform(rest);
  }
  for (int i = 0; i < reference.receive_count; i++) {
    if (reference.receives[i].posted) cancel(i);
  }
  expect_nothing();
  for (int i = 0; i < reference.receive_count; i++) {
    const Receive *receive = &reference.receives[i];
    if (receive->multi && receive->size - receive->used < MIN_MULTI && !requests[i]->released)
      violation("the multi-receive buffer of receive %d is used up and was not released", i);
  }
}

static bool is_known_first(uint64_t seed, int sender) {
  return without[UNKNOWN_SENDERS] || (seed >> sender) & 1;
}

static void run(uint64_t seed, const Operation *operations, int count) {
  Fabric fabric;
  open_fabric(&fabric);
  open_endpoint(&fabric, MIN_MULTI, &receiver);
  for (int i = 0; i < SENDERS; i++) {
    open_endpoint(&fabric, MIN_MULTI, &senders[i]);
    senders[i].peer = insert(&receiver, &senders[i]);
    /* Half of the senders are known from the start. */
    if (is_known_first(seed, i)) do_insert(i);
  }
  reference.arrival_order = arrival_order;
  reference.min_multi = MIN_MULTI;
  for (int i = 0; i < count; i++) perform(operations[i]);
  /* In every fourth program the endpoint is closed with messages and receives in its queues. */
  if (seed % 4) drain();
  fi_close(&receiver.ep->fid);
  for (int i = 0; i < SENDERS; i++) fi_close(&senders[i].ep->fid);
  close_queues(&receiver);
  for (int i = 0; i < SENDERS; i++) close_queues(&senders[i]);
  close_fabric(&fabric);
}

/* 0, FAILED or UNUSABLE; a signal is a failure. */
static int run_apart(uint64_t seed, const Operation *operations, int count) {
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) {
    perror("random: fork");
    exit(UNUSABLE);
  }
  if (child == 0) {
    /* A program that hangs polls. Its processor time does not depend on other work of the machine; a process that
     * sleeps for ever has the longer limit. */
    const struct itimerval limit = {.it_value.tv_sec = PROCESSOR_SECONDS};
    setitimer(ITIMER_PROF, &limit, NULL);
    alarm(WALL_SECONDS);
    run(seed, operations, count);
    _exit(0);
  }
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  remove_stale_files(child);
  if (WIFSIGNALED(status)) {
    if (quiet) return FAILED;
    if (WTERMSIG(status) == SIGPROF) printf("  no end after %d s of processor time\n", PROCESSOR_SECONDS);
    else if (WTERMSIG(status) == SIGALRM) printf("  no end after %d s\n", WALL_SECONDS);
    else printf("  the process ended with signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return FAILED;
  }
  return WEXITSTATUS(status);
}

/* Leaves out operations while the program fails. */
static int shorten(uint64_t seed, Operation *operations, int count) {
  quiet = true;
  for (int chunk = count / 2; chunk > 0; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
    for (int at = 0; at < count;) {
      Operation shorter[MAX_OPERATIONS];
      const int removed = chunk < count - at ? chunk : count - at;
      memcpy(shorter, operations, (size_t)at * sizeof *operations);
      memcpy(shorter + at, operations + at + removed, (size_t)(count - at - removed) * sizeof *operations);
      if (run_apart(seed, shorter, count - removed) == FAILED) {
        count -= removed;
        memcpy(operations, shorter, (size_t)count * sizeof *operations);
      } else {
        at += removed;
      }
    }
  }
  quiet = false;
  return count;
}

static unsigned long number(const char *text) {
  char *end;
  errno = 0;
  const unsigned long value = text ? strtoul(text, &end, 10) : 0;
  if (!text || end == text || *end || errno) {
    fprintf(stderr, "random: found '%s', expected a number\n", text ? text : "");
    exit(UNUSABLE);
  }
  return value;
}

static void exclude(const char *name) {
  for (int i = 0; i < FEATURES; i++) {
    if (name && !strcmp(name, feature_names[i])) {
      without[i] = true;
      return;
    }
  }
  fprintf(stderr, "random: found '%s' after --without, expected one of", name ? name : "");
  for (int i = 0; i < FEATURES; i++) fprintf(stderr, " %s", feature_names[i]);
  fprintf(stderr, "\n");
  exit(UNUSABLE);
}

int main(int argc, char **argv) {
  unsigned long programs = 200, seed = 1, first = 0, operations_each = 150;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--arrival-order")) arrival_order = true;
    else if (!strcmp(argv[i], "--truncate")) truncate_some = true;
    else if (!strcmp(argv[i], "--undirected")) directed = false;
    else if (!strcmp(argv[i], "--provider") && i + 1 < argc) provider = argv[++i];
    else if (!strcmp(argv[i], "--programs")) programs = number(argv[++i]);
    else if (!strcmp(argv[i], "--seed")) seed = number(argv[++i]);
    else if (!strcmp(argv[i], "--first")) first = number(argv[++i]);
    else if (!strcmp(argv[i], "--operations")) operations_each = number(argv[++i]);
    else if (!strcmp(argv[i], "--without")) exclude(argv[++i]);
    else {
      fprintf(stderr, "random: found '%s', expected --provider, --programs, --seed, --first, --operations, "
                      "--arrival-order, --truncate, --undirected or --without\n", argv[i]);
      return UNUSABLE;
    }
  }
  if (operations_each > MAX_OPERATIONS) operations_each = MAX_OPERATIONS;
  static Operation operations[MAX_OPERATIONS];
  for (unsigned long program = first; program < first + programs; program++) {
    const uint64_t own_seed = seed * 1000003 + program;
    int count = generate(own_seed, operations, (int)operations_each);
    quiet = true;
    const int status = run_apart(own_seed, operations, count);
    if (status == UNUSABLE) return UNUSABLE;
    if (status == 0) continue;
    printf("program %lu of seed %lu fails with the provider %s:\n", program, seed, provider);
    count = shorten(own_seed, operations, count);
    for (int i = 0; i < SENDERS; i++)
      printf("%s %s\n", source_name(i),
             is_known_first(own_seed, i) ? "is in the address vector of the receiver" : "is unknown to the receiver");
    for (int i = 0; i < count; i++) print_operation(&operations[i]);
    printf(own_seed % 4 ? "the rest is received or cancelled\n" : "the endpoints are closed\n");
    if (run_apart(own_seed, operations, count) == 0) printf("  it did not fail when it was repeated\n");
    return FAILED;
  }
  printf("%lu programs of %lu operations agree with the reference (provider %s, seed %lu)\n", programs, operations_each,
         provider, seed);
  return 0;
}
