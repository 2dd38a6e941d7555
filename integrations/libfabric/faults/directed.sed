# SPDX-License-Identifier: Apache-2.0 OR MIT
# A tagged receive that names a source takes messages of any.
s/ && (wanted.addr == FI_ADDR_UNSPEC || wanted.addr == addr);/ \&\& (wanted.addr == addr || true);/
s/source_of(context, wanted.addr), any};/0, any || true};/
