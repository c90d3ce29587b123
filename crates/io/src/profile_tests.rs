use super::*;

#[test]
fn observations_replace_the_typical_values() {
    let observations = Observations::new(Observations::s3());
    for _ in 0..200 {
        observations.observe(0.002, 0.001, 1000);
        observations.observe(0.5, 0.02, 8 << 20);
    }
    let profile = observations.profile();
    assert!((profile.latency_ms - 2.0).abs() < 0.01, "{profile:?}");
    let bandwidth = (8 << 20) as f64 / 0.02;
    assert!((profile.connection_bytes_per_second / bandwidth - 1.0).abs() < 0.01, "{profile:?}");
    assert!(profile.total_bytes_per_second >= profile.connection_bytes_per_second);
}

#[test]
fn a_large_body_says_nothing_of_the_latency() {
    let observations = Observations::new(Observations::s3());
    observations.observe(9.0, 1.0, 8 << 20);
    assert_eq!(observations.profile().latency_ms, Observations::s3().latency_ms);
}

#[test]
fn nonsense_is_ignored() {
    let observations = Observations::new(Observations::s3());
    observations.observe(f64::NAN, 1.0, 10);
    observations.observe(0.0, 0.0, 8 << 20);
    assert_eq!(observations.profile(), Observations::s3());
}
