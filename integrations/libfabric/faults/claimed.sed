# SPDX-License-Identifier: Apache-2.0 OR MIT
# A message whose source becomes known is not given to the receive that names it.
s/if (receive) start_for(context, entry_of_receive(receive), entry);/(void)receive, (void)start_for;/
