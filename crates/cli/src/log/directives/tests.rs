#![allow(clippy::unwrap_used)]
use tracing::Level;

use super::parse;

#[test]
fn the_longest_target_applies() {
    let targets = parse("warn, lakerace_io=DEBUG,lakerace_io::retries=off").unwrap();
    assert!(targets.would_enable("lakerace_delta::commits", &Level::WARN));
    assert!(!targets.would_enable("lakerace_delta::commits", &Level::INFO));
    assert!(targets.would_enable("lakerace_io::requests", &Level::DEBUG));
    assert!(!targets.would_enable("lakerace_io::retries", &Level::ERROR));
    assert!(!targets.would_enable("hyper::client", &Level::ERROR));
}

#[test]
fn a_bad_directive_is_named() {
    for (text, named) in [
        ("loud", "\"loud\""),
        ("info,lakerace_io=5", "\"lakerace_io=5\""),
        ("hyper=trace", "\"hyper=trace\""),
        ("lakerace_io", "\"lakerace_io\""),
        ("=info", "\"=info\""),
        (",,,", "\",,,\""),
        ("\n", "\"\\n\""),
        (" ", "\" \""),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind().exit_code(), 2);
        assert!(error.message().contains(named), "{}", error.message());
    }
}

#[test]
fn a_target_without_events_is_refused_with_the_nearest_one() {
    for (text, near) in [
        ("lakerace_oi=debug", "did you mean lakerace_io?"),
        ("info,lakerace_io::request=off,lakerace_io::requets=debug", "did you mean lakerace_io::requests?"),
        ("lakerace_delta::commit::x=info", "targets are lakerace_cli::command, "),
        ("lakerace_format=debug", "targets are lakerace_cli::command, "),
        ("hyper=trace", "targets are lakerace_cli::command, "),
        ("io=debug", "targets are lakerace_cli::command, "),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind().exit_code(), 2);
        assert!(error.advice_text().is_some_and(|advice| advice.contains(near)), "{text}: {:?}", error.advice_text());
    }
    for text in ["lakerace=info", "lakerace_=info", "lakerace_io=off", "lakerace::plans=debug", "lakerace_io::re=info"]
    {
        assert!(parse(text).is_ok(), "{text}");
    }
}
