"""XGBoost: 180 rounds of deep trees, the evaluation of each printed."""

import xgboost
from rows import load

x, y, x_held, y_held = load()
train, held = xgboost.DMatrix(x, y), xgboost.DMatrix(x_held, y_held)
options = {"objective": "binary:logistic", "max_depth": 8, "eta": 0.05, "nthread": 2}
model = xgboost.train(options, train, 180, evals=[(held, "held")], verbose_eval=True)
model.save_model("/tmp/study-model.ubj")
