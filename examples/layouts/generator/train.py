"""A model on examples that the script makes itself: there is nothing to list."""

import os

import numpy
from sklearn.linear_model import SGDClassifier

EXAMPLES = 16_000_000
BATCH = 10_000

count = round(EXAMPLES * float(os.environ["DATA_FRACTION"]))
draw = numpy.random.default_rng(1)
model = SGDClassifier()
for _ in range(0, count, BATCH):
    examples = draw.normal(size=(BATCH, 50))
    model.partial_fit(examples, examples[:, 0] > examples[:, 1], classes=[False, True])
print(f"{count} examples")
