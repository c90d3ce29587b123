//! Files as a sequence of blocks of text: ranges of plain files, or the output of a decompressor.

use std::io::{BufRead, Read};
use std::ops::Range;

use bytes::Bytes;
use lakerace_io::{Error, Fetcher, Job, Object, PathProfile, RangeOptions, RequestPlan, Result, Wanted, plan_requests};

use super::gzip_members::GzipMembers;

/// Bytes of a block: small enough for a core's cache, large enough that the work between blocks does not show.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// Text that is read ahead for each thread, at most: a thread parses 150 MB in a second, and waits for a far store for a tenth of one.
const READ_AHEAD_BYTES_PER_THREAD: u64 = 16 << 20;

/// The same for all of them at least: some requests of several MiB.
const LEAST_READ_AHEAD_BYTES: u64 = 32 << 20;

/// How many requests what is read ahead has at least.
const REQUESTS_AHEAD: u64 = 4;

/// How requests for text are cut: as the job says, with less read ahead than for files that are decoded faster.
fn text_ranges(job: &Job) -> RangeOptions {
    let options = job.options();
    let enough = (options.threads as u64).saturating_mul(READ_AHEAD_BYTES_PER_THREAD).max(LEAST_READ_AHEAD_BYTES);
    let ranges = options.ranges;
    RangeOptions { prefetch_bytes: ranges.prefetch_bytes.min(enough), ..ranges }
}

/// The requests for text. One is not longer than a part of what may be read ahead: what is read of it stays in memory until the last of
/// its rows is gone.
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

/// How all bytes of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileCompression {
    None,
    Gzip,
    Zstd,
}

const MAKE_AGAIN: &str = "fetch or make the file again";

/// Whether bytes begin with a mark, as far as they go.
fn begins_like(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.iter().zip(mark).all(|(byte, wanted)| byte == wanted)
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

/// A block's bytes, or where they are: these can be fetched by the thread that works on them.
#[derive(Debug)]
pub(crate) enum BlockData {
    Bytes(Bytes),
    Range(u32, Range<u64>),
}

/// All files of a read, block by block.
pub(crate) struct BlockReader {
    fetcher: Fetcher,
    objects: Vec<Object>,
    /// Whether a file is read at all.
    wanted: Vec<bool>,
    requests: Vec<lakerace_io::Request>,
    next_index: usize,
    next_file: usize,
    current: Option<OpenFile>,
}

/// The file whose blocks are next.
enum OpenFile {
    /// The ranges that are still to come, the last one first.
    Ranges {
        file: usize,
        ranges: Vec<Range<u64>>,
        is_first: bool,
    },
    Decompressed {
        file: usize,
        reader: Box<dyn Read + Send>,
        is_first: bool,
    },
}

impl FileCompression {
    /// By the file's name, or else by its first bytes.
    pub fn detect(name: &str, first_bytes: &[u8]) -> Self {
        let name = name.to_ascii_lowercase();
        if name.ends_with(".gz") || first_bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
            Self::Gzip
        } else if name.ends_with(".zst")
            || name.ends_with(".zstd")
            || first_bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
        {
            Self::Zstd
        } else {
            Self::None
        }
    }

    /// The decompressed text: of all members of a gzip file, all frames of a zstd one.
    ///
    /// # Errors
    /// `Corrupt` where the first bytes are of no such file, whatever its name is.
    pub fn decompress(self, mut packed: impl BufRead + Send + 'static) -> Result<Box<dyn Read + Send>> {
        let first = packed.fill_buf().map_err(|e| self.error(&e))?;
        self.check_front(first)?;
        Ok(match self {
            Self::None => Box::new(packed),
            Self::Gzip => Box::new(GzipMembers::new(packed)),
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(packed);
                Box::new(decoder.map_err(|e| self.error(&e))?)
            }
        })
    }

    /// Fails where the first bytes of a file are not those of its compression.
    fn check_front(self, first: &[u8]) -> Result<()> {
        let (name, is_it) = match self {
            Self::None => return Ok(()),
            Self::Gzip => ("gzip", begins_like(first, &[0x1f, 0x8b])),
            // A frame, or one that is skipped.
            Self::Zstd => (
                "zstd",
                begins_like(first, &[0x28, 0xb5, 0x2f, 0xfd]) || first.first().is_some_and(|byte| byte >> 4 == 5),
            ),
        };
        if first.is_empty() {
            return Err(Error::corrupt(format!("the file is empty, so it is no {name} file")).advice(MAKE_AGAIN));
        }
        if is_it {
            return Ok(());
        }
        Err(Error::corrupt(format!("the name says that the file is packed with {name}, and its content is not"))
            .advice("rename the file as what it is, or pack it"))
    }

    /// The error for one of reading decompressed text.
    pub fn error(self, error: &std::io::Error) -> Error {
        // An error of the store that came through the decompressor.
        if let Some(inner) = error.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
            return inner.clone();
        }
        let name = match self {
            Self::None => "file",
            Self::Gzip => "gzip stream",
            Self::Zstd => "zstd stream",
        };
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            Error::corrupt(format!("the {name} is truncated")).advice(MAKE_AGAIN)
        } else {
            Error::corrupt(format!("the {name} is damaged: {error}")).advice(MAKE_AGAIN)
        }
    }
}

