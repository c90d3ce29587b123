# An image with the command and the Python package:
#   docker build --tag lakerace .
#   docker run --rm --volume "$PWD:/data" lakerace scan orders.parquet --limit 5
#
# tests/python/test_dockerfile.py compares the versions with those of the other files.

# The oldest Rust that Cargo.toml promises, on a Debian whose Python is that of the image below.
FROM rust:1.95.0-bookworm AS builder
# Without it, rustup would follow rust-toolchain.toml and download the newest one.
ENV RUSTUP_TOOLCHAIN=1.95.0
RUN apt-get update \
    && apt-get install --yes --no-install-recommends cmake python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /venv \
    && /venv/bin/pip install --no-cache-dir maturin==1.16.0
WORKDIR /source
COPY . .
# The wheel is for this image alone, so it promises no older Linux.
RUN /venv/bin/maturin build --release --locked --compatibility linux --out /wheels

FROM python:3.11-slim-bookworm
# Optional dependencies of the package, such as [sql] or [all]. The command needs none.
ARG EXTRAS=""
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 lakerace \
    && chmod 755 /home/lakerace \
    && install --directory --owner lakerace /data
RUN --mount=type=bind,from=builder,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/*.whl)$EXTRAS"
# Also the home folder of a user that `docker run --user` names.
ENV HOME=/home/lakerace
USER lakerace
WORKDIR /data
ENTRYPOINT ["lakerace"]
CMD ["--help"]
