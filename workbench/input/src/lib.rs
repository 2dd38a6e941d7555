// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one reader of files that a user names. It waits for nothing, reads no device, FIFO or socket and no file of the
//! kernel whose content has no end, and no more bytes than a limit allows.

use std::fmt;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The environment variable that replaces every limit.
pub const VARIABLE: &str = "MATCHBENCH_MAX_INPUT";

/// Largest file of a kind, unless `MATCHBENCH_MAX_INPUT` replaces it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputLimit {
    /// Settings, whose readers need much time and memory for each byte.
    Settings,
    /// Text and tables.
    Text,
    /// Programs, libraries and captures.
    Binary,
}

impl InputLimit {
    const fn default_bytes(self) -> u64 {
        match self {
            Self::Settings => 4 << 20,
            Self::Text => 64 << 20,
            Self::Binary => 1 << 30,
        }
    }

    fn bytes(self) -> Result<u64, Refusal> {
        let Some(text) = std::env::var_os(VARIABLE) else { return Ok(self.default_bytes()) };
        let text = text.to_string_lossy();
        text.parse().map_err(|_| Refusal {
            kind: ErrorKind::InvalidInput,
            found: format!("`{text}` in {VARIABLE}"),
            advice: format!("set {VARIABLE} to a number of bytes"),
        })
    }
}

/// Why a file is not read.
#[derive(Debug)]
pub struct Refusal {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// What was found.
    pub found: String,
    /// What to do.
    pub advice: String,
}

impl Refusal {
    /// What was found, what was expected and what to do.
    #[must_use]
    pub fn expecting(&self, expected: &str) -> String {
        format!("found {}, expected {expected}; {}", self.found, self.advice)
    }

    fn new(kind: ErrorKind, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { kind, found: found.into(), advice: advice.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.found)
    }
}

impl std::error::Error for Refusal {}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        let (found, advice) = match error.kind() {
            ErrorKind::NotFound => ("no such file".to_owned(), "check the path"),
            ErrorKind::IsADirectory => ("a directory".to_owned(), "name a file in it"),
            ErrorKind::PermissionDenied => ("a file without permission to read".to_owned(), "change its permissions"),
            _ => {
                let text = error.to_string();
                let reason = text.split(" (os error").next().unwrap_or(&text);
                (format!("a file that cannot be read ({reason})"), "copy it elsewhere")
            }
        };
        Self::new(error.kind(), found, advice)
    }
}

/// Opens a regular file and tells its length. Symbolic links are followed.
///
/// # Errors
/// When it cannot be opened, or is of another kind.
pub fn open(path: &Path) -> Result<(File, u64), Refusal> {
    // Twice: opening a device can have effects, and what is opened may be another file than what was seen before.
    check_kind(std::fs::metadata(path)?.file_type())?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let found = file.metadata()?;
    check_kind(found.file_type())?;
    // Files of /proc have content, and no length: that of some never ends, and reading others waits.
    if found.len() == 0 && !matches!(file.read_at(&mut [0], 0), Ok(0)) {
        let found = "a file without a length, as in /proc";
        return Err(Refusal::new(ErrorKind::InvalidInput, found, "write its content to a file"));
    }
    Ok((file, found.len()))
}

/// Reads a regular file.
///
/// # Errors
/// As [`open`], and when it has more bytes than `limit`.
pub fn read(path: &Path, limit: InputLimit) -> Result<Vec<u8>, Refusal> {
    let (file, length) = open(path)?;
    let most = limit.bytes()?;
    let mut bytes = Vec::new();
    if length <= most {
        bytes.try_reserve_exact(length as usize).map_err(|_| too_long(length, most))?;
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    let length = length.max(bytes.len() as u64);
    if length > most { Err(too_long(length, most)) } else { Ok(bytes) }
}

fn too_long(length: u64, most: u64) -> Refusal {
    Refusal::new(
        ErrorKind::FileTooLarge,
        format!("{length} bytes, more than {most}"),
        format!("set {VARIABLE}={length} if it is the right file"),
    )
}

fn check_kind(found: FileType) -> Result<(), Refusal> {
    let name = match found {
        _ if found.is_file() => return Ok(()),
        _ if found.is_dir() => return Err(io::Error::from(ErrorKind::IsADirectory).into()),
        _ if found.is_fifo() => "a FIFO",
        _ if found.is_socket() => "a socket",
        _ => "a device",
    };
    Err(Refusal::new(ErrorKind::InvalidInput, name, "name a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &str) -> String {
        read(Path::new(path), InputLimit::Text).unwrap_err().expecting("text")
    }

    #[test]
    fn only_regular_files_are_read() {
        assert_eq!(said("/dev/zero"), "found a device, expected text; name a regular file");
        assert_eq!(said("/"), "found a directory, expected text; name a file in it");
        assert_eq!(said("/nothing"), "found no such file, expected text; check the path");
        let kernel = "found a file without a length, as in /proc, expected text; write its content to a file";
        assert_eq!(said("/proc/self/maps"), kernel);
    }

    #[test]
    fn a_file_above_the_limit_is_not_read() {
        let path = std::env::temp_dir().join(format!("mb-input-{}", std::process::id()));
        File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        let refused = read(&path, InputLimit::Text).unwrap_err().expecting("text");
        std::fs::remove_file(&path).expect("it is there");
        let advice = "set MATCHBENCH_MAX_INPUT=1099511627776 if it is the right file";
        assert_eq!(refused, format!("found 1099511627776 bytes, more than 67108864, expected text; {advice}"));
    }
}
