"""The process in which a reference is computed, and its tolerance derived (docs/reference.md)."""
