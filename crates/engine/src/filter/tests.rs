#![allow(clippy::unwrap_used)]
use lakerace_io::ErrorKind;

use super::*;

fn column(name: &str) -> Box<Expr> {
    Box::new(Expr::Column(name.to_owned()))
}

fn number(digits: i128, scale: u8) -> Literal {
    Literal::Number { digits, scale }
}

fn compare(name: &str, op: CompareOp, literal: Literal) -> Expr {
    Expr::Compare { op, left: column(name), right: Box::new(Expr::Literal(literal)) }
}

fn text(t: &str) -> Literal {
    Literal::Text(t.to_owned())
}

#[test]
fn comparisons_and_constants() {
    use CompareOp::*;
    for (sql, op) in [
        ("=", Eq),
        ("==", Eq),
        ("<>", NotEq),
        ("!=", NotEq),
        ("<", Less),
        ("<=", LessOrEq),
        (">", Greater),
        (">=", GreaterOrEq),
    ] {
        assert_eq!(parse_filter(&format!("price {sql} 5")).unwrap(), compare("price", op, number(5, 0)));
    }
    let constants = [
        ("1.50", number(150, 2)),
        (".5", number(5, 1)),
        ("-1.5", number(-15, 1)),
        ("- 7", number(-7, 0)),
        ("1e3", Literal::Float(1e3)),
        ("-2.5e-1", Literal::Float(-0.25)),
        (
            "170141183460469231731687303715884105728",
            Literal::LongNumber("170141183460469231731687303715884105728".into()),
        ),
        ("1e400", Literal::LongNumber("1e400".into())),
        ("-1.00000000000000000001e0", Literal::LongNumber("-1.00000000000000000001e0".into())),
        ("'it''s'", text("it's")),
        ("TRUE", Literal::Boolean(true)),
        ("null", Literal::Null),
        ("X'00fF'", Literal::Binary(vec![0, 255])),
        ("DATE '2024-02-29'", Literal::Date(19_782)),
        ("timestamp '1970-01-01 00:00:01'", Literal::Timestamp { nanoseconds: 1_000_000_000, is_utc: false }),
        ("TIMESTAMP '1970-01-01T01:00+01:00'", Literal::Timestamp { nanoseconds: 0, is_utc: true }),
        ("TIMESTAMP WITH TIME ZONE '1970-01-01T00:00Z'", Literal::Timestamp { nanoseconds: 0, is_utc: true }),
        ("TIME '12:30'", text("12:30")),
    ];
    for (sql, literal) in constants {
        assert_eq!(parse_filter(&format!("x = {sql}")).unwrap(), compare("x", Eq, literal), "{sql}");
    }
}

#[test]
fn names() {
    assert_eq!(parse_filter("\"a b\" = 1").unwrap(), compare("a b", CompareOp::Eq, number(1, 0)));
    assert_eq!(parse_filter("`A`.b = 1").unwrap(), compare("A.b", CompareOp::Eq, number(1, 0)));
    assert_eq!(parse_filter("date = '2024-01-01'").unwrap(), compare("date", CompareOp::Eq, text("2024-01-01")));
    assert_eq!(parse_filter("ok").unwrap(), Expr::Column("ok".into()));
}

