"""Transformers' Trainer: three epochs of 188 steps, an evaluation and a checkpoint after each."""

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class D(torch.utils.data.Dataset):
    def __init__(s, n):
        s.n = n

    def __len__(s):
        return s.n

    def __getitem__(s, i):
        g = torch.Generator().manual_seed(i)
        x = torch.randint(5, 5000, (128,), generator=g)
        return {"input_ids": x, "attention_mask": torch.ones(128, dtype=torch.long), "labels": int(x[0] > 2500)}


m = BertForSequenceClassification(
    BertConfig(vocab_size=5000, hidden_size=512, num_hidden_layers=8, num_attention_heads=8, intermediate_size=2048)
)
a = TrainingArguments(
    "/tmp/hf",
    num_train_epochs=3,
    per_device_train_batch_size=64,
    logging_steps=50,
    eval_strategy="epoch",
    save_strategy="epoch",
    report_to=[],
    dataloader_num_workers=4,
)
Trainer(m, a, train_dataset=D(12000), eval_dataset=D(2000)).train()
