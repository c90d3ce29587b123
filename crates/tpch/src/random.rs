//! The generator's random numbers, a column at a time.
//!
//! Every column of a table has a separate linear congruential sequence, and every row owns a fixed number of its draws,
//! used or not (TPC-H, dbgen's `rnd.c`). So the draws of any row can be computed from the column's seed alone, without
//! the rows before it and without the other columns. This makes columns independent of one another, and rows of one
//! another.

/// The multiplier of the sequence.
const MULTIPLIER: u64 = 16_807;
/// The modulus, a Mersenne prime: a remainder is a shift and an addition.
const MODULUS: u64 = (1 << 31) - 1;

/// `MULTIPLIER` to the power of its index, by which a row's seed is multiplied for its draws.
const POWERS: [u64; MAX_DRAWS + 1] = {
    let mut powers = [1; MAX_DRAWS + 1];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * MULTIPLIER % MODULUS;
        i += 1;
    }
    powers
};

/// Draws of a row that are computed from its seed directly.
const MAX_DRAWS: usize = 16;

/// `a * b` modulo [`MODULUS`]; both are below it.
#[inline(always)]
fn multiply(a: u64, b: u64) -> u64 {
    let product = a * b;
    let folded = (product & MODULUS) + (product >> 31);
    if folded >= MODULUS { folded - MODULUS } else { folded }
}

/// `base` to the power of `exponent`.
fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = multiply(result, base);
        }
        base = multiply(base, base);
        exponent /= 2;
    }
    result
}

/// The sequence of a column, at a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnStream {
    /// The last draw before the row.
    seed: u64,
    /// The step to the next row.
    step: u64,
}

/// The place of a row in a column's sequence: its draws are numbered from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowDraws(u64);

impl ColumnStream {
    /// A column's sequence at `row` (from 0), where each row owns `draws_per_row`.
    pub(crate) fn at(seed: u64, draws_per_row: u64, row: u64) -> Self {
        let step = power(MULTIPLIER, draws_per_row);
        Self { seed: multiply(seed, power(step, row)), step }
    }

    /// Returns the draws of the current row and advances to the next row.
    #[inline(always)]
    pub(crate) fn next_row(&mut self) -> RowDraws {
        let row = RowDraws(self.seed);
        self.seed = multiply(self.seed, self.step);
        row
    }

    /// Makes a draw of each of the next rows, of columns that have one draw a row.
    pub(crate) fn draws(mut self, rows: usize) -> impl Iterator<Item = RandomDraw> {
        (0..rows).map(move |_| self.next_row().draw(1))
    }
}

impl RowDraws {
    /// A draw of the row, from 1 to [`MAX_DRAWS`].
    #[inline(always)]
    pub(crate) fn draw(self, number: usize) -> RandomDraw {
        RandomDraw(multiply(self.0, POWERS[number]))
    }

    /// The draws of the row one after the other, however many.
    pub(crate) fn sequence(self) -> DrawSequence {
        DrawSequence(self.0)
    }
}

/// Draws one after the other.
pub(crate) struct DrawSequence(u64);

impl DrawSequence {
    /// The sequence after `seed`.
    pub(crate) fn after(seed: u32) -> Self {
        Self(u64::from(seed))
    }

    /// The last draw.
    #[cfg(test)]
    pub(crate) fn seed(&self) -> u32 {
        self.0 as u32
    }

    /// The next draw.
    #[inline(always)]
    pub(crate) fn draw(&mut self) -> RandomDraw {
        self.0 = multiply(self.0, MULTIPLIER);
        RandomDraw(self.0)
    }
}

/// A random number below [`MODULUS`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct RandomDraw(u64);

impl RandomDraw {
    /// The last draw: the sequence continues from it.
    #[cfg(test)]
    pub(crate) fn seed(self) -> u64 {
        self.0
    }
}

/// Numbers of a range, by draws. The reference computes `low + trunc(draw / MODULUS * count)` in floating point.
pub(crate) trait RangePick: Copy {
    /// The number for a draw.
    fn pick(self, draw: RandomDraw) -> i64;
}

/// At most [`FewNumbers::MAX`] numbers, from one on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FewNumbers {
    low: i64,
    count: u64,
}

impl FewNumbers {
    /// Up to this count, integer arithmetic gives the same result as floating point: `draw * count / MODULUS` is no
    /// whole number (the modulus is prime) and so at least 2^-31 away from one, while two roundings move it by less
    /// than 2^-51 of its size.
    pub(crate) const MAX: u64 = 1 << 19;

    /// The numbers from `low` to `high`.
    pub(crate) const fn new(low: i64, high: i64) -> Self {
        Self { low, count: (high - low + 1) as u64 }
    }
}

impl RangePick for FewNumbers {
    #[inline(always)]
    fn pick(self, draw: RandomDraw) -> i64 {
        let product = draw.0 * self.count;
        let quotient = product >> 31;
        let remainder = (product & MODULUS) + quotient;
        self.low + (quotient + u64::from(remainder >= MODULUS)) as i64
    }
}

/// Any number of numbers that 31 bits hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManyNumbers {
    low: i64,
    count: f64,
}

impl ManyNumbers {
    /// The numbers from `low` to `high`.
    pub(crate) fn new(low: i64, high: i64) -> Self {
        // As the reference: the count is a 32-bit number and wraps.
        Self { low, count: f64::from(((high - low) as i32).wrapping_add(1)) }
    }
}

impl RangePick for ManyNumbers {
    #[inline(always)]
    fn pick(self, draw: RandomDraw) -> i64 {
        self.low + i64::from((draw.0 as f64 / MODULUS as f64 * self.count) as i32)
    }
}

#[cfg(test)]
mod tests;
