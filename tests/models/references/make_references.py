#!/usr/bin/env python3
"""Makes the reference models of this folder with Hugging Face's own code: configuration, weights, results.

Run with transformers 4, it writes every model anew: config.json, model.safetensors, reference.safetensors and
reference.json. Run with transformers 5 afterwards, it loads these files, checks that the newer code computes the same,
and adds config-transformers5.json and the folder mixtral_fused. README.md of this folder has the versions and the
commands.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file
from transformers import GPT2Config, LlamaConfig, MixtralConfig

HERE = Path(__file__).resolve().parent
MAJOR = int(transformers.__version__.split(".")[0])
BATCH, TOKENS, GENERATED = 2, 12, 8
# Greedy tokens and expert choices must not hang on the last bits of a sum.
LOGIT_GAP, ROUTER_GAP = 0.02, 0.005

CONFIGS = {
    "gpt2": lambda: GPT2Config(vocab_size=96, n_positions=32, n_embd=48, n_layer=2, n_head=4, resid_pdrop=0.0,
                               embd_pdrop=0.0, attn_pdrop=0.0, layer_norm_epsilon=1e-3, bos_token_id=0,
                               eos_token_id=0),
    "llama": lambda: LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                 num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=64,
                                 rms_norm_eps=1e-5, rope_theta=500000.0),
    "llama_tied": lambda: LlamaConfig(vocab_size=96, hidden_size=32, intermediate_size=96, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64,
                                      rms_norm_eps=1e-3, rope_theta=1000.0, tie_word_embeddings=True),
    "mixtral": lambda: MixtralConfig(vocab_size=96, hidden_size=64, intermediate_size=24, num_hidden_layers=2,
                                     num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=64,
                                     num_local_experts=4, num_experts_per_tok=2),
}
# Chosen so that the checks of both gaps hold.
SEEDS = {"gpt2": 16, "llama": 7, "llama_tied": 3, "mixtral": 7}


def fill_weights(model, seed):
    """Random weights from numpy's frozen generator, so that they do not depend on the version of PyTorch."""
    stream = np.random.RandomState(seed)
    for name, parameter in sorted(model.named_parameters()):
        values = stream.standard_normal(tuple(parameter.shape))
        is_norm = "norm" in name or ".ln_" in name
        if is_norm and name.endswith("weight"):
            values = 1.0 + 0.1 * values
        elif name.endswith("bias"):
            values = 0.1 * values
        else:
            values = 0.2 * values
        parameter.data.copy_(torch.from_numpy(values.astype(np.float32)))


def smallest_gap(scores, rank):
    """The smallest distance between the rank-th best and the next best score of any row."""
    ordered = torch.sort(scores, dim=-1, descending=True).values
    return float((ordered[..., rank - 1] - ordered[..., rank]).min())


def generate(model, ids):
    # Without an end token all rows run to the full length.
    model.generation_config.eos_token_id = None
    made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=GENERATED, do_sample=False,
                          use_cache=True, pad_token_id=0, output_scores=True, return_dict_in_generate=True)
    return made.sequences[:, ids.shape[1]:], torch.stack(made.scores, dim=1)


def router_facts(model, output):
    """Chosen experts per layer and token, after a check that no choice is close."""
    chosen = []
    for scores in output.router_logits:
        gap = smallest_gap(torch.softmax(scores, dim=-1), model.config.num_experts_per_tok)
        assert gap > ROUTER_GAP, f"the router's choice is close: {gap}"
        chosen.append(torch.topk(scores, model.config.num_experts_per_tok, dim=-1).indices)
    return torch.stack(chosen).reshape(len(chosen), BATCH, TOKENS, -1)


