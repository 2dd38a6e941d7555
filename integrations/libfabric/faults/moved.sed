# SPDX-License-Identifier: Apache-2.0 OR MIT
# A message whose source becomes known is put behind the younger ones.
s/mbmatch_change_source(matcher, message, \(.*\));/(mbmatch_discard(matcher, message), mbmatch_arrive(matcher, message, message->entry.bits, \1));/