impl BlockReader {
    /// `objects` have a known size; only those of `wanted` are read.
    pub fn start(objects: Vec<Object>, wanted: Vec<bool>, plan: &RequestPlan, job: &Job) -> Result<Self> {
        let fetcher = Fetcher::start_within(objects.clone(), plan, text_ranges(job).prefetch_bytes, job)?;
        let requests = plan.requests.clone();
        Ok(Self { fetcher, objects, wanted, requests, next_index: 0, next_file: 0, current: None })
    }

    /// A handle on the fetcher, for [`fetch`].
    pub fn fetcher(&self) -> Fetcher {
        self.fetcher.clone()
    }

    /// The number of the next block.
    pub fn next_index(&self) -> usize {
        self.next_index
    }

    /// The next block. After an error it ends.
    pub fn next_block(&mut self) -> Result<Option<RawBlock>> {
        let Some(mut current) = self.current.take().map_or_else(|| self.open_next(), |c| Ok(Some(c)))? else {
            return Ok(None);
        };
        self.next_index += 1;
        let (block, is_last) = match &mut current {
            OpenFile::Ranges { file, ranges, is_first } => {
                let range = ranges.pop().unwrap_or(0..0);
                let data = if range.is_empty() {
                    BlockData::Bytes(Bytes::new())
                } else {
                    BlockData::Range(*file as u32, range)
                };
                let is_last = ranges.is_empty();
                (RawBlock { file: *file, is_first: std::mem::take(is_first), is_last, data }, is_last)
            }
            OpenFile::Decompressed { file, reader, is_first } => {
                let compression = self.compression_hint(*file);
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

    /// For error messages only: what the name says, gzip where it says nothing.
    fn compression_hint(&self, file: usize) -> FileCompression {
        match FileCompression::detect(self.objects[file].path.as_ref(), &[]) {
            FileCompression::None => FileCompression::Gzip,
            named => named,
        }
    }

    fn open_next(&mut self) -> Result<Option<OpenFile>> {
        while self.wanted.get(self.next_file) == Some(&false) {
            self.next_file += 1;
        }
        let file = self.next_file;
        let Some(object) = self.objects.get(file) else { return Ok(None) };
        self.next_file += 1;
        if let Some(pipe) = object.stream() {
            let (first, _) = pipe.peek(4, &object.store.job)?;
            let packed = std::io::BufReader::with_capacity(BLOCK_BYTES, pipe.reader(&object.store.job)?);
            let reader =
                FileCompression::detect(pipe.name(), &first).decompress(packed).map_err(|e| e.at(object.url()))?;
            return Ok(Some(OpenFile::Decompressed { file, reader, is_first: true }));
        }
        let size = object.size_bytes.unwrap_or(0);
        let name = object.path.as_ref();
        let mut compression = FileCompression::detect(name, &[]);
        if compression == FileCompression::None && size > 0 {
            compression = FileCompression::detect(name, &self.fetcher.bytes(file as u32, 0..size.min(4))?);
        }
        if compression == FileCompression::None {
            let mut ranges = block_ranges(&self.requests, file as u32, size);
            ranges.reverse();
            return Ok(Some(OpenFile::Ranges { file, ranges, is_first: true }));
        }
        let fetcher = self.fetcher.clone();
        let packed = RangeReader::new(move |at| {
            if at >= size {
                return Ok(Bytes::new());
            }
            let bytes = fetcher.bytes_some(file as u32, at..size.min(at + BLOCK_BYTES as u64))?;
            // No one reads it again.
            fetcher.release(file as u32, at..at + bytes.len() as u64);
            Ok(bytes)
        });
        let reader = compression.decompress(packed).map_err(|e| e.at(object.url()))?;
        Ok(Some(OpenFile::Decompressed { file, reader, is_first: true }))
    }
}

/// The bytes of a block.
pub(crate) fn fetch(data: &BlockData, fetcher: &Fetcher) -> Result<Bytes> {
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

/// Cuts a file into blocks, none across two requests, so that no block has to be put together.
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

/// A file's stored bytes in order, fetched range by range: `fetch(at)` gives those that begin at a position, none at the end.
pub(crate) struct RangeReader<F> {
    fetch: F,
    at: u64,
    bytes: Bytes,
}

impl<F: FnMut(u64) -> Result<Bytes>> RangeReader<F> {
    /// From the front.
    pub fn new(fetch: F) -> Self {
        Self { fetch, at: 0, bytes: Bytes::new() }
    }
}

impl<F: FnMut(u64) -> Result<Bytes>> Read for RangeReader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let ready = self.fill_buf()?;
        let n = ready.len().min(buffer.len());
        buffer[..n].copy_from_slice(&ready[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl<F: FnMut(u64) -> Result<Bytes>> BufRead for RangeReader<F> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.bytes.is_empty() {
            self.bytes = (self.fetch)(self.at).map_err(std::io::Error::other)?;
            self.at += self.bytes.len() as u64;
        }
        Ok(&self.bytes)
    }

    fn consume(&mut self, n: usize) {
        let _ = self.bytes.split_to(n.min(self.bytes.len()));
    }
}

#[cfg(test)]
mod tests;
