"""JAX: 1,000 steps, a line each twentieth."""

import jax, jax.numpy as jnp, optax

k = jax.random.PRNGKey(0)
W = [jax.random.normal(k, (4096, 4096)) * 0.01 for _ in range(8)]
o = optax.adam(1e-4)
s = o.init(W)


def loss(W, x):
    for w in W:
        x = jnp.tanh(x @ w)
    return (x**2).mean()


@jax.jit
def step(W, s, x):
    l, g = jax.value_and_grad(loss)(W, x)
    u, s = o.update(g, s, W)
    return optax.apply_updates(W, u), s, l


for i in range(1000):
    k, c = jax.random.split(k)
    W, s, l = step(W, s, jax.random.normal(c, (4096, 4096)))
    if i % 20 == 19:
        print(f"step {i+1} of 1000 loss {float(l):.5f}", flush=True)
