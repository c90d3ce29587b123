//! Common columns of suppliers and customers.

use arrow::array::ArrayRef;
use lakerace_io::Result;

use super::{TablePiece, decimals};
use crate::random::{FewNumbers, ManyNumbers, RangePick};
use crate::texts::{BatchTexts, push_digits, push_numbered};

/// Characters of addresses: six bits of a draw choose one.
const CHARACTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
/// Characters that a draw is good for.
const CHARACTERS_A_DRAW: usize = 5;
/// The length of an address.
const ADDRESS_BYTES: FewNumbers = FewNumbers::new(10, 40);
/// Draws that an address owns.
const ADDRESS_DRAWS: u64 = 9;
/// The least and the greatest account balance, in hundredths.
const BALANCES: (i64, i64) = (-99_999, 999_999);
/// Nations.
const NATIONS: FewNumbers = FewNumbers::new(0, 24);

/// `Customer#000000001`.
pub(super) fn name(piece: &TablePiece, prefix: &str) -> Result<ArrayRef> {
    let mut texts = BatchTexts::new(piece.len(), prefix.len() + 9);
    for number in piece.numbers() {
        push_numbered(prefix.as_bytes(), number as u64, texts.bytes());
        texts.end();
    }
    texts.finish()
}

pub(super) fn address(piece: &TablePiece, seed: u64) -> Result<ArrayRef> {
    let mut texts = BatchTexts::new(piece.len(), 26);
    let mut stream = piece.stream(seed, ADDRESS_DRAWS);
    let all = ManyNumbers::new(0, i32::MAX.into());
    for _ in 0..piece.len() {
        let mut sequence = stream.next_row().sequence();
        let mut left = ADDRESS_BYTES.pick(sequence.draw()) as usize;
        while left > 0 {
            let mut bits = all.pick(sequence.draw());
            let characters: [u8; CHARACTERS_A_DRAW] = std::array::from_fn(|_| {
                let character = CHARACTERS[(bits & 63) as usize];
                bits >>= 6;
                character
            });
            let count = left.min(CHARACTERS_A_DRAW);
            texts.bytes().extend_from_slice(&characters[..count]);
            left -= count;
        }
        texts.end();
    }
    texts.finish()
}

/// The nation of each.
pub(super) fn nations(piece: &TablePiece, seed: u64) -> Vec<i64> {
    piece.drawn(seed, NATIONS, |nation| nation)
}

/// `27-918-335-1736`, whose first number says the nation.
pub(super) fn phone(piece: &TablePiece, seed: u64, nation_seed: u64) -> Result<ArrayRef> {
    const THREE_DIGITS: FewNumbers = FewNumbers::new(100, 999);
    const FOUR_DIGITS: FewNumbers = FewNumbers::new(1000, 9999);
    let mut texts = BatchTexts::new(piece.len(), 15);
    let mut stream = piece.stream(seed, 3);
    for nation in nations(piece, nation_seed) {
        let row = stream.next_row();
        let bytes = texts.bytes();
        push_digits::<2>(nation as u64 + 10, bytes);
        bytes.push(b'-');
        push_digits::<3>(THREE_DIGITS.pick(row.draw(1)) as u64, bytes);
        bytes.push(b'-');
        push_digits::<3>(THREE_DIGITS.pick(row.draw(2)) as u64, bytes);
        bytes.push(b'-');
        push_digits::<4>(FOUR_DIGITS.pick(row.draw(3)) as u64, bytes);
        texts.end();
    }
    texts.finish()
}

pub(super) fn balance(piece: &TablePiece, seed: u64) -> Result<ArrayRef> {
    let balances = ManyNumbers::new(BALANCES.0, BALANCES.1);
    decimals(piece.stream(seed, 1).draws(piece.len()).map(|draw| i128::from(balances.pick(draw))).collect())
}