def compute(model, ids):
    """Everything that the reference file holds, as tensors by name."""
    is_mixture = model.config.model_type == "mixtral"
    model.zero_grad()
    output = model(ids, labels=ids, output_hidden_states=True, use_cache=False)
    output.loss.backward()
    tokens, scores = generate(model, ids)
    assert smallest_gap(scores, 1) > LOGIT_GAP, f"a greedy token is close: {smallest_gap(scores, 1)}"
    facts = {"input_ids": ids, "logits": output.logits, "loss": output.loss.reshape(1), "generated_ids": tokens,
             "generated_logits": scores}
    for index, state in enumerate(output.hidden_states):
        facts[f"hidden_states.{index}"] = state
    if is_mixture:
        with torch.no_grad():
            facts["chosen_experts"] = router_facts(model, model(ids, output_router_logits=True))
    for name, parameter in model.named_parameters():
        gradient = parameter.grad.double()
        facts[f"gradient_norm.{name}"] = gradient.norm().reshape(1).float()
        facts[f"gradient_dot_weight.{name}"] = (gradient * parameter.double()).sum().reshape(1).float()
    return {name: value.detach().contiguous().numpy() for name, value in facts.items()}


def save_copy(model, target, **options):
    """What save_pretrained writes, without the generation settings."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, **options)
        for path in Path(folder).iterdir():
            if path.name != "generation_config.json":
                shutil.copyfile(path, target / path.name)


def input_ids(model, seed):
    stream = np.random.RandomState(1000 + seed)
    return torch.from_numpy(stream.randint(0, model.config.vocab_size, (BATCH, TOKENS)).astype(np.int64))


def write_summary(path, facts, model):
    summary = {
        "made_with": {"transformers": transformers.__version__, "torch": torch.__version__, "numpy": np.__version__},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "input_ids": facts["input_ids"].tolist(),
        "generated_ids": facts["generated_ids"].tolist(),
        "loss": float(facts["loss"][0]),
        "max_abs_logit": float(np.abs(facts["logits"]).max()),
        "gradient_norms": {name[len("gradient_norm."):]: float(value[0]) for name, value in facts.items()
                           if name.startswith("gradient_norm.")},
    }
    path.write_text(json.dumps(summary, indent=1) + "\n")


def new_model(name):
    model = transformers.AutoModelForCausalLM.from_config(CONFIGS[name](), attn_implementation="eager")
    return model.float().eval()


def make(name):
    model = new_model(name)
    fill_weights(model, SEEDS[name])
    facts = compute(model, input_ids(model, SEEDS[name]))
    shutil.rmtree(HERE / name, ignore_errors=True)
    save_copy(model, HERE / name)
    save_file(facts, HERE / name / "reference.safetensors")
    write_summary(HERE / name / "reference.json", facts, model)
    if name == "llama_tied":
        gradients = {key: parameter.grad.contiguous().numpy() for key, parameter in model.named_parameters()}
        save_file(gradients, HERE / name / "gradients.safetensors")
        shutil.rmtree(HERE / "llama_tied_sharded", ignore_errors=True)
        save_copy(model, HERE / "llama_tied_sharded", max_shard_size="50KB")


def relative_difference(got, wanted):
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def add_version_5(name):
    """Checks that transformers 5 computes the same from these files, and adds the files as it writes them."""
    wanted = load_file(HERE / name / "reference.safetensors")
    model = transformers.AutoModelForCausalLM.from_pretrained(HERE / name, attn_implementation="eager",
                                                              dtype=torch.float32).eval()
    got = compute(model, torch.from_numpy(wanted["input_ids"]))
    assert (got["generated_ids"] == wanted["generated_ids"]).all()
    difference = relative_difference(got["logits"], wanted["logits"])
    assert difference < 1e-5, difference
    norms = [abs(float(got[key][0]) / float(wanted[key][0]) - 1) for key in wanted
             if key.startswith("gradient_norm.") and key in got]
    print(f"{name}: logits differ by {difference:.1e} of the largest; {len(norms)} gradient norms by {max(norms):.1e}")
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, save_original_format=False)
        again = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
        assert all(torch.equal(value, again.state_dict()[key]) for key, value in model.state_dict().items())
        shutil.copyfile(Path(folder) / "config.json", HERE / name / "config-transformers5.json")
        if name == "mixtral":
            shutil.rmtree(HERE / "mixtral_fused", ignore_errors=True)
            save_copy(model, HERE / "mixtral_fused", save_original_format=False)


def main():
    torch.set_num_threads(1)
    for name in sys.argv[1:] or CONFIGS:
        make(name) if MAJOR < 5 else add_version_5(name)
        print(f"{name}: done with transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
