use super::matches_checksums;

/// Hadoop's checksum file of these bytes, in blocks of 512.
fn checksums(bytes: &[u8]) -> Vec<u8> {
    let algorithm = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    let mut file = b"crc\0\0\0\x02\0".to_vec();
    bytes.chunks(512).for_each(|block| file.extend(algorithm.checksum(block).to_be_bytes()));
    file
}

#[test]
fn checksums_are_of_these_bytes_alone() {
    for size in [1, 511, 512, 513, 2000] {
        let bytes: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
        let sums = checksums(&bytes);
        assert!(matches_checksums(&bytes, &sums), "{size}");
        assert!(!matches_checksums(&bytes[1..], &sums), "{size}");
        assert!(!matches_checksums(&[&bytes[..], b"x"].concat(), &sums), "{size}");
        assert!(!matches_checksums(&bytes, &sums[..sums.len() - 1]), "{size}");
        assert!(!matches_checksums(&bytes, &[&sums[..], b"abcd"].concat()), "{size}");
    }
    for none in [&b""[..], b"crc\0", b"crc\0\0\0\0\0", b"crd\0\0\0\x02\0"] {
        assert!(!matches_checksums(b"a", none));
    }
}
