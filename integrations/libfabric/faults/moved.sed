# SPDX-License-Identifier: Apache-2.0 OR MIT
# A message whose source becomes known is put behind the younger ones.
s/status = change_source(context, entry);/status = (remove_message(context, entry), queue_message(context, entry), MBMATCH_OK);/
