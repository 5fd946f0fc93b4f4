# SPDX-License-Identifier: Apache-2.0
# Nodes, tools and laboratory on Debian 12, from the packages that cpack makes. docs/install.md
#   docker build -t heliograph .
#   docker run --rm -v ./node1.yaml:/etc/heliograph/node.yaml:ro -p 1113:1113/udp heliograph
FROM debian:12-slim AS build
WORKDIR /src
COPY tools/setup.sh tools/setup.sh
RUN tools/setup.sh build
COPY . .
RUN cmake --preset release && cmake --build --preset release --target programs
RUN mkdir /packages && cd /packages && cpack -G DEB --config /src/build/release/CPackConfig.cmake

FROM debian:12-slim
COPY --from=build /packages /packages
RUN apt-get update \
    && apt-get install -y --no-install-recommends /packages/heliograph_*.deb /packages/heliograph-lab_*.deb /packages/heliograph-sle_*.deb \
    && rm -rf /packages /var/lib/apt/lists/* \
    && install -d -o heliograph -g heliograph -m 0750 /run/heliograph /var/lib/heliograph
USER heliograph
VOLUME /var/lib/heliograph
EXPOSE 1113/udp 4556/tcp 9464/tcp
ENTRYPOINT ["/usr/bin/heliod"]
CMD ["/etc/heliograph/node.yaml"]
