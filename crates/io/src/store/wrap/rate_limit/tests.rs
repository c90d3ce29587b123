use super::*;

#[tokio::test(start_paused = true)]
async fn bytes_pass_at_the_rate() {
    let mut pace = BytePace::new(Some(1e6));
    let start = Instant::now();
    pace.begin();
    let mut left = 3_000_000;
    while left > 0 {
        let step = pace.step(left);
        pace.passed(step).await;
        left -= step;
    }
    let seconds = start.elapsed().as_secs_f64();
    // Virtual time: exact but for the timer's millisecond.
    assert!((2.995..3.01).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn idle_time_is_not_saved_up() {
    let mut pace = BytePace::new(Some(1e6));
    tokio::time::sleep(Duration::from_secs(10)).await;
    pace.begin();
    let start = Instant::now();
    pace.passed(1_000_000).await;
    assert!(start.elapsed() >= Duration::from_millis(990));
}
