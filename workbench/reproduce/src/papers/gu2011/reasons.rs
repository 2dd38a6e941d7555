// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the chip differs from the paper's, where it does.

pub(super) const L1_SAME: &str = "CG saves more with the other designs than with BASEMOPED: {gu2011.opt.l1_same}. A likely cause, which was \
     not varied: reads of BASEMOPED evict the lines of the send buffer, with which cores compute again.";
pub(super) const IMB_PRIVATE: &str = "BC and GA do not save most of them ({gu2011.basemoped.l2p_imb}): devices fetch from the sender's cache what \
     ranks fetched from the shared buffer. AA saves all: its send lines were written back to memory and come from \
     there. Of requests of cores alone every pattern saves almost all ({gu2011.basemoped.l2p_imb @ requests of \
     cores alone}).";
pub(super) const LARGE_GLOBAL: &str = "With BASEMOPED half of the misses of a copy are send lines and half receive lines; OPTCACHE asks for no receive line, \
     and the send lines of 1 MB come from memory at the root and at ranks whose L2 of 512 KB has lost their begin when they send on. \
     More is saved only if a rank sends on what it still has: the paper's broadcast is not described.";
pub(super) const LARGE_BC_TIME: &str = "The gain has the published sign and order, OPTCOPY less than OPTCACHE, and is larger: our copy waits for memory, \
     whose bandwidth is assumed. One iteration was measured.";
pub(super) const LARGE_TIME: &str = "The copy needs both lines, and ours waits for memory less with OPTCACHE. Bandwidth of memory is assumed; the \
     paper states its latency alone. It was not varied.";
pub(super) const CHIP_BYTES: &str = "The fields of figure 7 make an active match of 65 bytes with addresses of 48 bits and \
     of 73 bytes with 64 bits, where the paper says about 70; the difference is 5 bytes of each device.";
