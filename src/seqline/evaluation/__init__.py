"""How good outputs are: scores that equal the public tools' and say how they were made."""
