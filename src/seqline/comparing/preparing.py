"""What must be known of a training before it begins: how many parameters a model has, how many steps a budget of tokens is.

Tokenizers and batches are made here by the very functions that the training will use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from seqline.architectures.recipe import SizeName
from seqline.budget import choose_size, with_batches, with_model
from seqline.comparing.budget import steps_for
from seqline.config import Config
from seqline.corpus import Corpus
from seqline.run import READERS, num_parameters
from seqline.run_folder import Coder, build_model, find_recipe
from seqline.tasks import TASKS


class Ready(NamedTuple):
    """A run before its training. config: with everything filled in but the number of steps."""

    config: Config
    corpus: Corpus
    size: SizeName


class Preparing:
    """Prepares the runs of one comparison; their tokenizers are equal, so they are trained once."""

    def __init__(self) -> None:
        self._tokenizers: Coder | None = None

    def ready(self, config: Config) -> Ready:
        """Read the data and fill in what the training would choose."""
        recipe = find_recipe(config.model.architecture)
        config = TASKS[config.data.task].fill(config)
        corpus = READERS[config.data.task](config)
        size = choose_size(config, corpus.num_examples)
        return Ready(with_batches(corpus.fill(with_model(config, recipe, size)), recipe, size), corpus, size)

    def tokenizers(self, ready: Ready) -> Coder:
        """Return the tokenizers of all runs."""
        if self._tokenizers is None:
            self._tokenizers = ready.corpus.train_tokenizers(ready.config)
        return self._tokenizers

    def steps_for(self, config: Config, tokens: int) -> int:
        """Return the steps after which a run has seen so many target tokens."""
        ready = self.ready(config)
        prepared = ready.corpus.prepare(self.tokenizers(ready), ready.config)
        return steps_for(tokens, prepared.training_task(ready.config), config.data.task)

    def num_parameters(self, ready: Ready, changes: dict[str, Any]) -> int:
        """Count the parameters of a run's model under other settings; nothing is allocated.

        Raises:
            UserError: settings that the recipe does not take.
        """
        with torch.device("meta"):
            model = build_model(ready.config.replace(**changes), self.tokenizers(ready).vocabulary)
        return num_parameters(model)
