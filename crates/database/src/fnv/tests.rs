use super::{fnv, part_of};

#[test]
fn it_is_the_published_hash() {
    assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn parts_get_similar_numbers_of_keys() {
    let sequences: [(&str, Vec<Vec<u8>>); 5] = [
        ("numbers", (0..4000_u64).map(|n| n.to_be_bytes().to_vec()).collect()),
        ("numbers of 32 bits", (0..4000_u32).map(|n| n.to_be_bytes().to_vec()).collect()),
        ("every fourth number", (0..4000_u64).map(|n| (4 * n).to_be_bytes().to_vec()).collect()),
        ("thousands", (0..4000_u64).map(|n| (1000 * n).to_be_bytes().to_vec()).collect()),
        ("texts", (0..4000).map(|n| format!("customer-{n:06}").into_bytes()).collect()),
    ];
    for (name, keys) in sequences {
        let mut counts = [0; 4];
        for key in &keys {
            counts[part_of(key, 4)] += 1;
        }
        assert!(counts.iter().all(|count| (700..1300).contains(count)), "{name}: {counts:?}");
    }
}
