# SPDX-License-Identifier: Apache-2.0 OR MIT
# A message whose source becomes known is not offered to the receives that name it.
s/if (take_receive(context, peer_entry->tag, peer_entry->addr, &receive) == MBMATCH_MATCHED)/if (false \&\& take_receive(context, peer_entry->tag, peer_entry->addr, \&receive) == MBMATCH_MATCHED)/
