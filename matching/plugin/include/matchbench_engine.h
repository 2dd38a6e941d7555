/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The interface between matchbench and a receive engine in a shared library: spec/engine.md.
 *
 * The library defines `matchbench_engine`. C and C++. */
#ifndef MATCHBENCH_ENGINE_H
#define MATCHBENCH_ENGINE_H

#include <stdint.h>

#define MATCHBENCH_ENGINE_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. Any other number is a fault. */
enum {
  MB_OK = 0,     /* done; accepted; there is an event */
  MB_BUSY = 1,   /* offer: not accepted, and without effect */
  MB_IDLE = 2,   /* next_event: the engine has no outstanding completion */
  MB_MORE = 3,   /* run_until: the buffer is full, call again with the same time */
  MB_LATER = 4,  /* answer: not at once, and without effect */
  MB_FAULT = -1  /* the engine failed; `message` says why, and only `destroy` follows */
};

enum mb_operation_kind { MB_POST = 0, MB_ARRIVE = 1, MB_CANCEL = 2, MB_PROBE = 3, MB_MATCHED_PROBE = 4 };

enum mb_outcome {
  MB_POSTED = 0,        /* receive `id` waits */
  MB_MATCHED = 1,       /* receive `id` took message `message` */
  MB_UNEXPECTED = 2,    /* message `id` waits */
  MB_CANCELLED = 3,     /* receive `id` was taken back */
  MB_NOT_CANCELLED = 4, /* receive `id` was matched before, or never posted */
  MB_FOUND = 5,         /* probe `id` found message `message` */
  MB_NOT_FOUND = 6      /* probe `id` found nothing */
};

enum mb_placement { MB_NIC = 0, MB_HOST = 1 };

/* A pattern accepts a message if ((pattern.bits ^ message.bits) & ~pattern.ignore) == 0, and any_initiator is 1 or the
 * initiators are equal. */
typedef struct mb_operation {
  uint32_t kind;          /* enum mb_operation_kind */
  uint32_t initiator;     /* the sender of a message, or the one that a pattern accepts */
  uint32_t any_initiator; /* 1: a pattern accepts every sender */
  uint32_t reserved;
  uint64_t id;            /* the receive, message or probe */
  uint64_t bits;          /* match bits */
  uint64_t ignore;        /* bits that a pattern does not compare */
} mb_operation;

typedef struct mb_completion {
  uint64_t at;      /* when the answer reaches the caller, ps */
  uint32_t kind;    /* enum mb_outcome */
  uint32_t visits;  /* list entries visited, the matching one included */
  uint64_t id;
  uint64_t message;
  uint64_t waiting; /* part of the time since the acceptance: work on older operations, ps */
  uint64_t beyond;  /* part of that time: entries beyond the structure, ps */
} mb_completion;

typedef struct mb_state {
  uint64_t posted;     /* posted receives, in order of acceptance */
  uint64_t unexpected; /* unexpected messages, in order of acceptance */
  uint64_t busy;       /* union of the busy intervals of the operations answered, ps */
  uint64_t posted_overflows;
  uint64_t unexpected_overflows;
  uint64_t spilled;
} mb_state;

/* An engine: the posted receives and unexpected messages of one receiver. Only the library knows what it is. */
typedef struct mb_engine mb_engine;

typedef struct mb_engine_table {
  uint32_t version;        /* MATCHBENCH_ENGINE_VERSION */
  uint32_t bytes;          /* sizeof(mb_engine_table) */
  const char *description; /* TOML (spec/engine.md, section 3) */
  uint64_t description_bytes;
  int32_t (*create)(const uint64_t *values, uint64_t count, mb_engine **engine, char *message, uint64_t capacity);
  void (*destroy)(mb_engine *engine);
  int32_t (*placement)(mb_engine *engine);
  int32_t (*offer)(mb_engine *engine, uint64_t now, const mb_operation *operation, uint64_t *retry_at);
  int32_t (*next_event)(mb_engine *engine, uint64_t *at);
  int32_t (*run_until)(mb_engine *engine, uint64_t until, mb_completion *buffer, uint64_t capacity, uint64_t *count);
  int32_t (*state)(mb_engine *engine, mb_state *state);
  uint64_t (*message)(mb_engine *engine, char *buffer, uint64_t capacity);
  int32_t (*answer)(mb_engine *engine, uint64_t now, const mb_operation *operation, mb_completion *completion);
} mb_engine_table;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const mb_engine_table *matchbench_engine(void);

#ifdef __cplusplus
}
#endif

#endif
