// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What handlers must compute: MD5 and 3DES from the crates `md-5` and `des`, and TCP connection state.

pub mod connection;

use cipher::{Block, BlockCipherEncrypt, KeyInit};
use des::TdesEde3;
use md5::{Digest, Md5};

/// The MD5 digest (RFC 1321).
#[must_use]
pub fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

/// Encrypts with three-key 3DES in CBC mode (FIPS 46-3, FIPS 81). The last block is filled with zeros.
#[must_use]
pub fn triple_des_cbc(key: &[u8; 24], initial: [u8; 8], plain: &[u8]) -> Vec<u8> {
    let cipher = TdesEde3::new(key.into());
    let mut chain = initial;
    let mut out = Vec::with_capacity(plain.len().next_multiple_of(8));
    for bytes in plain.chunks(8) {
        for (into, byte) in chain.iter_mut().zip(bytes) {
            *into ^= byte;
        }
        let mut block = Block::<TdesEde3>::from(chain);
        cipher.encrypt_block(&mut block);
        chain = block.into();
        out.extend_from_slice(&chain);
    }
    out
}
