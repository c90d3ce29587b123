//! Flat columns: our own decoder, from pages to arrays.

use std::sync::Arc;

use arrow::array::ArrayRef;
use lakerace_io::{Error, Result};

use super::column_source::ColumnSource;
use super::flat_decoder::decoder;
use super::page_header::PageKind;
use super::pages::{ClosedPage, PageChunk, PageData, PageWalk};
use crate::exec::{RowMask, RowSelection};
use crate::parquet::decode::literal_page::PageSlices;
use crate::parquet::decode::text_keys::TextKeyCollector;
use crate::parquet::decode::validity::{DefinitionLevels, ValidityBuilder};
use crate::parquet::decode::values::{PageEncoding, ValueCollector};

/// Up to this share of selected rows, texts are copied: otherwise they would keep more memory than they need.
const COPY_AT_MOST: f64 = 0.5;

/// The reader of a flat column of a row group.
pub(crate) struct FlatReader {
    pages: PageWalk,
    is_optional: bool,
    values: Box<dyn ValueCollector>,
    page: FlatPage,
    /// Rows of the current page that are left.
    rows_left: usize,
    /// Rows to skip before the next ones are decoded.
    to_skip: u64,
    /// The approximate share of rows that are selected.
    share: f64,
    validity: ValidityBuilder,
}

enum FlatPage {
    None,
    /// Its header was read, its body not yet.
    Closed(ClosedPage),
    /// Being decoded; without levels where no row is null.
    Open(Option<DefinitionLevels>),
}

impl FlatReader {
    /// A lane for root column `root`; `None` if this decoder does not support its type or an encoding in it.
    pub fn open(source: &ColumnSource, root: usize) -> Result<Option<Self>> {
        let stored = source.file.schema().field(root);
        let to = if source.reads_words(stored) { source.field.data_type() } else { stored.data_type() };
        let Some(mut values) = decoder(&source.file, source.row_group, root, to, &source.pool) else { return Ok(None) };
        if source.reads_text_keys(stored) {
            values = Box::new(TextKeyCollector::new(Arc::clone(&source.pool)));
        }
        let leaf = source.file.leaves.get(root).map_or(0, |leaves| leaves.start);
        let chunk = source.file.metadata().row_group(source.row_group).column(leaf);
        let places = source.pages(root, leaf)?;
        let pages = PageWalk::new(PageChunk {
            fetcher: source.fetcher.clone(),
            file: source.file_number,
            range: source.file.chunk_range(source.row_group, leaf)?,
            places,
            rows: Arc::clone(&source.rows),
            codec: chunk.compression_codec(),
            plain_bytes: u64::try_from(chunk.uncompressed_size()).unwrap_or(0),
            values: chunk.num_values() as u64,
            pool: Arc::clone(&source.pool),
        });
        let is_optional = chunk.column_descr().max_def_level() == 1;
        let validity = ValidityBuilder::default();
        Ok(Some(Self {
            pages,
            is_optional,
            values,
            page: FlatPage::None,
            rows_left: 0,
            to_skip: 0,
            share: 1.0,
            validity,
        }))
    }

    /// Skips `rows` rows.
    pub fn skip(&mut self, rows: u64) {
        self.to_skip += rows;
    }

    /// The next `rows` rows, or the selected ones of them.
    pub fn next(&mut self, rows: usize, selection: Option<&RowMask>) -> Result<ArrayRef> {
        if let Some(selection) = selection {
            self.share = selection.count() as f64 / rows.max(1) as f64;
            return self.keep(selection).map(|array| selection.let_go(array));
        }
        self.share = 1.0;
        self.values.begin(rows);
        let mut missing = rows;
        while missing > 0 {
            self.advance()?;
            let count = missing.min(self.rows_left);
            self.read(count)?;
            missing -= count;
        }
        self.finish()
    }

