# SPDX-License-Identifier: Apache-2.0 OR MIT
# A tagged receive that names a source takes messages of any.
s/source_of(context, wanted.addr)/MBMATCH_ANY_SOURCE/
/^static void queue_receive/,/^}/s/source_of(context, peer_entry->addr)/MBMATCH_ANY_SOURCE/
