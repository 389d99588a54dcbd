#!/usr/bin/env python3
"""Recomputes the reference models with numpy alone, in float64, from the facts that README.md of this folder states.

For every model and every layout of its files it compares logits, hidden states, loss, greedy tokens and chosen experts,
and each parameter's gradient_dot_weight with a central difference. It needs numpy and nothing else.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64}
TOLERANCE, GRADIENT_TOLERANCE = 1e-5, 1e-4


def read_safetensors(path):
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, last = (start + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[first:last], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def read_weights(folder):
    index = folder / "model.safetensors.index.json"
    shards = set(json.loads(index.read_text())["weight_map"].values()) if index.exists() else {"model.safetensors"}
    tensors = {name: values for shard in shards for name, values in read_safetensors(folder / shard).items()}
    return {name: values.astype(np.float64) for name, values in tensors.items()}


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def rms_norm(x, weight, epsilon):
    return weight * (x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon))


def layer_norm(x, weight, bias, epsilon):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * weight + bias


def attend(q, k, v):
    """Causal attention of [batch, heads, tokens, width]; a key and value head serves several query heads in a row."""
    tokens, width = q.shape[2:]
    k, v = (np.repeat(part, q.shape[1] // part.shape[1], axis=1) for part in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(width)
    mixed = softmax(np.where(np.tril(np.ones((tokens, tokens), bool)), scores, -np.inf)) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(q.shape[0], tokens, -1)


def split_heads(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def rotate(x, theta):
    """Element i of a head turns with element i + width/2 by the angle position * theta^(-2i/width)."""
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[2])[:, None] * theta ** (-2.0 * np.arange(half) / x.shape[-1])
    low, high, cos, sin = x[..., :half], x[..., half:], np.cos(angles), np.sin(angles)
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)


def gpt2_layer(x, weights, config):
    def affine(name, values):  # Conv1D keeps its weight as [inputs, outputs]
        return values @ weights[name + ".weight"] + weights[name + ".bias"]

    h = layer_norm(x, weights["ln_1.weight"], weights["ln_1.bias"], config["layer_norm_epsilon"])
    parts = np.split(affine("attn.c_attn", h), 3, axis=-1)
    x = x + affine("attn.c_proj", attend(*(split_heads(part, config["n_head"]) for part in parts)))
    h = layer_norm(x, weights["ln_2.weight"], weights["ln_2.bias"], config["layer_norm_epsilon"])
    h = affine("mlp.c_fc", h)
    return x + affine("mlp.c_proj", 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3))))


def forward_gpt2(ids, weights, config):
    weights = {name.removeprefix("transformer."): values for name, values in weights.items()}
    x = weights["wte.weight"][ids] + weights["wpe.weight"][:ids.shape[1]]
    states = [x]
    for layer in range(config["n_layer"]):
        x = gpt2_layer(x, below(weights, f"h.{layer}."), config)
        states.append(x)
    states[-1] = layer_norm(x, weights["ln_f.weight"], weights["ln_f.bias"], config["layer_norm_epsilon"])
    return states[-1] @ weights["wte.weight"].T, states, []


def below(weights, prefix):
    return {name[len(prefix):]: values for name, values in weights.items() if name.startswith(prefix)}


def gated(x, gate, up, down):
    opened = x @ gate.T
    return (opened / (1 + np.exp(-opened)) * (x @ up.T)) @ down.T


def expert_weights(weights, expert):
    if "mlp.experts.gate_up_proj" in weights:
        gate, up = np.split(weights["mlp.experts.gate_up_proj"][expert], 2, axis=0)
        return gate, up, weights["mlp.experts.down_proj"][expert]
    return [weights[f"block_sparse_moe.experts.{expert}.w{part}.weight"] for part in (1, 3, 2)]


def mixture(x, weights, config):
    is_fused = "mlp.gate.weight" in weights
    probabilities = softmax(x @ weights["mlp.gate.weight" if is_fused else "block_sparse_moe.gate.weight"].T)
    chosen = np.argsort(-probabilities, axis=-1, kind="stable")[..., :config["num_experts_per_tok"]]
    shares = np.take_along_axis(probabilities, chosen, -1)
    shares = shares / shares.sum(-1, keepdims=True)
    result = np.zeros_like(x)
    for expert in range(config["num_local_experts"]):
        share = (shares * (chosen == expert)).sum(-1, keepdims=True)
        result += share * gated(x, *expert_weights(weights, expert))
    return result, chosen


def llama_layer(x, weights, config, theta):
    h = rms_norm(x, weights["input_layernorm.weight"], config["rms_norm_eps"])
    heads = {"q": config["num_attention_heads"], "k": config["num_key_value_heads"], "v": config["num_key_value_heads"]}
    q, k, v = (split_heads(h @ weights[f"self_attn.{part}_proj.weight"].T, heads[part]) for part in "qkv")
    x = x + attend(rotate(q, theta), rotate(k, theta), v) @ weights["self_attn.o_proj.weight"].T
    h = rms_norm(x, weights["post_attention_layernorm.weight"], config["rms_norm_eps"])
    if config["model_type"] == "mixtral":
        change, chosen = mixture(h, weights, config)
        return x + change, chosen
    return x + gated(h, *(weights[f"mlp.{part}_proj.weight"] for part in ("gate", "up", "down"))), None


def forward_llama(ids, weights, config):
    theta = config["rope_theta"] if "rope_theta" in config else config["rope_parameters"]["rope_theta"]
    x = weights["model.embed_tokens.weight"][ids]
    states, choices = [x], []
    for layer in range(config["num_hidden_layers"]):
        x, chosen = llama_layer(x, below(weights, f"model.layers.{layer}."), config, theta)
        states.append(x)
        choices.append(chosen)
    states[-1] = rms_norm(x, weights["model.norm.weight"], config["rms_norm_eps"])
    head = weights["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return states[-1] @ head.T, states, choices


def mean_loss(logits, ids):
    return -np.log(np.take_along_axis(softmax(logits[:, :-1]), ids[:, 1:, None], -1)).mean()


def greedy(forward, ids, count):
    steps = []
    for _ in range(count):
        steps.append(forward(ids)[0][:, -1])
        ids = np.concatenate([ids, steps[-1].argmax(-1)[:, None]], 1)
    return ids[:, -count:], np.stack(steps, 1)


def gradient_error(loss, weights, reference):
    """The largest error of gradient_dot_weight: the slope of the loss when one parameter is scaled, by differences."""
    worst, step = 0.0, 1e-4
    for name in weights:
        if f"gradient_dot_weight.{name}" in reference:
            up, down = (loss(weights | {name: weights[name] * scale}) for scale in (1 + step, 1 - step))
            wanted = reference[f"gradient_dot_weight.{name}"][0]
            worst = max(worst, abs((up - down) / (2 * step) - wanted) / max(abs(wanted), 0.01))
    return worst


def check(folder, config_file, reference):
    config, weights = json.loads((folder / config_file).read_text()), read_weights(folder)
    forward = forward_gpt2 if config["model_type"] == "gpt2" else forward_llama
    ids = reference["input_ids"]
    logits, states, choices = forward(ids, weights, config)
    tokens, steps = greedy(lambda seen: forward(seen, weights, config), ids, reference["generated_ids"].shape[1])
    pairs = [("logits", logits), ("loss", mean_loss(logits, ids)), ("generated_logits", steps)]
    pairs += [(f"hidden_states.{index}", state) for index, state in enumerate(states)]
    worst = {name: np.abs(got - reference[name]).max() / np.abs(reference[name]).max() for name, got in pairs}
    slope = gradient_error(lambda changed: mean_loss(forward(ids, changed, config)[0], ids), weights, reference)
    same = (tokens == reference["generated_ids"]).all()
    same = same and ("chosen_experts" not in reference or (np.stack(choices) == reference["chosen_experts"]).all())
    good = same and max(worst.values()) < TOLERANCE and slope < GRADIENT_TOLERANCE
    print(f"{folder.name}/{config_file}: logits {worst['logits']:.1e}, all {max(worst.values()):.1e}, "
          f"gradients {slope:.1e}, tokens and experts {'agree' if same else 'differ'}{'' if good else ': WRONG'}")
    return good


def main():
    results = []
    for folder in sorted(path.parent for path in HERE.glob("*/config.json")):
        original = folder.name.removesuffix("_sharded").removesuffix("_fused")
        reference = read_safetensors(HERE / original / "reference.safetensors")
        results += [check(folder, config.name, reference) for config in sorted(folder.glob("config*.json"))]
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