    /// The selected rows. Pages without any are not decompressed.
    fn keep(&mut self, selection: &RowMask) -> Result<ArrayRef> {
        self.values.begin(selection.count() + 1);
        let mut at = 0;
        while at < selection.len() {
            let leading = selection.part(at..selection.len()).leading();
            self.to_skip += leading as u64;
            at += leading;
            if at == selection.len() {
                break;
            }
            self.advance()?;
            let count = self.rows_left.min(selection.len() - at);
            self.read_kept(selection.part(at..at + count))?;
            at += count;
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.validity.finish();
        self.values.finish(nulls)
    }

    /// Reads `count` rows of the open page.
    fn read(&mut self, count: usize) -> Result<()> {
        let FlatPage::Open(levels) = &mut self.page else { return Err(Error::internal("no page is open")) };
        self.rows_left -= count;
        match levels {
            None => {
                self.validity.append_valid(count);
                self.values.read(count)
            }
            Some(levels) => {
                let start = self.validity.rows();
                let valid = levels.read(count, &mut self.validity)?;
                if valid == count {
                    return self.values.read(count);
                }
                self.values.read_spread(count, valid, self.validity.from(start))
            }
        }
    }

    /// Reads those of the next rows of the open page that are kept.
    fn read_kept(&mut self, kept: RowSelection<'_>) -> Result<()> {
        let count = kept.count();
        if count == kept.len() {
            return self.read(count);
        }
        let FlatPage::Open(levels) = &mut self.page else { return Err(Error::internal("no page is open")) };
        self.rows_left -= kept.len();
        let mut all = ValidityBuilder::default();
        let valid = match levels {
            None => kept.len(),
            Some(levels) => levels.read(kept.len(), &mut all)?,
        };
        if valid == kept.len() {
            self.validity.append_valid(count);
            return self.values.read_kept(kept);
        }
        let start = self.validity.rows();
        let of_values = self.validity.append_kept(&all, kept);
        self.values.read_kept(of_values.kept())?;
        if of_values.nulls > 0 {
            self.values.spread(count, count - of_values.nulls, self.validity.from(start));
        }
        Ok(())
    }

    /// Skips the pending rows, and opens the page with the next row.
    fn advance(&mut self) -> Result<()> {
        loop {
            if self.rows_left == 0 {
                self.next_page()?;
            }
            if self.to_skip >= self.rows_left as u64 && self.rows_left > 0 && self.to_skip > 0 {
                self.to_skip -= self.rows_left as u64;
                self.rows_left = 0;
                if let FlatPage::Closed(page) = std::mem::replace(&mut self.page, FlatPage::None) {
                    self.pages.skip(&page);
                }
                continue;
            }
            if let FlatPage::Closed(page) = &self.page {
                let levels = open(&mut self.pages, page, self.is_optional, self.share, self.values.as_mut())?;
                self.page = FlatPage::Open(levels);
            }
            if self.rows_left == 0 {
                continue;
            }
            let skip = std::mem::take(&mut self.to_skip) as usize;
            if skip > 0 {
                self.skip_in_page(skip)?;
            }
            return Ok(());
        }
    }

    /// Skips `count` rows of the open page.
    fn skip_in_page(&mut self, count: usize) -> Result<()> {
        let FlatPage::Open(levels) = &mut self.page else { return Err(Error::internal("no page is open")) };
        self.rows_left -= count;
        let valid = match levels {
            None => count,
            Some(levels) => levels.read(count, &mut ValidityBuilder::default())?,
        };
        self.values.skip(valid)
    }

    fn next_page(&mut self) -> Result<()> {
        if self.to_skip > 0 {
            self.to_skip -= self.pages.skip_places(self.to_skip)?;
        }
        let page = self.pages.next()?;
        if page.header.kind == PageKind::Dictionary {
            let data = self.pages.open(&page, false)?.values.whole(self.pages.pool())?;
            return self.values.dictionary(data, page.header.values);
        }
        self.rows_left = page.header.values;
        if self.rows_left == 0 {
            self.pages.skip(&page);
        } else {
            self.page = FlatPage::Closed(page);
        }
        Ok(())
    }
}

/// Decompresses a data page of which this share of rows is wanted, and prepares its levels and values. If some rows are
/// not wanted, or if the values are copied in any case, literals are not copied as a whole: only the wanted values are.
fn open(
    pages: &mut PageWalk,
    page: &ClosedPage,
    is_optional: bool,
    share: f64,
    values: &mut dyn ValueCollector,
) -> Result<Option<DefinitionLevels>> {
    let header = &page.header;
    let encoding = PageEncoding::from_number(header.encoding)?;
    let takes_pieces = values.takes_pieces(encoding);
    let opened = pages.open(page, takes_pieces && (share < 1.0 || values.prefers_pieces(encoding)))?;
    let mut data = opened.values;
    let levels = match header.kind {
        PageKind::Data { definition_encoding } if is_optional => {
            let found = match DefinitionLevels::v1(&data.head(), definition_encoding, header.values) {
                // They may go on after the first piece.
                Err(_) if matches!(data, PageData::Pieces(_)) => {
                    data = PageData::Whole(data.whole(pages.pool())?);
                    DefinitionLevels::v1(&data.head(), definition_encoding, header.values)
                }
                found => found,
            };
            let (levels, start) = found?;
            data = data.skip_bytes(start)?;
            Some(levels)
        }
        PageKind::DataV2 { nulls, .. } if is_optional && nulls > 0 => Some(DefinitionLevels::v2(opened.levels)?),
        _ => None,
    };
    match data {
        PageData::Pieces(pieces) => values.pieces(pieces, encoding, header.values)?,
        PageData::Whole(bytes) if takes_pieces && share <= COPY_AT_MOST => {
            values.pieces(PageSlices::whole(bytes), encoding, header.values)?;
        }
        PageData::Whole(bytes) => values.page(bytes, encoding, header.values)?,
    }
    Ok(levels)
}
