//! The words of enumerated columns, as Arrow wants them.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, DictionaryArray, StringViewArray, UInt8Array};
use arrow::buffer::{Buffer, ScalarBuffer};
use arrow::datatypes::UInt8Type;
use lakerace_io::{Error, Result};
use tpchgen::distribution::{Distribution, Distributions};

use crate::mode::Mode;
use crate::random::{FewNumbers, RandomDraw, RangePick};

/// The words of a column, of which there are 256 at most. They are numbered.
pub(crate) struct NumberedWords {
    /// By draw: each number as often as its weight says.
    by_weight: Vec<u8>,
    pick: FewNumbers,
    /// The words themselves, by number: the values of dictionaries.
    values: StringViewArray,
}

impl NumberedWords {
    /// The words of a distribution, drawn by their weights.
    fn from_distribution(distribution: &Distribution) -> Self {
        let mut by_weight = Vec::new();
        for number in 0..distribution.size() {
            // The weights are running sums.
            by_weight.resize(distribution.get_weight(number).max(0) as usize, number as u8);
        }
        Self::new(by_weight, distribution.get_values().iter().map(|word| (*word).to_owned()))
    }

    /// Words that are not chosen by weights.
    fn listed(words: impl IntoIterator<Item = String>) -> Self {
        Self::new(Vec::new(), words)
    }

    fn new(by_weight: Vec<u8>, words: impl IntoIterator<Item = String>) -> Self {
        let pick = FewNumbers::new(0, by_weight.len() as i64 - 1);
        Self { by_weight, pick, values: StringViewArray::from_iter_values(words) }
    }

    /// The number of the word for a draw.
    #[inline(always)]
    pub(crate) fn number(&self, draw: RandomDraw) -> u8 {
        self.by_weight[self.pick.pick(draw) as usize]
    }

    /// A column of words by their numbers.
    pub(crate) fn column(&self, numbers: Vec<u8>, mode: Mode) -> Result<ArrayRef> {
        match mode {
            Mode::TrueZeroCopy => {
                let keys = UInt8Array::from(numbers);
                let column = DictionaryArray::<UInt8Type>::try_new(keys, Arc::new(self.values.clone()));
                Ok(Arc::new(column.map_err(Error::unexpected)?))
            }
            Mode::ZeroCopy | Mode::Baseline => {
                let views = self.values.views();
                let views: ScalarBuffer<u128> = numbers.iter().map(|number| views[usize::from(*number)]).collect();
                // The words that a view does not hold itself, in memory of the batch.
                let words: Vec<Buffer> =
                    self.values.data_buffers().iter().map(|words| Buffer::from_slice_ref(words.as_slice())).collect();
                // SAFETY: each view is one of `values`, and the buffers have the bytes of its buffers.
                let column = unsafe { StringViewArray::new_unchecked(views, words.into(), None) };
                Ok(Arc::new(column))
            }
        }
    }
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $words:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) static $name: LazyLock<NumberedWords> = LazyLock::new(|| $words);
    )*};
}

fn distributions() -> &'static Distributions {
    Distributions::static_default()
}

fn owned(words: &[&str]) -> NumberedWords {
    NumberedWords::listed(words.iter().map(|word| (*word).to_owned()))
}

/// Manufacturers, and brands of each.
pub(crate) const MANUFACTURERS: u8 = 5;

words! {
    /// `l_returnflag` of lines that were received; no draw gives the number [`NOT_RETURNED`].
    RETURN_FLAGS = {
        let drawn = NumberedWords::from_distribution(distributions().return_flags());
        let words = distributions().return_flags().get_values().iter().chain(&["N"]).map(|word| (*word).to_owned());
        NumberedWords::new(drawn.by_weight, words)
    };
    /// `l_linestatus`.
    LINE_STATUS = owned(&["O", "F"]);
    /// `l_shipinstruct`.
    SHIP_INSTRUCTIONS = NumberedWords::from_distribution(distributions().ship_instructions());
    /// `l_shipmode`.
    SHIP_MODES = NumberedWords::from_distribution(distributions().ship_modes());
    /// `o_orderstatus`.
    ORDER_STATUS = owned(&["O", "P", "F"]);
    /// `o_orderpriority`.
    ORDER_PRIORITIES = NumberedWords::from_distribution(distributions().order_priority());
    /// `c_mktsegment`.
    MARKET_SEGMENTS = NumberedWords::from_distribution(distributions().market_segments());
    /// `p_mfgr`.
    MANUFACTURER_NAMES = NumberedWords::listed((1..=MANUFACTURERS).map(|n| format!("Manufacturer#{n}")));
    /// `p_brand`.
    BRANDS = NumberedWords::listed((1..=MANUFACTURERS).flat_map(|m| (1..=MANUFACTURERS).map(move |b| format!("Brand#{m}{b}"))));
    /// `p_type`.
    PART_TYPES = NumberedWords::from_distribution(distributions().part_types());
    /// `p_container`.
    CONTAINERS = NumberedWords::from_distribution(distributions().part_containers());
    /// `n_name`.
    NATIONS = NumberedWords::listed(distributions().nations().get_values().iter().map(|word| (*word).to_owned()));
    /// `r_name`.
    REGIONS = NumberedWords::listed(distributions().regions().get_values().iter().map(|word| (*word).to_owned()));
}

/// The number of the `l_returnflag` of lines that were not yet received.
pub(crate) const NOT_RETURNED: u8 = 2;
