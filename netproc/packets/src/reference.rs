// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What SPINE and its handlers must decide: MD5 and 3DES from the crates `md-5` and `des`, the checks of link and
//! network, forwarding, and TCP connection state.

pub mod connection;
pub mod network;

use cipher::{Block, BlockCipherEncrypt, KeyInit};
use des::TdesEde3;
use md5::{Digest, Md5};

/// The MD5 digest (RFC 1321).
#[must_use]
pub fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

/// Encrypts `text` in place with three-key 3DES in CBC mode (FIPS 46-3, NIST SP 800-38A). The bytes after the last
/// complete block are combined by exclusive or with the encryption of the last cipher block, so that the length stays.
pub fn triple_des(key: &[u8; 24], initial: [u8; 8], text: &mut [u8]) {
    let cipher = TdesEde3::new(key.into());
    let mut chain = Block::<TdesEde3>::from(initial);
    let (blocks, rest) = text.as_chunks_mut::<8>();
    for block in blocks {
        chain.iter_mut().zip(&*block).for_each(|(into, byte)| *into ^= byte);
        cipher.encrypt_block(&mut chain);
        *block = chain.into();
    }
    if !rest.is_empty() {
        cipher.encrypt_block(&mut chain);
        rest.iter_mut().zip(chain).for_each(|(byte, with)| *byte ^= with);
    }
}
