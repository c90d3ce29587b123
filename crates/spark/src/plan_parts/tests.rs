use super::*;

#[test]
fn large_reads_have_larger_tasks_as_long_as_each_core_has_three() {
    let mib = |n: u64| n << 20;
    for (bytes, cores, most) in [
        (mib(100), 8, mib(128)),
        (mib(846), 1, mib(846)),
        (mib(5000), 1, mib(1024)),
        (mib(846), 2, mib(141)),
        (mib(846), 4, mib(128)),
        (mib(100_000), 4, mib(512)),
        (0, u64::MAX, mib(128)),
    ] {
        assert_eq!(most_task_bytes(bytes, cores), most, "{bytes} bytes, {cores} cores");
    }
}

#[test]
fn paths_of_fields_begin_with_their_column() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let fields = field_paths("s\u{1c}a\u{1d}s\u{1c}b.c\u{1c}x\u{1d}l\u{1c}q\u{1d}none");
    let expected = [
        ("l".to_owned(), vec![names(&["q"])]),
        ("none".to_owned(), Vec::new()),
        ("s".to_owned(), vec![names(&["a"]), names(&["b.c", "x"])]),
    ];
    assert_eq!(fields, FieldPaths::from(expected));
}
