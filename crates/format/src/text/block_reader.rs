//! Files as a sequence of blocks of text: ranges of plain files, or the output of a decompressor.

use std::io::{BufRead, Read};
use std::ops::Range;

use bytes::Bytes;
use lakerace_io::{Fetcher, Job, Object, PathProfile, RangeOptions, RequestPlan, Result, Wanted, plan_requests};

use super::{COMPRESSION_FRONT_BYTES, FileCompression, RangeReader, TextForm, ZipMember};

/// Bytes of a block: small enough for a core's cache, large enough that the work between blocks does not show.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// Text that is read ahead for each thread, at most: a thread parses 150 MB in a second, and waits for a far store for a tenth of one.
const READ_AHEAD_BYTES_PER_THREAD: u64 = 16 << 20;

/// The minimum of bytes that are read ahead of all of them: some requests of several MiB.
const LEAST_READ_AHEAD_BYTES: u64 = 32 << 20;

/// The least number of requests into which the text read ahead is divided.
const REQUESTS_AHEAD: u64 = 4;

/// Fetches the files of requests that [`text_requests`] has planned.
pub(crate) fn text_fetcher(objects: Vec<Object>, plan: &RequestPlan, job: &Job) -> Result<Fetcher> {
    Fetcher::start_within(objects, plan, text_ranges(job).prefetch_bytes, job)
}

/// The stored bytes of a part of a file, as they arrive. They are read once.
pub(crate) fn stored_bytes(fetcher: &Fetcher, file: usize, part: Range<u64>) -> impl BufRead + Send + use<> {
    let fetcher = fetcher.clone();
    RangeReader::new(move |at| {
        let at = part.start + at;
        if at >= part.end {
            return Ok(Bytes::new());
        }
        let bytes = fetcher.bytes_some(file as u32, at..part.end.min(at + BLOCK_BYTES as u64))?;
        // No one reads it again.
        fetcher.release(file as u32, at..at + bytes.len() as u64);
        Ok(bytes)
    })
}

/// The options by which requests for text are cut: those of the job, with less read ahead than for files that are
/// decoded faster.
fn text_ranges(job: &Job) -> RangeOptions {
    let options = job.options();
    let enough = (options.threads as u64).saturating_mul(READ_AHEAD_BYTES_PER_THREAD).max(LEAST_READ_AHEAD_BYTES);
    let ranges = options.ranges;
    RangeOptions { prefetch_bytes: ranges.prefetch_bytes.min(enough), ..ranges }
}

/// The requests for text. A request is not longer than a part of the text that may be read ahead: its bytes stay in
/// memory until the last of their rows is dropped.
pub(crate) fn text_requests(wanted: &[Wanted], profile: &PathProfile, job: &Job) -> RequestPlan {
    let options = text_ranges(job);
    let plan = plan_requests(wanted, &options, profile);
    let most = (options.prefetch_bytes / REQUESTS_AHEAD).max(BLOCK_BYTES as u64);
    let is_longer = |request: &lakerace_io::Request| request.range.end - request.range.start > most;
    if options.max_request_bytes.is_some() || !plan.requests.iter().any(is_longer) {
        return plan;
    }
    plan_requests(wanted, &RangeOptions { max_request_bytes: Some(most), ..options }, profile)
}

/// A block of a file, in order.
#[derive(Debug)]
pub(crate) struct RawBlock {
    /// The file, by its number in the plan.
    pub file: usize,
    pub is_first: bool,
    pub is_last: bool,
    pub data: BlockData,
}

/// A block's bytes, or their range: this can be fetched by the thread that works on them.
#[derive(Debug)]
pub(crate) enum BlockData {
    Bytes(Bytes),
    Range(u32, Range<u64>),
}

/// All files of a read, block by block.
pub(crate) struct BlockReader {
    fetcher: Fetcher,
    objects: Vec<Object>,
    /// True if a file is read at all.
    wanted: Vec<bool>,
    requests: Vec<lakerace_io::Request>,
    form: TextForm,
    next_file: usize,
    current: Option<BlockFile>,
}

/// The file whose blocks are next.
enum BlockFile {
    /// The ranges that are not read yet, the last one first.
    Ranges {
        file: usize,
        ranges: Vec<Range<u64>>,
        is_first: bool,
    },
    Decompressed {
        file: usize,
        compression: FileCompression,
        reader: Box<dyn Read + Send>,
        is_first: bool,
    },
}

impl BlockReader {
    /// `objects` have a known size; only those of `wanted` are read.
    pub fn start(
        objects: Vec<Object>,
        wanted: Vec<bool>,
        plan: &RequestPlan,
        form: TextForm,
        job: &Job,
    ) -> Result<Self> {
        let fetcher = text_fetcher(objects.clone(), plan, job)?;
        let requests = plan.requests.clone();
        Ok(Self { fetcher, objects, wanted, requests, form, next_file: 0, current: None })
    }

    /// A handle on the fetcher, for [`fetch_block`].
    pub fn fetcher(&self) -> Fetcher {
        self.fetcher.clone()
    }

