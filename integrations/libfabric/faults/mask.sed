# SPDX-License-Identifier: Apache-2.0 OR MIT
# Receives that are queued again, because the mask of the matcher changes, lose the bits that they ignore.
s/^    queue_receive(context, entry_of_receive(receive));/    entry_of_receive(receive)->rx.ignore = 0;\
&/
