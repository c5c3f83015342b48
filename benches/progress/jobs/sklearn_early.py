"""scikit-learn: histogram gradient boosting, at most 1,000 iterations, ended by early stopping."""

from rows import load
from sklearn.ensemble import HistGradientBoostingClassifier

x, y, x_held, y_held = load()
model = HistGradientBoostingClassifier(
    max_iter=1000, learning_rate=0.1, max_leaf_nodes=63, early_stopping=True, n_iter_no_change=10, verbose=2
).fit(x, y)
print("accuracy", model.score(x_held, y_held))
