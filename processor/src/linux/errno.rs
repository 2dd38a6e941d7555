// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Error numbers of Linux, as far as they are used.

/// Operation not permitted.
pub const EPERM: u16 = 1;
/// No such file.
pub const ENOENT: u16 = 2;
/// Input or output error.
pub const EIO: u16 = 5;
/// Bad file descriptor.
pub const EBADF: u16 = 9;
/// Try again.
pub const EAGAIN: u16 = 11;
/// Out of memory.
pub const ENOMEM: u16 = 12;
/// Permission denied.
pub const EACCES: u16 = 13;
/// Bad address.
pub const EFAULT: u16 = 14;
/// File exists.
pub const EEXIST: u16 = 17;
/// Not a directory.
pub const ENOTDIR: u16 = 20;
/// Is a directory.
pub const EISDIR: u16 = 21;
/// Invalid argument.
pub const EINVAL: u16 = 22;
/// Too many open files.
pub const EMFILE: u16 = 24;
/// Not a terminal.
pub const ENOTTY: u16 = 25;
/// Illegal seek.
pub const ESPIPE: u16 = 29;
/// A pipe without a reader.
pub const EPIPE: u16 = 32;
/// Result out of range.
pub const ERANGE: u16 = 34;
/// No such function.
pub const ENOSYS: u16 = 38;
