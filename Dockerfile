# The image of the service: OpenEnv environment, demo API and command center on port 8000.
#
#   docker build -t ev-grid-oracle .
#   docker run --rm -p 8000:8000 ev-grid-oracle
#
# The kernels are compiled while the image is built, for any x86-64 or arm64 processor (NUMBA_CPU_NAME=generic), so
# that a container is healthy within seconds wherever it runs. For training, `-e NUMBA_CPU_NAME=` compiles anew for
# the host's own processor at the first start.

FROM node:20-slim AS web
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY web ./
RUN npm run build

FROM python:3.12-slim AS runtime
LABEL org.opencontainers.image.title="EV Grid Oracle" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --create-home --uid 1000 user
WORKDIR /app
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    NUMBA_CPU_NAME=generic \
    EVGRID_CACHE_DIR=/home/user/.cache/ev-grid-oracle \
    DEMO_ORACLE_INFERENCE_TIMEOUT_SEC=120 \
    MAX_CONCURRENT_ENVS=64
COPY requirements/image.lock ./requirements/
RUN pip install -r requirements/image.lock
COPY pyproject.toml README.md LICENSE NOTICE openenv.yaml ./
COPY ev_grid_oracle ./ev_grid_oracle
COPY --from=web /src/ev_grid_oracle/server/static/ui ./ev_grid_oracle/server/static/ui
RUN pip install --no-deps . && rm -rf ev_grid_oracle build
COPY --chown=1000 validation ./validation
USER 1000
RUN evgrid run --city toy --policy planner --seed 1 --ticks 2 --out /tmp/warm.evt && rm /tmp/warm.evt
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
CMD ["python", "-m", "uvicorn", "ev_grid_oracle.server.app:app", "--host", "0.0.0.0", "--port", "8000"]
