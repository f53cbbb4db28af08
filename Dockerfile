# One student's server on a JupyterHub: build it in a clone, and name the image in the hub's configuration.
FROM python:3.12-slim

RUN useradd --create-home --uid 1000 student
COPY . /opt/nbautograd
RUN pip install --no-cache-dir "/opt/nbautograd[lab]" "jupyterhub>=5,<6" && rm -r /opt/nbautograd

USER student
WORKDIR /home/student
EXPOSE 8888

# The course is copied at the first start; a student's own notebooks are kept.
CMD ["sh", "-c", "[ -e course ] || nbautograd course course; exec jupyterhub-singleuser --ip=0.0.0.0"]
