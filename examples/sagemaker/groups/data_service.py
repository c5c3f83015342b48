#!/usr/bin/env python3
"""Group `data`: makes batches and sends them to the trainers, until each of them has hung up.

A job ends when all of its hosts have, so a service that serves for ever would be paid for ever.
"""

import argparse
import os
import pickle
import socket
import struct
import threading

import cluster
import images


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=32, help="images of a batch")
    options, _ = parser.parse_known_args()
    channel = os.environ["SM_CHANNEL_TRAIN"]
    trainers = len(cluster.hosts_of("dnn"))

    with socket.create_server((cluster.address_of(cluster.own_host()), cluster.PORT)) as server:
        print(f"serves {trainers} trainers at {cluster.own_host()}:{cluster.PORT}", flush=True)
        threads = []
        for number in range(trainers):
            trainer, _ = server.accept()
            threads.append(threading.Thread(target=serve, args=(trainer, channel, options.batch, number)))
            threads[-1].start()
        for thread in threads:
            thread.join()
    print("all trainers have hung up", flush=True)


def serve(trainer, channel, size, seed):
    """Sends batches ahead of the trainer, as many as the connection holds."""
    with trainer:
        for batch in images.batches(channel, size, seed):
            data = pickle.dumps(batch)
            try:
                trainer.sendall(struct.pack("!I", len(data)) + data)
            except (BrokenPipeError, ConnectionResetError):
                return


if __name__ == "__main__":
    main()
