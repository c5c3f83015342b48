"""scikit-learn: a network of two layers, 20 iterations, `verbose`."""

from rows import load
from sklearn.neural_network import MLPClassifier

x, y, x_held, y_held = load(rows=1400)
model = MLPClassifier((128, 64), batch_size=500, max_iter=20, tol=0, n_iter_no_change=20, verbose=True).fit(x, y)
print("accuracy", model.score(x_held, y_held))
