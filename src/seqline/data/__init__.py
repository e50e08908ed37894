"""From files to batches: text and its pairs, tokenizers, batches and their order. Knows nothing of models."""
