# SPDX-License-Identifier: Apache-2.0 OR MIT
# A message whose source becomes known is put behind the younger ones.
s/if (!resolve(resolution, entry) \&\& dlist_empty(resolution->moved))/if (!resolve(resolution, entry))/
