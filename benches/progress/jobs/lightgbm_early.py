"""LightGBM: at most 3,000 rounds of slow learning, ended by early stopping."""

import lightgbm
from rows import load

x, y, x_held, y_held = load(share_held=0.2)
train = lightgbm.Dataset(x, y)
held = train.create_valid(x_held, y_held)
options = {"objective": "binary", "num_leaves": 63, "learning_rate": 0.1, "num_threads": 2}
callbacks = [lightgbm.log_evaluation(1), lightgbm.early_stopping(20)]
model = lightgbm.train(options, train, 3000, valid_sets=[held], callbacks=callbacks)
model.save_model("/tmp/study-model.txt")
