//! Examples of each command, which its help ends with.

use clap::Command;

/// Commands by their names below `lakerace`, with lines that a shell takes.
const EXAMPLES: [(&str, &[&str]); 22] = [
    (
        "copy",
        &[
            "lakerace copy orders.csv orders.parquet",
            "lakerace copy orders.parquet delta:lake/orders --partition-by day",
            "lakerace copy orders.parquet sqlite:orders.db#orders --key order_id",
            "lakerace copy orders.parquet new.orc --dry-run",
            "lakerace copy - rows.parquet --input-format csv < orders.csv",
        ],
    ),
    (
        "scan",
        &[
            "lakerace scan orders.parquet --columns day,price --where \"price > 9000\" --limit 5",
            "lakerace scan orders.parquet --columns \"order_id as id, price * 1.2 as gross\" --limit 5",
            "lakerace scan orders.parquet --order-by \"price desc, day\" --limit 10",
            "lakerace scan orders.parquet --where \"price > 9000\" --explain",
            "lakerace scan orders.parquet --format jsonl -o rows.jsonl",
        ],
    ),
    ("diff", &["lakerace diff orders.parquet orders.csv --key order_id"]),
    (
        "sql",
        &[
            "lakerace sql \"select day, sum(price) as total from 'orders.parquet' group by day order by day\"",
            "lakerace sql \"select count(*) from 'lake/orders' where price > 9000\" --explain",
            "lakerace sql \"select * from o where price > 2000 limit 3\" --relation o=orders.parquet --format jsonl",
        ],
    ),
    ("check", &["lakerace check lake/"]),
    ("config", &["lakerace config", "lakerace config --json"]),
    ("schema", &["lakerace schema orders.parquet", "lakerace schema orders.csv --json"]),
    (
        "upsert",
        &[
            "lakerace upsert lake/orders changes.csv --key order_id",
            "lakerace upsert delta:lake/prices changes.csv --key order_id",
        ],
    ),
    (
        "update",
        &[
            "lakerace update lake/orders --set \"price = price * 1.1\" --where \"day >= '2026-01-01'\"",
            "lakerace update lake/orders --set \"price = ?\" --param 99.5 --where \"order_id = ?\" --param 7 --dry-run",
        ],
    ),
    ("delete", &["lakerace delete lake/orders --where \"price < 0\""]),
    (
        "alter",
        &[
            "lakerace alter lake/orders --set delta.enableChangeDataFeed=true",
            "lakerace alter lake/orders --add-column \"note text\" --constraint known=\"order_id >= 0\"",
        ],
    ),
    ("changes", &["lakerace changes lake/orders --from 1"]),
    ("history", &["lakerace history lake/orders --limit 5"]),
    ("restore", &["lakerace restore lake/orders --at 1"]),
    ("compact", &["lakerace compact lake/orders --sort-by price"]),
    ("vacuum", &["lakerace vacuum lake/orders --dry-run"]),
    ("verify", &["lakerace verify lake/orders --deep"]),
    ("sync", &["lakerace sync lake/orders sqlite:copy.db#orders --key order_id"]),
    (
        "tpch",
        &[
            "lakerace tpch -s 0.01 -o tpch",
            "lakerace tpch -s 0.01 -o lake/tpch --format delta --tables orders,lineitem",
        ],
    ),
    (
        "files",
        &[
            "lakerace files put pack.db in/orders.csv orders.csv",
            "lakerace files ls pack.db in/",
            "lakerace files get pack.db in/orders.csv -o back.csv",
        ],
    ),
    ("completions", &["lakerace completions bash > lakerace.bash"]),
    ("man", &["lakerace man man1"]),
];

/// Adds its examples to each command.
pub(super) fn with_examples(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (name, lines)| {
        let text = format!("Examples:\n  {}", lines.join("\n  "));
        command.mut_subcommand(name, |subcommand| subcommand.after_help(text))
    })
}
