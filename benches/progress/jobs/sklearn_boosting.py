"""scikit-learn: gradient boosting with exact splits, `verbose`, and a final score."""

from rows import load
from sklearn.ensemble import GradientBoostingClassifier

x, y, x_held, y_held = load(rows=800)
model = GradientBoostingClassifier(n_estimators=60, max_depth=4, subsample=0.8, verbose=1).fit(x, y)
print("accuracy", model.score(x_held, y_held))
