"""The live page: type a sentence, choose runs, force a token or a row of attention, and look at what happens inside."""