#[test]
fn logic() {
    let is = |n: &str| Expr::Column(n.into());
    assert_eq!(parse_filter("a AND b AND c").unwrap(), Expr::And(vec![is("a"), is("b"), is("c")]));
    assert_eq!(
        parse_filter("a OR b AND NOT c").unwrap(),
        Expr::Or(vec![is("a"), Expr::And(vec![is("b"), not(is("c"))])])
    );
    assert_eq!(parse_filter("(a OR b) AND c").unwrap(), Expr::And(vec![Expr::Or(vec![is("a"), is("b")]), is("c")]));
    let null = |n: &str| Expr::IsNull(column(n));
    assert_eq!(parse_filter("a IS NULL OR b IS NOT NULL").unwrap(), Expr::Or(vec![null("a"), not(null("b"))]));
    assert_eq!(parse_filter("a IS TRUE").unwrap(), Expr::And(vec![not(null("a")), is("a")]));
    assert_eq!(parse_filter("a IS NOT FALSE").unwrap(), not(Expr::And(vec![not(null("a")), not(is("a"))])));
    let list = Expr::In { expr: column("a"), list: vec![number(1, 0), text("x"), Literal::Null] };
    assert_eq!(parse_filter("a IN (1, 'x', NULL)").unwrap(), list);
    assert_eq!(parse_filter("a NOT IN (1, 'x', NULL)").unwrap(), not(list));
    let between = Expr::And(vec![
        compare("a", CompareOp::GreaterOrEq, number(1, 0)),
        compare("a", CompareOp::LessOrEq, number(2, 0)),
    ]);
    assert_eq!(parse_filter("a BETWEEN 1 AND 2").unwrap(), between);
    assert_eq!(parse_filter("a NOT BETWEEN 1 AND 2").unwrap(), not(between));
    let like = |pattern: &str, escape, case_insensitive| Expr::Like {
        expr: column("a"),
        pattern: pattern.into(),
        escape,
        case_insensitive,
    };
    assert_eq!(parse_filter("a LIKE 'x%'").unwrap(), like("x%", None, false));
    assert_eq!(parse_filter("a NOT ILIKE 'x!%' ESCAPE '!'").unwrap(), not(like("x!%", Some('!'), true)));
    let product = Expr::Arithmetic {
        op: ArithmeticOp::Multiply,
        left: column("b"),
        right: Box::new(Expr::Literal(number(2, 0))),
    };
    let sum = Expr::Arithmetic { op: ArithmeticOp::Add, left: column("a"), right: Box::new(product) };
    assert_eq!(
        parse_filter("a + b * 2 > 3").unwrap(),
        Expr::Compare { op: CompareOp::Greater, left: Box::new(sum), right: Box::new(Expr::Literal(number(3, 0))) }
    );
}

