#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::single_range_in_vec_init, reason = "a unit may be one run of rows")]

use super::*;

/// Unit, gap, and rows of each step.
fn steps(units: &[&[Range<u64>]], step_rows: usize, limit: Option<u64>) -> Vec<(usize, u64, Range<u64>)> {
    let steps = BatchPlan::new(units.iter().map(|unit| (*unit, step_rows)), limit);
    let all: Vec<ReadStep> = (0..steps.len()).map(|step| steps.get(step).unwrap()).collect();
    assert_eq!(steps.get(steps.len()), None);
    for unit in 0..=units.len() {
        let first = all.iter().position(|step| step.unit >= unit).unwrap_or(all.len());
        assert_eq!(steps.first_of(unit), first, "unit {unit}");
    }
    all.into_iter().map(|step| (step.unit, step.gap, step.range())).collect()
}

#[test]
fn units_are_cut_at_their_gaps() {
    let (first, none, last): (&[_], &[_], &[_]) = (&[0..10, 25..26], &[], &[5..9]);
    let wanted = [(0, 0, 0..4), (0, 0, 4..8), (0, 0, 8..10), (0, 15, 25..26), (2, 5, 5..9)];
    assert_eq!(steps(&[first, none, last], 4, None), wanted);
    assert_eq!(steps(&[first, none, last], 4, Some(9)), [(0, 0, 0..4), (0, 0, 4..8), (0, 0, 8..9)]);
    assert_eq!(steps(&[first, none, last], 100, Some(12)), [(0, 0, 0..10), (0, 15, 25..26), (2, 5, 5..6)]);
    assert_eq!(steps(&[], 4, None), []);
    assert_eq!(steps(&[first], 0, Some(1)), [(0, 0, 0..1)]);
}

#[test]
fn units_have_steps_of_their_own_length() {
    let steps = BatchPlan::new([(&[0..5][..], 2), (&[0..5][..], 4)], Some(9));
    let all: Vec<_> =
        (0..steps.len()).map(|step| steps.get(step).unwrap()).map(|step| (step.unit, step.range())).collect();
    assert_eq!(all, [(0, 0..2), (0, 2..4), (0, 4..5), (1, 0..4)]);
}

#[test]
fn absurd_counts_cost_nothing() {
    let rows = [0..u64::MAX];
    let steps = BatchPlan::new([(&rows[..], 1)], None);
    assert_eq!(steps.len(), usize::MAX);
    assert_eq!(steps.get(1 << 60), Some(ReadStep { unit: 0, start: 1 << 60, gap: 0, rows: 1 }));
}
