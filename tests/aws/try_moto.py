"""Tries the program on an AWS that nobody here wrote: moto's server, on 127.0.0.1. `try_moto.py BINARY`.

Moto completes every training job at once and says nothing of its time, so no forecast comes of it; what is tried is that its words, which are not
AWS's own, end nothing: data are listed, canaries started, found and read, records kept in S3 and read again, leftovers looked for.
"""

import json
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import boto3
from moto.server import ThreadedMotoServer

SPEC = """\
version: 1
backend: sagemaker
region: us-east-1
history: s3://records/gate/
prices: {ml.m5.xlarge: 0.23 USD/h}
jobs:
  churn:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      channels: {train: {uri: s3://data/churn/train/}}
      output: s3://canaries/out/
    instance: ml.m5.xlarge
    canary: {design: fixed, fractions: [1%, 2%, 5%], replicates: 1, max_runtime: 30m, warm_pool: off, probe: false}
    budget: {time: 2h}
"""
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


def main(binary):
    # It prints every request, and a trace for each that it does not know.
    logging.disable(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    try:
        with tempfile.TemporaryDirectory(prefix="canary-gate-moto-") as folder:
            failed = tried(binary, url, Path(folder))
    finally:
        server.stop()
    return 1 if failed else 0


def tried(binary, url, folder):
    session = boto3.Session(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"], region_name=KEYS["AWS_REGION"])
    s3 = session.client("s3", endpoint_url=url)
    for bucket in ["data", "canaries", "records"]:
        s3.create_bucket(Bucket=bucket)
    for index in range(100):
        s3.put_object(Bucket="data", Key=f"churn/train/part-{index:03}.csv", Body=f"{index}\n" * 100)
    (folder / "code").mkdir()
    (folder / "code/train.py").write_text("print('trained')\n")
    (folder / "canary-gate.yml").write_text(SPEC)
    # What moto does not have is answered by 500, which is tried again.
    own = {"AWS_ENDPOINT_URL": url, "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1", "CANARY_GATE_PACE": "0"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **KEYS, **own}
    failed = []

    def gate(arguments, code, *said):
        done = subprocess.run([binary, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
        text = done.stdout + done.stderr
        missing = [words for words in said if words not in text]
        if done.returncode != code or missing:
            print(f"canary-gate {' '.join(arguments)} ended with {done.returncode}, not {code}; it lacks {missing}:\n{text}")
            failed.append(arguments)
        return done.stdout

    gate(["check"], 0, "100 objects", "signed in")
    gate(["plan", "--all"], 0, "worst case")
    report = json.loads(gate(["run", "--all", "--format", "json"], 14) or "{}")
    sagemaker = session.client("sagemaker", endpoint_url=url)
    jobs = sagemaker.list_training_jobs(NameContains="cg-churn-")["TrainingJobSummaries"]
    measured = [run["training_job"] for job in report.get("jobs", []) for run in job["measurements"]]
    if len(jobs) != 3 or sorted(measured) != sorted(job["TrainingJobName"] for job in jobs):
        print(f"3 canaries were to run: {measured}, {jobs}")
        failed.append("canaries")
    gate(["history", "list"], 0, "churn")
    gate(["sweep"], 0, "nothing is left behind")
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