#[test]
fn errors_say_where() {
    let error = |sql: &str| parse_filter(sql).unwrap_err();
    let cases = [
        ("", ErrorKind::Usage, "filter: it is empty"),
        ("a >", ErrorKind::Usage, "filter: expected: an expression, found: the end of the filter"),
        ("a > 1 b", ErrorKind::Usage, "filter: line 1 column 7: unexpected b after the end"),
        ("a = 1\nAND (b = 2", ErrorKind::Usage, "found: the end of the filter"),
        ("a = 'x", ErrorKind::Usage, "line 1 column 5"),
        ("a = DATE '2024-02-30'", ErrorKind::Usage, "'2024-02-30' is not a valid date"),
        ("a = X'0'", ErrorKind::Usage, "not pairs of hexadecimal"),
        ("sqrt(a) = 1", ErrorKind::Unsupported, "filter: line 1 column 1: the function sqrt can't be used here"),
        ("a = 1 AND CAST(b AS BLOBS) = 2", ErrorKind::Usage, "unknown type"),
        ("a IN (SELECT 1)", ErrorKind::Unsupported, "a subquery can't be used"),
        ("a & 1 = 1", ErrorKind::Unsupported, "the operator & can't be used"),
        ("sum(a) OVER (PARTITION BY b) = 1", ErrorKind::Unsupported, "aggregates rows"),
        ("a + INTERVAL '1 fortnight' > b", ErrorKind::Usage, "not an interval"),
        ("a = ?", ErrorKind::Usage, "a placeholder"),
        ("a LIKE b", ErrorKind::Unsupported, "LIKE with a pattern"),
        ("a[1] = 1", ErrorKind::Unsupported, "[…] can't be used"),
    ];
    for (sql, kind, message) in cases {
        let error = error(sql);
        assert_eq!(error.kind(), kind, "{sql}: {error}");
        assert!(error.to_string().contains(message), "{sql}: {error}");
    }
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = format!("{}a = 1{}", "(".repeat(10_000), ")".repeat(10_000));
    let error = parse_filter(&nested).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let nots = format!("{} a", "NOT ".repeat(10_000));
    let error = parse_filter(&nots).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let sum = vec!["a"; 500_000].join("+");
    assert_eq!(parse_filter(&format!("{sum} = 1")).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(parse_filter(&format!("{sum} )")).unwrap_err().kind(), ErrorKind::Usage);
    let minuses = format!("{}1 = a", "- ".repeat(200_000));
    assert_eq!(parse_filter(&minuses).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(parse_filter(&"x".repeat(MAX_BYTES + 1)).unwrap_err().kind(), ErrorKind::Usage);
    // Long is fine where it is not deep.
    let Expr::And(parts) = parse_filter(&vec!["a = 1"; 20_000].join(" AND ")).unwrap() else { unreachable!() };
    assert_eq!(parts.len(), 20_000);
    assert!(parse_filter(&format!("{}a = 1{}", "(".repeat(40), ")".repeat(40))).is_ok());
}

#[test]
fn columns_may_be_named_like_functions_and_types() {
    let names = [
        "user",
        "USER",
        "current_user",
        "session_user",
        "current_role",
        "current_date",
        "current_time",
        "current_timestamp",
        "current_catalog",
        "localtime",
        "localtimestamp",
        "date",
        "time",
        "timestamp",
        "datetime",
        "year",
        "month",
        "day",
        "hour",
        "second",
        "key",
        "value",
        "values",
        "name",
        "type",
        "level",
        "rank",
        "row",
        "rows",
        "first",
        "last",
        "desc",
        "asc",
        "option",
        "comment",
        "column",
        "index",
        "left",
        "right",
        "count",
        "sum",
        "min",
        "max",
        "map",
        "list",
        "position",
        "floor",
        "ceil",
        "extract",
        "substring",
        "text",
        "number",
        "status",
        "role",
        "schema",
        "table",
        "zone",
        "language",
        "data",
    ];
    for name in names {
        let column = Box::new(Expr::Column(name.to_owned()));
        let one = Box::new(Expr::Literal(Literal::Number { digits: 1, scale: 0 }));
        let expected = Expr::Compare { op: CompareOp::Eq, left: column.clone(), right: one };
        assert_eq!(parse_filter(&format!("{name} = 1")).map_err(|e| e.to_string()), Ok(expected), "{name}");
        assert_eq!(
            parse_filter(&format!("{name} IS NULL")).map_err(|e| e.to_string()),
            Ok(Expr::IsNull(column)),
            "{name}"
        );
    }
}

#[test]
fn keywords_are_advised_to_be_quoted() {
    for name in ["exists", "struct", "interval", "trim"] {
        let error = parse_filter(&format!("{name} = 1")).unwrap_err().to_string();
        assert!(error.contains("in double quotes"), "{error}");
        assert_eq!(parse_filter(&format!("\"{name}\" = 1")).unwrap(), parse_filter(&format!("`{name}` = 1")).unwrap());
    }
}

#[test]
fn operands_that_are_copied_again_and_again_are_bounded() {
    let nested =
        |levels: usize, wrap: &dyn Fn(String) -> String| (0..levels).fold("a".to_owned(), |text, _| wrap(text));
    let wraps: [&dyn Fn(String) -> String; 5] = [
        &|text| format!("nullif({text}, 1)"),
        &|text| format!("CASE {text} WHEN 1 THEN 2 WHEN 3 THEN 4 END"),
        &|text| format!("({text} BETWEEN 1 AND 2)"),
        &|text| format!("({text} IS TRUE)"),
        &|text| format!("({text} IN (b, c))"),
    ];
    for wrap in wraps {
        assert!(parse_filter(&nested(5, wrap)).is_ok());
        let error = parse_filter(&nested(40, wrap)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains("100000 places"), "{error}");
    }
    // Many of them next to each other are as many as a list may be long.
    let wide: Vec<String> = (0..1000).map(|n| format!("a BETWEEN {n} AND {n}")).collect();
    assert!(parse_filter(&wide.join(" OR ")).is_ok());
}
