use super::redacted;

#[test]
fn credentials_become_stars() {
    for (text, expected) in [
        ("mongodb://me:p%40ss@host:27017/db/c", "mongodb://***@host:27017/db/c"),
        ("reading elasticsearch://a:b@c@host/i failed", "reading elasticsearch://***@host/i failed"),
        ("mongodb://me:p?w#/x@host/db/c@d", "mongodb://***@d"),
        ("mongodb://me:/pw@host/db/c", "mongodb://***@host/db/c"),
        ("mongodb://me:12/34@host/db/c", "mongodb://***@host/db/c"),
        ("mongodb://a:p1@h1/d/c,mongodb://b:p2@h2/d/c", "mongodb://***@h1/d/c,mongodb://***@h2/d/c"),
        ("mongodb://a:p1@h1,mongodb://b:p2@h2", "mongodb://***@h1,mongodb://***@h2"),
        ("secret_key='a b', password=\"x y\" z", "secret_key=***, password=*** z"),
        ("mongodb://me:pw@host/db/c@d", "mongodb://***@host/db/c@d"),
        ("https://host/x.parquet?X-Amz-Signature=1&b=2", "https://host/x.parquet?***"),
        ("select * from 'https://host/x?sig=a b' where c", "select * from 'https://host/x?*** b' where c"),
        ("az://c/x?sv=2024&sig=abc: not found", "az://c/x?*** not found"),
        ("aws_secret_access_key=abc/+d, x=1", "aws_secret_access_key=***, x=1"),
        ("AccountName=a;AccountKey=bb==;EndpointSuffix=c", "AccountName=a;AccountKey=***;EndpointSuffix=c"),
        ("SharedAccessSignature=sv=2024&sig=abc", "SharedAccessSignature=***"),
        ("sig=abc", "sig=***"),
        ("AWS_SESSION_TOKEN=abc", "AWS_SESSION_TOKEN=***"),
    ] {
        assert_eq!(redacted(text), expected);
    }
}

#[test]
fn other_texts_stay() {
    for text in [
        "/data/a@b?c=1",
        "s3://bucket/a@b/x.parquet",
        "http://host:9000/a@b/x.parquet",
        "abfss://container@account.dfs.core.windows.net/x",
        "lakerace.primaryKey=id",
        "tpch:lineitem?sf=1",
        "price >= 1 and design=2",
    ] {
        assert_eq!(redacted(text), text);
    }
}
