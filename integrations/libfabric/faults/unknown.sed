# SPDX-License-Identifier: Apache-2.0 OR MIT
# Messages of a sender that becomes known stay those of an unknown one.
s/context->unknown = true;/context->unknown = false;/
