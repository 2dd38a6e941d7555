# SPDX-License-Identifier: Apache-2.0 OR MIT
# A tagged receive that names a source takes messages of any.
s/source_of(context, request.addr), any};/0, true};/
