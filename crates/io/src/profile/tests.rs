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
fn the_first_observation_counts_for_half() {
    let observations = Observations::new(PathProfile { latency_ms: 30.0, ..Observations::s3() });
    observations.observe(0.1, 0.001, 1000);
    assert_eq!(observations.profile().latency_ms, 65.0);
    observations.observe(0.1, 0.001, 1000);
    assert!((observations.profile().latency_ms - 76.7).abs() < 0.1);
    // A large body tells the bandwidth; the latency stays.
    observations.observe(9.0, 0.1, 10_000_000);
    let typical = Observations::s3().connection_bytes_per_second;
    assert_eq!(observations.profile().connection_bytes_per_second, (typical + 1e8) / 2.0);
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
