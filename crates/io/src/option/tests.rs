#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use super::*;
use crate::Error;

/// The text of an option at the command line, in Python, in Spark and at no door in particular.
fn at_doors(text: &str) -> [String; 4] {
    [Door::CommandLine, Door::Python, Door::Spark, Door::Library].map(|door| door.show(text).into_owned())
}

#[test]
fn each_door_has_its_own_words() {
    let cases = [
        (
            MODE.to("overwrite").to_string(),
            ["--mode overwrite", "mode=\"overwrite\"", ".mode(\"overwrite\")", "`mode=overwrite`"],
        ),
        (FILE_MODE.to("overwrite").to_string(), ["--mode overwrite", "if_exists=\"replace\"", "", ""]),
        (RESUME.to_string(), ["--resume", "resume=True", "`resume`", "`resume`"]),
        (NO_HEADER.to_string(), ["--no-header", "header=False", ".option(\"header\", \"false\")", "`no_header=false`"]),
        (WHERE.to("1 = 1").to_string(), ["--where '1 = 1'", "where=\"1 = 1\"", ".option(\"where\", \"1 = 1\")", ""]),
        (WHERE.to("a = 'b'").to_string(), [r"--where 'a = '\''b'\'''", "where=\"a = 'b'\"", "", ""]),
        (KEY.to("A,B").to_string(), ["--key A,B", "key=[\"A\", \"B\"]", ".option(\"key\", \"A,B\")", "`key=A,B`"]),
        (
            ON_DUPLICATE.to("last").to_string(),
            ["--on-duplicate last", "on_duplicate=\"last\"", ".option(\"sequence\", …)", "`on_duplicate=last`"],
        ),
        (DELIMITER.to(";").to_string(), ["--delimiter ';'", "delimiter=\";\"", ".option(\"delimiter\", \";\")", ""]),
        (DELIMITER.to(",").to_string(), ["--delimiter ','", "delimiter=\",\"", ".option(\"delimiter\", \",\")", ""]),
        (
            DELIMITER.to("\t").to_string(),
            [r"--delimiter '\t'", r#"delimiter="\t""#, r#".option("delimiter", "\t")"#, ""],
        ),
        (COLUMNS.to_string(), ["--columns", "columns", ".option(\"columns\", …)", "`columns`"]),
        (BATCH_ROWS.to("10").to_string(), ["--batch-rows 10", "batch_rows=10", ".option(\"batch_rows\", \"10\")", ""]),
        (BATCH_ROWS.to("all").to_string(), ["--batch-rows all", "batch_rows=\"all\"", "", ""]),
        (
            TABLE_PROPERTY.to("k=v").to_string(),
            ["--table-property k=v", "table_properties={\"k\": \"v\"}", ".option(\"table.k\", \"v\")", ""],
        ),
        (STORAGE_OPTION.to_string(), ["--storage-option", "storage_options", ".option(\"storage.…\", …)", ""]),
        (
            ALLOW_FOREIGN_PATHS.to_string(),
            ["--allow-foreign-paths", "storage_options={\"allow_foreign_paths\": \"true\"}", "", ""],
        ),
        (
            ALTER.with([UNSET.to("a.b"), SET.to("c=d")]).to_string(),
            [
                "`lakerace alter TABLE --unset a.b --set c=d`",
                "`Table.alter(unset=[\"a.b\"], set={\"c\": \"d\"})`",
                "`lakerace alter TABLE --unset a.b --set c=d`",
                "`lakerace alter TABLE --unset a.b --set c=d`",
            ],
        ),
        (
            VERIFY_TABLE.on("my lake/t").with([REPAIR.given()]).to_string(),
            [
                "`lakerace verify 'my lake/t' --repair`",
                r#"`Table("my lake/t").verify(repair=True)`"#,
                "`lakerace verify 'my lake/t' --repair`",
                "`lakerace verify 'my lake/t' --repair`",
            ],
        ),
        (
            HISTORY.on("s3://lake/t").to_string(),
            ["`lakerace history s3://lake/t`", r#"`Table("s3://lake/t").history()`"#, "", ""],
        ),
        (HISTORY.to_string(), ["`lakerace history TABLE`", "`Table.history()`", "", ""]),
    ];
    for (text, expected) in cases {
        let shown = at_doors(&text);
        for (shown, expected) in shown.iter().zip(expected).filter(|(_, expected)| !expected.is_empty()) {
            assert_eq!(shown, expected);
        }
    }
}

#[test]
fn texts_keep_what_is_around_options() {
    let text = format!("é {MODE}, {} – {RESUME}", KEY.to("ä"));
    assert_eq!(Door::CommandLine.show(&text), "é --mode, --key ä – --resume");
    assert_eq!(mentions(&text).len(), 3);
    assert!(matches!(Door::Python.show("plain"), std::borrow::Cow::Borrowed("plain")));
}

/// Names in data may have any characters.
#[test]
fn what_is_no_option_stays() {
    for text in
        ["\u{fdd0}", "\u{fdd0}none\u{fdd2}", "\u{fdd3}alter", "\u{fdd3}none\u{fdd1}\u{fdd4}", "a\u{fdd0}\u{fdd0}b"]
    {
        assert_eq!(at_doors(text), [text; 4], "{text:?}");
    }
    assert_eq!(Door::CommandLine.show(&format!("\u{fdd0}{MODE}")), "\u{fdd0}--mode");
}

#[test]
fn errors_keep_options_through_places_and_causes() {
    let inner = Error::usage(format!("{LIMIT} is too small")).at(KEY.to("a")).advice(format!("omit {VERIFY}"));
    let text = inner.text(Door::CommandLine);
    assert_eq!(text.to_string(), "--key a: --limit is too small (omit --verify)");
    assert_eq!(inner.to_string(), "`key=a`: `limit` is too small (omit `verify`)");
    let outer = Error::invalid(format!("again: {}", inner.message())).at("a.parquet");
    assert_eq!(outer.text(Door::Python).to_string(), "a.parquet: again: limit is too small");
    let mentioned = mentions(inner.advice_text().unwrap());
    assert!(matches!(&mentioned[..], [Mention::Option(option)] if option.definition.id == "verify"), "{mentioned:?}");
}

#[test]
fn ids_and_flags_name_one_option() {
    let mut ids = HashSet::new();
    let mut flags = HashSet::new();
    for option in ALL {
        assert!(ids.insert(option.id), "{} is defined twice", option.id);
        for job in option.jobs.split(' ') {
            let flag = option.flag.unwrap_or(option.id);
            assert!(flags.insert((job, flag)), "{job} has two options --{flag}");
        }
    }
    assert!(ALL.len() > 80, "{}", ALL.len());
}

#[test]
fn an_error_names_the_option_of_another_source() {
    let error = Error::usage(format!("{AT} is given, and {}", AT.to("3"))).advice(format!("omit {AT}, not {LIMIT}"));
    let other = error.naming(&SECOND_AT, &AT);
    assert_eq!(
        other.text(Door::CommandLine).to_string(),
        "--second-at is given, and --second-at 3 (omit --second-at, not --limit)"
    );
    let call = Error::usage(format!("run {}", COPY.with([AT.to("3")]))).naming(&SECOND_AT, &AT);
    assert!(call.text(Door::CommandLine).to_string().contains("--at 3"), "{call}");
}
