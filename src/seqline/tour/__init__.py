"""The tour behind `seqline demo`: four models trained on the built-in toy pair, compared, measured, and told as one page."""

from seqline.tour.comparing import SENTENCES, Compared, Row, as_table, compare, long_sentence, show_translation
from seqline.tour.training import COMMON, MODELS, NUM_PAIRS, RNN, train_all

__all__ = [
    "COMMON",
    "MODELS",
    "NUM_PAIRS",
    "RNN",
    "SENTENCES",
    "Compared",
    "Row",
    "as_table",
    "compare",
    "long_sentence",
    "show_translation",
    "train_all",
]
