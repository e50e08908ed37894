"""Bugs planted in searches, sampling and what makes text of their results."""

from __future__ import annotations

from .mutation import LAW, Mutation

BEAM, GREEDY, SAMPLING = "decoding/beam.py", "decoding/greedy.py", "decoding/sampling.py"
CHOOSING, CONSTRAINTS, PHRASES = "decoding/choosing.py", "decoding/constraints.py", "decoding/phrases.py"
OF_DIVERSE, OF_CONSTRAINTS = "tests/decoding/test_diverse.py::test_", "tests/decoding/test_constraints.py::test_"
OF_BEAM, OF_SAMPLING = "tests/decoding/test_beam.py::test_", "tests/decoding/test_sampling.py::test_"
_RANK = "grown.lane.bincount(minlength=len(places))"

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
        "choice = choose(live, log_probs, places.view(how.num_groups, -1), width, how.diversity, standing)\n"
        "        grown, parent = choice.grown, choice.parent",
        "choice = choose(live, log_probs, 2 * places.view(1, -1), 2 * width); grown, parent = choice.grown, choice.parent; "
        f"first = {_RANK}.cumsum(0) - {_RANK}; "
        "rank = torch.arange(len(parent)) - first[grown.lane]; "
        "kept = ((rank < places[grown.lane]) | (grown.tokens[:, -1] == marks.eos)).nonzero().flatten(); "
        "grown, parent = select(grown, kept), parent[kept]",
        [f"{OF_BEAM}a_beam_of_one_is_greedy_search"],
        "BEAM1",
    ),
    Mutation(
        "39",
        "the search stops at the first finished hypothesis",
        BEAM,
        "can_improve = highest / self.largest_divisor > self.to_beat",
        "can_improve = (self.to_beat == _NEVER).expand_as(highest)",
        [f"{OF_BEAM}the_stop_rule_gives_the_result_of_running_to_the_limit"],
        "EXHAUST FROZEN",
    ),
    Mutation(
        "40a",
        "beam: the end token left out of the length in the penalty",
        BEAM,
        "score = self.how.penalty.score(total, len(ids))",
        "score = self.how.penalty.score(total, max(1, len(ids) - bool(is_finished[row])))",
        [f"{LAW}[rescore-transformer-]", f"{OF_BEAM}scores_are_those_of_teacher_forcing_without_rules"],
        "RESCORE",
    ),
    Mutation(
        "40b",
        "greedy: the end token left out of the length in the penalty",
        GREEDY,
        "penalty.score(total, length), ids[-1] == marks.eos)",
        "penalty.score(total, max(1, length - (ids[-1] == marks.eos))), ids[-1] == marks.eos)",
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
        "diversity in the score",
        "what diversity takes from the choice is taken from the log-probability",
        CHOOSING,
        "log_probability = part.log_probability[parent] + of_next[parent, token]",
        "log_probability = part.log_probability[parent] + steered[parent, token]",
        [f"{OF_DIVERSE}scores_are_the_models_own_and_results_differ"],
        "RESCORE",
    ),
    Mutation(
        "diversity of one step",
        "a hypothesis forgets what diversity took in the steps before",
        CHOOSING,
        "lost = log_probability - totals",
        "lost = torch.zeros_like(totals)",
        [f"{OF_DIVERSE}what_diversity_took_stays_taken"],
        "EXHAUST",
    ),
    Mutation(
        "diversity and the stop rule",
        "a group leaves though a later one looks at it",
        BEAM,
        "        if self.how.diversity:\n            can_improve",
        "        if self.how.diversity < 0:\n            can_improve",
        [f"{OF_DIVERSE}a_group_that_cannot_enter_goes_on_for_those_that_look_at_it"],
        "EXHAUST FROZEN",
    ),
    Mutation(
        "end before the phrases",
        "eos is allowed while a phrase is missing",
        CONSTRAINTS,
        "if row.automaton.needed(row.automaton.step(row.state, eos))]",
        "if row.automaton.num_tokens < 0]",
        [f"{OF_CONSTRAINTS}a_full_beam_finds_all_sequences_with_the_phrases[none-any]"],
        "EXHAUST",
    ),
    Mutation(
        "limit and phrases",
        "the room that the length limit leaves is counted one too long",
        CONSTRAINTS,
        "self.automaton.step(self.state, token)) < self.left",
        "self.automaton.step(self.state, token)) <= self.left",
        [f"{OF_CONSTRAINTS}banks_are_those_of_the_slow_search"],
        "EXHAUST",
    ),
    Mutation(
        "places and banks",
        "the places go to the most probable, whatever bank they are in",
        CHOOSING,
        "    if banks is None:\n        is_kept",
        "    if banks is None or len(banks):\n        is_kept",
        [f"{OF_CONSTRAINTS}banks_are_those_of_the_slow_search"],
        "EXHAUST",
    ),
    Mutation(
        "one reading of a phrase",
        "a token that begins a phrase cannot be read as anything else; where the phrase does not go on, its tokens are lost",
        PHRASES,
        "            return\n"
        "        if reading.is_closing and not self.begins_word(token):\n"
        "            return\n"
        "        yield _Reading(reading.missing)\n",
        "            else:\n"
        "                yield _Reading(reading.missing)\n"
        "            return\n"
        "        if reading.is_closing and not self.begins_word(token):\n"
        "            return\n"
        "        if all(token != phrase[0] for phrase, count in zip(self.phrases, reading.missing, strict=True) if count):\n"
        "            yield _Reading(reading.missing)\n",
        ["tests/decoding/test_phrases.py::test_what_is_unmet"],
        "EXHAUST",
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
        "yield chosen, found",
        "yield sorted(chosen), found",
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
        "translating/finding.py",
        "text = self.members.target.decode(hypothesis.ids)",
        'text = " ".join(self.members.target.tokenizer.pieces(hypothesis.ids))',
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
