# The gateway in a container: docker build -t unspool . && docker run --rm -p 8000:8000 unspool
# Flags follow the image's name; a model's folder and keys are mounted (see docs/running.md).

FROM rust:1.90-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p unspool-cli

FROM debian:bookworm-slim
COPY --from=build /src/target/release/unspool /usr/local/bin/unspool
# Nobody owns a file in here; what the gateway writes (--log-raw) is mounted.
USER 65534:65534
EXPOSE 8000
STOPSIGNAL SIGTERM
# In a container the address of this machine alone would be no address at all.
ENTRYPOINT ["unspool", "serve", "--host", "0.0.0.0"]
