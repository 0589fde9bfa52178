"""The check of wording: sources, rules, and the findings of the rules in the sources."""
