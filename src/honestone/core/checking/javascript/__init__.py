"""Texts, regular expressions and JSON Schemas as JavaScript and its libraries read them."""
