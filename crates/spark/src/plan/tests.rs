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
