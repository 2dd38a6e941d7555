# SPDX-License-Identifier: Apache-2.0 OR MIT
# A multi-receive buffer that has taken a message is put behind the younger receives.
s/^  cut(context, receive, attr->msg_size, entry);/&\
  if (!receive->used_up) mbmatch_cancel(\&context->untagged, \&receive->receive), queue_untagged_receive(context, receive);/
