"""Threshold rules as pages name them."""

from __future__ import annotations

from auditlib.evidence.thresholds import Rule

RULES: dict[str, Rule] = {"best accuracy": "accuracy", "5% false positives": 0.05, "1% false positives": 0.01}


def rules_with(rule: Rule) -> dict[str, Rule]:
    """The usual ones, and before them `rule` where it is none of these."""
    return RULES if rule in RULES.values() else {f"{rule:.3g} false positives": rule} | RULES


def name_of_rule(rule: Rule) -> str:
    """What `rules_with` calls it."""
    return next(name for name, one in rules_with(rule).items() if one == rule)
