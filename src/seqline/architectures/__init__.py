"""The line: every architecture by name, in the order of history. A new one is its recipe and one line here."""

from seqline.architectures import bahdanau, contextual, encoder_decoder, luong, transformer
from seqline.architectures.recipe import Recipe

ARCHITECTURES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        encoder_decoder.RECIPE,
        contextual.RECIPE,
        bahdanau.RECIPE,
        luong.RECIPE,
        transformer.RECIPE,
    )
}
