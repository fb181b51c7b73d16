import torch

from computation import Computation, compiled


def options(case):
    return {
        "lr": case.real("lr", 1e-4),
        "betas": (case.real("beta1", 0.9), case.real("beta2", 0.999)),
        "eps": case.real("eps", 1e-8),
        "weight_decay": case.real("wd", 0.01),
    }


class Optimiser(Computation):
    """PyTorch's own, fused, in place."""

    in_place = True

    def __init__(self, case, tensors):
        self.steps_before = case.integer("step", 1) - 1
        self.tensors = tensors
        self.parameter = torch.nn.Parameter(tensors["p"].clone())
        self.parameter.grad = tensors["g"]
        self.optimiser = torch.optim.AdamW(
            [self.parameter], fused=True, capturable=case.device == "cuda", **options(case)
        )
        self.state = {
            "step": torch.zeros((), dtype=torch.float32, device=case.device),
            "exp_avg": tensors["m"].clone(),
            "exp_avg_sq": tensors["v"].clone(),
        }
        self.optimiser.state[self.parameter] = self.state

    def held(self):
        return [*self.tensors.values(), self.parameter, *self.state.values()]

    @torch.no_grad()
    def restore(self):
        self.parameter.copy_(self.tensors["p"])
        self.state["exp_avg"].copy_(self.tensors["m"])
        self.state["exp_avg_sq"].copy_(self.tensors["v"])
        self.state["step"].fill_(self.steps_before)

    def forward(self):
        self.optimiser.step()
        return {
            "new_p": self.parameter,
            "new_m": self.state["exp_avg"],
            "new_v": self.state["exp_avg_sq"],
        }


def optimiser(case):
    return lambda tensors: Optimiser(case, tensors)


optimiser.forward_only = True


def expression(case):
    """The definition, written out, from tensors to new ones."""
    given, step = options(case), case.integer("step", 1)
    beta1, beta2 = given["betas"]

    def forward(p, g, m, v):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        root = (v / (1 - beta2**step)).sqrt() + given["eps"]
        p = p * (1 - given["lr"] * given["weight_decay"])
        p = p - given["lr"] * (m / (1 - beta1**step)) / root
        return {"new_p": p, "new_m": m, "new_v": v}

    return forward


ARMS = {"torch": optimiser, "torch-compile": compiled(expression)}
