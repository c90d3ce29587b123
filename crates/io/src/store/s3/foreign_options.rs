//! Storage options for S3 of other tools: delta-rs, polars, s3fs and pyarrow.

use crate::store::foreign_options::{ForeignOption, is_false};

const PUT_IF_ABSENT: &str = "a commit is a put-if-absent, which is safe with several writers and renames nothing";
const NO_LOCK_TABLE: &str = "a commit is a put-if-absent and takes no lock in DynamoDB; writers that rely on the lock \
                             alone are not isolated from it";
const CREDENTIALS: &str = "given keys are used; those of the machine are requested only if none are given";

/// The meaning of an option by its name in lower case.
pub(super) fn foreign_option(name: &str) -> Option<ForeignOption> {
    use ForeignOption::{Alias, Converted, Profile, Role, RoleSessionName, Unneeded};
    Some(match name {
        "key" | "username" | "access_key" => Alias("aws_access_key_id"),
        "secret" | "password" | "secret_key" => Alias("aws_secret_access_key"),
        "region_name" => Alias("aws_region"),
        "endpoint_override" => Alias("aws_endpoint_url"),
        "anon" | "anonymous" => Alias("aws_skip_signature"),
        "requester_pays" => Alias("aws_request_payer"),
        "use_ssl" => Converted("aws_allow_http", |value| is_false(value).then(|| "true".to_owned())),
        "scheme" => Converted("aws_allow_http", |value| value.eq_ignore_ascii_case("http").then(|| "true".to_owned())),
        "aws_s3_addressing_style" | "addressing_style" => {
            Converted("aws_virtual_hosted_style_request", |value| match value.to_ascii_lowercase().as_str() {
                "virtual" => Some("true".to_owned()),
                "path" => Some("false".to_owned()),
                _ => None,
            })
        }
        "aws_s3_pool_idle_timeout_seconds" => Converted("pool_idle_timeout", |value| Some(format!("{value}s"))),
        "aws_profile" | "profile" | "profile_name" => Profile,
        "aws_s3_allow_unsafe_rename" | "allow_unsafe_rename" | "mount_allow_unsafe_rename" => {
            Unneeded(PUT_IF_ABSENT.into())
        }
        "aws_s3_locking_provider" | "locking_provider" | "aws_endpoint_url_dynamodb" | "endpoint_url_dynamodb" => {
            Unneeded(NO_LOCK_TABLE.into())
        }
        name if name.ends_with("_dynamodb")
            || name.starts_with("delta_dynamo_")
            || name == "dynamo_lock_table_name" =>
        {
            Unneeded(NO_LOCK_TABLE.into())
        }
        "aws_sts_pool_idle_timeout_seconds" | "aws_force_credential_load" | "aws_ec2_metadata_disabled" => {
            Unneeded(CREDENTIALS.into())
        }
        "aws_iam_role_arn" | "aws_s3_assume_role_arn" => Role,
        "aws_iam_role_session_name" | "aws_s3_role_session_name" => RoleSessionName,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
