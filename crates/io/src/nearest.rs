//! The known name that a mistyped one probably means.

/// The candidate nearest to `name`: the same except for case, or else within a few edits. `None` if nothing is near.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    // A third of the letters may differ: enough for typing errors, too little to suggest nonsense.
    let tolerance = (lower.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let other = candidate.to_lowercase();
        if other.chars().count().abs_diff(lower.chars().count()) > tolerance {
            continue;
        }
        let distance = strsim::damerau_levenshtein(&lower, &other);
        let is_same_length_rewrite = distance >= lower.chars().count();
        if distance <= tolerance && !is_same_length_rewrite && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
