//! From the bytes of a file to record batches.
