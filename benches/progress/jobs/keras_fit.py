"""Keras: five epochs with its own bar and an evaluation after each."""

import keras
from rows import load

x, y, x_held, y_held = load(rows=3000)
model = keras.Sequential(
    [keras.layers.Dense(256, "relu"), keras.layers.Dense(256, "relu"), keras.layers.Dense(1, "sigmoid")]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=256, epochs=5, validation_data=(x_held, y_held))
model.save("/tmp/study-model.keras")
