# The graphmill command: docker build -t graphmill . && docker run --rm graphmill --help
FROM python:3.13-slim

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY docs docs
COPY cypher cypher
COPY graph_stores graph_stores
COPY pipelines pipelines
COPY orchestrator orchestrator
RUN pip install --no-cache-dir '.[office]'

RUN useradd --create-home --uid 1000 graphmill
USER graphmill
WORKDIR /home/graphmill
ENTRYPOINT ["graphmill"]
CMD ["--help"]
