//! Orders for the demo: generated from a seed, shaped like a shop's export.

use std::fs::File;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;

use lakerace::{Error, Job, Result};

/// The schema of the generated file.
pub(crate) const SCHEMA: &str = "order_id int64 not null, customer_id int32 not null, ordered_at timestamp(s) not null, \
    shipped_on date32, status utf8 not null, country utf8 not null, item utf8 not null, quantity int32 not null, \
    price decimal(12,2) not null, discount float64, comment utf8";

const HEADER: &str = "order_id,customer_id,ordered_at,shipped_on,status,country,item,quantity,price,discount,comment\n";
/// Rows between two checks of the cancel flag, and between two writes.
const ROWS_AT_ONCE: u64 = 10_000;
/// 2024-01-01 00:00:00 UTC.
const FIRST_SECOND: u64 = 1_704_067_200;
/// Orders arrive one in 31 seconds on average.
const SECONDS_BETWEEN: u64 = 31;

const STATUSES: [&str; 5] = ["shipped", "shipped", "shipped", "open", "returned"];
const COUNTRIES: [&str; 12] = ["DE", "FR", "US", "GB", "JP", "BR", "IN", "NL", "PL", "SE", "ES", "IT"];
const ITEMS: [&str; 10] = [
    "espresso machine",
    "desk lamp",
    "running shoes, size 42",
    "27\" monitor",
    "mechanical keyboard",
    "water bottle",
    "rain jacket",
    "hiking boots",
    "café table",
    "bicycle pump",
];
const COMMENTS: [&str; 6] = [
    "leave at the door",
    "gift, please wrap",
    "call first: \"ring twice\"",
    "second floor\nleft door",
    "Grüße!",
    "fragile",
];

/// Writes the orders with these numbers to `path` and returns the file's bytes. The same seed generates the same file.
pub(crate) fn generate(path: &Path, numbers: RangeInclusive<u64>, seed: u64, job: &Job) -> Result<u64> {
    let failed = |e: std::io::Error| Error::from(e).at(path.display());
    let mut file = File::create(path).map_err(failed)?;
    let mut random = SplitMix64(seed);
    let mut text = HEADER.as_bytes().to_vec();
    let mut written = 0;
    let mut second = FIRST_SECOND;
    let last = *numbers.end();
    for id in numbers {
        second += random.below(2 * SECONDS_BETWEEN + 1);
        order(&mut text, id, second, &mut random).map_err(failed)?;
        if id % ROWS_AT_ONCE == 0 || id == last {
            job.check()?;
            file.write_all(&text).map_err(failed)?;
            written += text.len() as u64;
            text.clear();
        }
    }
    file.write_all(&text).map_err(failed)?;
    Ok(written + text.len() as u64)
}

/// Appends one order as a line of CSV.
fn order(text: &mut Vec<u8>, id: u64, second: u64, random: &mut SplitMix64) -> std::io::Result<()> {
    let status = random.pick(&STATUSES);
    let (day, time) = (second / 86_400, second % 86_400);
    let (year, month, date) = civil(day);
    let (hour, minute) = (time / 3600, time / 60 % 60);
    // A few customers order much, most order little.
    let customer = random.below(1000) * random.below(1000) % 250_000 + 1;
    write!(text, "{id},{customer},{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02},", time % 60)?;
    if status != "open" {
        let (year, month, date) = civil(day + 1 + random.below(5));
        write!(text, "{year:04}-{month:02}-{date:02}")?;
    }
    write!(text, ",{status},{},", random.pick(&COUNTRIES))?;
    quoted(text, random.pick(&ITEMS));
    let cents = 199 + random.below(300) * random.below(300);
    write!(text, ",{},{}.{:02},", 1 + random.below(8), cents / 100, cents % 100)?;
    if random.below(10) == 0 {
        write!(text, "0.{:02}", 5 * (1 + random.below(6)))?;
    }
    text.push(b',');
    if random.below(4) == 0 {
        quoted(text, random.pick(&COMMENTS));
    }
    text.push(b'\n');
    Ok(())
}

fn quoted(text: &mut Vec<u8>, value: &str) {
    if !value.contains([',', '"', '\n']) {
        text.extend_from_slice(value.as_bytes());
        return;
    }
    text.push(b'"');
    for byte in value.bytes() {
        if byte == b'"' {
            text.push(b'"');
        }
        text.push(byte);
    }
    text.push(b'"');
}

/// Year, month and day of a day since 1970-01-01, by counting from 1 March of year 0 in eras of 400 years.
fn civil(day: u64) -> (u64, u64, u64) {
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let date = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, date)
}

/// Steele, Lea and Flood's SplitMix64: small, fast, and the same everywhere.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is far below 2^64: the bias does not show.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests;
