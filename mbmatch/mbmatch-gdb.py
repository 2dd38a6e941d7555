# SPDX-License-Identifier: Apache-2.0 OR MIT
"""GDB shows the queues of a matcher of mbmatch.

(gdb) source mbmatch-gdb.py
(gdb) mbmatch EXPRESSION        a matcher (mbmatch_t) or a pointer to one
"""

import gdb

MAGIC = 0x6D626D61
LAYOUT = 2
ANY_SOURCE = 0xFFFFFFFF


def entries(queue):
    """Return the entries of a queue, oldest first."""
    entry = gdb.lookup_type("mbmatch_entry_t").pointer()
    at, end = queue["next"], queue.address.cast(entry)
    while at != end:
        yield at.dereference()
        at = at["next"]


class Mbmatch(gdb.Command):
    """Show the posted receives and the unexpected messages of a matcher, oldest first."""

    def __init__(self):
        super().__init__("mbmatch", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, _from_tty):
        """Run the command."""
        matcher = gdb.parse_and_eval(argument)
        if matcher.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            matcher = matcher.dereference()
        if int(matcher["magic"]) != MAGIC or int(matcher["layout"]) != LAYOUT:
            message = f"mbmatch: {argument} is no matcher of layout {LAYOUT}"
            raise gdb.GdbError(message)
        for name, queue in (("receive", matcher["posted"]), ("message", matcher["unexpected"])):
            for number, entry in enumerate(entries(queue)):
                source = int(entry["source"])
                shown = "any" if source == ANY_SOURCE else source
                address, bits = int(entry.address), int(entry["bits"])
                print(f"{name} {number} at {address:#x}: bits {bits:#x}, source {shown}")


Mbmatch()
