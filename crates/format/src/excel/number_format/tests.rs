use super::*;

#[test]
fn formats_show_dates_times_or_both() {
    use MomentKind::{Date, DateTime, Time, Unknown};
    let cases = [
        ("yyyy-mm-dd", Date),
        ("mm-dd-yy", Date),
        ("d-mmm", Date),
        ("mmm-yy", Date),
        ("mmmm", Date),
        ("[$-409]d\\-mmm\\-yy;@", Date),
        ("dddd, d. mmmm yyyy", Date),
        ("yyyy\"h\"mm\"s\"dd", Date),
        ("h:mm", Time),
        ("h:mm:ss AM/PM", Time),
        ("mm:ss", Time),
        ("mmss.0", Time),
        ("h\\h mm", Time),
        ("m/d/yy h:mm", DateTime),
        ("yyyy-mm-dd\\Thh:mm:ss.000", DateTime),
        ("dd.mm.yyyy A/P", DateTime),
        ("General", Unknown),
        ("", Unknown),
        ("\"unclosed", Unknown),
        ("[unclosed", Unknown),
        ("\\", Unknown),
    ];
    for (code, kind) in cases {
        assert_eq!(MomentKind::of_format(code), kind, "{code}");
    }
}
