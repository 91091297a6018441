"""The front end: source text to static cells, and terms back to text."""
