"""XGBoost: trees that may be a level deeper after each 80 rounds, so that rounds get dearer."""

import xgboost
from rows import load


class Deeper(xgboost.callback.TrainingCallback):
    def before_iteration(self, model, epoch, evals_log):
        model.set_param({"max_depth": 4 + epoch // 80})
        return False


x, y, x_held, y_held = load()
train, held = xgboost.DMatrix(x, y), xgboost.DMatrix(x_held, y_held)
options = {"objective": "binary:logistic", "eta": 0.05, "nthread": 2}
model = xgboost.train(options, train, 600, evals=[(held, "held")], verbose_eval=10, callbacks=[Deeper()])
model.save_model("/tmp/study-model.ubj")
