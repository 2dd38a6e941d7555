// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the chip differs from the paper's, where it does.

pub(super) const NPB_TIME: &str = "Messages of these kernels are short at class S on 16 cores, and a device takes longer for a short one than two \
     copies by cores: accesses of ports of 20 cycles, two translations, and send lines that come back from memory. With \
     lines that stay in caches the time is lower. Not varied were the cost of a port and the path of the MPI library.";
pub(super) const NPB_L1: &str = "Most L1 misses of these kernels are those of their computation, which every transport has; our \
     kernels were written anew, and samples of them were run.";
pub(super) const IMB_L1: &str = "Sums of RD are computed and blocks of GA are packed by cores on every transport, and ranks that wait poll the queues of 15 others, whose first \
     lines share four sets of the L1. PP and XC, which were run without ranks that wait, save all but 1 % of their misses.";
pub(super) const IMB_PRIVATE: &str = "BC saves 48 %, two points short of most, and GA 1 %: devices fetch from the sender's \
     cache what ranks fetched from the shared buffer. AA saves all: its send lines were written back to memory and come from there. \
     Requests of cores alone are saved, to 99 % and more, by every pattern.";
pub(super) const LARGE_GLOBAL: &str = "With BASEMOPED half of the misses of a copy are send lines and half receive lines; OPTCACHE asks for no receive line, \
     and the send lines of 1 MB come from memory at the root and at ranks whose L2 of 512 KB has lost their begin when they send on. \
     More is saved only if a rank sends on what it still has: the paper's broadcast is not described.";
pub(super) const LARGE_BC_TIME: &str = "The gain has the published sign and order, OPTCOPY less than OPTCACHE, and is larger: our copy waits for memory, \
     whose bandwidth is assumed. One iteration was measured.";
pub(super) const L1_SAME: &str = "The difference is that of ranks that wait: they poll the queues of 15 others, whose first lines share four sets of \
     the L1, and they wait longer with BASEMOPED. PP and XC, without such ranks, differ by less than 1 point.";
pub(super) const LARGE_TIME: &str = "The copy needs both lines, and ours waits for memory less with OPTCACHE. Bandwidth of memory is assumed (four ports, 8 \
     cycles for a line); the paper states its latency alone. It was not varied.";
pub(super) const NPB_GLOBAL: &str = "More is saved than in the paper: the data of a kernel of class S fit into the caches, so that the baseline's misses to \
     memory are those of shared buffers. Samples leave out the begin of a program, whose data come from memory on every \
     transport; whole programs were not run.";
pub(super) const CHIP_BYTES: &str = "The fields of figure 7 make an active match of 65 bytes with addresses of 48 bits and \
     of 73 bytes with 64 bits, where the paper says about 70; the difference is 5 bytes of each device.";
