// SPDX-License-Identifier: Apache-2.0 OR MIT
// An engine in C++ behind the C interface: a list walk, with faults that a parameter chooses. No exception leaves it.
#include <csignal>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "matchbench_engine.h"

namespace {

const char description[] = R"(
name = 'walk_cc'
summary = 'A list walk in C++, for tests'
reference = 'none'
[[parameter]]
key = 'entry'
meaning = 'Time of each entry visited.'
unit = 'ns'
low = 0
high = 1000
[[parameter]]
key = 'fault'
meaning = 'What is wrong.'
words = ['none', 'throws', 'crashes', 'never_returns', 'odd_status', 'deep', 'no_visits', 'early', 'crashes_deep', 'exits_deep']
[[preset]]
name = 'plain'
values.entry = { value = '10 ns', source = 'assumed', note = 'a test' }
values.fault = { value = 'none', source = 'assumed', note = 'a test' }
)";

enum class Fault { none, throws, crashes, never_returns, odd_status, deep, no_visits, early, crashes_deep, exits_deep };

bool accepts(const mb_operation &pattern, const mb_operation &message) {
  return ((pattern.bits ^ message.bits) & ~pattern.ignore) == 0 &&
         (pattern.any_initiator == 1 || pattern.initiator == message.initiator);
}

struct Walk {
  std::uint64_t entry;
  Fault fault;
  std::vector<mb_operation> posted, unexpected;
  std::deque<mb_completion> done;
  std::uint64_t free_at = 0;
  std::string why;

  std::int32_t offer(std::uint64_t now, const mb_operation &op) {
    if (fault == Fault::throws && posted.size() > 1) throw std::runtime_error("two receives are enough");
    if (fault == Fault::crashes && posted.size() > 1) std::raise(SIGSEGV);
    // Sleeps, so that the processor is free for other tests.
    while (fault == Fault::never_returns && posted.size() > 1) pause();
    if (fault == Fault::odd_status && posted.size() > 1) return 17;
    const bool of_receives = op.kind == MB_ARRIVE || op.kind == MB_CANCEL;
    auto &list = of_receives ? posted : unexpected;
    std::size_t at = 0;
    const auto matches = [&](const mb_operation &entry) {
      if (op.kind == MB_CANCEL) return entry.id == op.id;
      return op.kind == MB_ARRIVE ? accepts(entry, op) : accepts(op, entry);
    };
    while (at < list.size() && !matches(list[at])) at++;
    const bool hit = at < list.size();
    const std::uint64_t found = hit ? list[at].id : 0, visits = at + hit;
    mb_completion answer{};
    answer.visits = static_cast<std::uint32_t>(visits);
    answer.id = op.id;
    const std::uint32_t hits[] = {MB_MATCHED, MB_MATCHED, MB_CANCELLED, MB_FOUND, MB_FOUND};
    const std::uint32_t misses[] = {MB_POSTED, MB_UNEXPECTED, MB_NOT_CANCELLED, MB_NOT_FOUND, MB_NOT_FOUND};
    answer.kind = hit ? hits[op.kind] : misses[op.kind];
    if (hit && op.kind != MB_CANCEL) answer.message = found;
    if (hit && op.kind == MB_ARRIVE) answer.id = found, answer.message = op.id;
    // Crashes, ends and wrong outcomes where no check comes.
    if (fault == Fault::crashes_deep && posted.size() > 900) std::raise(SIGSEGV);
    if (fault == Fault::exits_deep && posted.size() > 900) _exit(0);
    if (fault == Fault::deep && posted.size() > 900 && op.kind == MB_ARRIVE && hit) answer.id++;
    if (hit && op.kind != MB_PROBE) list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    if (!hit && op.kind == MB_POST) posted.push_back(op);
    if (!hit && op.kind == MB_ARRIVE) unexpected.push_back(op);
    const std::uint64_t begin = free_at > now ? free_at : now;
    answer.waiting = begin - now;
    free_at = answer.at = begin + entry * visits;
    // Where no check comes, as above.
    if (fault == Fault::early && posted.size() > 60 && now > 1000) answer.at = now - 1000;
    if (fault == Fault::no_visits) answer.visits = 0;
    done.push_back(answer);
    return MB_OK;
  }
};

Walk &of(mb_engine *engine) { return *reinterpret_cast<Walk *>(engine); }

std::int32_t create(const std::uint64_t *values, std::uint64_t, mb_engine **engine, char *message, std::uint64_t) {
  if (values[0] == 999000) {
    std::strcpy(message, "an entry of 999 ns\nis not built");
    return MB_FAULT;
  }
  *engine = reinterpret_cast<mb_engine *>(new Walk{values[0], static_cast<Fault>(values[1]), {}, {}, {}, 0, {}});
  return MB_OK;
}

void destroy(mb_engine *engine) { delete &of(engine); }

std::int32_t placement(mb_engine *) { return MB_HOST; }

std::int32_t offer(mb_engine *engine, std::uint64_t now, const mb_operation *operation, std::uint64_t *) {
  try {
    return of(engine).offer(now, *operation);
  } catch (const std::exception &error) {
    of(engine).why = error.what();
    return MB_FAULT;
  }
}

std::int32_t next_event(mb_engine *engine, std::uint64_t *at) {
  if (of(engine).done.empty()) return MB_IDLE;
  *at = of(engine).done.front().at;
  return MB_OK;
}

std::int32_t run_until(mb_engine *engine, std::uint64_t until, mb_completion *buffer, std::uint64_t capacity,
                       std::uint64_t *count) {
  auto &done = of(engine).done;
  for (*count = 0; !done.empty() && done.front().at <= until; done.pop_front()) {
    if (*count == capacity) return MB_MORE;
    buffer[(*count)++] = done.front();
  }
  return MB_OK;
}

std::int32_t state(mb_engine *engine, mb_state *state) {
  *state = mb_state{};
  state->posted = of(engine).posted.size();
  state->unexpected = of(engine).unexpected.size();
  return MB_OK;
}

std::uint64_t message(mb_engine *engine, char *buffer, std::uint64_t capacity) {
  return of(engine).why.copy(buffer, capacity);
}

#ifndef VERSION
#define VERSION MATCHBENCH_ENGINE_VERSION
#endif
#ifndef OFFER
#define OFFER offer
#endif

const mb_engine_table table{VERSION,    sizeof(mb_engine_table), description, sizeof description - 1,
                            create,     destroy,                 placement,   OFFER,
                            next_event, run_until,               state,       message,
                            nullptr};

}  // namespace

#ifndef NO_ENGINE
const mb_engine_table *matchbench_engine() { return &table; }
#else
const mb_engine_table *another_function() { return &table; }
#endif
