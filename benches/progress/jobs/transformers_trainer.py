"""Transformers' Trainer: a small BERT, two epochs, evaluation each 100 steps with a bar of its own, a checkpoint each epoch."""

import torch
from rows import load, tokens
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Rows(torch.utils.data.Dataset):
    def __init__(self, x, y):
        self.ids, self.labels = torch.from_numpy(tokens(x, length=40)), torch.from_numpy(y)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


x, y, x_held, y_held = load(rows=40)
config = BertConfig(vocab_size=256, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
options = TrainingArguments(
    "/tmp/study-trainer",
    num_train_epochs=2,
    per_device_train_batch_size=16,
    logging_steps=50,
    eval_strategy="steps",
    eval_steps=100,
    save_strategy="epoch",
    report_to=[],
    use_cpu=True,
)
Trainer(
    BertForSequenceClassification(config), options, train_dataset=Rows(x, y), eval_dataset=Rows(x_held, y_held)
).train()
