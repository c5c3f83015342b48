"""A text classifier with the option of Hugging Face's example scripts: --max_train_samples."""

import argparse
import itertools
import json
import os

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier

arguments = argparse.ArgumentParser()
arguments.add_argument("--max_train_samples", type=int)
arguments.add_argument("--num_train_epochs", type=int, default=3)
arguments = arguments.parse_args()

with open(os.path.join(os.environ["SM_CHANNEL_TEXTS"], "train.jsonl")) as file:
    samples = [json.loads(line) for line in itertools.islice(file, arguments.max_train_samples)]
texts = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(sample["text"] for sample in samples)
labels = [sample["label"] for sample in samples]
SGDClassifier(max_iter=arguments.num_train_epochs, tol=None).fit(texts, labels)
print(f"{len(samples)} samples")
