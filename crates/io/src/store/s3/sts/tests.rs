use super::amazon_endpoint;

#[test]
fn the_endpoint_is_that_of_the_region() {
    // As botocore finds them, except for the first: it refuses to sign without a region.
    for (region, is_legacy, url, signed) in [
        (None, false, "https://sts.amazonaws.com", "us-east-1"),
        (Some("aws-global"), false, "https://sts.amazonaws.com", "us-east-1"),
        (Some("eu-west-1"), false, "https://sts.eu-west-1.amazonaws.com", "eu-west-1"),
        (Some("eu-west-1"), true, "https://sts.amazonaws.com", "us-east-1"),
        (Some("eu-south-1"), true, "https://sts.eu-south-1.amazonaws.com", "eu-south-1"),
        (Some("cn-north-1"), false, "https://sts.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        (Some("us-gov-west-1"), false, "https://sts.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
    ] {
        assert_eq!(amazon_endpoint(region, is_legacy), (url.to_owned(), signed), "{region:?} {is_legacy}");
    }
}
