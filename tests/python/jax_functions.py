import jax
import jax.numpy as jnp


@jax.jit
def weighted_sum(x, w):
    return jnp.sum(x * w, -1)


def other_names(values, weights):  # which stand for the inputs by their order
    return jnp.sum(values * weights, -1)


@jax.custom_vjp
def wrong_gradient(x, w):
    return jnp.sum(x * w, -1)


wrong_gradient.defvjp(
    lambda x, w: (wrong_gradient(x, w), (x, w)),
    lambda saved, dy: (dy[..., None] * saved[1], jnp.sum(saved[0], tuple(range(saved[0].ndim - 1)))),
)


def embedding(tokens, table):
    return table[tokens]
