//! `supplier`.

use arrow::array::ArrayRef;
use lakerace_io::Result;

use super::{TablePiece, keys, people, unknown};
use crate::pool::CommentPool;
use crate::random::{FewNumbers, RangePick};
use crate::texts::{BatchTexts, comments};

const NATION_SEED: u64 = 110_356_601;
/// Bytes of a comment on average.
const COMMENT: u32 = 63;

pub(super) fn column(piece: &TablePiece, name: &str) -> Result<ArrayRef> {
    match name {
        "s_suppkey" => keys(piece.numbers().collect()),
        "s_name" => people::name(piece, "Supplier#"),
        "s_address" => people::address(piece, 706_178_559),
        "s_nationkey" => keys(people::nations(piece, NATION_SEED)),
        "s_phone" => people::phone(piece, 884_434_366, NATION_SEED),
        "s_acctbal" => people::balance(piece, 962_338_209),
        "s_comment" => comment(piece),
        _ => Err(unknown(piece, name)),
    }
}

/// Ten suppliers of ten thousand have "Customer Complaints" or "Customer Recommends" in their comment, with other text
/// between the two words (specification 4.2.3).
fn comment(piece: &TablePiece) -> Result<ArrayRef> {
    const CUSTOMER: &[u8] = b"Customer ";
    const COMPLAINTS: &[u8] = b"Complaints";
    const RECOMMENDS: &[u8] = b"Recommends";
    const WORDS_BYTES: usize = CUSTOMER.len() + COMPLAINTS.len();
    const ONE_OF: FewNumbers = FewNumbers::new(1, 10_000);
    const PERCENT: FewNumbers = FewNumbers::new(0, 100);

    let stream = piece.stream(1_341_315_363, CommentPool::DRAWS);
    let places = CommentPool::new(COMMENT).places(stream, piece.len());
    let is_chosen = piece.drawn(202_794_285, ONE_OF, |number| number <= 10);
    let has_chosen = is_chosen.contains(&true);
    if !has_chosen {
        return comments(places, COMMENT as usize, piece.mode);
    }
    let mut texts = BatchTexts::new(piece.len(), COMMENT as usize + 4);
    let (mut gaps, mut starts) = (piece.stream(263_032_577, 1), piece.stream(715_851_524, 1));
    let mut kinds = piece.stream(753_643_799, 1);
    for (place, is_chosen) in places.zip(is_chosen) {
        let (gap, start, kind) = (gaps.next_row().draw(1), starts.next_row().draw(1), kinds.next_row().draw(1));
        let text = place.text();
        let from = texts.bytes().len();
        texts.bytes().extend_from_slice(text);
        if is_chosen {
            let gap = FewNumbers::new(0, (text.len() - WORDS_BYTES) as i64).pick(gap) as usize;
            let start = FewNumbers::new(0, (text.len() - WORDS_BYTES - gap) as i64).pick(start) as usize;
            let word = if PERCENT.pick(kind) < 50 { COMPLAINTS } else { RECOMMENDS };
            let first = from + start;
            let second = first + CUSTOMER.len() + gap;
            texts.bytes()[first..first + CUSTOMER.len()].copy_from_slice(CUSTOMER);
            texts.bytes()[second..second + word.len()].copy_from_slice(word);
        }
        texts.end();
    }
    texts.finish()
}
