use super::*;

#[test]
fn numbers_strings_by_first_use() {
    let mut dictionary = DistinctStrings::new();
    for _ in 0..2 {
        let texts: Vec<String> = (0..20_000).map(|n: u64| "x".repeat((n % 40) as usize) + &n.to_string()).collect();
        for round in 0..2 {
            for (n, text) in texts.iter().enumerate() {
                assert_eq!(dictionary.insert(text.as_bytes()), Some(n as u32), "round {round}");
            }
        }
        assert_eq!(dictionary.insert(b""), Some(20_000));
        assert_eq!(dictionary.len(), 20_001);
        assert_eq!(dictionary.get(77), texts[77].as_bytes());
        assert_eq!(dictionary.lengths().sum::<i64>() as usize, dictionary.bytes().len());
        dictionary.clear();
        assert_eq!(dictionary.len(), 0);
    }
}

#[test]
fn hashes_of_similar_strings_differ() {
    let mut low: Vec<u64> = (0..4096u32).map(|n| hash(format!("{n:012}").as_bytes(), 1) & 0xf_ffff).collect();
    low.sort_unstable();
    low.dedup();
    // Of 4,096 random numbers below 2^20, about 8 are drawn twice.
    assert!(low.len() > 4050, "{} distinct", low.len());
}