    /// The next block. After an error it ends.
    pub fn next_block(&mut self) -> Result<Option<RawBlock>> {
        let Some(mut current) = self.current.take().map_or_else(|| self.open_next(), |c| Ok(Some(c)))? else {
            return Ok(None);
        };
        let (block, is_last) = match &mut current {
            BlockFile::Ranges { file, ranges, is_first } => {
                let range = ranges.pop().unwrap_or(0..0);
                let data = if range.is_empty() {
                    BlockData::Bytes(Bytes::new())
                } else {
                    BlockData::Range(*file as u32, range)
                };
                let is_last = ranges.is_empty();
                (RawBlock { file: *file, is_first: std::mem::take(is_first), is_last, data }, is_last)
            }
            BlockFile::Decompressed { file, compression, reader, is_first } => {
                let bytes = read_block(reader.as_mut(), BLOCK_BYTES)
                    .map_err(|e| compression.error(&e).at(self.objects[*file].url()))?;
                let is_last = bytes.len() < BLOCK_BYTES;
                let data = BlockData::Bytes(bytes);
                (RawBlock { file: *file, is_first: std::mem::take(is_first), is_last, data }, is_last)
            }
        };
        if !is_last {
            self.current = Some(current);
        }
        Ok(Some(block))
    }

    fn open_next(&mut self) -> Result<Option<BlockFile>> {
        while self.wanted.get(self.next_file) == Some(&false) {
            self.next_file += 1;
        }
        let file = self.next_file;
        let Some(object) = self.objects.get(file) else { return Ok(None) };
        self.next_file += 1;
        let object = object.clone();
        self.open(file, &object).map(Some).map_err(|e| e.at(object.url()))
    }

    fn open(&self, file: usize, object: &Object) -> Result<BlockFile> {
        if let Some(pipe) = object.stream() {
            let (first, _) = pipe.peek(COMPRESSION_FRONT_BYTES, &object.store.job)?;
            let packed = std::io::BufReader::with_capacity(BLOCK_BYTES, pipe.reader(&object.store.job)?);
            let compression = FileCompression::detect(pipe.name(), &first);
            return Ok(self.decompressed(file, compression, compression.decompress(packed)?));
        }
        let size = object.size_bytes.unwrap_or(0);
        let name = object.path.as_ref();
        let mut compression = FileCompression::detect(name, &[]);
        if compression == FileCompression::None && size > 0 {
            let front = 0..size.min(COMPRESSION_FRONT_BYTES as u64);
            compression = FileCompression::detect(name, &self.fetcher.bytes(file as u32, front)?);
        }
        if compression == FileCompression::None && self.form.is_plain() {
            let mut ranges = block_ranges(&self.requests, file as u32, size);
            ranges.reverse();
            return Ok(BlockFile::Ranges { file, ranges, is_first: true });
        }
        let text = match compression {
            FileCompression::Zip => {
                let member = ZipMember::find(object, self.form.format)?;
                // The headers before the file, and the directory after it.
                self.fetcher.release(file as u32, 0..member.packed.start);
                self.fetcher.release(file as u32, member.packed.end..size);
                member.decompress(stored_bytes(&self.fetcher, file, member.packed.clone()))
            }
            _ => compression.decompress(stored_bytes(&self.fetcher, file, 0..size))?,
        };
        Ok(self.decompressed(file, compression, text))
    }

    fn decompressed(&self, file: usize, compression: FileCompression, text: Box<dyn Read + Send>) -> BlockFile {
        BlockFile::Decompressed { file, compression, reader: self.form.lines_of(text), is_first: true }
    }
}

/// The bytes of a block.
pub(crate) fn fetch_block(data: &BlockData, fetcher: &Fetcher) -> Result<Bytes> {
    match data {
        BlockData::Bytes(bytes) => Ok(bytes.clone()),
        BlockData::Range(file, range) => {
            let bytes = fetcher.bytes(*file, range.clone())?;
            fetcher.release(*file, range.clone());
            Ok(bytes)
        }
    }
}

/// Reads until the block is full or the text ends.
pub(crate) fn read_block(reader: &mut dyn Read, block_bytes: usize) -> std::io::Result<Bytes> {
    let mut block = Vec::with_capacity(block_bytes);
    reader.take(block_bytes as u64).read_to_end(&mut block)?;
    Ok(Bytes::from(block))
}

/// Cuts a file into blocks, none across two requests, so that no block has to be assembled.
fn block_ranges(requests: &[lakerace_io::Request], file: u32, size: u64) -> Vec<Range<u64>> {
    let mut ends: Vec<u64> = requests.iter().filter(|r| r.file == file).map(|r| r.range.end.min(size)).collect();
    ends.push(size);
    ends.sort_unstable();
    ends.dedup();
    let mut ranges = Vec::new();
    let mut at = 0;
    for end in ends {
        while at < end {
            let next = end.min(at + BLOCK_BYTES as u64);
            ranges.push(at..next);
            at = next;
        }
    }
    if ranges.is_empty() {
        ranges.push(0..0);
    }
    ranges
}

#[cfg(test)]
mod tests;
