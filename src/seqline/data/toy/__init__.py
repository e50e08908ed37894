"""The built-in toy language pairs: sentences of four languages from one grammar of meanings, with gold alignments.

`meanings` says what a sentence can mean, `grow` draws meanings, `english`, `french`, `spanish` and `chinese` say them,
`twins` has the pronouns whose antecedent decides their gender, `make` fills the splits.
"""

from seqline.data.toy.make import PAIRS, ToyCorpus, ToyPair, make_corpus, sample, write_corpus

__all__ = ["PAIRS", "ToyCorpus", "ToyPair", "make_corpus", "sample", "write_corpus"]
