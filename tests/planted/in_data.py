"""Bugs planted in what is evaluated, the order of the data, text, labels and checkpoints."""

from __future__ import annotations

from .mutation import Mutation

LOADER, STREAM, LIKELIHOOD = "data/loader.py", "data/stream.py", "evaluation/likelihood.py"
LOSS, TOKENIZER = "training/loss.py", "data/tokenizer.py"
OF_LOADER, OF_STREAM = "tests/data/test_loader.py::test_", "tests/data/test_stream.py::test_"
OF_LOSS, OF_TEXT = "tests/training/test_loss.py::test_", "tests/test_language.py::test_"
OF_CARRIED = "tests/training/test_carried.py::test_"

DATA = [
    Mutation(
        "42a",
        "evaluation drops the last batch",
        LOADER,
        "return _cut(order, sizes[order], batch_tokens, max_rows=max_rows)",
        "return _cut(order, sizes[order], batch_tokens, max_rows=max_rows)[:-1]",
        [f"{OF_LOADER}in_order_takes_every_index_once"],
        "EVALSET",
    ),
    Mutation(
        "42b",
        "evaluation of a stream drops the last batch of windows",
        LIKELIHOOD,
        "for begin in range(0, len(windows), rows):",
        "for begin in range(0, len(windows) - rows + 1, rows):",
        [f"{OF_TEXT}windows_count_what_is_predicted_in_them[gru]"],
        "EVALSET",
    ),
    Mutation(
        "42c",
        "the windows that overlap leave the end out",
        STREAM,
        "while (done := windows[-1][0].end) < num_ids:",
        "while (done := windows[-1][0].end) + step < num_ids:",
        [f"{OF_STREAM}overlapping_windows_predict_each_id_once_from_half_a_window"],
        "EVALSET",
    ),
    Mutation(
        "44a",
        "the loss as the mean of batch means",
        LOSS,
        "sums.append(part.negative_log_likelihood.item())\n            num_tokens += part.num_tokens",
        "sums.append(part.negative_log_likelihood.item() / max(1, part.num_tokens))\n            num_tokens += 1",
        [f"{OF_LOSS}the_mean_does_not_depend_on_batches_or_their_order"],
        "EVALMEAN",
    ),
    Mutation(
        "44b",
        "what a window only reads counts too",
        LIKELIHOOD,
        "is_counted = batch.is_real & (position >= skipped[:, None])",
        "is_counted = batch.is_real & (position >= 0 * skipped[:, None])",
        [f"{OF_TEXT}windows_count_what_is_predicted_in_them[gru]"],
        "EVALMEAN",
    ),
    Mutation(
        "carried evaluation",
        "the state is not carried through a stream",
        LIKELIHOOD,
        "logits, state = model(batch.inputs, state, None, batch.mask)",
        "logits, _ = model(batch.inputs, state, None, batch.mask)",
        [f"{OF_TEXT}one_lane_is_one_long_reading[gru]"],
        "EVALMEAN CACHE",
    ),
    Mutation(
        "46",
        "corpus read with `splitlines()`",
        "data/lines.py",
        'lines = text.split("\\n")',
        "lines = text.splitlines()",
        ["tests/data/test_lines.py::test_characters_that_other_readers_take_for_line_ends_stay"],
        "LINES PAIR",
    ),
    Mutation(
        "escape",
        "private characters of user text reach the tokenizer as they are",
        TOKENIZER,
        "return _TO_ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)",
        "return text",
        ["tests/data/test_tokenizer.py::test_decoding_undoes_encoding"],
        "TOKRT",
    ),
    Mutation(
        "47a",
        "a special token recognised among words",
        TOKENIZER,
        "ids = {piece: i for i, piece in enumerate(pieces) if i > EOS}",
        "ids = {piece: i for i, piece in enumerate([*SPECIAL_PIECES, *pieces[4:]])}",
        ["tests/data/test_tokenizer.py::test_unknown_words_and_characters_are_counted_one_by_one"],
        "SPECIAL",
    ),
    Mutation(
        "47b",
        "a special token recognised among pieces",
        TOKENIZER,
        "return self._processor.encode([_escape(text) for text in texts], out_type=int, num_threads=1)",
        "return [[EOS] if text.strip() == SPECIAL_PIECES[EOS] else self._processor.encode(_escape(text), out_type=int) "
        "for text in texts]",
        ["tests/data/test_tokenizer.py::test_trained_on_special_spellings_they_stay_text[</s>]"],
        "SPECIAL",
    ),
    Mutation(
        "48",
        "labels sorted by count alone, ties in the order they came",
        "data/labels.py",
        "key=lambda name: (-counts[name], name.encode())",
        "key=lambda name: -counts[name]",
        ["tests/data/test_labels.py::test_the_most_frequent_comes_first_and_equal_ones_by_their_bytes"],
        "HASHSEED",
    ),
    Mutation(
        "53a",
        "a run with a tensor too many is loaded",
        "run_folder.py",
        "for name in sorted(set(wanted) ^ set(given)):",
        "for name in sorted(set(wanted) - set(given)):",
        [
            "tests/cli/test_damaged_runs.py::test_tensors_that_do_not_fit_are_refused_though_the_hash_agrees[with_another]"
        ],
        "STRICT",
    ),
    Mutation(
        "53b",
        "a checkpoint with a tensor too many is loaded",
        "training/weights.py",
        "*(n for n in given if n not in wanted)]",
        "]",
        ["tests/training/test_checkpoint.py::test_weights_of_another_model_are_refused"],
        "STRICT",
    ),
    Mutation(
        "55a",
        "the order of an epoch keyed on the seed only",
        LOADER,
        "for part in (seed, epoch, stream):",
        "for part in (seed, stream):",
        [f"{OF_LOADER}epochs_and_seeds_differ"],
        "ORDER",
    ),
    Mutation(
        "55b",
        "the order of windows keyed on the seed only",
        STREAM,
        "mix(self.seed, epoch, _ORDER, np.arange(count))",
        "mix(self.seed, 0, _ORDER, np.arange(count))",
        [f"{OF_STREAM}the_order_of_the_windows_changes_too"],
        "ORDER",
    ),
    Mutation(
        "55c",
        "the cuts of a stream keyed on the seed only",
        STREAM,
        "mix(self.seed, epoch, _FIRST_CUT",
        "mix(self.seed, 0, _FIRST_CUT",
        [f"{OF_STREAM}epochs_are_cut_and_ordered_anew"],
        "ORDER",
    ),
    Mutation(
        "56a",
        "resume cursor off by one batch",
        "training/checkpoint.py",
        "setattr(state.progress, field.name, progress[field.name])",
        'setattr(state.progress, field.name, progress[field.name] + 1 if field.name == "cursor" else progress[field.name])',
        ["tests/training/test_trainer.py::test_a_resumed_run_is_the_run_that_never_stopped[stops0]"],
        "RESUME",
    ),
    Mutation(
        "56b",
        "a resumed run begins with an empty carried state",
        "training/carried.py",
        "self._restored = [tensors[name] for name in sorted(tensors)]",
        "self._restored = []",
        [f"{OF_CARRIED}the_state_goes_through_a_checkpoint[gru]"],
        "RESUME",
    ),
]
