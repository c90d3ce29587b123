//! Reads an Arrow IPC file into memory, writes it as ORC, and prints rows, bytes and seconds.
//!
//! ```text
//! cargo run --release -p lakerace-orc --example encode_bench -- IN.arrow OUT.orc [OPTION=VALUE]...
//! ```
//!
//! Options: `codec` (none, zlib, snappy, lz4, zstd), `level`, `block`, `stripe` (bytes), `stride` (rows), `dictionary`
//! (threshold), `bloom` (columns, comma between), `fpp`, `threads`, `rows` (of a batch), `rounds`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::ipc::reader::FileReader;
use lakerace_orc::Codec;
use lakerace_orc::write::{Writer, WriterOptions};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, rest @ ..] = &args[..] else {
        panic!("usage: encode_bench IN.arrow OUT.orc [OPTION=VALUE]...")
    };
    let (mut options, mut rounds, mut batch_rows) = (WriterOptions::default(), 1, usize::MAX);
    for arg in rest {
        let (name, value) = arg.split_once('=').unwrap_or_else(|| panic!("{arg} has no ="));
        let number = || value.parse().unwrap_or_else(|_| panic!("{arg} is not a number"));
        match name {
            "codec" => options.codec = codec(value),
            "level" => options.level = Some(value.parse().expect("a level")),
            "block" => options.block_size = number(),
            "stripe" => options.stripe_size = number(),
            "stride" => options.row_index_stride = number() as u32,
            "dictionary" => options.dictionary_threshold = value.parse().expect("a threshold"),
            "bloom" => options.bloom_filters = value.split(',').map(str::to_owned).collect(),
            "fpp" => options.bloom_fpp = value.parse().expect("a probability"),
            "threads" => options.threads = number(),
            "rows" => batch_rows = number(),
            "rounds" => rounds = number(),
            _ => panic!("there is no option {name}"),
        }
    }
    let reader = FileReader::try_new(File::open(input).expect("input"), None).expect("an Arrow file");
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.expect("a batch")).collect();
    for round in 0..rounds {
        let start = Instant::now();
        let mut writer = Writer::new(schema.clone(), options.clone()).unwrap_or_else(|e| panic!("{e}"));
        let (mut pieces, mut memory) = (Vec::new(), 0);
        for batch in &batches {
            for at in (0..batch.num_rows()).step_by(batch_rows) {
                let part = batch.slice(at, batch_rows.min(batch.num_rows() - at));
                pieces.extend(writer.write(&part).unwrap_or_else(|e| panic!("{e}")));
                memory = memory.max(writer.memory_bytes());
            }
        }
        let finished = writer.finish().unwrap_or_else(|e| panic!("{e}"));
        let seconds = start.elapsed().as_secs_f64();
        pieces.extend(finished.pieces);
        if round == 0 {
            let mut file = File::create(output).expect("output");
            pieces.iter().for_each(|piece| file.write_all(piece).expect("written"));
        }
        println!(
            "rows {} bytes {} stripes {} seconds {seconds:.3} memory {memory}",
            finished.rows, finished.bytes, finished.stripes
        );
    }
}

fn codec(name: &str) -> Codec {
    match name {
        "none" => Codec::None,
        "zlib" => Codec::Zlib,
        "snappy" => Codec::Snappy,
        "lz4" => Codec::Lz4,
        "zstd" => Codec::Zstd,
        other => panic!("there is no codec {other}"),
    }
}
