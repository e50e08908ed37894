"""`seqline lab`: the claims of the history of sequence models, measured again.

One experiment a file: claims with their sources, the models it wants, a measurement, verdicts by rules stated before.
`experiment` has the records, `laboratory` what an experiment is given, `zoo` the models that experiments share, `catalogue`
the list of all, `session` the course of a whole lab, `page` and `written` what is read in the end.
"""

from seqline.lab.catalogue import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
