"""The folder of a job on S3 through obstore, for contestants that have it in their environment."""

from __future__ import annotations

from typing import Any

import contest
from obstore.store import S3Store


def opened(job: dict[str, Any]) -> Any:
    """A store of obstore: names are those below the job's folder."""
    s3 = job["s3"]
    settings = contest.object_store(s3)
    # obstore has this among the options of its client.
    settings.pop("aws_allow_http")
    return S3Store(s3["bucket"], prefix=s3["key"], config=settings, client_options={"allow_http": True})
