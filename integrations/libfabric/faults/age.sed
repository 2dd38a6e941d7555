# SPDX-License-Identifier: Apache-2.0 OR MIT
# An untagged message takes the younger of two receives.
s/any->rx.seq_no < named->rx.seq_no/any->rx.seq_no > named->rx.seq_no/
