"""The line: every architecture by name, in the order of history. A new one is its recipe and one line here."""

from seqline.architectures import (
    bahdanau,
    bilstm,
    birnn,
    cho,
    contextual,
    conv,
    encoder_decoder,
    gru,
    lstm,
    luong,
    simple_rnn,
    ssru,
    sutskever,
    transformer,
    transformer_pre,
    ttt_linear,
    ttt_mlp,
)
from seqline.architectures.recipe import Recipe

ARCHITECTURES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        simple_rnn.RECIPE,
        lstm.RECIPE,
        gru.RECIPE,
        birnn.RECIPE,
        bilstm.RECIPE,
        encoder_decoder.RECIPE,
        contextual.RECIPE,
        sutskever.RECIPE,
        cho.RECIPE,
        bahdanau.RECIPE,
        luong.RECIPE,
        conv.RECIPE,
        transformer.RECIPE,
        transformer_pre.RECIPE,
        ssru.RECIPE,
        ttt_linear.RECIPE,
        ttt_mlp.RECIPE,
    )
}
