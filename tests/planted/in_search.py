"""Bugs planted in searches, sampling and what makes text of their results."""

from __future__ import annotations

from .mutation import LAW, Mutation

BEAM, GREEDY, SAMPLING = "decoding/beam.py", "decoding/greedy.py", "decoding/sampling.py"
OF_BEAM, OF_SAMPLING = "tests/decoding/test_beam.py::test_", "tests/decoding/test_sampling.py::test_"
_RANK = "grown.sentence.bincount(minlength=len(places))"

SEARCH = [
    Mutation(
        "37",
        "a finished hypothesis adds one log-probability more",
        BEAM,
        "results.add(select(grown, rows), is_finished[rows])",
        "results.add(select(grown._replace(log_probability=grown.log_probability + log_probs[parent].amax(1)), rows), "
        "is_finished[rows])",
        [f"{OF_BEAM}scores_are_those_of_teacher_forcing_without_rules", f"{LAW}[rescore-transformer-]"],
        "RESCORE FROZEN",
    ),
    Mutation(
        "38",
        "the end token accepted from the top 2K",
        BEAM,
        "values, ids = _best_tokens(log_probs, beam_size)\n        grown, parent = _grow(live, values, ids, places)",
        "values, ids = _best_tokens(log_probs, 2 * beam_size); grown, parent = _grow(live, values, ids, 2 * places); "
        f"first = {_RANK}.cumsum(0) - {_RANK}; "
        "rank = torch.arange(len(parent)) - first[grown.sentence]; "
        "kept = ((rank < places[grown.sentence]) | (grown.tokens[:, -1] == eos_id)).nonzero().flatten(); "
        "grown, parent = select(grown, kept), parent[kept]",
        [f"{OF_BEAM}a_beam_of_one_is_greedy_search"],
        "BEAM1",
    ),
    Mutation(
        "39",
        "the search stops at the first finished hypothesis",
        BEAM,
        "return (highest / self.largest_divisor > self.to_beat)[live.sentence]",
        "return (self.to_beat == _NEVER)[live.sentence]",
        [f"{OF_BEAM}the_stop_rule_gives_the_result_of_running_to_the_limit"],
        "EXHAUST FROZEN",
    ),
    Mutation(
        "40a",
        "beam: the end token left out of the length in the penalty",
        BEAM,
        "score = self.penalty.score(total, len(ids))",
        "score = self.penalty.score(total, max(1, len(ids) - bool(is_finished[row])))",
        [f"{LAW}[rescore-transformer-]", f"{OF_BEAM}scores_are_those_of_teacher_forcing_without_rules"],
        "RESCORE",
    ),
    Mutation(
        "40b",
        "greedy: the end token left out of the length in the penalty",
        GREEDY,
        "penalty.score(total, length), ids[-1] == eos_id)",
        "penalty.score(total, max(1, length - (ids[-1] == eos_id))), ids[-1] == eos_id)",
        ["tests/decoding/test_greedy.py::test_the_end_token_counts_and_is_kept"],
        "RESCORE",
    ),
    Mutation(
        "beam's memory",
        "memory stays where it was when sentences leave the beam",
        BEAM,
        "        memory = select(memory, parent)",
        "        memory = select(memory, torch.arange(len(parent)))",
        [f"{OF_BEAM}each_sentence_is_as_if_alone"],
        "ROW",
    ),
    Mutation(
        "beam's state",
        "the state does not follow when hypotheses change places",
        BEAM,
        "        state = select(state, parent)",
        "        state = select(state, parent.sort().values)",
        [f"{OF_BEAM}scores_are_those_of_teacher_forcing_without_rules"],
        "RESCORE",
    ),
    Mutation(
        "sampling by place",
        "a row's chance hangs on its place in the batch",
        SAMPLING,
        "chances[rows.cpu().numpy()])",
        "chances[: len(rows)])",
        [f"{OF_SAMPLING}a_row_is_the_same_alone_in_any_batch_and_at_any_index"],
        "SAMPLE",
    ),
    Mutation(
        "temperature",
        "temperature multiplies where it should divide",
        SAMPLING,
        "keepdim=True)) / sampling.temperature)",
        "keepdim=True)) * sampling.temperature)",
        [f"{OF_SAMPLING}frequencies_are_those_of_the_distribution"],
        "SAMPLE",
    ),
]

USE = [
    Mutation(
        "34a",
        "a loaded model stays in training mode",
        "run_folder.py",
        "model.to(device).eval(), manifest)",
        "model.to(device).train(), manifest)",
        ["tests/test_run_folder.py::test_a_run_comes_back_exactly[shared]"],
        "DROPOUT",
    ),
    Mutation(
        "34b",
        "validation in training mode",
        "training/loss.py",
        "    model.eval()\n",
        "    model.train()\n",
        ["tests/training/test_loss.py::test_evaluating_gives_every_training_flag_back"],
        "DROPOUT",
    ),
    Mutation(
        "35",
        "training flag not restored after evaluation",
        "training/loss.py",
        "            module.training = was_training",
        "            module.training = module.training",
        ["tests/training/test_loss.py::test_evaluating_gives_every_training_flag_back"],
        "MODE",
    ),
    Mutation(
        "41a",
        "translations not put back in input order",
        "translator.py",
        "yield [rows[i] for i in plan], translations",
        "yield sorted(rows[i] for i in plan), translations",
        ["tests/test_translator.py::test_batches_and_order_change_nothing[64-1]"],
        "OUTORDER",
    ),
    Mutation(
        "41b",
        "tags not put back in input order",
        "labeller.py",
        "for row, label_ids in zip(rows, logits",
        "for row, label_ids in zip(sorted(rows), logits",
        ["tests/test_labeller.py::test_tags_are_those_of_the_line_alone[None]"],
        "OUTORDER",
    ),
    Mutation(
        "45a",
        "BLEU of subword text is not refused",
        "evaluation/text_checks.py",
        "if marked and not _marked_lines(references):",
        "if marked and _marked_lines(references):",
        ["tests/evaluation/test_text_metrics.py::test_subword_marks_are_refused_by_line"],
        "BLEU",
    ),
    Mutation(
        "45b",
        "translations are pieces, not text",
        "translator.py",
        "text = self.tokenizers.target.decode(hypothesis.ids)",
        'text = " ".join(self.tokenizers.target.pieces(hypothesis.ids))',
        ["tests/test_translator.py::test_batches_and_order_change_nothing[1-1]"],
        "BLEU",
    ),
    Mutation(
        "54a",
        "the recorder shows weights after dropout",
        "parts/attention.py",
        'show("attention", query=query, scores=scores, weights=weights',
        'show("attention", query=query, scores=scores, weights=self.dropout(weights)',
        ["tests/parts/test_coverage.py::test_dropout_of_weights_acts_in_training_only_and_after_showing[plain]"],
        "TRACE",
    ),
    Mutation(
        "54b",
        "the recorder draws from the generator",
        "watch.py",
        "value.detach().clone() for name, value in values.items()}",
        "value.detach() + 0 * value.detach().float().bernoulli(0.5) for name, value in values.items()}",
        ["tests/models/test_whole_models.py::test_watching_draws_no_random_number[luong-fed-dot]"],
        "TRACE",
    ),
]
