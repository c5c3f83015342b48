"""LightGBM: 500 rounds, the evaluation of each tenth printed."""

import lightgbm
from rows import load

x, y, x_held, y_held = load()
train = lightgbm.Dataset(x, y)
held = train.create_valid(x_held, y_held)
options = {"objective": "binary", "num_leaves": 127, "learning_rate": 0.05, "num_threads": 2}
model = lightgbm.train(options, train, 500, valid_sets=[held], callbacks=[lightgbm.log_evaluation(10)])
model.save_model("/tmp/study-model.txt")
