//! `part`.

use arrow::array::ArrayRef;
use lakerace_io::Result;
use tpchgen::distribution::Distributions;

use super::{TablePiece, decimals, keys, numbers, unknown};
use crate::pool::CommentPool;
use crate::random::{FewNumbers, RangePick};
use crate::texts::{BatchTexts, comments};
use crate::words::{self, MANUFACTURERS};

/// Bytes of a comment on average.
const COMMENT: u32 = 14;
/// Colours in a name.
const NAME_WORDS: usize = 5;
/// Manufacturers, and brands of each.
const ONE_OF_FIVE: FewNumbers = FewNumbers::new(1, MANUFACTURERS as i64);

pub(super) fn column(piece: &TablePiece, name: &str) -> Result<ArrayRef> {
    const SIZES: FewNumbers = FewNumbers::new(1, 50);
    match name {
        "p_partkey" => keys(piece.numbers().collect()),
        "p_name" => part_name(piece),
        "p_mfgr" => words::MANUFACTURER_NAMES.column(manufacturers(piece), piece.mode),
        "p_brand" => {
            let brands = piece.drawn(46_831_694, ONE_OF_FIVE, |brand| brand as u8 - 1);
            let brands = manufacturers(piece).into_iter().zip(brands).map(|(m, b)| m * MANUFACTURERS + b);
            words::BRANDS.column(brands.collect(), piece.mode)
        }
        "p_type" => piece.words(1_841_581_359, &words::PART_TYPES),
        "p_size" => numbers(piece.drawn(1_193_163_244, SIZES, |size| size as i32)),
        "p_container" => piece.words(727_633_698, &words::CONTAINERS),
        "p_retailprice" => decimals(piece.numbers().map(|part| i128::from(retail_price(part))).collect()),
        "p_comment" => {
            let stream = piece.stream(804_159_733, CommentPool::DRAWS);
            comments(CommentPool::new(COMMENT).places(stream, piece.len()), COMMENT as usize, piece.mode)
        }
        _ => Err(unknown(piece, name)),
    }
}

/// The price of a part in hundredths (specification 4.2.3, `P_RETAILPRICE`).
#[inline(always)]
pub(super) fn retail_price(part: i64) -> i64 {
    let part = part as u64;
    (90_000 + part / 10 % 20_001 + part % 1000 * 100) as i64
}

/// From 0.
fn manufacturers(piece: &TablePiece) -> Vec<u8> {
    piece.drawn(1, ONE_OF_FIVE, |manufacturer| manufacturer as u8 - 1)
}

/// Five different colours: the first ones after a shuffle of all.
fn part_name(piece: &TablePiece) -> Result<ArrayRef> {
    let colours = Distributions::static_default().part_colors().get_values();
    let last = colours.len() as i64 - 1;
    let picks: [FewNumbers; NAME_WORDS] = std::array::from_fn(|place| FewNumbers::new(place as i64, last));
    let mut texts = BatchTexts::new(piece.len(), 34);
    let mut stream = piece.stream(709_314_158, colours.len() as u64);
    let mut order: Vec<usize> = (0..colours.len()).collect();
    for _ in 0..piece.len() {
        let row = stream.next_row();
        let swaps: [usize; NAME_WORDS] = std::array::from_fn(|place| picks[place].pick(row.draw(place + 1)) as usize);
        let bytes = texts.bytes();
        for (place, other) in swaps.into_iter().enumerate() {
            order.swap(place, other);
            if place > 0 {
                bytes.push(b' ');
            }
            bytes.extend_from_slice(colours[order[place]].as_bytes());
        }
        texts.end();
        for (place, other) in swaps.into_iter().enumerate().rev() {
            order.swap(place, other);
        }
    }
    texts.finish()
}
