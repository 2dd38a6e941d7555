// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of system calls.

macro_rules! numbers {
    ($($name:ident = $number:literal,)*) => {
        $(pub(super) const $name: u64 = $number;)*

        /// The name of a call.
        pub(super) fn name(number: u64) -> Option<String> {
            let name = match number {
                $($number => stringify!($name),)*
                // Not served, but asked for by programs.
                59 => "pipe2",
                61 => "getdents64",
                198 => "socket",
                220 => "clone",
                221 => "execve",
                260 => "wait4",
                435 => "clone3",
                _ => return None,
            };
            Some(name.to_lowercase())
        }
    };
}

numbers! {
    GETCWD = 17,
    DUP = 23,
    DUP3 = 24,
    FCNTL = 25,
    IOCTL = 29,
    UNLINKAT = 35,
    FTRUNCATE = 46,
    FACCESSAT = 48,
    OPENAT = 56,
    CLOSE = 57,
    LSEEK = 62,
    READ = 63,
    WRITE = 64,
    READV = 65,
    WRITEV = 66,
    PREAD64 = 67,
    READLINKAT = 78,
    NEWFSTATAT = 79,
    FSTAT = 80,
    SET_TID_ADDRESS = 96,
    FUTEX = 98,
    SET_ROBUST_LIST = 99,
    NANOSLEEP = 101,
    CLOCK_GETTIME = 113,
    CLOCK_GETRES = 114,
    CLOCK_NANOSLEEP = 115,
    SCHED_GETAFFINITY = 123,
    SCHED_YIELD = 124,
    KILL = 129,
    TKILL = 130,
    TGKILL = 131,
    SIGALTSTACK = 132,
    RT_SIGACTION = 134,
    RT_SIGPROCMASK = 135,
    TIMES = 153,
    UNAME = 160,
    GETRLIMIT = 163,
    GETRUSAGE = 165,
    PRCTL = 167,
    GETCPU = 168,
    GETTIMEOFDAY = 169,
    GETPID = 172,
    GETPPID = 173,
    GETUID = 174,
    GETEUID = 175,
    GETGID = 176,
    GETEGID = 177,
    GETTID = 178,
    SYSINFO = 179,
    BRK = 214,
    MUNMAP = 215,
    MREMAP = 216,
    MMAP = 222,
    MPROTECT = 226,
    MADVISE = 233,
    HWPROBE = 258,
    FLUSH_ICACHE = 259,
    PRLIMIT64 = 261,
    GETRANDOM = 278,
    STATX = 291,
    RSEQ = 293,
    // newlib's libgloss.
    OPEN = 1024,
    UNLINK = 1026,
    ACCESS = 1033,
    STAT = 1038,
    TIME = 1062,
}
