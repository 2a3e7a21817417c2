"""Find out what a language model was trained on. ARCHITECTURE.md shows how the rooms fit together."""

__version__ = "0.1.0"
