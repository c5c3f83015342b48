"""CatBoost: 300 iterations with its own lines and a held-out set."""

from catboost import CatBoostClassifier
from rows import load

x, y, x_held, y_held = load()
model = CatBoostClassifier(iterations=300, depth=8, thread_count=2, train_dir="/tmp/study-catboost")
model.fit(x, y, eval_set=(x_held, y_held))
model.save_model("/tmp/study-model.cbm")
