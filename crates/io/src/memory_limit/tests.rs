#![allow(clippy::unwrap_used)]

use super::check_memory;
use crate::ErrorKind;

#[test]
fn the_least_limit_is_that_of_the_error() {
    for (columns, least) in [(0, 32_768), (1, 49_152), (2, 65_536), (100, 1_671_168)] {
        assert!(check_memory(least, columns).is_ok());
        let error = check_memory(least - 1, columns).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(&least.to_string()), "{error}");
    }
}
