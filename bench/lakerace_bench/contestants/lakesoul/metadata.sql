-- The tables in which LakeSoul keeps its metadata: the columns that lakesoul 2.0 reads and writes.
CREATE TYPE data_file_op AS (path text, file_op text, size bigint, file_exist_cols text);
CREATE TABLE namespace (namespace text PRIMARY KEY, properties json, comment text, domain text DEFAULT 'public');
CREATE TABLE table_info (
  table_id text PRIMARY KEY, table_namespace text DEFAULT 'default', table_name text, table_path text, table_schema text,
  table_schema_arrow_ipc bytea, table_schema_arrow_ipc_json_hash text, properties json, partitions text, domain text DEFAULT 'public');
CREATE TABLE table_name_id (
  table_name text, table_id text, table_namespace text DEFAULT 'default', domain text DEFAULT 'public',
  PRIMARY KEY (table_name, table_namespace));
CREATE TABLE table_path_id (
  table_path text PRIMARY KEY, table_id text, table_namespace text DEFAULT 'default', domain text DEFAULT 'public');
CREATE TABLE data_commit_info (
  table_id text, partition_desc text, commit_id uuid, file_ops data_file_op[], commit_op text,
  committed boolean DEFAULT false, timestamp bigint, domain text DEFAULT 'public',
  PRIMARY KEY (table_id, partition_desc, commit_id));
CREATE TABLE partition_info (
  table_id text, partition_desc text, version int, commit_op text,
  timestamp bigint DEFAULT (extract(epoch FROM now()) * 1000), snapshot uuid[], expression text, domain text DEFAULT 'public',
  PRIMARY KEY (table_id, partition_desc, version));
INSERT INTO namespace (namespace, properties) VALUES ('default', '{}');
