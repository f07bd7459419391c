# The CPU image: `docker run sfumato` runs what `make run` does.
FROM python:3.12-slim
WORKDIR /sfumato
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt ".[schema,server,postgres]"
ENTRYPOINT ["sfumato"]
CMD ["run", "answer, then derive: 7*6+3^2"]
