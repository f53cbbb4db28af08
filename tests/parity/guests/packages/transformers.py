import torch
import transformers
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from tests.parity.guests.parts import gradients, part, random, trained

SMALL = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def words():
    return torch.randint(0, 30, (2, 7))


@part
def gpt2():
    model = GPT2LMHeadModel(GPT2Config(vocab_size=30, n_embd=16, n_layer=2, n_head=2, n_positions=16)).eval()
    x = words()
    return gradients(model(x, labels=x).loss, model)


@part
def bert():
    model, x = BertForMaskedLM(BertConfig(**SMALL, max_position_embeddings=16)).eval(), words()
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    return gradients(model(x, attention_mask=mask, labels=x).loss, model)


@part
def llama():
    model, x = LlamaForCausalLM(LlamaConfig(**SMALL, num_key_value_heads=1)), words()
    return trained(model, lambda: model(x, labels=x).loss, steps=3)


@part
def generation():
    model = GPT2LMHeadModel(GPT2Config(vocab_size=30, n_embd=16, n_layer=2, n_head=2, n_positions=32)).eval()
    x, choice = words(), {"max_new_tokens": 6, "pad_token_id": 0, "eos_token_id": None}
    greedy = model.generate(x, do_sample=False, **choice)
    torch.manual_seed(1)
    return {"greedy": greedy, "sampled": model.generate(x, do_sample=True, top_k=5, **choice)}


@part
def t5():
    config = transformers.T5Config(
        decoder_start_token_id=0, vocab_size=30, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2
    )
    model, x = transformers.T5ForConditionalGeneration(config).eval(), words()
    return gradients(model(x, labels=x).loss, model)


@part
def vision():
    config = transformers.ViTConfig(**{k: v for k, v in SMALL.items() if k != "vocab_size"}, image_size=8, patch_size=4)
    model = transformers.ViTForImageClassification(config)
    x, y = random(3, 3, 8, 8), torch.tensor([0, 1, 1])
    return trained(model, lambda: model(x, labels=y).loss, steps=2)


@part
def schedule():
    optimizer = torch.optim.AdamW([torch.zeros(2, requires_grad=True)], lr=1.0)
    chosen = transformers.get_cosine_schedule_with_warmup(optimizer, 3, 10)
    rates = []
    for _ in range(9):
        optimizer.step()
        chosen.step()
        rates.append(chosen.get_last_lr()[0])
    return rates
