"""How the two shipped models were made: story grammar, tokenizer, training, measures, shipping.

The app never imports this package; `python -m core.model.training` runs it.
"""
