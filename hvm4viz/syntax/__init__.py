"""The front end: source text to static cells, and terms back to text.

Reading in, from the door inwards: ``parser`` (files, definitions, the loop) and ``reader`` (its state, and how forms
wait for the terms inside them); one file for each family of forms: ``operators``, ``items``, ``literals``,
``lambdas``, ``bangs``, ``amps``, ``cases``, ``variables``; ``binders`` and ``scope`` for affinity and automatic
duplication; ``core`` (what they build) and ``writer`` (what becomes of it in the book). ``tokens`` has every lexical
rule, ``names`` every number that stands for a name.

Printing: ``printer``, then ``shapes`` and ``spines`` for the look of each term, ``view`` and ``spelling`` for names.
"""
