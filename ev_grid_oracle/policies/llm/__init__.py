"""Language models as policies: local ones, servers of the OpenAI kind, and the small one that is shipped.

A policy of this room reads the observation row like any other, writes the prompt from it, and gives back
decision rows with what made them: `llm`, or the baseline with `fallback` or `timeout` and the reason.
"""
