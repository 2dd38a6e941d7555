# SPDX-License-Identifier: Apache-2.0 OR MIT
# A message whose source becomes known is put behind the younger ones.
s/mbmatch_change_source(context->tagged, entry->handle, source, &receive, NULL);/(receive = NULL, mbmatch_discard(context->tagged, entry->handle, NULL), context->waiting_tagged--, queue_tagged(context, entry) + source * 0);/
