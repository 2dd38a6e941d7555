#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Checks that a source of libfabric is one whose shared receive queues `srx.c` can replace.

usage: expect.py SOURCE

The structures and functions that providers reach the queues by are compared with those that `srx.c` is
written for.
Exit status: 0 they agree, 2 they do not; a line of standard error for each difference.
"""

import re
import sys
from pathlib import Path

UTIL = "include/ofi_util.h"
PEER = "include/rdma/providers/fi_peer.h"

#: Structures of which each member is known: another one may be a task that `srx.c` does not do.
EXACT = {
    (PEER, "fi_ops_srx_owner"): {
        "size", "get_msg", "get_tag", "queue_msg", "queue_tag", "foreach_unspec_addr", "free_entry",
    },
    (PEER, "fi_ops_srx_peer"): {"size", "start_msg", "start_tag", "discard_msg", "discard_tag"},
    (PEER, "fi_peer_match_attr"): {"addr", "msg_size", "tag"},
    (PEER, "fi_peer_rx_entry"): {
        "srx", "addr", "msg_size", "tag", "cq_data", "flags", "context", "count", "desc",
        "peer_context", "owner_context", "iov",
    },
}  # fmt: skip

#: Members that some versions have, without effect on `srx.c`.
OPTIONAL = {"next", "prev"}

#: Structures that must have these members.
NEEDED = {
    (UTIL, "util_rx_entry"): {"peer_entry", "ignore", "multi_recv_ref"},
    (UTIL, "util_srx_ctx"): {
        "peer_srx", "dir_recv", "min_multi_recv_size", "rx_op_flags", "rx_msg_flags", "iov_limit",
        "update_func", "cq", "rx_pool", "lock",
    },
}  # fmt: skip

#: The declarations of the file that is replaced, without line ends.
FUNCTIONS = {
    "util_ep_srx_context": "int util_ep_srx_context(struct util_domain *domain, size_t rx_size, "
    "size_t iov_limit, size_t default_min_mr, ofi_update_func_t update_func, struct ofi_genlock *lock, "
    "struct fid_ep **rx_ep);",
    "util_srx_close": "int util_srx_close(struct fid *fid);",
    "util_srx_bind": "int util_srx_bind(struct fid *fid, struct fid *bfid, uint64_t flags);",
    "util_srx_generic_recv": "ssize_t util_srx_generic_recv(struct fid_ep *ep_fid, const struct iovec *iov, "
    "void **desc, size_t iov_count, fi_addr_t addr, void *context, uint64_t flags);",
    "util_srx_generic_trecv": "ssize_t util_srx_generic_trecv(struct fid_ep *ep_fid, "
    "const struct iovec *iov, void **desc, size_t iov_count, fi_addr_t addr, void *context, "
    "uint64_t tag, uint64_t ignore, "
    "uint64_t flags);",
}


def members(text: str, name: str) -> set[str] | None:
    """Return the names of the members of ``struct name``, those of unnamed unions included, or None."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    opened = re.search(rf"struct\s+{name}\s*\{{", text)
    if not opened:
        return None
    depth, end = 1, opened.end()
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    body = text[opened.end() : end - 1].replace("{", ";").replace("}", ";")
    found = set()
    for declaration in body.split(";"):
        pointer = re.search(r"\(\*\s*(\w+)\)\s*\(", declaration)
        plain = re.search(r"\w+[\s*]+(\w+)\s*(?:\[[^]]*\]\s*)?$", declaration.strip())
        if declared := pointer or plain:
            found.add(declared.group(1))
    return found


def differences(source: Path) -> list[str]:
    """Return what of ``source`` is not as ``srx.c`` expects, one sentence each."""
    texts = {}
    for name in (UTIL, PEER, "Makefile.am"):
        try:
            texts[name] = (source / name).read_text(errors="replace")
        except OSError as error:
            return [f"{source / name}: found {error.strerror}, expected a file of libfabric 1.19 or later"]
    wrong = []
    if texts["Makefile.am"].count("prov/util/src/util_srx.c") != 1:
        count = texts["Makefile.am"].count("prov/util/src/util_srx.c")
        wrong.append(f"Makefile.am: found prov/util/src/util_srx.c {count} times, expected once")
    for (file, name), expected in (EXACT | NEEDED).items():
        found = members(texts[file], name)
        if found is None:
            wrong.append(f"{file}: found no struct {name}")
            continue
        if missing := expected - found:
            wrong.append(f"{file}: found struct {name} without {', '.join(sorted(missing))}")
        if (file, name) in EXACT and (more := found - expected - OPTIONAL):
            wrong.append(
                f"{file}: found struct {name} with {', '.join(sorted(more))}, which srx.c does not serve"
            )
    squeezed = re.sub(r"\s+", " ", texts[UTIL])
    wrong += [
        f"{UTIL}: found another declaration of {name}, expected: {declaration}"
        for name, declaration in FUNCTIONS.items()
        if declaration not in squeezed
    ]
    return wrong


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    if len(arguments) != 1:
        print("usage: expect.py SOURCE", file=sys.stderr)
        return 2
    wrong = differences(Path(arguments[0]))
    for line in wrong:
        print(f"expect.py: {line}; adapt integrations/libfabric to this version", file=sys.stderr)
    return 2 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
